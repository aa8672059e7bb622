"""An event loop in which time is virtual and a seed draws who goes next.

One step runs one callback, drawn among those that are ready; where none is, time leaps to the
next timer. That is any order that asyncio knows, and more: its own is first come, first served.

Every callback belongs to an instance, or to the world (`HOME` in its context). A *killed*
instance's callbacks never run again, nor does a `finally` of its tasks, as after SIGKILL; a
*frozen* one's wait until it thaws, as in a long collection of garbage or after SIGSTOP.
"""

import asyncio
import sys
import warnings
from asyncio import Future, Handle, Task, TimerHandle
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

WORLD = "world"
HOME: ContextVar[str] = ContextVar("home", default=WORLD)
"""The instance that a callback belongs to."""


class Stalled(AssertionError):
    """Nobody gets anywhere."""


class Loop(asyncio.BaseEventLoop):
    """Runs one schedule. `after` is called after every step, and may raise what it finds."""

    def __init__(self, seed: int, *, traced: bool = False) -> None:
        super().__init__()
        self.seed = seed
        self.random = Random(seed)
        self.now = 0.0
        self.steps = 0
        self.after: Callable[[], None] = lambda: None
        self.trace: list[str] | None = [] if traced else None
        self._waiting: list[tuple[str, Handle]] = []
        self._timers: list[tuple[float, int, str, TimerHandle]] = []
        self._numbered = 0
        self._dead: set[str] = set()
        self._frozen: dict[str, list[tuple[str, Handle]]] = {}
        self._tasks: list[Task[Any]] = []  # held, or collected garbage would run a `finally`
        self._error: BaseException | None = None

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run until this is done, or something has failed."""
        task = self.spawn(work)
        asyncio._set_running_loop(self)
        try:
            while not task.done():
                self._step()
            task.result()
        finally:
            self._bury()
            asyncio._set_running_loop(None)
            self.close()

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return self.random.random() < probability

    def say(self, who: str, what: object) -> None:
        """Note something in the trace."""
        if self.trace is not None:
            self.trace.append(f"{self.steps:6} {self.now:7.3f} {who}: {what}")

    def fail(self, error: BaseException | None) -> None:
        """End with this error, if it is one."""
        self._error = self._error or error

    def spawn(self, work: Coroutine[Any, Any, None], home: str = WORLD) -> Task[None]:
        """Start a task of an instance; or one of the world, which must not fail."""
        context = Context()
        context.run(HOME.set, home)
        task = self.create_task(work, context=context)
        if home == WORLD:
            task.add_done_callback(lambda done: self.fail(done.exception()))
        return task

    def kill(self, home: str) -> None:
        """No callback of this instance runs any more."""
        self._dead.add(home)

    def freeze(self, home: str, seconds: float) -> None:
        """No callback of this instance runs for a while."""
        self._frozen.setdefault(home, [])
        self.call_later(seconds, lambda: self._waiting.extend(self._frozen.pop(home, ())))

    def _step(self) -> None:
        ready, timers = self._waiting, self._timers
        while timers and (not ready or timers[0][0] <= self.now):
            when, _, home, timer = heappop(timers)
            if not timer.cancelled():
                self.now = max(self.now, when)
                ready.append((home, timer))
        if not ready:
            raise Stalled("nobody waits for anything any more")
        at = int(self.random.random() * len(ready))
        home, handle = ready[at]
        ready[at] = ready[-1]
        ready.pop()
        if home in self._frozen:
            self._frozen[home].append((home, handle))
        elif home not in self._dead and not handle.cancelled():
            self.steps += 1
            handle._run()
            if self._error is not None:
                raise self._error
            self.after()

    def _bury(self) -> None:
        """Let go of every task, wherever it stands; what a `finally` says is not heard.

        The loop still counts as running: what a `finally` starts is a task, let go of as well.
        """
        unraisable, sys.unraisablehook = sys.unraisablehook, lambda _: None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                while self._tasks:
                    _close(self._tasks.pop())
                self._waiting.clear()
                self._timers.clear()
                self._frozen.clear()
        finally:
            sys.unraisablehook = unraisable

    # What asyncio asks of a loop.

    def time(self) -> float:
        """Virtual seconds."""
        return self.now

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> Handle:
        """In one of the next steps."""
        handle = Handle(callback, args, self, context)
        self._waiting.append((_home(context), handle))
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        """In a step at this time, or soon after."""
        handle = TimerHandle(when, callback, args, self, context)
        self._numbered += 1
        heappush(self._timers, (when, self._numbered, _home(context), handle))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> TimerHandle:
        """The same, from now on."""
        return self.call_at(self.now + delay, callback, *args, context=context)

    def create_task(self, coro: Any, **options: Any) -> Task[Any]:  # noqa: ANN401
        """As any loop, but it outlives who forgets it."""
        task = Task(coro, loop=self, **options)
        vars_of: Any = task
        vars_of._log_destroy_pending = False
        self._tasks.append(task)
        return task

    def run_in_executor(
        self, executor: object, func: Callable[[*Ts], T], *args: *Ts
    ) -> "Future[T]":
        """At once, but later: a thread of its own would know nothing of virtual time."""
        del executor
        done: Future[T] = self.create_future()

        def work() -> None:
            if not done.done():
                try:
                    done.set_result(func(*args))
                except Exception as error:  # noqa: BLE001 - told to whoever waits
                    done.set_exception(error)

        self.call_later(self.random.random() * 0.05, work)
        return done

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A callback that fails is a mistake in here; a future that nobody asks is not."""
        if "handle" in context:
            self.fail(context["exception"])

    def add_signal_handler(self, *_: object) -> None:
        """No signal comes."""

    def remove_signal_handler(self, _: int) -> bool:
        """None was to come."""
        return False

    def _timer_handle_cancelled(self, _: TimerHandle) -> None:
        """It is passed over when its time comes."""


def _home(context: Context | None) -> str:
    return HOME.get() if context is None else context.get(HOME, WORLD)


def _close(task: Task[Any]) -> None:
    work: Any = task.get_coro()
    for _ in range(20):
        if task.done() or work.cr_frame is None:
            return
        with suppress(BaseException):  # of a `finally` that awaits, or misses its loop
            work.close()
