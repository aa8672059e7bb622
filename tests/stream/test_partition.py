"""The table of a partition's life, walked exhaustively."""

from collections.abc import Iterator
from itertools import product

import pytest

from meteragent.stream.partition import TABLE, Command, Event, Life, State, diagram

CELLS = list(product(State, Event))
DEAD = (State.ASSIGNED, State.FAILED, State.LOST)
"""Where there is neither a producer nor memory."""
STAGES = (Command.FENCE, Command.RESTORE, Command.SEEK)
DONE = {
    Command.FENCE: {Event.FENCED},
    Command.RESTORE: {Event.RESTORED},
    Command.SEND: {Event.DELIVERED},
    Command.COMMIT: {Event.COMMITTED},
    Command.WAIT: {Event.RETRY},
}
REPORTS = frozenset().union(*DONE.values())

Situation = tuple[State, Command | None, tuple[Command, ...], bool]
"""(state, what is under way in the background, stages since the last fence, delivered)"""


def others(*without: State) -> list[State]:
    return [state for state in State if state not in without]


def at(state: State) -> Life:
    life = Life()
    life.state = state
    return life


def outcomes(state: State, event: Event) -> tuple[State, tuple[Command, ...]]:
    life = at(state)
    commands = life.on(event)
    return life.state, commands


def reached() -> set[State]:
    seen, front = {State.ASSIGNED}, [State.ASSIGNED]
    while front:
        state = front.pop()
        after = {outcomes(state, event)[0] for event in Event} - seen
        seen |= after
        front += after
    return seen


def possible(under_way: Command | None) -> Iterator[Event]:
    """What can happen while a command is under way: it reports nothing but its own end."""
    yield from sorted(set(Event) - REPORTS, key=lambda event: event.value)
    if under_way is not None:
        yield from DONE[under_way]


def follow(situation: Situation, event: Event) -> Situation:
    """Check the order of commands on one step of the way."""
    state, under_way, stages, delivered = situation
    after, commands = outcomes(state, event)
    if event in REPORTS:
        under_way, delivered = None, event is Event.DELIVERED
    for command in commands:
        if command is Command.FORGET:
            under_way, stages, delivered = None, (), False
        if command in STAGES:
            stages += (command,)
            assert stages == STAGES[: len(stages)]
        if command in {Command.FEED, Command.SEND, Command.COMMIT}:
            assert stages == STAGES
        if command is Command.COMMIT:
            assert delivered
        if command in DONE:
            assert under_way is None
            under_way = command
    return after, under_way, stages, delivered


def situations() -> set[Situation]:
    first: Situation = (State.ASSIGNED, None, (), False)
    seen, front = {first}, [first]
    while front:
        situation = front.pop()
        after = {follow(situation, event) for event in possible(situation[1])} - seen
        seen |= after
        front += after
    return seen


def test_on_every_way_fence_comes_before_restore_before_seek_before_records() -> None:
    assert {state for state, _, _, _ in situations()} == set(State)


def test_a_commit_comes_only_after_the_deliveries_and_one_thing_is_under_way_at_a_time() -> None:
    committing = {s for s in situations() if s[1] is Command.COMMIT}
    assert {state for state, _, _, _ in committing} == {State.COMMITTING, State.DRAINING}


def test_something_is_always_under_way_where_nothing_but_its_end_leads_on() -> None:
    waiting = {State.FENCING, State.RESTORING, State.COMMITTING, State.DRAINING, State.FAILED}
    for state, under_way, _, _ in situations():
        assert (under_way is not None) == (state in waiting)


def test_every_state_is_reached() -> None:
    assert reached() == set(State)


@pytest.mark.parametrize("event", Event)
def test_what_is_lost_stays_lost(event: Event) -> None:
    assert outcomes(State.LOST, event) == (State.LOST, ())


@pytest.mark.parametrize(("state", "event"), CELLS)
def test_what_fails_or_is_lost_is_forgotten(state: State, event: Event) -> None:
    after, commands = outcomes(state, event)
    if after is not state and after in {State.FAILED, State.LOST} and state not in DEAD:
        assert Command.FORGET in commands
    assert (Command.LEAVE in commands) == (after is State.LOST and state is not State.LOST)


@pytest.mark.parametrize("state", others(*DEAD))
def test_an_error_ends_whatever_was_alive(state: State) -> None:
    assert outcomes(state, Event.ERROR)[0] in {State.FAILED, State.LOST}


@pytest.mark.parametrize("state", others(State.LOST))
def test_a_revoked_partition_is_lost_once_its_commit_or_its_time_is_over(state: State) -> None:
    life = at(state)
    life.on(Event.REVOKED)
    assert life.state in {State.DRAINING, State.LOST}
    for end in (Event.COMMITTED, Event.ERROR, Event.TIMEOUT):
        assert outcomes(life.state, end)[0] is State.LOST


@pytest.mark.parametrize("state", others(State.RUNNING, State.COMMITTING))
def test_records_are_fed_only_to_what_runs(state: State) -> None:
    assert outcomes(state, Event.RECORDS) == (state, ())


@pytest.mark.parametrize(("state", "event"), CELLS)
def test_what_is_not_in_the_table_changes_nothing(state: State, event: Event) -> None:
    assert outcomes(state, event) == TABLE.get((state, event), (state, ()))


def test_the_diagram_draws_every_row() -> None:
    arrows = [line.strip() for line in diagram().splitlines()]
    for (state, event), (after, commands) in TABLE.items():
        (arrow,) = [
            a for a in arrows if a.startswith(f"{state.value} --> {after.value}: {event.value}")
        ]
        assert all(command.value in arrow for command in commands)
    assert len(arrows) == len(TABLE) + 3
