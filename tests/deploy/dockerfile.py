"""A Dockerfile's steps as a shell script, to be run where there is no Docker.

Knows the instructions that ours uses and refuses all others. A base image is a directory: Debian
made by debootstrap, or this machine's own system under an overlay that takes what is written.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
TRUSTED = Path("/tmp/authorities.crt")  # noqa: S108 - in the root that is built
"""This machine's, for while it builds: it may reach the package index by a proxy of its own."""
EXTENDS = ("RUN", "COPY", "WORKDIR")
DESCRIBES = ("LABEL", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD")


@dataclass
class Stage:
    """What one FROM begins."""

    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    described: dict[str, str] = field(default_factory=dict)
    """Of the instructions that say how to run the image, the last of each."""

    def exec_form(self, instruction: str) -> list[str]:
        """The words of an instruction that is written as a JSON list."""
        words: list[str] = json.loads(self.described[instruction].removeprefix("CMD "))
        return words


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with its arguments, comments left out and lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


def stages(file: Path) -> dict[str, Stage]:
    """By name; the last one, if it has none, is called ""."""
    found: dict[str, Stage] = {}
    for word, rest in instructions(file.read_text()):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stage = found[name] = Stage(base)
            if base in found:
                stage.environ |= found[base].environ
                stage.described |= found[base].described
        elif not found and word == "ARG":
            continue  # names the base image's version
        elif word in EXTENDS:
            stage.steps.append((word, rest))
        elif word == "ENV":
            stage.environ |= dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "ARG":
            stage.arguments |= dict([rest.split("=", 1)])
        elif word in DESCRIBES:
            stage.described[word] = re.sub(r"^(--\S+\s+)+", "", rest)
        else:
            raise ValueError(f"{file}: {word} is not known here")
    return found


def build(file: Path, context: Path, name: str, into: Path, base: Path = Path("/")) -> Path:
    """The root of the image of a stage, made by carrying out its steps and those it builds on.

    `base` holds a Debian, which is left as it was.
    """
    scratch = into / "scratch"
    scratch.mkdir()
    builder = Builder(stages(file), context, base, scratch)
    lines = [*builder.stage(name), f"cp -a {scratch / name} {into / name}"]
    script = "\n".join(["set -eu", f"mount -t tmpfs tmpfs {scratch}", *lines])
    done = subprocess.run(  # noqa: S603 - our own script
        ["/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script],
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )
    if done.returncode:
        raise AssertionError(f"{script}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return into / name


@dataclass
class Builder:
    """Says what a shell has to do."""

    known: dict[str, Stage]
    context: Path
    base: Path
    scratch: Path

    def stage(self, name: str) -> Iterator[str]:
        """Make the root of this stage, whose directory is called as it is."""
        stage, root = self.known[name], self.scratch / name
        yield f"mkdir -p {root}"
        if stage.base in self.known:
            yield from self.stage(stage.base)
            yield f"cp -a {self.scratch / stage.base}/. {root}"
        elif stage.base != "scratch":
            yield from self._overlay(root)
        here = "/"
        for word, rest in stage.steps:
            if word == "WORKDIR":
                here = rest
                yield f"mkdir -p {root}{here}"
            elif word == "COPY":
                yield from self._copy(rest, root, here)
            else:
                yield self._run(stage, rest, root, here)

    def _overlay(self, root: Path) -> Iterator[str]:
        """What is written goes to memory."""
        upper, work = self.scratch / "upper", self.scratch / "work"
        layers = f"lowerdir={self.base},upperdir={upper},workdir={work}"
        yield f"mkdir {upper} {work}"
        yield f"mount -t overlay overlay -o {layers} {root}"
        yield f"mount -t proc proc {root}/proc"
        yield f"mount --rbind /dev {root}/dev"
        yield f"mount -t tmpfs tmpfs {root / 'tmp'}"
        yield f"cp --remove-destination -L /etc/resolv.conf {root}/etc/resolv.conf"
        yield f"cp {AUTHORITIES} {root / TRUSTED.relative_to('/')}"

    def _copy(self, rest: str, root: Path, here: str) -> Iterator[str]:
        *sources, target = rest.split()
        origin = self.context
        if sources[0].startswith("--from="):
            other = sources.pop(0).removeprefix("--from=")
            yield from self.stage(other)
            origin = self.scratch / other
        where = f"{root}{target if target.startswith('/') else f'{here}/{target}'}"
        yield f"mkdir -p {where}"
        for source in sources:
            path = f"{origin}/{source.strip('/')}"
            yield f"if [ -d {path} ]; then cp -a {path}/. {where}; else cp -a {path} {where}; fi"

    @staticmethod
    def _run(stage: Stage, rest: str, root: Path, here: str) -> str:
        environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PIP_CERT": str(TRUSTED)}
        given = environ | stage.environ | stage.arguments
        words = [f"{name}={value}" for name, value in given.items()]
        command = f"cd {here} && {rest}"
        return shlex.join(["env", "-i", *words, "chroot", str(root), "sh", "-euc", command])
