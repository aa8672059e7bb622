"""A tick that was announced is repeated by whoever goes on, whatever has come since."""

from hypothesis import given
from hypothesis import strategies as st

from tests.given import SECOND, Record, readings
from tests.laws.test_pipeline import Published, logs, pipeline


@given(logs(), st.integers(0, 50), st.sampled_from([0, 20, 40, 60, 200]))
def test_a_rebuild_closes_at_an_announced_tick_what_the_tick_closed(
    log: list[Record], cut: int, wait: int
) -> None:
    cut = min(cut, len(log))
    committed = Published()
    one = pipeline(committed)
    if cut:
        committed.commit(one, one.feed(readings(log[:cut])))
    one.announce(max(r.written for r in [*log[:cut], log[0]]) + wait * SECOND)
    committed.commit(one, [])

    position = committed.position
    other = pipeline(committed)
    seen, repeated = Published(), Published()
    seen.commit(one, one.keep(position))
    if cut < len(log):
        seen.commit(one, one.feed(readings(log[cut:], cut)))
    if position.offset < len(log):
        repeated.commit(other, other.feed(readings(log[position.offset :], position.offset)))
    repeated.commit(other, other.keep(position))
    assert repeated.by_meter() == seen.by_meter()
    assert repeated.accounts == seen.accounts


def test_a_tick_that_closes_nothing_is_not_announced() -> None:
    log = [Record("a", 10**6, 10**6, (1.0,))]
    one = pipeline(Published())
    list(one.feed(readings(log)))
    assert not one.announce(10**6)
    assert one.announce(10**6 + 60 * SECOND)


def test_a_tick_that_is_not_committed_is_not_kept() -> None:
    log = [Record("a", 10**6, 10**6, (1.0,))]
    one = pipeline(Published())
    list(one.feed(readings(log)))
    before = one.position()
    one.announce(10**6 + 60 * SECOND)
    assert not list(one.keep(before))
    assert list(one.keep(one.position()))
    assert not one.announced
