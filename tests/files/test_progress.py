"""What people see while they wait, and what they are told at the end."""

from __future__ import annotations

import io
from collections import Counter

from meteragent.files.progress import Progress
from meteragent.files.totals import Totals
from meteragent.stream.closed import Tally
from meteragent.stream.pipeline import Counts
from meteragent.stream.readings import Reason, Reject


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        return True


def shown(total: int | None, *steps: tuple[float, int, int]) -> list[str]:
    clock = iter([0.0, *(now for now, _, _ in steps)])
    terminal = Terminal()
    progress = Progress(terminal, total, lambda: next(clock))
    for _, done, readings in steps:
        progress.show(done, readings)
    progress.clear()
    return terminal.getvalue().split("\r\x1b[K")[1:]


def test_a_terminal_shows_how_far_it_is_and_how_long_it_takes() -> None:
    assert shown(1000, (1.0, 250, 5000), (1.1, 500, 6000), (2.0, 500, 12_000)) == [
        "[######                  ]  25%  3s left  5,000 readings/s",
        "[############            ]  50%  2s left  6,000 readings/s",
        "",
    ]


def test_a_pipe_has_no_end_to_come_to() -> None:
    assert shown(None, (1.0, 250, 5000)) == ["5,000 readings/s", ""]


def test_a_file_that_has_grown_is_not_beyond_its_end() -> None:
    assert shown(100, (1.0, 250, 5))[0].startswith("[########################] 100%  0s left")


def test_nobody_is_told_who_does_not_look() -> None:
    quiet = io.StringIO()
    progress = Progress(quiet, 100)
    progress.show(50, 50)
    progress.clear()
    assert quiet.getvalue() == ""


def test_totals_tell_everything_by_its_reason() -> None:
    totals = Totals(released=7, withheld=Counter({"budget": 2, "coverage": 1}))
    tally = Tally(accepted=10, late=2, duplicate=3)
    totals.count(Counts(tally, [Reject(4, Reason.BAD_TIME), Reject(2, Reason.NOT_JSON)]))
    totals.count(Counts(tally, [Reject(9, Reason.BAD_TIME)]))
    assert totals.words() == (
        "20 readings, 7 windows released, 3 withheld (budget 2, coverage 1), 4 late, "
        "6 sharing a slot, 3 lines rejected (bad_time 2 from line 5, not_json 1 from line 3)"
    )
    assert Totals.from_json(totals.to_json()) == totals


def test_nothing_is_told_of_nothing() -> None:
    assert Totals().words() == (
        "0 readings, 0 windows released, 0 withheld, 0 late, 0 sharing a slot, 0 lines rejected"
    )
