"""Attacks on television are strong where nothing protects, and lose where the noise is enough."""

import gzip
import json
from argparse import Namespace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from meteragent.cli import main as meteragent
from meteragent.commands.exit_codes import Exit
from meteragent.formats.decoder import Decoder
from meteragent.privacy.domain import Domain
from meteragent.privacy.mechanism import TruncatedGeometric
from meteragent.privacy.question import question
from simulations.kit.command import Run
from simulations.kit.product import policy, release
from simulations.kit.statistics import Share
from simulations.kit.traces import Trace
from simulations.tv import clean, noise, replay
from simulations.tv.__main__ import simulate
from simulations.tv.attacks import among, correlation, elastic, normalised, ranks
from simulations.tv.contest import EPOCH, Contents, alone, outcome
from simulations.tv.displays import CRT, OLED
from simulations.tv.library import Library, library, metered
from simulations.tv.likelihood import Habits, known_home
from simulations.tv.plugs import read, recordings, stretches
from simulations.tv.yardstick import tv_content
from tests.given import KEY


@pytest.fixture(scope="module")
def films() -> Library:
    return library(np.random.default_rng(5), 100)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run("tv", 5, tmp_path, quick=True, traces=None, command="test", options=Namespace())


def no_better(seen: Share, chance: float) -> bool:
    """Whether it is what guessing reaches; wrongly denied once in a million."""
    return Share(seen.hits, seen.of, 1 - 1e-6).holds(chance)


def test_clean_chunks_are_recognised_but_for_static_backlight(run: Run, films: Library) -> None:
    rows = clean.displays(run, films)
    for row in noise.choose(rows, seconds=2):
        if row["display"] == "static":
            assert row["top1"]["share"] <= 0.05
        else:
            assert row["top1"]["share"] >= 0.95


def test_one_of_twenty_channels_is_recognised_in_a_home_as_in_the_literature(
    run: Run, films: Library
) -> None:
    rows = clean.channels(run, films)
    assert all(row["top1"]["share"] >= 0.93 for row in noise.choose(rows, attack="changes"))
    assert all(row["top1"]["share"] >= 0.6 for row in noise.choose(rows, attack="correlation"))


def test_elastic_matching_forgives_a_clock_that_is_off(run: Run, films: Library) -> None:
    shape, stretched = clean.clocks(run, films)
    assert stretched["top1"]["low"] > shape["top1"]["high"]
    assert stretched["top1"]["share"] >= 0.95


def test_correlation_is_blind_to_level_and_scale_and_flat_series_have_no_shape() -> None:
    draw = np.random.default_rng(1)
    series = draw.standard_normal((4, 30))
    scores = correlation(7 * series + 100, series)
    assert np.allclose(np.diag(scores), 1)
    assert not normalised(np.full((1, 30), 5.0)).any()


def test_elastic_matching_is_exact_on_small_series() -> None:
    draw = np.random.default_rng(2)
    seen, known = draw.standard_normal((2, 3, 7))
    shape = np.sqrt(7)
    for i in range(3):
        for j in range(3):
            a, b = normalised(seen)[i] * shape, normalised(known)[j] * shape
            assert elastic(seen, known, band=2)[i, j] == pytest.approx(-_warped(a, b, 2))


def _warped(seen: np.ndarray, known: np.ndarray, band: int) -> float:
    """The textbook's recursion, begun and ended anywhere in the band."""
    cost: dict[tuple[int, int], float] = {}
    for i in range(len(seen)):
        for j in range(max(0, i - band), min(len(known), i + band + 1)):
            before = [cost[p] for p in ((i - 1, j), (i - 1, j - 1), (i, j - 1)) if p in cost]
            best = min([0.0, *before]) if i == 0 else min(before)
            cost[i, j] = abs(seen[i] - known[j]) + best
    return min(value for (i, _), value in cost.items() if i == len(seen) - 1)


def test_among_equals_the_attacker_tosses_coins() -> None:
    draw = np.random.default_rng(3)
    beaten = ranks(np.zeros((4000, 4)), np.zeros(4000, dtype=np.int64), draw)
    assert no_better(among(beaten, 1), 0.25)
    assert among(beaten, 4).hits == 4000


def test_scores_are_the_mechanisms_own_odds() -> None:
    mechanism = TruncatedGeometric(Domain(0, 20, 1), "0.3")
    with np.errstate(divide="ignore"):
        log = np.log(mechanism.matrix())
    released, answers = np.arange(21.0)[:, np.newaxis], np.arange(21.0)[:, np.newaxis]
    scores = known_home(released, answers, np.array([0.3]))
    odds = scores - scores[:, :1]
    assert np.allclose(odds, (log - log[:1]).T)


def test_an_unknown_home_is_summed_over_as_the_textbook_does() -> None:
    draw = np.random.default_rng(4)
    homes = draw.integers(0, 40, (50, 2)).astype(np.float64)
    released = draw.integers(-90, 150, (5, 2)).astype(np.float64)
    answers = draw.integers(0, 20, (6, 2)).astype(np.float64)
    rates = np.array([0.2, 0.05])
    base = np.median(homes, axis=1)
    expected = np.zeros((5, 6))
    for b in np.quantile(base, [0.25, 0.75]).round():
        under = np.ones((5, 6))
        for o in range(2):
            surplus = (homes[:, o] - base).round()
            off = released[:, o, None, None] - answers[:, o, None] - b - surplus
            under *= np.exp(-rates[o] * np.abs(off)).mean(axis=2)
        expected += under
    assert np.allclose(Habits(homes, 2).scores(released, answers, rates), np.log(expected))


def test_who_compares_likelihoods_does_better_than_who_correlates(films: Library) -> None:
    draw = np.random.default_rng(6)
    watts = metered(films.chunks(draw), OLED, 2)
    contents = Contents(EPOCH, 2000, watts)
    asked = noise.averages(noise.HOME, 10, "0.05", 2000)
    seen = alone(contents, asked, KEY, 3, 300.0)
    by_shape = outcome(correlation(seen.released, seen.answers), contents, draw).first
    by_likelihood = outcome(seen.scores(), contents, draw).first
    assert by_likelihood.low > by_shape.high > 0.1
    assert outcome(seen.scores(), contents, draw).five.hits >= by_likelihood.hits


def test_an_attacker_who_sees_noise_alone_guesses(films: Library) -> None:
    draw = np.random.default_rng(7)
    contents = Contents(EPOCH, 2000, metered(films.chunks(draw), CRT, 2))
    asked = noise.averages(noise.HOME, 300, "0.0001", 2000)
    found = outcome(alone(contents, asked, KEY, 10, 300.0).scores(), contents, draw)
    assert no_better(found.first, contents.chance)
    assert no_better(found.five, contents.chance_of(5))


def test_where_the_set_is_known_only_its_own_contents_are_candidates(films: Library) -> None:
    draw = np.random.default_rng(8)
    watts = metered(films.chunks(draw)[:6], CRT, 2)
    contents = Contents(EPOCH, 2000, watts, np.array([0, 0, 0, 0, 1, 1]))
    assert contents.chance == pytest.approx((4 / 4 + 2 / 2) / 6)
    asked = noise.averages(noise.HOME, 300, "0.0001", 2000)
    found = outcome(alone(contents, asked, KEY, 300, 300.0).scores(), contents, draw)
    assert no_better(found.first, contents.chance)


def test_a_plugs_recording_is_put_onto_a_grid_and_short_gaps_are_held(tmp_path: Path) -> None:
    rows = (
        "01/02/2012 20:00:00;100;99\n01/02/2012 20:00:01;102;99\n"
        "01/02/2012 20:00:01;104;99\n"  # twice the same time
        "01/02/2012 20:00:06;110;99\n01/02/2012 20:00:04;90;98\n"  # and back
        "01/02/2012 20:00:30;120;99\n"  # a gap that is too long to be held
    )
    file = tmp_path / "complete__TV-LCD__dev_ABCDEF_2012.02.01.csv.gz"
    file.write_bytes(gzip.compress(rows.encode()))
    trace = read(file)
    assert trace.begin == datetime(2012, 2, 1, 20, tzinfo=UTC).timestamp() * 1000
    assert trace.watts[:4].tolist() == [102, 102, 90, 110]
    assert np.isnan(trace.watts[11:15]).all()
    assert trace.watts[15] == 120
    assert read(file, column=2).watts[2] == 98
    assert recordings(tmp_path)[0].set == "ABCDEF"


def test_a_line_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("01/02/2012 20:00:00;100;99\n01/02/2012;1\n")
    with pytest.raises(SystemExit, match=r"x\.csv, line 2"):
        read(tmp_path / "x.csv")
    (tmp_path / "none").mkdir()
    with pytest.raises(SystemExit, match="holds no"):
        recordings(tmp_path / "none")


def test_stretches_are_on_throughout_and_move(tmp_path: Path) -> None:
    draw = np.random.default_rng(9)
    lines = []
    for second in range(3600):
        watts = (
            100 + 20 * draw.standard_normal()
            if second < 1800
            else (100 + second % 8 // 4) * (second < 2700)
        )
        lines.append(f"01/02/2012 20:{second // 60:02}:{second % 60:02};{watts:.1f};0")
    (tmp_path / "dev_ABCDEF.csv").write_text("\n".join(lines))
    recorded = recordings(tmp_path)
    assert len(stretches(recorded, 300, moving=5.0).watts) == 12  # half of each, moving
    assert len(stretches(recorded, 300).watts) == 17  # and those that hardly do


def test_replayed_readings_are_what_the_agent_takes_and_the_product_is_what_is_simulated(
    tmp_path: Path,
) -> None:
    readings, out = tmp_path / "readings.jsonl", tmp_path / "released.jsonl"
    asked = ["--homes", "3", "--hours", "0.5", "--seed", "4", "--out", str(readings)]
    assert replay.main(["--to", "file", *asked]) == 0
    lines = readings.read_bytes().splitlines()
    decoded = Decoder().decode(lines, range(len(lines)), [0] * len(lines))
    assert len(decoded.meters) == len(lines) == 3 * 180
    assert not decoded.rejects

    key = tmp_path / "noise.key"
    key.write_text(KEY.to_hex())
    key.chmod(0o600)
    arguments = ["sanitize", str(readings), "-o", str(out), "--key-file", str(key)]
    arguments += ["--window", "5m", "--interval", "10s", "--maximum", "24kW", "--step", "1W"]
    arguments += ["--query", "avg", "--query", "p95", "--epsilon", "1", "--radius", "20W"]
    arguments += ["--budget", "1000", "--horizon", "24h"]
    assert meteragent(arguments) == Exit.OK
    questions = [question(name, 1, 20) for name in ("avg", "p95")]
    same = policy(Domain(0, 24_000, 1), questions, window=300_000, interval=10_000)
    traces = replay.made(4, 3, 0.5, 10)
    simulated = dict(zip([t.name for t in traces], release(traces, same, KEY), strict=True))
    published = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(published) == 18
    for one in published:
        of = simulated[one["meter_id"]]
        row = (one["window_start"] - of.begin) // 300_000
        assert [one["values"][n] for n in ("avg", "p95")] == of.values[row].tolist()
        assert [one["unbiased"][n] for n in ("avg", "p95")] == pytest.approx(of.unbiased[row])


def test_recordings_are_replayed_as_if_on_one_day(tmp_path: Path) -> None:
    for day in (1, 2):
        rows = [f"0{day}/02/2012 20:00:{s:02};{day}00;0" for s in range(30)]
        (tmp_path / f"dev_ABCDE{day}.csv").write_text("\n".join(rows))
    out = tmp_path / "out.jsonl"
    assert replay.main(["--traces", str(tmp_path), "--out", str(out)]) == 0
    readings = [json.loads(line) for line in out.read_text().splitlines()]
    assert {r["ts"] - EPOCH for r in readings} == {72_000_000, 72_010_000, 72_020_000}
    assert {(r["meter_id"], r["value"]) for r in readings} == {("plug-0", 100.0), ("plug-1", 200.0)}


def test_a_replay_keeps_its_pace() -> None:
    trace = Trace("m", 0, 1000, np.ones(4))
    assert [m.time for m in replay.paced(replay.moments_of([trace]), 1000)] == [0, 1000, 2000, 3000]


def test_the_same_seed_makes_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for again in "ab":
        run = Run("tv", 5, tmp_path / again, quick=True, traces=None, command="test")
        simulate(run)
        run.write()
        made.append({f.name: f.read_bytes() for f in (tmp_path / again).iterdir()})
    assert made[0] == made[1]
    assert set(made[0]) == {"tv.json", *(figure["file"] for figure in run.figures)}
    assert all(len(bytes_) < 150_000 for bytes_ in made[0].values())


def test_the_yardstick_catches_a_policy_of_little_noise_and_lets_pass_one_of_much(run: Run) -> None:
    yardstick = tv_content(run)
    little, much = (
        policy(
            Domain(0, 24_000, Decimal(1)),
            [question("avg", 1, radius)],
            window=900_000,
            interval=10_000,
        )
        for radius in (5, 5000)
    )
    caught = {v.contest: v for v in yardstick.attack(little)}
    assert not caught["whole evenings"].kept
    assert caught["whole evenings"].success > 0.5
    assert all(verdict.kept for verdict in yardstick.attack(much))
    week, weeks = yardstick.habits(much)
    assert week.chance < week.success < weeks.success
