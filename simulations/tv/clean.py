"""How strong the attacks are where nothing protects: on what a meter measures, as it is."""

from typing import Any

import numpy as np

from simulations.kit.command import Run
from simulations.kit.statistics import Share
from simulations.tv.attacks import Series, among, changes, correlation, elastic, ranks
from simulations.tv.background import background
from simulations.tv.displays import DISPLAYS, LCD, TELLING
from simulations.tv.library import CHUNK, Library, metered
from simulations.tv.plugs import recordings, stretches

EVENING = 20 * 3600.0
CHANNELS = 20
OFF_BY = 8
"""Seconds by which clocks differ, at most."""

SLOTS = 4
"""Of two seconds, over which the slower column averages."""

Rows = list[dict[str, Any]]


def displays(run: Run, films: Library) -> Rows:
    """Five-minute chunks on every kind of set, metered ever more coarsely."""
    chunks = films.chunks(run.draw(10))
    rows = []
    for number, display in enumerate(run.each(DISPLAYS, "clean: displays")):
        for seconds in (2, 10, 60):
            seen = metered(chunks, display, seconds, run.draw(11, number, seconds))
            known = metered(chunks, display, seconds)
            beaten = ranks(correlation(seen, known), np.arange(len(seen)), run.draw(12))
            rows.append(
                {
                    "display": display.name,
                    "seconds": seconds,
                    "deviation": round(float(np.median(seen.std(axis=1))), 2),
                    "chance": round(1 / len(seen), 6),
                    "top1": among(beaten, 1).document(),
                    "top5": among(beaten, 5).document(),
                }
            )
    return rows


def channels(run: Run, films: Library) -> Rows:
    """Which of 20 channels is on, known by its picture alone, in a home of which nothing is known.

    Why several draws of chunks: a group of 20 says little, and the share is to be sure.
    """
    rows = []
    for display in run.each(TELLING, "clean: channels"):
        hits = dict.fromkeys(("correlation", "changes"), 0)
        trials = 0
        for again in range(1 if run.quick else 4):
            chunks = films.chunks(run.draw(20, again))
            seen = metered(chunks, display, 2, run.draw(21, again))
            home = background(run.draw(22, again), len(seen), seen.shape[1], 2.0, EVENING)
            picture = chunks.reshape(len(chunks), -1, 2).mean(axis=2)
            for group in range(len(seen) // CHANNELS):
                some = slice(group * CHANNELS, (group + 1) * CHANNELS)
                trials += CHANNELS
                for name, attack in (("correlation", correlation), ("changes", changes)):
                    scores = attack((seen + home)[some], picture[some])
                    beaten = ranks(scores, np.arange(CHANNELS), run.draw(23, again, group))
                    hits[name] += among(beaten, 1).hits
        for name, hit in hits.items():
            rows.append(
                {
                    "display": display.name,
                    "attack": name,
                    "chance": 1 / CHANNELS,
                    "top1": Share(hit, trials).document(),
                }
            )
    return rows


def clocks(run: Run, films: Library) -> Rows:
    """Chunks whose clock is off by seconds that nobody knows: why matching stretches."""
    wide = films.chunks(run.draw(30), CHUNK + 2 * OFF_BY)
    off = run.draw(31).integers(0, 2 * OFF_BY + 1, len(wide))
    shown = np.array([row[o : o + CHUNK] for row, o in zip(wide, off, strict=True)])
    seen = metered(shown, LCD, 2, run.draw(32))
    known = metered(wide[:, OFF_BY : OFF_BY + CHUNK], LCD, 2)
    rows = []
    for name, attack in run.each(
        [("correlation", correlation), ("elastic", elastic)], "clean: clocks"
    ):
        beaten = ranks(attack(seen, known), np.arange(len(seen)), run.draw(33))
        rows.append(
            {
                "attack": name,
                "off_by_seconds": OFF_BY,
                "chance": round(1 / len(seen), 6),
                "top1": among(beaten, 1).document(),
            }
        )
    return rows


def real(run: Run) -> dict[str, Any]:
    """Real chunks, known exactly, and known only by the plug's slower column."""
    if run.traces is None:
        return {}
    seen, slower = (
        stretches(recordings(run.traces, column), CHUNK, moving=5.0) for column in (1, 2)
    )
    exact = _own(seen.watts, seen.watts, run)
    same, mine = np.intersect1d(seen.keys, slower.keys, return_indices=True)[1:]
    smooth = np.apply_along_axis(_over_eight_seconds, 1, seen.watts[same])
    other = _own(smooth[:, SLOTS:], slower.watts[mine][:, SLOTS:], run)
    return {
        "chunks": len(seen.watts),
        "exact": exact.document(),
        "by_slower_column": other.document(),
    }


def _over_eight_seconds(watts: Series) -> Series:
    return np.convolve(watts, np.full(SLOTS, 1 / SLOTS))[: len(watts)]


def _own(seen: Series, known: Series, run: Run) -> Share:
    beaten = ranks(correlation(seen, known), np.arange(len(seen)), run.draw(41))
    return among(beaten, 1)
