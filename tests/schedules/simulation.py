"""One schedule: state machine, pipeline and a model of Kafka, and everything that can go wrong.

    python -m tests.schedules.simulation SEED

replays a seed and prints every step of it.
"""

import sys
from collections.abc import Callable

from meteragent.stream.partition import State
from tests.schedules.check import Checker
from tests.schedules.instance import Group, Instance, Nature
from tests.schedules.kafka_model import Kafka
from tests.schedules.scheduler import Scheduler, Stalled, Task
from tests.schedules.worker import GROUP, LEDGER, Design
from tests.schedules.world import PARTITIONS, WORLDS, world

WRONG = (AssertionError, Stalled)

STORM = 400
"""Steps in which things go wrong."""
PATIENCE = 3_000
"""Steps until all must be done, once nothing goes wrong any more."""


class Simulation:
    """One schedule, drawn from a seed."""

    def __init__(
        self, seed: int, design: Design, *, punctual: bool = True, traced: bool = False
    ) -> None:
        self.scheduler = Scheduler(seed, traced=traced)
        self._design = design
        self._kafka = Kafka()
        self._punctual = punctual
        self._world = world(seed % WORLDS, punctual=punctual)
        self._nature = Nature(self._kafka, self._world)
        self._group = Group(self.scheduler)
        self._checker = Checker(self._kafka, self._world)
        self._born = 0

    def run(self) -> None:
        """Run to the end; raises as soon as something is wrong."""
        self._storm()
        self._lull()

    def _storm(self) -> None:
        scheduler = self.scheduler
        scheduler.start("nature", self._nature.write())
        scheduler.start("markers", self._write_markers())
        for _ in range(scheduler.random.randint(2, 3)):
            self._give_birth()
        self._group.rebalance()
        scheduler.start("trouble", self._trouble())
        for _ in range(STORM):
            scheduler.step()
            self._checker.look()

    def _lull(self) -> None:
        scheduler = self.scheduler
        scheduler.calm = True
        for _ in range(PATIENCE):
            if not scheduler.step():
                break
            self._checker.look()
        if self._punctual:
            self._checker.compare()
        if self._quiet():
            return
        raise Stalled("windows are not released, though nothing goes wrong any more")

    def _quiet(self) -> bool:
        workers = [w for m in self._group.members for w in m.workers.values()]
        return (
            self._nature.over
            and len(workers) == PARTITIONS
            and all(w.life.state is State.RUNNING and w.at_rest for w in workers)
            and not self._kafka.markers
        )

    def _give_birth(self) -> None:
        self._born += 1
        instance = Instance(
            f"i{self._born}", self._kafka, self.scheduler, self._nature, self._design, self._world
        )
        self._group.members.append(instance)
        self.scheduler.start(f"{instance} polls", instance.poll(), instance)

    def _write_markers(self) -> Task:
        markers = self._kafka.markers
        while True:
            yield lambda: bool(markers)
            self._kafka.write_marker(self.scheduler.random.randrange(len(markers)))

    def _trouble(self) -> Task:
        random = self.scheduler.random
        troubles = (self._crash, self._shuffle, self._shuffle, self._expire, self._compact)
        often = random.choice((0.02, 0.05, 0.2))
        while not self.scheduler.calm:
            yield "none"
            if random.random() < often:
                yield random.choice(troubles)()
        yield lambda: not self._group.rebalancing
        if not self._group.members:
            self._give_birth()
        self._group.rebalance()

    def _shuffle(self) -> str:
        self._group.rebalance()
        return "the group rebalances"

    def _crash(self) -> str:
        members = self._group.members
        if not members:
            return "nobody left"
        victim = self.scheduler.random.choice(members)
        members.remove(victim)
        self.scheduler.crash(victim)
        self._give_birth()
        self._group.rebalance()
        return f"{victim} crashes"

    def _expire(self) -> str:
        name = f"{GROUP}-{self.scheduler.random.randrange(PARTITIONS)}"
        self._kafka.expire(name)
        return f"a transaction of {name} takes too long"

    def _compact(self) -> str:
        partition = self.scheduler.random.randrange(PARTITIONS)
        self._kafka.log((LEDGER, partition)).compact()
        return f"ledger {partition} is compacted"


def failure(
    seed: int, design: Callable[[], Design] = Design, *, punctual: bool = True
) -> str | None:
    """What is wrong with a schedule, and how it came to that; None if all is well."""
    try:
        Simulation(seed, design(), punctual=punctual).run()
    except WRONG as error:
        replay = Simulation(seed, design(), punctual=punctual, traced=True)
        try:
            replay.run()
        except WRONG as again:
            if str(again) == str(error):
                steps = "\n".join(replay.scheduler.trace or [])
                return f"seed {seed}: {type(error).__name__}: {error}\n{steps}"
        return f"seed {seed}: {error}, but not when replayed"
    return None


def trace(seed: int) -> list[str]:
    """Every step of a seed that is well."""
    replay = Simulation(seed, Design(), traced=True)
    replay.run()
    return replay.scheduler.trace or []


if __name__ == "__main__":
    print(failure(int(sys.argv[1])) or "\n".join(trace(int(sys.argv[1]))))  # noqa: T201
