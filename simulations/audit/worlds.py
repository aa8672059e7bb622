"""What is audited: pairs of worlds that are `radius` apart in d∞, and the promise about them.

A world is what one meter measures, window by window. Every meter of a run lives in the same
world; only its name differs, so each is one more draw of the noise.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

BEGIN = 1_763_424_000_000  # a whole day
INTERVAL = 30_000

Window = tuple[float | None, ...]
"""A reading per slot, or None where it is absent."""
World = tuple[Window, ...]
"""Window after window."""


@dataclass(frozen=True)
class Experiment:
    """Two worlds, the settings under which both are sanitized, and what makes the pair telling."""

    name: str
    why: str
    one: World
    other: World
    queries: tuple[str, ...] = ("avg",)
    radius: int = 100
    step: int = 100
    maximum: int = 1000
    epsilon: str = "1"
    budget: str = "100"
    presence: str = "public"
    tight: bool = True
    """Whether the promise is used up by this pair, so that the audit must come close to it."""
    corrections: tuple[World, World] | None = field(default=None)
    """What is measured in each world once more, after a first release of the same windows."""

    @property
    def slots(self) -> int:
        """Readings per window."""
        return len(self.one[0])

    @property
    def size(self) -> int:
        """Length of a window in milliseconds."""
        return self.slots * INTERVAL

    def passes(self, other: bool) -> list[World]:  # noqa: FBT001 - which of the two
        """What is sanitized, run after run, in one of the two worlds."""
        first = self.other if other else self.one
        return [first] if self.corrections is None else [first, self.corrections[other]]

    def differing(self) -> list[list[int]]:
        """In each pass, when the windows begin in which the two worlds differ."""
        pairs = zip(self.passes(other=False), self.passes(other=True), strict=True)
        return [
            [
                BEGIN + number * self.size
                for number, (a, b) in enumerate(zip(one, other, strict=True))
                if a != b
            ]
            for one, other in pairs
        ]

    def distance(self) -> float:
        """d∞ between the two worlds, in watts."""
        pairs = zip(self.passes(other=False), self.passes(other=True), strict=True)
        return max(
            self._apart(a, b)
            for one, other in pairs
            for w, v in zip(one, other, strict=True)
            for a, b in zip(w, v, strict=True)
        )

    def _apart(self, one: float | None, other: float | None) -> float:
        """Where presence is private, another pattern is as far as the whole range."""
        if one is None or other is None:
            if one is other:
                return 0.0
            return float(self.maximum) if self.presence == "private" else float("inf")
        return abs(one - other)

    def settings(self) -> list[str]:
        """As arguments of `sanitize`."""
        given = {
            "window": f"{self.size // 1000}s",
            "interval": f"{INTERVAL // 1000}s",
            "minimum": "0W",
            "maximum": f"{self.maximum}W",
            "step": f"{self.step}W",
            "epsilon": self.epsilon,
            "radius": f"{self.radius}W",
            "budget": self.budget,
            "horizon": "24h",
            "presence": self.presence,
        }
        options = [f"--{name}={value}" for name, value in given.items()]
        return [*options, *(f"--query={name}" for name in self.queries)]


def lines(world: World, meters: Sequence[str]) -> str:
    """JSON lines: the first window of every meter, then the second, and so on."""
    written = []
    for number, window in enumerate(world):
        if all(value is None for value in window):
            continue
        begin = BEGIN + number * len(window) * INTERVAL
        block = {"meter_id": "%s", "start": begin, "interval_ms": INTERVAL, "values": window}
        template = json.dumps(block) + "\n"
        written += [template % meter for meter in meters]
    return "".join(written)


def moved(window: Window, *watts: float) -> Window:
    """A window with every reading moved; one number moves them all."""
    steps = watts * len(window) if len(watts) == 1 else watts
    return tuple(None if v is None else v + w for v, w in zip(window, steps, strict=True))


TIE: Window = (400.0, 500.0)
"""Its average lies halfway between two levels: where rounding matters."""
LOW: Window = (300.0, 400.0, 500.0)
HIGH: Window = (500.0, 600.0, 700.0)

ONE_ANSWER = Experiment(
    "one answer",
    "the average of one window; every reading moves by the radius, from a tie to a tie",
    one=(TIE,),
    other=(moved(TIE, 100),),
)
FINE_GRID = Experiment(
    "one answer on a fine grid",
    "the radius is ten steps of the grid",
    one=(moved(TIE, 5),),
    other=(moved(TIE, 105),),
    step=10,
)
PERCENTILE = Experiment(
    "a percentile",
    "the 95th percentile of one window; every reading moves by the radius",
    one=(LOW,),
    other=(moved(LOW, 100),),
    queries=("p95",),
)
OPPOSITE = Experiment(
    "opposite moves",
    "half the readings go up and half go down by the radius: the average stays",
    one=((400.0, 600.0),),
    other=((500.0, 500.0),),
    tight=False,
)
WHOLE_WINDOW = Experiment(
    "a whole window",
    "three answers on one window: their losses add up",
    one=(LOW,),
    other=(moved(LOW, 100),),
    queries=("avg", "median", "max"),
)
EACH_READING = Experiment(
    "reading by reading",
    "each of three readings is released; they move against one another",
    one=((400.0, 500.0, 600.0),),
    other=((500.0, 400.0, 700.0),),
    queries=("reading",),
)
HORIZON = Experiment(
    "a horizon",
    "three windows of one trace, which move against one another: their losses add up",
    one=(TIE, moved(TIE, 100), TIE),
    other=(moved(TIE, 100), TIE, moved(TIE, 100)),
)
EXHAUSTED = Experiment(
    "a budget that runs out",
    "five windows move, and the budget is for two answers: the others are suppressed",
    one=(TIE,) * 5,
    other=(moved(TIE, 100),) * 5,
    budget="2",
)
ABSENCE = Experiment(
    "somebody's absence",
    "presence is private: a window at the top of the range, or without any reading",
    one=((500.0, 500.0), (1000.0, 1000.0), (500.0, 500.0)),
    other=((500.0, 500.0), (None, None), (500.0, 500.0)),
    radius=1000,
    presence="private",
)
CORRECTED = Experiment(
    "a correction",
    "a window is released, then measured anew and released once more under the same key",
    one=(TIE,),
    other=(moved(TIE, 100),),
    corrections=((moved(TIE, 100),), (TIE,)),
)

EXPERIMENTS = (
    *(ONE_ANSWER, FINE_GRID, PERCENTILE, OPPOSITE, WHOLE_WINDOW),
    *(EACH_READING, HORIZON, EXHAUSTED, ABSENCE, CORRECTED),
)
