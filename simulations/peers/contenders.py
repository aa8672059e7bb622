"""Who takes part: how each is set up, started, and what its versions and settings are."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from simulations.processes import ROOT, module
from simulations.setting import GRACE, WINDOW, Setting

HERE = ROOT / "simulations" / "peers"
APPS = HERE / "apps"

AS_IS = Setting()

Command = list[str | Path]


@dataclass(frozen=True)
class Job:
    """From where, to where, under which name."""

    bootstrap: str
    source: str
    target: str
    name: str
    state: Path


@dataclass(frozen=True)
class Peer:
    """A stream processor that is not ours."""

    name: str
    settings: str
    requirements: tuple[str, ...]
    """Of its own environment; empty for one that Maven or a compiler builds."""
    command: Callable[[Path, Job], Command]
    target: float
    """We are to be so many times as fast per second of the processor."""
    share: int = 1
    """It gets one meter in so many, as it would take too long over all of them."""
    partitions: int = 0
    """It gets a topic of so many; 0 is as many as everybody."""
    source: str = ""
    """Of one that is written in C; it wants librdkafka and its headers."""
    project: str = "streams"
    """The directory of one that Maven builds."""
    keeps: str = ""
    """What it has when it is started again, beside its position."""
    by_clock: bool = False
    """Whether we are to be so many times as fast by the clock as well."""


@dataclass(frozen=True)
class Ours:
    """The agent, the agent without one of its promises, or the one of an older version."""

    name: str
    variant: str = ""
    setting: Setting = AS_IS
    checkout: Path | None = None
    """Where another version is, with an environment of its own."""

    def command(self, file: Path) -> Command:
        """How it is run."""
        arguments = ("run", "-c", file)
        if self.checkout is not None:
            return [self.checkout / ".venv" / "bin" / "meteragent", *arguments]
        if self.variant:
            return module("simulations.peers.variant", self.variant, *arguments)
        return module("meteragent", *arguments)


def _arguments(job: Job) -> Command:
    return [
        *(job.bootstrap, job.source, job.target, job.name),
        *(str(WINDOW), str(GRACE), str(job.state)),
    ]


def _python(app: str) -> Callable[[Path, Job], Command]:
    return lambda home, job: [home / "bin" / "python", APPS / app, *_arguments(job)]


def _java(
    *options: str, main: str = "Mean", jar: str = "streams", tuned: bool = False
) -> Callable[[Path, Job], Command]:
    def command(home: Path, job: Job) -> Command:
        path = ("-cp", f"{home}/peer-{jar}-1.jar:{home}/lib/*", f"peers.{main}")
        more = ("tuned",) if tuned else ()
        return ["java", "-Xmx1g", *options, *path, *_arguments(job), *more]

    return command


_OPENS = tuple(
    option
    for package in ("lang", "lang.reflect", "text", "time", "util", "util.concurrent")
    for option in ("--add-opens", f"java.base/java.{package}=ALL-UNNAMED")
)
"""What Flink's serialisers reach into."""

PEERS = (
    Peer(
        "Kafka Streams",
        "exactly_once_v2, 2 threads, in-memory stores, commit 1 s, linger 100 ms",
        (),
        _java(),
        1.5,
        keeps="every window, in a changelog topic",
    ),
    Peer(
        "Kafka Streams, tuned",
        "exactly_once_v2, no changelog, 1 thread, ParallelGC, in-memory stores, commit 1 s",
        (),
        _java("-XX:+UseParallelGC", tuned=True),
        1,
        keeps="nothing: open windows are lost",
    ),
    Peer(
        "Kafka's Java client",
        "transactions every 500 ms, 1 thread, ParallelGC, JSON scanned by hand, linger 100 ms",
        (),
        _java("-XX:+UseParallelGC", main="Plain"),
        1,
        keeps="nothing: open windows are lost",
    ),
    Peer(
        "Flink",
        "exactly once, checkpoints every 1 s to disk, parallelism 1, objects reused, heap state",
        (),
        _java(*_OPENS, main="FlinkMean", jar="flink"),
        2,
        project="flink",
        keeps="every window, in checkpoints",
        by_clock=True,
    ),
    Peer(
        "librdkafka in C",
        "at least once, JSON scanned by hand, linger 100 ms",
        (),
        lambda home, job: [home / "rdkafka_mean", *_arguments(job)],
        1.3,
        source="rdkafka_mean.c",
        keeps="nothing: open windows are lost",
        by_clock=True,
    ),
    Peer(
        "Quix Streams",
        "at-least-once, commit 1 s, linger 100 ms",
        ("quixstreams==3.28.1",),
        _python("quix.py"),
        10,
        keeps="every window, in a changelog topic",
    ),
    Peer(
        "Faust",
        "at-least-once, in-memory table, stream_wait_empty off, linger 100 ms",
        ("faust-streaming==0.15.3", "aiokafka==0.14.0"),
        _python("faust_mean.py"),
        10,
        share=20,
        keeps="nothing: open windows are lost",
    ),
    Peer(
        "Bytewax",
        "no recovery, 1 worker, batches of 5,000",
        ("bytewax==0.21.1", "confluent-kafka==2.12.2"),
        _python("bytewax_mean.py"),
        5,
        keeps="nothing, not even its position",
    ),
    Peer(
        "Pathway",
        "free edition, 1 worker, windows told once, no persistence, commit 500 ms, linger 100 ms; "
        "1 partition, as it has one clock for all, and leaves out what one has behind another",
        ("pathway==0.33.0",),
        _python("pathway_mean.py"),
        10,
        share=10,
        partitions=1,
        keeps="nothing, not even its position",
    ),
)

AGENT = Ours("meteragent")
IN_PYTHON = Ours("in Python alone", "python")
AT_LEAST_ONCE = Ours("at least once", "at-least-once")
EXACT = Ours("exact answers", "exact")
EXACT_MEAN = Ours("exact means alone", "exact", Setting(queries=("avg",)))
OURS = (AGENT, IN_PYTHON, AT_LEAST_ONCE, EXACT, EXACT_MEAN)
OLDER = "an older one"
TRUSTED = "trust_timestamps"
"""The one setting of ours that version 0.1 did not have: it trusted them."""


def older(checkout: Path) -> Ours:
    """The agent as it was."""
    return Ours(OLDER, checkout=checkout.resolve())


def as_known_to(checkout: Path, toml: str) -> str:
    """A configuration without what that version did not know yet."""
    known = "".join(file.read_text() for file in (checkout / "meteragent").rglob("*.py"))
    lines = toml.splitlines(keepends=True)
    return "".join(line for line in lines if TRUSTED not in line or TRUSTED in known)


def commit(checkout: Path) -> str:
    """Which version that is."""
    said = ("git", "-C", checkout, "rev-parse", "--short", "HEAD")
    return subprocess.run(said, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603


def install(peer: Peer, cache: Path) -> Path:
    """Its environment, made once."""
    home = cache / ("-".join(peer.requirements) or Path(peer.source).stem or peer.project)
    done = home / f"installed-{_digest(peer)}"
    if done.exists():
        return home
    home.mkdir(parents=True, exist_ok=True)
    if peer.requirements:
        _run(sys.executable, "-m", "venv", home)
        _run(home / "bin" / "python", "-m", "pip", "install", "--quiet", *peer.requirements)
    elif peer.source:
        options = ("-O3", "-march=native", "-o", home / "rdkafka_mean")
        _run("gcc", *options, APPS / peer.source, "-lrdkafka")
    else:
        _run(
            "mvn", "-q", "-B", "-f", HERE / peer.project / "pom.xml", "package", f"-Dtarget={home}"
        )
    done.touch()
    return home


def _digest(peer: Peer) -> str:
    """Of what it is built from, so that it is built anew when that changes."""
    sources = [APPS / peer.source] if peer.source else _sources(HERE / peer.project)
    texts = b"".join(source.read_bytes() for source in (() if peer.requirements else sources))
    return sha256(texts).hexdigest()[:16]


def _sources(project: Path) -> list[Path]:
    return [project / "pom.xml", *sorted((project / "src").rglob("*.java"))]


def versions(peer: Peer) -> str:
    """What is compared with."""
    if peer.requirements:
        return ", ".join(peer.requirements)
    if peer.source:
        linked = subprocess.run(
            ["pkg-config", "--modversion", "rdkafka"],  # noqa: S607 - of this system
            check=True,
            capture_output=True,
            text=True,
        )
        return f"librdkafka=={linked.stdout.strip()}"
    pom = (HERE / peer.project / "pom.xml").read_text()
    named = re.findall(r"<(\w+)\.version>([^<]+)<", pom)
    return ", ".join(f"{name}=={version}" for name, version in named if name != "slf4j")


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)  # noqa: S603 - fixed commands
