"""A policy: everything that decides what is released of a meter, and at what price."""

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import blake2b
from math import ceil
from typing import Any, Literal

import numpy as np

from meteragent.errors import InvalidSetting
from meteragent.privacy import joint
from meteragent.privacy.arrays import Integers
from meteragent.privacy.asking import Asking
from meteragent.privacy.calendar import AnyWindows, Calendar
from meteragent.privacy.domain import Domain
from meteragent.privacy.exact import per_watt_text
from meteragent.privacy.mechanism import Mechanism, refuse, shared
from meteragent.privacy.order import is_ordered
from meteragent.privacy.query import READINGS, About
from meteragent.privacy.question import Question
from meteragent.privacy.terms import JOINT, Charge, Terms
from meteragent.privacy.tier import Tier
from meteragent.privacy.units import WATT
from meteragent.privacy.windows import Some, Windows
from meteragent.privacy.zone import UTC

RELEASE_SCHEMA = "meteragent.release/2"
POLICY_SCHEMA = "meteragent.policy/1"
DIGEST_BYTES = 16
MOST_SLOTS = 100_000
"""Of a pane, which holds them all."""
MOST_QUERIES = 128

Presence = Literal["public", "private"]
OnExhausted = Literal["suppress", "partial"]
HowMany = Literal["classes", "exact", "none"]
Noise = Literal["independent", "joint"]


@dataclass(frozen=True)
class Policy:
    """Times are in milliseconds, `budget` in nano-units per watt.

    Windows of length `size` start every `hop`, an `offset` after the epoch, and have a slot for
    every `interval`. One closes `grace` after its end by the meter's own clock, or `grace + idle`
    by its partition's: where presence is private by its partition's alone. Where a `calendar`
    says which windows there are, `size` and `hop` are the length of the longest.
    """

    domain: Domain
    questions: tuple[Question, ...]
    size: int
    interval: int
    hop: int
    grace: int
    idle: int
    budget: int
    horizon: int
    min_coverage: Decimal = Decimal(0)
    presence: Presence = "public"
    on_exhausted: OnExhausted = "suppress"
    readings: HowMany = "classes"
    """What a release tells of how many readings its window held, where presence is public."""
    fill_limit: int = 0
    """For how long a slot without a reading holds the last one of its window."""
    noise: Noise = "independent"
    """Whether each answer has a draw of its own, or all answers of a window share one: then the
    loss of each question is that of all of them together."""
    offset: int = 0
    calendar: Calendar | None = None
    tier: Tier | None = None
    """Of which policy it is a tier, if it is one: what it loses was paid for there."""

    def __post_init__(self) -> None:
        self._refuse_crooked_windows()
        self._refuse_crooked_questions()
        self._refuse_what_tells_of_presence()
        self.asking.refuse_unanswerable(self.panes, filled=self.fill_limit > 0)
        losses = [asked.nano for asked in self.questions]
        if self.noise == JOINT:
            joint.refuse(self.domain, [asked.query for asked in self.questions], losses)
        else:
            for loss in losses:
                refuse(self.domain, loss)
        self.terms  # noqa: B018 - refuses what no ledger can keep

    def _refuse_what_tells_of_presence(self) -> None:
        if not 0 <= self.min_coverage <= 1:
            raise InvalidSetting("min_coverage", "must be in [0, 1]", 'write for example "0.8"')
        if self.presence == "private" and self.min_coverage > 0:
            advice = 'leave it out, or write presence = "public"'
            raise InvalidSetting("min_coverage", "would tell of presence, which is private", advice)
        if self.presence == "private" and self.readings != "classes":
            raise InvalidSetting("readings", "is about presence, which is private", "leave it out")

    def _refuse_crooked_windows(self) -> None:
        for field in ("grace", "idle", "fill_limit"):
            if getattr(self, field) < 0:
                raise InvalidSetting(field, "must not be negative", 'write for example "30s"')
        if 0 < self.fill_limit < self.interval:
            raise InvalidSetting(
                "fill_limit", "is below one interval, so nothing is filled", "write a longer one"
            )
        if self.panes.slots > MOST_SLOTS:
            raise InvalidSetting(
                "interval", f"makes more than {MOST_SLOTS} slots", "write a longer one"
            )

    def _refuse_crooked_questions(self) -> None:
        names = {(q.query.name.partition("[")[0], q.query.about) for q in self.questions}
        if not names:
            raise InvalidSetting("queries", "is empty", 'write for example ["avg"]')
        if len(names) < len(self.questions):
            raise InvalidSetting("queries", "asks one twice", "name each once")
        if len(names) > MOST_QUERIES:
            raise InvalidSetting("queries", f"asks more than {MOST_QUERIES}", "ask fewer")
        if self.fewest_slots < self.slots and any(q.query.per_slot for q in self.questions):
            problem = "asks for each reading of windows of different lengths"
            raise InvalidSetting("queries", problem, 'write for example window = "1d"')

    @cached_property
    def asking(self) -> Asking:
        """What it asks of which windows."""
        zone = UTC if self.calendar is None else self.calendar.zone
        return Asking(self.questions, self.windows, zone)

    @property
    def slots(self) -> int:
        """Readings per window, at most."""
        return self.windows.slots

    @property
    def fewest_slots(self) -> int:
        """Readings per window, at least."""
        return self.windows.fewest_slots

    def closes(self, window: Some) -> Some:
        """When a window is closed by its partition's clock, if nothing closed it before."""
        return self.due(self.windows.end(window))

    def due(self, end: Some) -> Some:
        """When the partition's clock closes what ends at this time."""
        return end + self.grace + self.idle

    @property
    def patience(self) -> int:
        """How long after its end a window still takes readings of its meter's own later times.

        Where presence is private, what a meter sends closes none of its windows before the
        clock of all closes everybody's: or else when a window closes would tell who was heard.
        """
        return self.grace + (self.idle if self.presence == "private" else 0)

    @property
    def carried(self) -> int:
        """For how many slots a reading is carried on."""
        return self.fill_limit // self.interval

    @property
    def needed(self) -> int:
        """How many slots must hold a reading, or be filled, where presence is public.

        Of windows of different lengths, in the shortest.
        """
        return self.needed_among(self.fewest_slots)

    def needed_of(self, starts: Integers, about: About = READINGS) -> Integers | int:
        """How many it takes in windows that begin then, of all or of what something is about."""
        slots = self.asking.slots_of(about, starts)
        if isinstance(slots, int):
            return self.needed
        different, which = np.unique(slots, return_inverse=True)
        return np.array([*map(self.needed_among, different.tolist())], dtype=np.int64)[which]

    def needed_among(self, slots: int) -> int:
        """How many it takes of so many."""
        return min(slots, max(1, ceil(self.min_coverage * slots)))

    @cached_property
    def windows(self) -> AnyWindows:
        """From when to when they last, and which slots they have."""
        if self.calendar is None:
            return Windows(self.size, self.hop, self.interval, self.offset)
        return self.calendar.windows(self.interval, self.offset)

    @cached_property
    def panes(self) -> Windows:
        """What its windows are made of: readings are held slot by slot in open panes only."""
        return self.windows.panes

    @cached_property
    def ordered(self) -> bool:
        """Whether some of its answers are in an order, with which what is released agrees."""
        return is_ordered([asked.query for asked in self.questions])

    def mechanism(self, question: Question) -> Mechanism:
        """What makes the noise on answers to one of its questions."""
        if self.noise == JOINT:
            return joint.shared(self.domain, question.epsilon, len(self.questions))
        return shared(self.domain, question.epsilon)

    @cached_property
    def charges(self) -> tuple[Charge, ...]:
        """What a window pays for, in this order."""
        if self.noise == JOINT:
            return (Charge(JOINT, self.questions[0].nano, 1, 0, len(self.questions)),)
        return tuple(
            Charge(asked.query.name, asked.nano, asked.query.draws(self.slots), at, at + 1)
            for at, asked in enumerate(self.questions)
        )

    def answered(self, paid: Integers) -> Integers:
        """How many leading queries are released of each window that has paid so many charges."""
        return np.array([0, *(charge.queries for charge in self.charges)])[paid]

    @cached_property
    def terms(self) -> Terms:
        """What its accounts promise."""
        return Terms(
            budget=self.budget,
            horizon=self.horizon,
            windows=self.windows,
            costs=tuple(charge.cost for charge in self.charges),
            partial=self.on_exhausted == "partial",
            timetable=self.asking.timetable([(one.first, one.queries) for one in self.charges]),
        )

    @cached_property
    def digest(self) -> bytes:
        """Of what defines a release given the window's answers: it enters the noise.

        It leaves out what does not change a release, such as the budget: a window that is
        computed again under a new budget must not be a new draw.
        """
        return _digest(self._defining())

    @cached_property
    def id(self) -> str:
        """Of everything that is promised, as it is published with every release."""
        return _digest(self._promised()).hex()

    def _defining(self) -> dict[str, Any]:
        names = [asked.query.name for asked in self.questions]
        return {
            "schema": RELEASE_SCHEMA,
            "minimum": f"{self.domain.minimum.normalize():f}",
            "maximum": f"{self.domain.maximum.normalize():f}",
            "step": f"{self.domain.step.normalize():f}",
            **self._grid(),
            **({"size_ms": self.size} if self.calendar is None else self.calendar.document()),
            "interval_ms": self.interval,
            **({"hop_ms": self.hop} if self.calendar is None else {}),
            **({"offset_ms": self.offset} if self.offset else {}),
            "presence": self.presence,
            "epsilon_per_watt": [[charge.name, charge.epsilon] for charge in self.charges],
            **({"noise": self.noise, "queries": names} if self.noise == JOINT else {}),
            **({"fill": "last", "fill_limit_ms": self.fill_limit} if self.fill_limit else {}),
            **({} if self.tier is None else self.tier.defining()),
        }

    def _grid(self) -> dict[str, str]:
        """What is said of the domain where it is not what it mostly is."""
        domain = self.domain
        fine = {"resolution": f"{domain.resolution.normalize():f}"} if domain.finer > 1 else {}
        return fine | ({} if domain.unit == WATT else {"unit": domain.unit})

    def _promised(self) -> dict[str, Any]:
        return {
            **self._defining(),
            "schema": POLICY_SCHEMA,
            "grace_ms": self.grace,
            "idle_ms": self.idle,
            "min_coverage": str(self.min_coverage),
            "budget_per_watt": per_watt_text(self.budget),
            "horizon_ms": self.horizon,
            "on_exhausted": self.on_exhausted,
            **({} if self.readings == "classes" else {"readings": self.readings}),
            **({"order": "least squares"} if self.ordered else {}),
            **({} if self.tier is None else self.tier.document()),
        }

    def document(self) -> dict[str, Any]:
        """The whole policy, as published once under its id."""
        return {**self._promised(), "policy": self.id}


def _digest(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()
