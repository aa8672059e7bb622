"""Who goes next: one seed decides everything that may happen sooner, later or not at all.

A task is a generator; each `yield` is a point where everybody else may come first. It yields
a word for the trace, or a condition that it waits for.
"""

from collections.abc import Callable, Generator
from contextlib import suppress
from random import Random
from typing import TypeVar

Condition = Callable[[], bool]
Task = Generator[str | Condition, None, None]
Answer = TypeVar("Answer")
Steps = Generator[str | Condition, None, Answer]

SPEEDS = (1.0, 1.0, 1.0, 0.3, 0.03)
TRACE = 400


class Stalled(Exception):
    """Nobody gets anywhere."""


class Lost(Exception):
    """A request failed, or its reply was lost; whoever asked cannot know which."""


class Running:
    """A task under way, with a speed of its own that changes now and then."""

    def __init__(self, name: str, task: Task, speed: float, home: object) -> None:
        self.name = name
        self.task = task
        self.speed = speed
        self.home = home
        """The instance that dies with it, if any."""
        self.waits: Condition | None = None
        self.in_network: Callable[[], object] | None = None
        """The request that is on its way, and may arrive even if nobody waits for it."""

    @property
    def can_go(self) -> bool:
        """Whether what it waits for is there."""
        return self.waits is None or self.waits()


class Scheduler:
    """Runs tasks in an order drawn from a seed; the same seed gives the same order."""

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        self.random = Random(seed)
        self.calm = False
        """Whether faults are over."""
        self.loss = self.random.choice((0.0, 0.02, 0.08))
        """How likely a request or its reply is lost."""
        self.trace: list[str] | None = [] if traced else None
        self.steps = 0
        self._tasks: list[Running] = []
        self.current: Running | None = None

    def chance(self, probability: float) -> bool:
        """Whether something happens that can go wrong; never when all is calm."""
        return not self.calm and self.random.random() < probability

    def start(self, name: str, task: Task, home: object = None) -> Running:
        """Let a task run from now on."""
        running = Running(name, task, self.random.choice(SPEEDS), home)
        self._tasks.append(running)
        return running

    def cancel(self, running: Running) -> None:
        """End a task where it stands. What it has in the network may still arrive."""
        if running in self._tasks:
            self._tasks.remove(running)
            request = running.in_network
            if request is not None and self.random.random() < 0.5:
                self.start(f"ghost of {running.name}", _ghost(request))
            running.task.close()

    def crash(self, home: object) -> None:
        """End every task of an instance."""
        for running in [r for r in self._tasks if r.home is home]:
            self.cancel(running)

    def step(self) -> bool:
        """Let somebody go on; answer whether anybody can."""
        running = self._next()
        if running is None:
            return False
        self.steps += 1
        if self.random.random() < 0.05:
            running.speed = self.random.choice(SPEEDS)
        self.current = running
        try:
            said = next(running.task)
        except StopIteration:
            if running in self._tasks:
                self._tasks.remove(running)
            said = "done"
        running.waits = None if isinstance(said, str) else said
        self.say(running.name, said if isinstance(said, str) else "waits")
        self.current = None
        return True

    def say(self, who: str, what: str) -> None:
        """Note something in the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.steps:5} {who}: {what}")

    def _next(self) -> Running | None:
        tasks, random = self._tasks, self.random.random
        for _ in range(40):
            running = tasks[int(random() * len(tasks))]
            if (self.calm or random() < running.speed) and running.can_go:
                return running
        able = [running for running in tasks if running.can_go]
        return able[int(random() * len(able))] if able else None

    def call(self, request: Callable[[], Answer], busy: type[Exception]) -> Steps[Answer]:
        """Send a request and wait for the answer, as a client does that retries.

        The request must be idempotent. It may be applied though its sender is told that it
        failed, or is not there any more.
        """
        while True:
            running = self.current
            assert running is not None
            running.in_network = request
            yield "request"
            running.in_network = None
            if self.chance(self.loss):
                raise Lost("on its way")
            try:
                answer = request()
            except busy:
                continue
            yield "reply"
            if self.chance(self.loss):
                raise Lost("on its way back")
            if not self.chance(self.loss):
                return answer


def once(request: Callable[[], None]) -> Callable[[], None]:
    """Make a request idempotent, as sequence numbers do for produced batches."""
    done: list[bool] = []

    def apply() -> None:
        if not done:
            request()
            done.append(True)

    return apply


def _ghost(request: Callable[[], object]) -> Task:
    yield "still on its way"
    with suppress(Exception):  # nobody is there to be told
        request()
