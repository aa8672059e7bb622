"""Columns -> CSV: what the JSON documents say, as the lines of a table."""

import csv
from collections.abc import Iterable
from itertools import chain, repeat

from meteragent.formats.encoder import (
    Answers,
    by_kind,
    counts_are_told,
    homes_of,
    name_of,
    readings_of,
    tier_of,
)
from meteragent.privacy.policy import Policy
from meteragent.privacy.terms import JOINT
from meteragent.stream.releases import Kind, Releases

_ABOUT = (
    *("window_start", "window_end", "status", "withheld", "unit", "policy"),
    *("readings", "slots"),
)
_ABOUT_GROUPS = (*_ABOUT[:-2], "homes")
_EPSILON = "_epsilon"
_PARTS = ("", "_unbiased", _EPSILON)


class CsvEncoder:
    """Encodes releases as rows, with columns for the queries of all policies."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        policies = list(policies)
        queries = {q.query.name: None for policy in policies for q in policy.questions}
        answers = [f"{name}{part}" for name in queries for part in _PARTS]
        together = any(policy.noise == JOINT for policy in policies)
        whose = dict.fromkeys(map(name_of, policies)) or ["meter_id"]
        about = _ABOUT_GROUPS if [*whose] == ["group_id"] else _ABOUT
        tier = dict.fromkeys(chain.from_iterable(map(tier_of, policies)))
        last = [f"{JOINT}{_EPSILON}"] if together else []
        self._columns = [*whose, *about, *tier, *answers, *last]

    @property
    def header(self) -> bytes:
        """The names of the columns."""
        return rows_of([self._columns])[0] + b"\n"

    def encode(self, releases: Releases) -> list[bytes]:
        """One row per window, in their order; cells of what was not released are empty."""
        return by_kind(releases, self._rows)

    def _rows(self, releases: Releases, kind: Kind) -> list[bytes]:
        policy, answers = releases.policy, Answers(releases.policy)
        released = [policy.questions[one] for one in kind.released]
        cells: dict[str, Iterable[str]] = {
            name_of(policy): releases.meters,
            "window_start": map(str, releases.starts.tolist()),
            "window_end": map(str, releases.ends.tolist()),
            "status": repeat("released" if released else "suppressed"),
            "withheld": repeat(kind.withheld),
            "unit": repeat(policy.domain.unit),
            "policy": repeat(policy.id),
        }
        cells |= zip(["homes"], homes_of(releases), strict=False)
        cells |= {name: repeat(value) for name, value in tier_of(policy).items()}
        if counts_are_told(policy, kind):
            readings = map(str, readings_of(releases))
            slots = releases.slots
            cells |= {
                "readings": readings,
                "slots": repeat(str(slots)) if isinstance(slots, int) else map(str, slots.tolist()),
            }
        for question, value, unbiased in zip(
            released,
            answers.cells(releases.values, releases.present, kind),
            answers.cells(releases.unbiased, releases.present, kind),
            strict=True,
        ):
            names = (f"{question.query.name}{part}" for part in _PARTS)
            cells |= zip(names, (value, unbiased), strict=False)
        paid = kind.paid(policy)
        cells |= {f"{charge.name}{_EPSILON}": repeat(charge.epsilon) for charge in paid}
        columns = [cells.get(column, repeat("")) for column in self._columns]
        return rows_of(zip(*columns, strict=False))  # as many as there are windows


class _Written(list[str]):
    """The rows that were written, as text."""

    write = list.append


def rows_of(rows: Iterable[Iterable[str]]) -> list[bytes]:
    """Lines of CSV, without their ends."""
    lines = _Written()
    csv.writer(lines, lineterminator="").writerows(rows)
    return [line.encode() for line in lines]
