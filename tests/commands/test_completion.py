"""What shells complete is what the parser takes: asked of the shells themselves."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.commands.parser import parser
from tests.docs.completions import FOLDER, SHELLS, commands, completions

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path

BY_PATH = {command.prog: command for command in commands(parser())}


def script(shell: str) -> str:
    return (FOLDER / f"meteragent.{shell}").read_text("utf-8")


def run(*command: str, given: str = "") -> list[str]:
    done = subprocess.run(  # noqa: S603 - a shell, and our own script
        command, input=given, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def in_bash(line: str) -> set[str]:
    *before, current = line.split(" ")
    words = " ".join(f"'{word}'" for word in (*before, current))
    asked = f"COMP_WORDS=({words}); COMP_CWORD={len(before)}; _shtab_meteragent"
    shown = 'for one in "${COMPREPLY[@]}"; do echo "$one"; done'
    written = f"{script('bash')}\n{asked}\n{shown}\n"
    return set(run("bash", "--norc", "-s", given=written))


def in_fish(line: str) -> set[str]:
    written = f"{script('fish')}\ncomplete -C '{line}'\n"
    return {offer.split("\t")[0] for offer in run("fish", "--no-config", given=written)}


def in_zsh(line: str, directory: Path) -> str:
    """What an interactive zsh makes of the line and a tab, as its screen shows it."""
    (directory / "meteragent.zsh").write_text(script("zsh"))
    begin = "autoload -U compinit; compinit -u -D; PS1='> '"
    setup = f'{begin}; eval "$(cat meteragent.zsh)"; echo ready\n'
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(directory)
        os.environ.update(TERM="dumb", ZDOTDIR=str(directory), COLUMNS="200")
        os.execlp("zsh", "zsh", "-f", "-i")  # noqa: S606, S607 - the shell of this machine
    try:
        os.write(terminal, setup.encode())
        _heard(terminal, "\nready")
        os.write(terminal, f"{line}\t".encode())
        return _heard(terminal, None)
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def _heard(terminal: int, until: str | None) -> str:
    """What is said until then, or until nothing more is said for a while."""
    said, deadline = "", time.monotonic() + 20
    while time.monotonic() < deadline and (until is None or until not in said):
        if not select.select([terminal], [], [], 20 if until else 1.5)[0]:
            break
        said += os.read(terminal, 4096).decode(errors="replace")
    return said


def offered(command: ArgumentParser) -> set[str]:
    """What may stand alone, if that is to be chosen from."""
    alone = [action for action in command._actions if not action.option_strings]
    return {str(choice) for action in alone for choice in action.choices or ()}


def options(command: ArgumentParser) -> set[str]:
    return {flag for action in command._actions for flag in action.option_strings}


def test_scripts_are_those_of_the_parser() -> None:
    """If not: `python -m tests.docs.pages`."""
    assert {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()} == completions()


@pytest.mark.parametrize("path", sorted(BY_PATH))
def test_bash_offers_at_each_place_what_may_stand_there(path: str) -> None:
    assert in_bash(f"{path} ") == offered(BY_PATH[path])
    assert in_bash(f"{path} -") == options(BY_PATH[path])


@pytest.mark.parametrize("complete", [in_bash, in_fish])
def test_a_word_that_was_begun_is_completed(complete: object) -> None:
    assert callable(complete)
    assert complete("meteragent san") == {"sanitize"}
    assert complete("meteragent ledger t") == {"top", "totals"}
    assert complete("meteragent sanitize --by") == {"--by-meter"}
    assert complete("meteragent sanitize in.csv --follow --at") == {"--at-end"}
    assert complete("meteragent schema re") == {"reading", "release", "reject"}


@pytest.mark.parametrize("complete", [in_bash, in_fish])
def test_an_option_is_followed_by_its_choices(complete: object) -> None:
    assert callable(complete)
    presets = {"tv-content", "appliances", "presence", "bill"}
    assert complete("meteragent explain --preset ") == presets
    assert complete("meteragent sanitize - --format c") == {"csv"}


def test_fish_offers_what_may_stand_there() -> None:
    for path in ("meteragent", "meteragent ledger", "meteragent topics"):
        assert in_fish(f"{path} ") == offered(BY_PATH[path])
    assert in_fish("meteragent ledger top --") >= {"--config", "--count", "--csv", "--ledger"}


def test_zsh_completes_words_options_and_choices(tmp_path: Path) -> None:
    assert "meteragent sanitize" in in_zsh("meteragent san", tmp_path)
    assert "--by-meter" in in_zsh("meteragent sanitize --by", tmp_path)
    said = in_zsh("meteragent explain --preset ", tmp_path)
    assert all(name in said for name in ("tv-content", "appliances", "presence"))


def test_zsh_offers_every_command(tmp_path: Path) -> None:
    said = in_zsh("meteragent ", tmp_path)
    assert [name for name in offered(BY_PATH["meteragent"]) if name not in said] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == Exit.OK
    assert capsys.readouterr().out == script(shell)


def test_it_needs_no_library() -> None:
    done = "import sys; from meteragent.cli import main; main(['completion', 'bash'])"
    check = "; assert not {'numpy', 'pydantic', 'aiokafka'} & set(sys.modules)"
    run(sys.executable, "-c", done + check)
