"""A pipeline is a function of its records: not of batches, crashes or rebuilds."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain, islice, pairwise
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.question import per_watt, question
from meteragent.stream.pipeline import START, Assigned, Pipeline, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Document, Releases, Step, stages
from tests.given import KEY, SECOND, Record, policy, readings

HOME = policy(
    questions=(question("avg", 1, 100), question("p95", "0.5", 100)),
    size=30 * SECOND,
    grace=10 * SECOND,
    idle=20 * SECOND,
    budget=per_watt("budget", 4, 100),
    horizon=120 * SECOND,
)
POLICIES: tuple[Assigned, ...] = (
    Assigned("", "all", HOME),
    Assigned("p-", "p-", replace(HOME, presence="private", size=20 * SECOND, hop=20 * SECOND)),
    Assigned(
        "h-",
        "h-",
        replace(
            HOME,
            hop=10 * SECOND,
            on_exhausted="partial",
            min_coverage=Decimal("0.5"),
            fill_limit=10 * SECOND,
        ),
    ),
)
SUMS = replace(
    HOME,
    questions=(question("avg", 1, 100), question("max", 1, 100), question("min", 1, 100)),
    fill_limit=20 * SECOND,
    size=40 * SECOND,
    hop=20 * SECOND,
)
PEAKS = replace(
    SUMS,
    questions=tuple(question(name, 1, 100) for name in ("avg", "max(20s)", "median(10s)")),
    presence="private",
    fill_limit=0,
)
POLICIES += (
    Assigned("s-", "s-", SUMS),
    Assigned("q-", "q-", PEAKS),
)
METERS = ("a", "b", "p-2", "p-1", "h-1", "h-2", "s-1", "s-2", "q-1")


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    time, log = 10**6, []
    for _ in range(draw(st.integers(1, 50))):
        time += draw(st.sampled_from([0, 0, 1, 3, 10, 30, 200])) * SECOND
        start = time + draw(st.sampled_from([0, 0, 0, -5, -40, 100])) * SECOND
        length = draw(st.sampled_from([1, 1, 1, 2, 5]))
        watts = st.one_of(st.floats(-100, 2000), st.just(float("nan")))
        log.append(
            Record(
                meter=draw(st.sampled_from(METERS)),
                written=time,
                start=start,
                watts=tuple(draw(watts) for _ in range(length)),
                bad=draw(st.integers(0, 9)) == 0,
            )
        )
    return log


Release = tuple[str, int, bytes]


def everything(r: Releases) -> list[bytes]:
    """All that is released of each window."""
    rows = zip(r.starts, r.granted, r.withheld, r.values, r.unbiased, strict=True)
    return [
        repr((int(start), int(granted), str(why), values.tolist(), unbiased.tolist())).encode()
        for start, granted, why, values, unbiased in rows
    ]


@dataclass
class Published:
    """What a transaction log holds: appended at once, or not at all."""

    releases: list[Release] = field(default_factory=list)
    rejects: list[tuple[int, Reason]] = field(default_factory=list)
    accounts: dict[str, bytes] = field(default_factory=dict)
    position: Position = START

    def commit(self, pipeline: Pipeline, steps: Iterable[Step]) -> None:
        for stage in stages(steps):
            documents: list[Document] = []
            for step in stage:
                documents += step.written(everything)
                self.accounts.update(step.accounts)
            self.releases += [(d.meter, d.end, d.text) for d in sorted(documents)]
        self.rejects += [(r.offset, r.reason) for r in pipeline.counts.rejects]
        pipeline.counts.rejects.clear()
        self.position = pipeline.position()

    def by_meter(self) -> dict[str, list[Release]]:
        return {m: [r for r in self.releases if r[0] == m] for m in METERS}


def pipeline(published: Published) -> Pipeline:
    built = Pipeline(POLICIES, KEY, max_skew=60 * SECOND, max_meters=9, start=published.position)
    built.restore(published.accounts)
    return built


def straight(log: list[Record]) -> Published:
    published = Published()
    one = pipeline(published)
    for i in range(len(log)):
        published.commit(one, one.feed(readings([log[i]], i)))
    return published


MUCH = st.sampled_from([1, 3, 8, 2**14])
"""So many windows, or readings, are worked on together."""


@contextmanager
def at_once(much: int) -> Iterator[None]:
    with (
        patch("meteragent.stream.pipeline.READINGS_AT_ONCE", much),
        patch("meteragent.stream.pipeline.PANES_AT_ONCE", much),
        patch("meteragent.stream.panes.PANES_AT_ONCE", much),
    ):
        yield


@given(logs(), st.lists(st.integers(0, 50), max_size=5), MUCH)
def test_any_batching_of_the_same_records_gives_the_same_releases_in_the_same_order(
    log: list[Record], cuts: list[int], much: int
) -> None:
    expected, published = straight(log), Published()
    with at_once(much):
        in_batches(log, cuts, published)
    assert published.releases == expected.releases
    assert sorted(published.rejects) == sorted(expected.rejects)
    assert published.accounts == expected.accounts
    assert published.position == expected.position


def in_batches(log: list[Record], cuts: list[int], published: Published) -> None:
    one = pipeline(published)
    for low, high in pairwise([0, *sorted(min(c, len(log)) for c in cuts), len(log)]):
        published.commit(one, one.feed(readings(log[low:high], low)))
        if high > low:
            assert published.position.processed == high


FATES = st.sampled_from(["go on", "commit", "crash", "commit and crash"])


@given(logs(), st.lists(st.tuples(st.integers(1, 20), FATES), max_size=8))
def test_a_crash_anywhere_neither_loses_a_window_nor_releases_one_twice(
    log: list[Record], fates: list[tuple[int, str]]
) -> None:
    expected, published = straight(log), with_crashes(log, fates)
    assert published.releases == expected.releases
    assert sorted(published.rejects) == sorted(expected.rejects)
    assert published.accounts == expected.accounts
    assert published.position == expected.position


def with_crashes(log: list[Record], fates: list[tuple[int, str]]) -> Published:
    """What is published in the end."""
    published = Published()
    one, at = pipeline(published), 0
    uncommitted: list[Step] = []
    for length, fate in [*fates, (len(log), "commit")]:
        upto = min(at + length, len(log))
        if upto > at:
            uncommitted += one.feed(readings(log[at:upto], at))
        at = upto
        if "commit" in fate:
            published.commit(one, uncommitted)
            uncommitted = []
        if "crash" in fate:
            one, uncommitted, at = pipeline(published), [], published.position.offset
    return published


@given(logs(), st.integers(0, 50), st.integers(1, 12), st.sampled_from([0, 60, 400]), MUCH)
def test_a_portion_that_was_committed_with_the_position_before_it_stays_decided(
    log: list[Record], cut: int, portion: int, pause: int, much: int
) -> None:
    """Some stages of a batch, or of a tick, are committed; then everything is lost."""
    cut = min(cut, len(log) - 1)
    late = Record("b", log[-1].written + pause * SECOND, log[-1].written, (1.0,))
    log = [*log, late]
    expected, published = straight(log), Published()
    one = pipeline(published)
    if cut:
        published.commit(one, one.feed(readings(log[:cut])))
    before = one.position()
    with at_once(much):
        some = islice(stages(one.feed(readings(log[cut:], cut))), portion)
        published.commit(one, chain.from_iterable(some))
    published.position = before
    published.rejects = [(at, why) for at, why in published.rejects if at < cut]
    other = pipeline(published)
    published.commit(other, other.feed(readings(log[before.offset :], before.offset)))
    assert published.releases == expected.releases
    assert published.accounts == expected.accounts
    assert published.position == expected.position
    assert sorted(published.rejects) == sorted(expected.rejects)
