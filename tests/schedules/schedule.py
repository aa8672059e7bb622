"""One schedule: real agents on a model of Kafka, and everything that can go wrong.

    python -m tests.schedules.schedule SEED [late|update|loss|groups|late-groups]

replays a seed and prints every step of it.

How it works. What runs is the agent itself, all of `meteragent.kafka`: only its clients and its
clock are others. They are handed in, as the product hands in its own.

* `loop`      an event loop in virtual time; one seed draws who goes next. A killed instance's
              callbacks never run again, a frozen one's wait
* `network`   carries requests to the model and back, late, or not at all; what is under way
              arrives though its sender is dead
* `members`   the group's coordinator: deals partitions out, and leaves zombies behind
* `consumer`, `producer`, `clients`
              aiokafka's clients, as far as the agent leans on them, speaking to the model
* `kafka_model`
              logs, transactions, fencing, markers, offsets; the tests of the integration compare
              it with a real broker
* `instances` agents that are born, killed, stopped and frozen
* `world`     the records, and what an undisturbed pipeline makes of them
* `check`     what must hold after every step, and in the end
* `street`, `sums`
              the same of groups of homes: agents of both kinds, those that tell what their homes
              add and those that decide, and what must hold of what is told and released

Two kinds have something more happen in the storm. In an *update* another configuration is rolled
out: instances with the old one are started again for a while, and must leave, and never go on with
a partition that the new one has had. In a *loss* a partition of the ledger is deleted and made
anew: then nobody may spend more than there was, and whoever starts must end.

In schedules of groups homes are in three partitions, and groups in two; homes move from group to
group, and a partition may be silent all along. Then what is told of a pane must be told with one
content only and committed once; a release must be, the moment it is committed, what one pipeline
makes of all homes together, and everything that it is made of must have been committed before.

A schedule is a storm, as long as meters write, and a lull in which all must come to rest. In it
every window must be drawn with one content only, even where it is aborted; be committed once;
be paid for in the ledger as it is in the output; stay within the budget; and, in punctual worlds,
be what an undisturbed run makes of it. No agent may fail for anything but the network, or use
a client as it must not be used; one that is told to stop must end.

What it does not show. The clients are written after aiokafka's source, and only as far as the
agent needs them; of the group's protocol there is the eager dealing out, without generations.
A step takes no time: whoever is slow is slow by what they wait for, or frozen as a whole. There is
one broker, which never forgets what it has acknowledged, and the input is never cut off. Seeds
are drawn, not exhausted: what is found exists, what is not found may still. `tests/integration`
runs the same agent on real brokers, and kills both.
"""

import asyncio
import sys
from collections import defaultdict
from math import inf
from typing import Literal, get_args
from unittest.mock import patch

from meteragent.errors import LedgerLost, Superseded
from tests.given import SECOND
from tests.schedules import producer
from tests.schedules.check import Checker, Source
from tests.schedules.instances import Instances
from tests.schedules.kafka_model import Kafka, Log
from tests.schedules.limits import limits_as_small_as_the_worlds
from tests.schedules.loop import Loop, Stalled
from tests.schedules.members import Members
from tests.schedules.network import Network
from tests.schedules.street import STREETS, street
from tests.schedules.sums import SumsChecker
from tests.schedules.world import WORLDS, AnyWorld, Job, Told, world

Kind = Literal["punctual", "late", "update", "loss", "groups", "late-groups"]
LATE = ("late", "late-groups")
OF_GROUPS = ("groups", "late-groups")
PACE = 10
"""Seconds of the meters in a second of the machines; in late worlds, which are longer, thrice."""
BATCHES = defaultdict(lambda: 3, late=6)
"""Records in a batch. Batches of a partition go one after the other, and in late worlds very many
windows may be over at once: they have to be sent within the timeout of a transaction."""
PATIENCE = 100.0
"""Seconds in which all must come to rest, once nothing goes wrong any more; of groups it is more,
as every pane is told of and decided by itself, and the limits of portions are as small."""
HOUR = 3600
"""Seconds of the meters by which somebody's clock is wrong."""
LONG = 8
"""Looks, half a second apart, after which rest is taken for rest: the wall clock may still tick."""


class Schedule:
    """One schedule, drawn from a seed."""

    def __init__(self, seed: int, kind: Kind = "punctual", *, traced: bool = False) -> None:
        self.loop = Loop(seed, traced=traced)
        self._kind = kind
        late = kind in LATE
        homes = street(seed % STREETS, punctual=not late) if kind in OF_GROUPS else None
        self._world: AnyWorld = homes or world(seed % WORLDS, punctual=not late)
        self._pace = (3 * PACE if late else PACE) * self._world.unit
        self._calm_at = inf
        self._lost = False
        """Whether somebody had committed with the ledger that is gone."""
        self._kafka = Kafka(self._world.topics())
        self._network = Network(self.loop, self._kafka, self._wall)
        self._members = {
            job.kafka.group: Members(self._network, job.kafka.input, job.partitions)
            for job in self._world.jobs
        }
        self._instances = Instances(self._network, self._members, self._world)
        self._checker = (
            SumsChecker(self._kafka, homes) if homes else Checker(self._kafka, self._world)
        )
        self.loop.after = self._checker.look

    def run(self) -> None:
        """Run to the end; raises as soon as something is wrong."""
        limits = limits_as_small_as_the_worlds(self.loop.seed)
        with limits, patch.object(producer, "BATCH", BATCHES[self._kind]):
            self.loop.run(self._run())

    async def _run(self) -> None:
        for told in self._world.told:
            if told.written == self._world.start:
                self._tell(told)
        writing = self.loop.spawn(self._write())
        changing = self.loop.spawn(self._change())
        for _ in range(self.loop.random.randint(2, 3)):
            self._instances.give_birth()
        turn = self.loop.spawn(self._turn())
        await self._storm(writing)
        await changing
        await turn
        await (self._end() if self._kind == "loss" else self._lull())

    async def _turn(self) -> None:
        """What happens once, in the midst of the storm."""
        await asyncio.sleep(self.loop.random.uniform(0.1, 0.9) * self._length)
        begun = any(self._kafka.committed(source) is not None for source in self._sources)
        if self._kind == "update" and begun:  # of two that begin at once, none is the older
            self._instances.may_end_with = (Superseded,)
            self._instances.configurations = (self._world.updated,)
            self._instances.give_birth()
            # As service managers start those again that have not been replaced yet.
            self._instances.configurations = (self._world.config, self._world.updated)
        elif self._kind == "loss":
            self._instances.may_end_with = (LedgerLost,)
            job, partition = self._drawn()
            self._lost = self._kafka.committed((job.kafka.group, partition)) is not None
            self._kafka.logs[job.kafka.ledger, partition] = Log()

    @property
    def _sources(self) -> list[Source]:
        return [(j.kafka.group, p) for j in self._world.jobs for p in range(j.partitions)]

    def _drawn(self) -> tuple[Job, int]:
        """Some work, and a partition of its input."""
        job = self.loop.random.choice(self._world.jobs)
        return job, self.loop.random.randrange(job.partitions)

    @property
    def _length(self) -> float:
        """Seconds of the storm."""
        return (self._world.written[-1].written - self._world.start) / self._pace

    async def _end(self) -> None:
        """Nobody goes on who has to know what was spent."""
        self._network.calm = True
        self._instances.kill_all()
        for _ in range(int(2 * PATIENCE)):
            await asyncio.sleep(0.5)  # those who were started now live
            if self._instances.nobody or not self._lost:
                return
        raise Stalled("the ledger is lost, and still somebody goes on")

    def _wall(self) -> int:
        """Milliseconds: they run on to the end of the world, and faster when all is written."""
        hurry = 4 * max(0.0, self.loop.now - self._calm_at)
        return min(self._world.start + int((self.loop.now + hurry) * self._pace), self._world.end)

    async def _write(self) -> None:
        """The meters write every record in its time."""
        for record in self._world.written:
            due = (record.written - self._world.start) / self._pace
            await asyncio.sleep(due - self.loop.now)
            place = self._world.config.kafka.input, record.partition
            self._kafka.append(place, record.meter, (record.value, record.written))

    async def _change(self) -> None:
        """Homes move, as it is told in its time."""
        for told in self._world.told:
            if told.written > self._world.start:
                due = (told.written - self._world.start) / self._pace
                await asyncio.sleep(due - self.loop.now)
                self._tell(told)

    def _tell(self, told: Told) -> None:
        place = self._world.config.kafka.groups, 0
        self._kafka.append(place, told.home.encode(), (told.groups, told.written))

    async def _storm(self, writing: "asyncio.Task[None]") -> None:
        random = self.loop.random
        troubles = (
            *(self._kill, self._kill, self._stop, self._freeze, self._fall_silent),
            *(self._shuffle, self._shuffle, self._shuffle, self._expire, self._compact),
            *(self._set_clock, self._set_clock, self._set_clock),
        )
        often = random.choice((1.0, 2.0, 6.0))
        while not writing.done():
            await asyncio.sleep(often * random.random())
            self.loop.say("world", random.choice(troubles)())

    async def _lull(self) -> None:
        self._network.calm = True
        self._instances.set_clocks_right()
        self._instances.configurations = self._instances.configurations[-1:]
        self._instances.give_birth()
        self._calm_at = self.loop.now
        for members in self._members.values():
            members.rebalance()
        looks, patience = 0, 4 * PATIENCE if self._kind in OF_GROUPS else PATIENCE
        while looks < LONG and self.loop.now < self._calm_at + patience:
            await asyncio.sleep(0.5)
            looks = looks + 1 if self._rest else 0
        if self._world.punctual:
            self._checker.compare()
        if not looks:
            raise Stalled("nothing goes wrong any more, and still not all comes to rest")

    @property
    def _rest(self) -> bool:
        return (
            self._wall() == self._world.end
            and self._instances.rest
            and not self._kafka.markers
            and not any(members.rebalancing for members in self._members.values())
        )

    # What goes wrong; each says what it does.

    def _kill(self) -> str:
        home = self._instances.drawn()
        if home is not None:
            self._instances.kill(home)
        return f"{home} is killed"

    def _stop(self) -> str:
        home = self._instances.drawn()
        if home is not None:
            self._instances.stop(home)
        return f"{home} is told to stop"

    def _freeze(self) -> str:
        home = self._instances.drawn()
        if home is not None:
            self.loop.freeze(home, 4 * self.loop.random.random())
        return f"{home} stands still"

    def _set_clock(self) -> str:
        home, ahead = self._instances.drawn(), self.loop.random.choice((-HOUR, 0, HOUR, HOUR))
        if home is not None:
            self._instances.set_clock(home, ahead * self._world.unit // SECOND)
        return f"{home}'s clock is {ahead} s ahead"

    def _fall_silent(self) -> str:
        self._network.fall_silent(3 * self.loop.random.random())
        return "the network falls silent"

    def _shuffle(self) -> str:
        group = self.loop.random.choice([*self._members])
        self._members[group].rebalance()
        return f"{group} rebalances"

    def _expire(self) -> str:
        job, partition = self._drawn()
        name = f"{job.kafka.group}-{job.kafka.input}-{partition}"
        self._kafka.expire(name)
        self._network.tell_logs()
        return f"a transaction of {name} takes too long"

    def _compact(self) -> str:
        job, partition = self._drawn()
        self._kafka.log((job.kafka.ledger, partition)).compact()
        return f"partition {partition} of {job.kafka.ledger} is compacted"


def failure(seed: int, kind: Kind = "punctual") -> str | None:
    """What is wrong with a schedule, and how it came to that; None if all is well."""
    first = _outcome(Schedule(seed, kind))
    if first is None:
        return None
    replay = Schedule(seed, kind, traced=True)
    if _outcome(replay) != first:
        return f"{first}, but not when replayed"
    return "\n".join([first, *(replay.loop.trace or [])])


def _outcome(schedule: Schedule) -> str | None:
    try:
        schedule.run()
    except Exception as error:  # noqa: BLE001 - whatever an agent fails for, it is told
        loop = schedule.loop
        kind = type(error).__name__
        return f"seed {loop.seed}, step {loop.steps}, {loop.now:.3f} s: {kind}: {error}"
    return None


def trace(seed: int, kind: Kind = "punctual") -> list[str]:
    """Every step of a seed that is well."""
    replay = Schedule(seed, kind, traced=True)
    replay.run()
    return replay.loop.trace or []


if __name__ == "__main__":
    number, *kinds = sys.argv[1:]
    what: Kind = next((k for k in get_args(Kind) if k in kinds), "punctual")
    found = failure(int(number), what)
    print(found or "\n".join(trace(int(number), what)))  # noqa: T201
