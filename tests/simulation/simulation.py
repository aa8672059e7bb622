"""One schedule: state machine, pipeline and a model of Kafka, and everything that can go wrong.

    python -m tests.simulation.simulation SEED

replays a seed and prints every step of it.
"""

import sys
from unittest.mock import patch

from meteragent import pipeline
from meteragent.partition import State
from tests.simulation.check import Broken, Checker
from tests.simulation.instance import Group, Instance, Nature
from tests.simulation.kafka_model import Kafka
from tests.simulation.scheduler import Scheduler, Stalled, Task
from tests.simulation.worker import GROUP, LEDGER, Design
from tests.simulation.world import PARTITIONS, WORLDS, shared_releaser, world

STORM = 300
"""Steps in which things go wrong."""
TROUBLE = 0.3
PATIENCE = 6_000
"""Steps until all must be done, once nothing goes wrong any more."""


class Simulation:
    """One schedule, drawn from a seed."""

    def __init__(self, seed: int, design: Design, *, traced: bool = False) -> None:
        self.scheduler = Scheduler(seed, traced=traced)
        self._design = design
        self._kafka = Kafka()
        self._world = world(seed % WORLDS)
        self._nature = Nature(self._kafka, self._world)
        self._group = Group(self.scheduler)
        self._checker = Checker(self._kafka, self._world)
        self._born = 0

    def run(self) -> None:
        """Run to the end; raises as soon as something is wrong."""
        with patch.object(pipeline, "Releaser", shared_releaser):
            self._storm()
            self._lull()
        self._checker.compare()

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
        for nth in range(PATIENCE):
            scheduler.step()
            self._checker.look()
            if nth % 16 == 0 and self._quiet():
                return
        self._checker.compare()
        raise Stalled("windows are not released, though nothing goes wrong any more")

    def _quiet(self) -> bool:
        workers = [w for m in self._group.members for w in m.workers.values()]
        return (
            self._nature.over
            and self._checker.complete
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
        while not self.scheduler.calm:
            yield "none"
            if random.random() < TROUBLE:
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


def failure(seed: int, design: Design | None = None) -> str | None:
    """What is wrong with a schedule, and how it came to that; None if all is well."""
    design = design or Design()
    try:
        Simulation(seed, design).run()
    except (Broken, Stalled) as error:
        replay = Simulation(seed, design, traced=True)
        try:
            replay.run()
        except (Broken, Stalled) as again:
            steps = "\n".join(replay.scheduler.trace or [])
            same = "" if str(again) == str(error) else f", but replayed: {again}"
            return f"seed {seed}: {error}{same}\n{steps}"
        return f"seed {seed}: {error}, but not when replayed"
    return None


def main(seed: int) -> None:
    """Replay a seed and print its steps."""
    replay = Simulation(seed, Design(), traced=True)
    try:
        replay.run()
    finally:
        print("\n".join(replay.scheduler.trace or []))  # noqa: T201 - a program that prints


if __name__ == "__main__":
    main(int(sys.argv[1]))
