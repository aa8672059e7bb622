"""When windows close: laws with drawn timelines. Times below are in seconds unless said.

Windows of 60 s, readings every 10 s, grace 5 s, idle 30 s:

    0         60        120       180
    |---w0----|---w1----|---w2----|
              :    ^ own time 65: w0 closes for this meter
              :         ^ clock 95: w0 closes for everybody
"""

from calendar import timegm
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.privacy.policy import Policy
from meteragent.privacy.question import per_watt
from meteragent.stream.pipeline import START, Assigned, Pipeline, Position
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Document, Step, stages
from tests.given import DAY, KEY, MINUTE, SECOND, Record, policy, readings

SKEW = 10 * SECOND


def closing(size: int = MINUTE, interval: int = 10 * SECOND, **changes: object) -> Policy:
    """Windows of a minute or of another size, which close as the timeline above says."""
    settings: dict[str, object] = {
        "size": size,
        "interval": interval,
        "grace": 5 * SECOND,
        "idle": 30 * SECOND,
        "budget": per_watt("budget", 1000, 100),
        "horizon": 30 * DAY,
    }
    return policy(**settings | changes)


@dataclass
class Partition:
    """A pipeline that is fed one reading at a time, and what has come out of it."""

    policy: Policy
    start: Position = START
    closed: list[tuple[str, int]] = field(default_factory=list)
    values: dict[tuple[str, int], float] = field(default_factory=dict)
    accounts: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pipeline = Pipeline(
            [Assigned("", "all", self.policy)], KEY, max_skew=SKEW, max_meters=100, start=self.start
        )
        self.offset = self.start.offset

    def reading(
        self, meter: str, time: int, written: int | None = None, watts: float = 100
    ) -> None:
        """One record; it is written when it is measured, if nothing else is said."""
        record = Record(meter, time if written is None else written, time, (watts,))
        self.take(self.pipeline.feed(readings([record], self.offset)))
        self.offset += 1

    def tick(self, now: int) -> None:
        self.take(self.pipeline.tick(now))

    def take(self, steps: Iterable[Step]) -> None:
        for step in steps:
            releases = step.releases
            names = list(zip(releases.meters, releases.starts.tolist(), strict=True))
            self.closed += names
            self.values |= dict(zip(names, releases.values[:, 0].tolist(), strict=True))
            self.accounts.update(step.accounts)


@given(st.integers(0, 59), st.integers(0, 200))
def test_a_meters_window_closes_with_its_own_time_at_end_plus_grace(first: int, then: int) -> None:
    """
    a: --x------|----y      closes w0 if and only if y >= 65
    """
    one = Partition(closing())
    one.reading("a", first * SECOND)
    one.reading("a", then * SECOND)
    assert (("a", 0) in one.closed) == (then >= 65)


@given(st.integers(0, 59), st.integers(60, 300))
def test_a_silent_meters_window_closes_with_the_partitions_clock(last: int, clock: int) -> None:
    """
    a: --x------|            (silent)
    b:          |-------y    closes a's w0 if and only if y >= 60 + 5 + 30
    """
    one = Partition(closing())
    one.reading("a", last * SECOND)
    one.reading("b", clock * SECOND)
    assert (("a", 0) in one.closed) == (clock >= 95)


@given(st.integers(0, 59), st.integers(60, 300))
def test_a_quiet_partitions_window_closes_with_the_wall_clock(last: int, now: int) -> None:
    """
    a:    --x------|         (nobody writes)
    wall:          |----now  closes w0 if and only if now >= 95
    """
    one = Partition(closing())
    one.reading("a", last * SECOND)
    one.tick(now * SECOND)
    assert (("a", 0) in one.closed) == (now >= 95)


TIMELINE = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.integers(-30, 5)), max_size=40
)


@given(TIMELINE, st.integers(0, 10**6))
def test_a_replay_closes_the_same_windows_with_the_same_content(
    timeline: list[tuple[str, int, int]], later: int
) -> None:
    """Live, each record is written as it is measured; in the replay all are written at once,
    long after, and nothing asks what time it is."""
    live, replay, now = Partition(closing()), Partition(closing()), 0
    written = 10**9 + later * SECOND
    for meter, step, jitter in timeline:
        now += step * SECOND
        time = max(0, now + jitter * SECOND)
        live.reading(meter, time, written=now, watts=now // SECOND % 1000)
        replay.reading(meter, time, written=written, watts=now // SECOND % 1000)
    assert replay.closed == live.closed
    assert replay.values == live.values


@given(st.integers(11, 10**9), st.integers(0, 50))
def test_one_clock_in_the_future_closes_nobodys_window(ahead: int, last: int) -> None:
    """
    a: --x------|
    b: ------------------------ … --------y    written now, dated y: more than 10 s from now
    """
    one = Partition(closing())
    one.reading("a", last * SECOND)
    one.reading("b", (last + ahead) * SECOND, written=last * SECOND)
    assert one.closed == []
    assert [reject.reason for reject in one.pipeline.counts.rejects] == [Reason.FUTURE]
    one.reading("a", (last + 1) * SECOND // 10 * 10)
    assert one.pipeline.clock <= (last + 1) * SECOND


@pytest.mark.parametrize(
    "midnight",
    [
        (2024, 2, 29),  # a leap day
        (2025, 3, 30),  # clocks go forward in Europe
        (2025, 10, 26),  # and back
        (2016, 12, 31),  # ends with a leap second, which this time scale does not have
        (1970, 1, 1),
        (2038, 1, 19),  # beyond 32 bits
    ],
)
@pytest.mark.parametrize("size", [15 * MINUTE, 60 * MINUTE, DAY])
def test_daylight_saving_and_leap_days_change_nothing(
    midnight: tuple[int, int, int], size: int
) -> None:
    """Every day has the same windows: 24 hours of them, from midnight UTC on."""
    begin = timegm((*midnight, 0, 0, 0)) * SECOND
    one = Partition(closing(size, 15 * MINUTE))
    for time in range(begin, begin + 2 * DAY, 15 * MINUTE):
        one.reading("a", time)
    one.tick(begin + 4 * DAY)
    assert one.closed == [("a", start) for start in range(begin, begin + 2 * DAY, size)]


@given(st.integers(1, 60), st.integers(0, 59))
def test_a_meter_that_comes_back_after_days_goes_on_where_time_is(days: int, second: int) -> None:
    """
    a: x---| …… silence for days …… |---y     w(x) closes once; the windows between hold nothing
    """
    one = Partition(closing())
    one.reading("a", 30 * SECOND)
    back = days * DAY + second * SECOND
    one.reading("a", back)
    one.reading("a", 45 * SECOND, written=back)
    one.reading("a", back + 10 * MINUTE)
    assert one.closed == [("a", 0), ("a", back // MINUTE * MINUTE)]
    assert one.pipeline.counts.tally.late == 1


@given(st.integers(0, 59), st.integers(60, 300), st.integers(60, 300))
def test_where_presence_is_private_only_the_clock_of_all_closes_a_window(
    last: int, own: int, clock: int
) -> None:
    """
    a: --x------|----own     (it moves the clock as well)
    b: x-|      |--------y   closes a's w0, and b's, if and only if the newest is >= 60 + 5 + 30
    """
    one = Partition(closing(presence="private"))
    for meter, time in (("b", last), ("a", last), ("a", own), ("b", clock)):
        one.reading(meter, time * SECOND)
    first = sorted(meter for meter, start in one.closed if start == 0)
    assert first == (["a", "b"] if max(own, clock) >= 95 else [])


@given(st.integers(60, 94), st.integers(0, 59))
def test_where_presence_is_private_the_clock_of_all_says_what_is_late(clock: int, old: int) -> None:
    """
    a:          |----clock < 95, then x: in time, though its own time has passed w0 + grace
    """
    one = Partition(closing(presence="private", grace=0))
    one.reading("a", 59 * SECOND)
    one.reading("a", clock * SECOND)
    one.reading("a", old * SECOND)
    in_time = clock < 90
    assert one.pipeline.counts.tally.late == (0 if in_time else 1)


@given(st.data())
def test_private_windows_of_all_policies_come_in_the_order_in_which_they_are_due(
    data: st.DataObject,
) -> None:
    """Whatever leaps the clock makes, and whoever makes them."""
    assigned = [
        Assigned("", "all", closing(presence="private")),
        Assigned("b", "b", closing(2 * MINUTE, presence="private", idle=5 * SECOND)),
    ]
    pipeline = Pipeline(assigned, KEY, max_skew=SKEW, max_meters=9)
    meters = ("a1", "a2", "b1", "b2")
    times = [10 * SECOND] * 4
    times += data.draw(st.lists(st.integers(10, 600).map(lambda s: s * SECOND), max_size=8))
    who = [*meters, *data.draw(st.lists(st.sampled_from(meters), min_size=8, max_size=8))]
    records = [Record(meter, t, t, (1.0,)) for meter, t in zip(who, sorted(times), strict=False)]
    told: list[Document] = []
    for stage in stages(pipeline.feed(readings(records))):
        documents = [d for step in stage for d in step.written(lambda r: [b""] * len(r.meters))]
        told += sorted(documents)
    dues = [(d.due, d.place, d.end, d.meter) for d in told]
    assert dues == sorted(dues)
    now = max(r.start for r in records)
    ends = [(d.meter, d.end) for d in told]
    for meter in meters:
        size, wait = (2 * MINUTE, 10 * SECOND) if meter[0] == "b" else (MINUTE, 35 * SECOND)
        over = [end for end in range(size, now + 1, size) if end + wait <= now]
        assert [end for name, end in ends if name == meter] == over


@given(st.integers(1, 30))
def test_a_known_meters_silence_is_published_if_presence_is_private(minutes: int) -> None:
    """Every window is released on time, empty or not: what comes out says nothing of silence."""
    one = Partition(closing(presence="private"))
    one.reading("a", 30 * SECOND)
    one.tick(minutes * MINUTE + 35 * SECOND)
    assert one.closed == [("a", start * MINUTE) for start in range(minutes)]


@pytest.mark.parametrize(
    ("size", "interval"),
    [
        (2 * SECOND, 2 * SECOND),
        (10 * SECOND, SECOND),
        (MINUTE, 10 * SECOND),
        (15 * MINUTE, 10 * SECOND),
        (60 * MINUTE, MINUTE),
        (DAY, 15 * MINUTE),
    ],
)
def test_windows_of_any_length_hold_their_readings_and_no_others(size: int, interval: int) -> None:
    one = Partition(closing(size, interval, horizon=max(DAY, size)))
    for time in range(0, 3 * size, interval):
        one.reading("a", time)
    one.tick(3 * size + 35 * SECOND)
    assert one.closed == [("a", 0), ("a", size), ("a", 2 * size)]
    assert one.pipeline.counts.tally.accepted == 3 * size // interval
