"""An agent's polling loop and its membership, as `meteragent.kafka.group` keeps them."""

from meteragent.stream.partition import Event, State
from tests.schedules.client import Consumer
from tests.schedules.intake import Handover
from tests.schedules.kafka_model import Kafka
from tests.schedules.scheduler import Scheduler, Task
from tests.schedules.worker import READINGS, Around, Design, Worker
from tests.schedules.world import PARTITIONS, World

MOST_WAITING = 6


class Nature:
    """The wall clock, and the meters that write as it goes on."""

    def __init__(self, kafka: Kafka, world: World) -> None:
        self._kafka = kafka
        self._world = world
        self.now = world.written[0][1].written
        self.written = 0

    @property
    def over(self) -> bool:
        """Whether every record is written; then the clock may run on to the end."""
        return self.written == len(self._world.written)

    def write(self) -> Task:
        """Write every record in its time."""
        for partition, record in self._world.written:
            self.now = max(self.now, record.written)
            self._kafka.append((READINGS, partition), record.meter, record)
            self.written += 1
            yield "wrote a record"
        self.now = self._world.end


class Instance:
    """One agent."""

    def __init__(
        self,
        name: str,
        kafka: Kafka,
        scheduler: Scheduler,
        nature: Nature,
        design: Design,
        world: World,
    ) -> None:
        self.name = name
        self._scheduler = scheduler
        self._nature = nature
        self.workers: dict[int, Worker] = {}
        self._left: list[Worker] = []
        self.rejoining = False
        """Whether it has given its partitions up, and waits for new ones."""
        self._consumer = Consumer(kafka, READINGS)
        self._around = Around(scheduler, kafka, world, design, self._consumer, self)

    def __str__(self) -> str:
        return self.name

    # The group's side.

    def rejoin(self, waiting: list["Instance"]) -> Task:
        """Drain, as long as there is time, and come back for new partitions."""
        leaving = list(self.workers.values())
        for worker in leaving:
            worker.on(Event.REVOKED)
        while not all(worker.left for worker in leaving) and not self._scheduler.chance(0.1):
            yield lambda: not self._scheduler.calm or all(worker.left for worker in leaving)
        for worker in leaving:
            worker.on(Event.TIMEOUT)
        self.workers.clear()
        self._left = leaving
        yield "drained"
        waiting.append(self)

    def assigned(self, partitions: list[int]) -> None:
        """Begin with these partitions."""
        self.rejoining = False
        self._consumer.assign(partitions)
        estates = self._hand_on(partitions)
        for partition in partitions:
            worker = Worker(self._around, partition, estates.get(partition))
            self.workers[partition] = worker
            worker.on(Event.BEGIN)

    def _hand_on(self, partitions: list[int]) -> dict[int, Handover]:
        """What was left whole of these partitions; what was left of others is thrown away."""
        whole = {w.partition: w for w in self._left if w.whole}
        for partition in whole.keys() - set(partitions):
            whole.pop(partition).discard()
        self._left = []
        return {partition: worker.hand_over() for partition, worker in whole.items()}

    # Our side.

    def poll(self) -> Task:
        """Read, feed, tick and commit, for ever."""
        random = self._scheduler.random
        while True:
            yield self._has_work
            often = 1.0 if self._scheduler.calm else 0.3
            sought = {p: worker.sought for p, worker in self.workers.items()}
            yield "polls"
            portions = self._consumer.getmany(random.randint(1, 4))
            yield f"fetched {portions}"
            for partition, records in portions.items():
                if partition in self.workers:
                    yield from self.workers[partition].take(records, sought.get(partition))
            for worker in list(self.workers.values()):
                if self._consumer.caught_up(worker.partition) and random.random() < often:
                    yield from worker.pass_time(self._nature.now)
                worker.hold_or_let_go(MOST_WAITING)
                if random.random() < often and not worker.at_rest:
                    worker.on(Event.DUE)

    def _has_work(self) -> bool:
        return not self._scheduler.calm or any(self._is_needed(w) for w in self.workers.values())

    def _is_needed(self, worker: Worker) -> bool:
        return (
            worker.intake is not None
            and worker.life.state is State.RUNNING
            and not (
                self._consumer.caught_up(worker.partition)
                and worker.at_rest
                and worker.intake.pipeline.clock >= self._nature.now
            )
        )


class Group:
    """Deals partitions out, and does not wait for ever for those that do not answer."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.members: list[Instance] = []
        self._waiting: list[Instance] = []
        self.rebalancing = False

    def rebalance(self) -> None:
        """Begin to, unless it is being done."""
        if not self.rebalancing:
            self.rebalancing = True
            self._scheduler.start("rebalance", self._rebalance())

    def _rebalance(self) -> Task:
        """Take every partition away and deal all out anew.

        An instance that does not notice, or drains for too long, goes on as a zombie.
        """
        awake = [m for m in self.members if m.rejoining or not self._scheduler.chance(0.25)]
        for member in awake:
            if not member.rejoining:
                member.rejoining = True
                task = member.rejoin(self._waiting)
                self._scheduler.start(f"{member} rejoins", task, member)
        while not self._all_wait(awake) and not self._scheduler.chance(0.05):
            yield "waits for members"
        members, random = [m for m in self._waiting if m in self.members], self._scheduler.random
        self._waiting.clear()
        turn = random.randrange(len(members)) if members else 0
        for nth, member in enumerate(members):
            mine = [p for p in range(PARTITIONS) if (p + turn) % len(members) == nth]
            member.assigned(mine)
            yield f"dealt {mine} to {member}"
        self.rebalancing = False

    def _all_wait(self, awake: list[Instance]) -> bool:
        return all(m in self._waiting or m not in self.members for m in awake)
