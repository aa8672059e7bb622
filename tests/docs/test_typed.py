"""Pages that can be followed are followed: every file saved, every command typed, in order."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.commands.parser import parser
from tests.docs.typed import ROOT, Saved, Shell, Typed, agree, brought, steps

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDE = ROOT / "deploy" / "guide"
VENV = Path(sys.prefix) / "bin"
FROM_THE_PROJECT = ("deploy/example.csv", "deploy/kafka", "deploy/prometheus", "deploy/grafana")
INSTALLS = re.compile(r"^\$ pip install .*\n", re.MULTILINE)
"""What it does is tried with the README's, and by `test_newcomer.py`."""


def page(name: str) -> str:
    return INSTALLS.sub("", (GUIDE / f"{name}.md").read_text("utf-8"))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """With what pages take from a copy of the project, and nothing else."""
    with Shell(tmp_path, [VENV, *os.environ["PATH"].split(":"), "/usr/sbin"]) as opened:
        brought(opened.directory, *FROM_THE_PROJECT)
        yield opened
        opened.types("kill $(jobs -p); wait; deploy/kafka/broker stop")


def begun(shell: Shell) -> None:
    """Where readers of a guide are: they have a broker, and the tutorial's files."""
    for step in steps(page("tutorial-kafka")):
        if isinstance(step, Saved):
            shell.saves(step)
    said, code = shell.types("deploy/kafka/broker start --port 9092")
    assert code == 0, said


def at_work(shell: Shell) -> None:
    """The tutorial's agent has worked, and has ended."""
    begun(shell)
    for command in (
        "meteragent key create noise.key",
        "meteragent topics create -c agent.toml",
        "python send.py",
        "meteragent run -c agent.toml 2> agent.log & agent=$!",
        "python read.py 12",
        "kill $agent; wait $agent",
    ):
        said, code = shell.types(command)
        assert code == 0, said


def test_the_first_part_of_the_tutorial_does_what_it_shows(shell: Shell) -> None:
    """But for the explorer, which takes a minute."""
    done = shell.follows(
        re.sub(r"^\$ meteragent explore .*\n.*\n", "", page("tutorial"), flags=re.MULTILINE)
    )
    assert len(done) > 8
    assert (shell.directory / "released.csv").read_text().count("\nhome-1,") == 6


@pytest.mark.slow
@pytest.mark.integration
def test_the_tutorial_does_what_it_shows(shell: Shell) -> None:
    """A file, Kafka, Prometheus: one after the other, in one folder."""
    for name in ("tutorial", "tutorial-kafka", "tutorial-grafana"):
        assert shell.follows(page(name))


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("name", ["head-end", "feeder"])
def test_a_guide_on_kafka_does_what_it_shows(shell: Shell, name: str) -> None:
    begun(shell)
    assert shell.follows(page(name))


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("name", ["changing-a-policy", "rotating-the-key", "lost-ledger"])
def test_a_guide_for_an_agent_at_work_does_what_it_shows(shell: Shell, name: str) -> None:
    at_work(shell)
    assert shell.follows(page(name))


@pytest.mark.slow
@pytest.mark.integration
def test_the_gateway_does_what_its_guide_shows(shell: Shell) -> None:
    assert shell.follows(page("gateway").partition("## systemd")[0])


def test_the_researcher_gets_what_the_guide_shows(shell: Shell) -> None:
    assert shell.follows(page("researcher"))


@pytest.mark.slow
@pytest.mark.integration
def test_a_head_end_without_delay_is_found_out(shell: Shell) -> None:
    """The guide's own check fails where its advice is not followed."""
    begun(shell)
    unwise = page("head-end").replace('delay = "36h"', "")
    with pytest.raises(AssertionError, match=r'outcome="late"} 540'):
        shell.follows(unwise)


@pytest.mark.parametrize("path", sorted(GUIDE.glob("*.md")), ids=lambda path: path.stem)
def test_every_command_of_ours_is_known(path: Path) -> None:
    """The short form of the above: all that is typed can be parsed."""
    typed = [step.command for step in steps(path.read_text("utf-8")) if isinstance(step, Typed)]
    for command in typed:
        for line in re.findall(r"(?:^|\(|\| )(meteragent [^|&;)>]*)", command.replace("\\\n", " ")):
            words = [word for word in shlex.split(line, comments=True) if word != "2"]
            parser().parse_args(words[1:])


@pytest.mark.parametrize(
    ("printed", "said", "good"),
    [
        ("a\n…\nb\n", "a\nx\ny\nb\n", True),
        ("a\n…\nb\n", "a\nx\ny\n", False),
        ('{"values":{"avg":1.0},"n":1}\n', '{"values":{"avg":7.0},"n":1}\n', True),
        ('{"values":{"avg":1.0},"n":1}\n', '{"values":{"avg":1.0},"n":2}\n', False),
        ("{} => 0 @[17.5]\n", "{} => 0 @[18]\n", True),
        ("{} => 0 @[17.5]\n", "{} => 1 @[17.5]\n", False),
        ("a\n", "a\nb\n", False),
        ("policy …\n", "policy 17\n", True),
        ("policy …\n", "policy 17\nmore\n", False),
        ("…\n", "anything\nat all\n", True),
    ],
)
def test_what_is_printed_is_compared(printed: str, said: str, good: bool) -> None:  # noqa: FBT001
    assert agree(printed, said) == good


def test_a_command_that_fails_or_says_something_else_is_found(shell: Shell) -> None:
    with pytest.raises(AssertionError, match="false"):
        shell.follows("```console\n$ false\n```\n")
    with pytest.raises(AssertionError, match="echo b"):
        shell.follows("```console\n$ echo a\na\n$ echo b\nc\n```\n")
    assert shell.follows("```console\n$ sleep 60 & it=$!\n$ kill $it; wait $it; true\n```\n")
