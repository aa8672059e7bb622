"""Times that are seconds are rejected where milliseconds are meant, record by record."""

from hypothesis import given
from hypothesis import strategies as st

from meteragent.stream.readings import Reason, Reject
from tests.given import Record, readings

TIMES = st.one_of(
    st.sampled_from([0, 10**9 - 1, 10**9, 1_709_251_200, 2 * 10**9 - 1, 2 * 10**9]),
    st.integers(0, 2 * 10**12),
)


def is_in_seconds(record: Record) -> bool:
    return not record.bad and 10**9 <= record.start < 2 * 10**9


@given(
    st.lists(st.tuples(TIMES, st.integers(1, 3), st.booleans()), max_size=12), st.integers(0, 12)
)
def test_a_time_of_seconds_is_rejected_by_name(
    drawn: list[tuple[int, int, bool]], cut: int
) -> None:
    log = [Record("m", 0, time, (1.0,) * count, bad=bad) for time, count, bad in drawn]
    whole = readings(log).without_seconds()
    good = [record for record in log if not record.bad and not is_in_seconds(record)]
    assert whole.starts.tolist() == [record.start for record in good]
    assert whole.counts.tolist() == [len(record.watts) for record in good]
    assert whole.rejects == [
        Reject(at, Reason.NOT_JSON if record.bad else Reason.IN_SECONDS)
        for at, record in enumerate(log)
        if record.bad or is_in_seconds(record)
    ]
    parts = [readings(log[:cut]), readings(log[cut:], min(cut, len(log)))]
    in_parts = [one for part in parts for one in part.without_seconds().rejects]
    assert in_parts == whole.rejects
