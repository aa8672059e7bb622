"""Which meters are here, by any spelling of their ids, and which have no business here."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, count
from typing import Any

import numpy as np

from meteragent.privacy import native
from meteragent.privacy.arrays import Integers, Mask
from meteragent.stream.housing import Housing
from meteragent.stream.meters import lookalikes
from meteragent.stream.readings import Numbered, Readings, Reason, Reject


class Residents:
    """Meters and their homes: a house, and a row in it."""

    def __init__(
        self,
        cohorts: Sequence[Housing[Any]],
        house_of: Sequence[int],
        name: Callable[[str], str],
        max_meters: int,
        astray: Callable[[str], Reason | None],
    ) -> None:
        """`house_of` says which house each cohort is in.

        `name` is that of a meter by any spelling of its id, and asked once for each. `astray` is
        why one is rejected that is not to come here.
        """
        self._cohorts = cohorts
        self._house_of = house_of
        self._houses = max(house_of, default=0) + 1
        self._numbers = {cohort.prefix: number for number, cohort in enumerate(cohorts)}
        self._lengths = sorted({len(cohort.prefix) for cohort in cohorts}, reverse=True)
        self._name = name
        self._max_meters = max_meters
        self._astray = astray
        self._homes: dict[str, int] = {}  # spelling -> row * houses + house
        self._names: list[str] = []
        self._homes_of_names = np.empty(0, dtype=np.int64)
        """Of the first of these; negative where a name has none yet."""

    def restore(self, accounts: Mapping[str, bytes], clock: int) -> None:
        """Take over the meters that the ledger knows. Precondition: nobody is here yet.

        What was kept under several spellings of one id, before they were one meter, adds up.
        """
        records: dict[str, list[bytes]] = {}
        for spelling, record in accounts.items():
            records.setdefault(self._name(spelling), []).append(record)
        for number, meters in self._by_cohort(records):  # none is turned away
            of_meters = [records[meter] for meter in meters]
            self._know(number, meters, self._cohorts[number].restore(meters, of_meters, clock))

    def known(self, readings: Readings, max_skew: int, clock: int) -> list[Integers] | None:
        """By the wheel, where every run is a resident's and none is rejected: what `admit` says.

        And the clock of the partition before each run and after all of them, as it was before.
        """
        meters = readings.meters
        if not isinstance(meters, Numbered) or meters.names is not self._names or not native.fits():
            return None
        times = readings.timestamps, readings.starts, readings.intervals, readings.counts
        columns = [meters.numbers, *times]
        found: list[Integers] | None
        found = native.wheel.admit(columns, self._homes_of_names, max_skew, clock)
        return found

    def admit(self, readings: Readings, max_skew: int, rejects: list[Reject]) -> Integers:
        """The home of each run, or a negative number where it has none and was rejected."""
        future = readings.ahead(max_skew)
        homes = np.where(future, _FUTURE, self._homes_of(readings.meters, future))
        for run in np.flatnonzero(homes < 0).tolist():
            reason = _REASONS[int(homes[run])]
            rejects.append(Reject(int(readings.offsets[run]), reason))
        return homes

    def _homes_of(self, meters: list[str] | Numbered, future: Mask) -> Integers:
        return (
            self._by_number(meters, future)
            if isinstance(meters, Numbered)
            else self._by_name(meters, future)
        )

    def _by_number(self, meters: Numbered, future: Mask) -> Integers:
        """The same; a name is looked up with every record only until it has a home."""
        if self._names is not meters.names:
            self._names, self._homes_of_names = meters.names, np.empty(0, dtype=np.int64)
        if later := len(self._names) - len(self._homes_of_names):
            self._homes_of_names = np.append(self._homes_of_names, np.full(later, -1))
        homes = self._homes_of_names[meters.numbers]
        strangers = homes < 0
        if strangers.any():
            theirs = meters.chosen(strangers)
            homes[strangers] = self._by_name([*theirs], future[strangers])
            self._homes_of_names[theirs.numbers] = homes[strangers]
        return homes

    def _by_name(self, meters: list[str], future: Mask) -> Integers:
        homes = self._homes
        try:
            return np.array([*map(homes.__getitem__, meters)], dtype=np.int64)
        except KeyError:  # some are new, which is rare
            new = [m for m in dict.fromkeys(compress(meters, ~future)) if m not in homes]
            room = max(0, self._max_meters - len(homes))
            admitted = [m for m in new if not self._obstacle(m)][:room]
            names = {meter: self._name(meter) for meter in admitted}
            unknown = dict.fromkeys(name for name in names.values() if name not in homes)
            for number, mine in self._by_cohort(unknown):
                self._know(number, mine, self._cohorts[number].move_in(mine))
            homes.update((meter, homes[name]) for meter, name in names.items())
            return np.array(
                [homes[m] if m in homes else self._obstacle(m) or _TOO_MANY_METERS for m in meters],
                dtype=np.int64,
            )

    def _by_cohort(self, meters: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """The meters of each cohort; some may have none."""
        by_cohort = defaultdict(list)
        for meter in meters:
            if (number := self._cohort_of(meter)) is not None:
                by_cohort[number].append(meter)
        yield from by_cohort.items()

    def _know(self, number: int, meters: list[str], row: int) -> None:
        """Note the homes of meters of a cohort, whose rows in its house begin with this one."""
        first = row * self._houses + self._house_of[number]
        self._homes.update(zip(meters, count(first, self._houses), strict=False))

    def _cohort_of(self, meter: str) -> int | None:
        prefixes = (meter[:length] for length in self._lengths)
        return next((self._numbers[one] for one in prefixes if one in self._numbers), None)

    def _obstacle(self, meter: str) -> int | None:
        """Why a meter that is not known yet has no business here, if it has none."""
        name = self._name(meter)
        if self._cohort_of(name) is None:
            return _NO_POLICY
        reason = self._astray(name)
        return None if reason is None else _ASTRAY[reason]

    def lookalikes(self) -> int:
        """How many meters it knows whose ids differ from another's by their spelling alone."""
        return lookalikes(self._homes)


_FUTURE, _NO_POLICY, _TOO_MANY_METERS = -1, -2, -3
_ASTRAY = {Reason.WRONG_PARTITION: -4, Reason.NO_GROUP: -5}
_REASONS = {
    _FUTURE: Reason.FUTURE,
    _NO_POLICY: Reason.NO_POLICY,
    _TOO_MANY_METERS: Reason.TOO_MANY_METERS,
    **{code: reason for reason, code in _ASTRAY.items()},
}
