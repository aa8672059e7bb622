"""The commands as people and scripts meet them."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from meteragent import __version__, errors
from meteragent.cli import main
from meteragent.commands.exit_codes import CODES, Exit, code_of
from meteragent.commands.schema import SCHEMAS
from meteragent.config.reference import reference
from meteragent.errors import BrokerRefused, LedgerDamaged, MeterAgentError, TopicsUnfit
from meteragent.privacy import native

ROOT = Path(__file__).parents[2]
MARKER = "meter-4711-used-1234.5W"
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
PROGRAM = (sys.executable, "-m", "meteragent")

Said = pytest.CaptureFixture[str]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example configuration and its key, in the working directory."""
    shutil.copy(ROOT / "deploy" / "agent.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["key", "create", "noise.key"]) == Exit.OK
    return tmp_path


REPLAY = (
    "a restart reads back at most 1 h 20 min: 480 readings of a meter, and of 100,000 meters in "
    "4 min at 200,000 a second"
)


# check


def test_check_accepts_the_example(directory: Path, capsys: Said) -> None:
    assert main(["check", "--offline", "-c", str(directory / "agent.toml")]) == Exit.OK
    said = capsys.readouterr()
    first, warning, *rest = said.out.splitlines()[-6:]
    assert warning.startswith("household: warning: Effectively not hidden: oven")
    assert [first, *rest] == [
        "configuration: good, with policies household",
        REPLAY,
        f"records: read by {native.way()}",
        "certificates and secrets: good",
        "noise key: good",
    ]
    assert said.err == ""


def test_check_warns_of_a_radius_off_the_grid(directory: Path, capsys: Said) -> None:
    with (directory / "agent.toml").open("a") as file:
        file.write(
            '[[policy]]\nname = "films"\nmatch = "tv-"\npreset = "tv-content"\nstep = "2W"\n'
        )
    assert main(["check", "--offline", "-c", "agent.toml"]) == Exit.OK
    first, _, warning, *_ = capsys.readouterr().out.splitlines()
    assert first == "configuration: good, with policies household, films"
    assert warning == (
        "films: warning: A radius of 25 W is not a whole number of steps of 2 W: readings that far "
        "apart can be 26 W apart on the grid. What is said here holds for those, and is more than "
        'epsilon and budget say. Write radius = "24W" or "26W".'
    )


def test_check_warns_where_joint_noise_loses(directory: Path, capsys: Said) -> None:
    with (directory / "agent.toml").open("a") as file:
        file.write(
            '[[policy]]\nname = "films"\nmatch = "tv-"\npreset = "tv-content"\n'
            'queries = ["avg", "max"]\nnoise = "joint"\n'
        )
    assert main(["check", "--offline", "-c", "agent.toml"]) == Exit.OK
    said = capsys.readouterr().out
    assert "\nfilms: warning: Joint noise reveals more about some loads (TV programme," in said


def test_check_says_what_explain_warns_of_and_fails_on_it_if_strict(
    directory: Path, capsys: Said
) -> None:
    file = directory / "agent.toml"
    given = ["check", "--offline", "-c", str(file)]
    assert main([*given, "--strict"]) == Exit.OK
    assert "household: warning: Effectively not hidden: oven" in capsys.readouterr().out
    before = file.read_text().partition("\n[[policy]]")[0]
    settings = '\n[[policy]]\nname = "hours"\nwindow = "1h"\ninterval = "1m"\nmaximum = "24kW"\n'
    budget = 'epsilon = "1"\nradius = "100W"\nbudget = "24"\n'
    file.write_text(before + settings + budget)
    assert main(given) == Exit.OK
    shown = capsys.readouterr().out
    assert main([*given, "--strict"]) == Exit.CONFIGURATION
    strict = capsys.readouterr()
    assert strict.out == shown
    assert strict.err == "meteragent: --strict: warned of hours\n"
    main(["explain", "--json", "-c", str(file)])
    [explained] = json.loads(capsys.readouterr().out)["policies"]
    assert explained["warnings"]
    for warning in explained["warnings"]:
        assert f"hours: warning: {warning}\n" in shown


def test_check_tells_every_problem_of_the_configuration(directory: Path, capsys: Said) -> None:
    with (directory / "agent.toml").open("a") as file:
        file.write('[[policy]]\nname = "x"\nwindow = "15"\n')
    assert main(["check", "--offline", "-c", "agent.toml"]) == Exit.CONFIGURATION
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5
    assert all(line.startswith("meteragent: policy[1].") for line in lines)


def test_check_goes_on_after_a_problem(directory: Path, capsys: Said) -> None:
    (directory / "noise.key").chmod(0o644)
    text = (directory / "agent.toml").read_text()
    text = text.replace("[http]", '[http]\ncert_file = "no.pem"\nkey_file = "no.pem"')
    (directory / "agent.toml").write_text(text)
    assert main(["check", "--offline", "-c", "agent.toml"]) == Exit.CONFIGURATION
    said = capsys.readouterr()
    assert [line.split(": ")[1] for line in said.err.splitlines()] == [
        "http.cert_file",
        "http.key_file",
        "noise key noise.key",
    ]
    assert "run: chmod 600 noise.key" in said.err


def test_a_refused_key_has_its_own_code(directory: Path) -> None:
    (directory / "noise.key").unlink()
    assert main(["check", "--offline", "-c", "agent.toml"]) == Exit.KEY


def test_check_reads_the_environment(
    directory: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METERAGENT__HTTP__PORT", MARKER)
    assert main(["check", "--offline", "-c", str(directory / "agent.toml")]) == Exit.CONFIGURATION
    said = capsys.readouterr().err
    assert said.startswith("meteragent: METERAGENT__HTTP__PORT: is not a whole number; write")
    assert MARKER not in said


# key, config


def test_a_key_is_never_replaced(directory: Path, capsys: Said) -> None:
    before = (directory / "noise.key").read_bytes()
    assert main(["key", "create", "noise.key"]) == Exit.KEY
    assert (directory / "noise.key").read_bytes() == before
    assert capsys.readouterr().err == (
        "meteragent: noise key noise.key: cannot be made (File exists); name a new file\n"
    )


def test_the_key_is_never_said(directory: Path, capsys: Said) -> None:
    main(["check", "--offline", "-c", "agent.toml"])
    said = capsys.readouterr()
    assert (directory / "noise.key").read_text().strip() not in said.out + said.err


def test_the_reference_is_printed(capsys: Said) -> None:
    assert main(["config", "reference"]) == Exit.OK
    assert capsys.readouterr().out == reference()


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_a_schema_is_printed(name: str, capsys: Said) -> None:
    assert main(["schema", name]) == Exit.OK
    assert (
        json.loads(capsys.readouterr().out)["$id"]
        == f"urn:meteragent:{name}:{2 if name == 'release' else 1}"
    )


# Help, usage, exit codes


def test_help_explains_every_exit_code(capsys: Said) -> None:
    assert main(["--help"]) == Exit.OK
    said = capsys.readouterr().out
    assert all(f"{code.value:>5}  {code.meaning}\n" in said for code in Exit)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frob"],
        ["check"],
        ["key"],
        ["key", "create"],
        ["config"],
        ["check", "x"],
        ["schema", "x"],
    ],
)
def test_a_wrong_command_line_is_told_with_its_usage(arguments: list[str], capsys: Said) -> None:
    assert main(arguments) == Exit.USAGE
    assert capsys.readouterr().err.startswith("usage: meteragent")


def test_the_version_is_told(capsys: Said) -> None:
    assert main(["--version"]) == Exit.OK
    assert capsys.readouterr().out == f"meteragent {__version__}\n"


def test_codes_are_what_scripts_have_learnt() -> None:
    assert {code.name: code.value for code in Exit} == {
        "OK": 0,
        "BUG": 1,
        "USAGE": 2,
        "CONFIGURATION": 3,
        "KEY": 4,
        "UNAVAILABLE": 5,
        "DENIED": 6,
        "DATA": 7,
        "FILE": 8,
        "TOPICS": 9,
        "LOST": 10,
        "OWNER": 11,
        "SUPERSEDED": 12,
        "NOTHING": 13,
        "INTERRUPTED": 130,
        "PIPE": 141,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LedgerDamaged("x"), Exit.DATA),
        (BrokerRefused("s", "p", "i"), Exit.DENIED),
        (TopicsUnfit(["x"]), Exit.TOPICS),
        (FileNotFoundError(2, "No such file"), Exit.FILE),
        (BrokenPipeError(), Exit.PIPE),
        (KeyboardInterrupt(), Exit.INTERRUPTED),
        (MeterAgentError("x"), Exit.BUG),
        (ZeroDivisionError(), Exit.BUG),
        (type("Later", (MeterAgentError,), {"retriable": True})("x"), Exit.UNAVAILABLE),
    ],
)
def test_an_error_decides_the_exit_code(error: BaseException, code: Exit) -> None:
    assert code_of(error) == code


def test_each_kind_of_error_has_one_exit_code() -> None:
    kinds = [kind for kind, _ in CODES]
    assert len(kinds) == len(set(kinds))


def test_every_error_of_ours_has_its_code() -> None:
    ours = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, MeterAgentError) and kind != MeterAgentError
    ]
    assert len(ours) > 5
    told = tuple(kind for kind, _ in CODES)
    assert [kind for kind in ours if not issubclass(kind, told) and not kind.retriable] == []


def failing(error: BaseException) -> Callable[[], str]:
    def fail() -> str:
        raise error

    return fail


def test_a_bug_is_told_in_one_line_without_what_it_quotes(
    capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meteragent.commands.config.reference", failing(KeyError(MARKER)))
    assert main(["config", "reference"]) == Exit.BUG
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("meteragent: unexpected KeyError in commands/test_cli.py:")
    assert "commands/config.py:" in line
    assert MARKER not in line


def test_a_file_that_fails_is_named(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    error = OSError(28, "No space left on device", "out.csv")
    monkeypatch.setattr("meteragent.commands.config.reference", failing(error))
    assert main(["config", "reference"]) == Exit.FILE
    assert capsys.readouterr().err.startswith("meteragent: out.csv: No space left on device; ")


# As a process


def test_help_needs_no_library() -> None:
    names = ("numpy", "pydantic", "aiokafka", "structlog", "prometheus_client", "asyncio")
    script = (
        "import json, sys\n"
        "from meteragent.cli import main\n"
        "main(['--help'])\n"
        f"print(json.dumps([n for n in {names!r} if n in sys.modules]))\n"
    )
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_the_module_is_the_program(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["meteragent", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("meteragent", run_name="__main__")
    assert ended.value.code == Exit.OK
    assert capsys.readouterr().out.startswith("meteragent ")


def test_importing_the_module_does_nothing(capsys: Said) -> None:
    runpy.run_module("meteragent.__main__", run_name="imported")
    assert capsys.readouterr().out == ""


def said_into(output: TextIO) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program
        [*PROGRAM, "config", "reference"],
        env=ENVIRONMENT,
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def gone() -> Iterator[TextIO]:
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    pipe = os.fdopen(writing, "w")
    yield pipe
    with suppress(BrokenPipeError):
        pipe.close()


def test_a_full_disk_is_told_once_and_last() -> None:
    with Path("/dev/full").open("w") as full:
        done = said_into(full)
    assert done.returncode == Exit.FILE
    assert done.stderr == (
        "meteragent: standard output: No space left on device; make room or name another\n"
    )


def test_a_reader_that_has_gone_is_no_reason_to_complain(gone: TextIO) -> None:
    done = said_into(gone)
    assert (done.returncode, done.stderr) == (Exit.PIPE, "")


def test_output_that_did_not_arrive_is_no_success(
    gone: TextIO, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr(sys, "stdout", gone)
    assert main(["--version"]) == Exit.PIPE
    assert capsys.readouterr().err == ""


def test_ctrl_c_ends_without_a_traceback(tmp_path: Path) -> None:
    slow = tmp_path / "agent.toml"
    os.mkfifo(slow)
    with (
        subprocess.Popen(  # noqa: S603 - our own program
            [*PROGRAM, "check", "--offline", "-c", str(slow)],
            env=ENVIRONMENT,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        slow.open("w"),
    ):  # which returns when the program has begun to read
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (Exit.INTERRUPTED, "")


def test_a_signal_while_the_agent_is_still_being_loaded_ends_it_well(directory: Path) -> None:
    """Nothing is there to be drained yet; a service manager takes another end for a failure."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [*PROGRAM, "run", "-c", str(directory / "agent.toml")],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
    ) as process:
        loaded = Path(f"/proc/{process.pid}/maps")
        while "numpy" not in loaded.read_text():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (Exit.OK, b"")


@pytest.mark.parametrize("form", ["json", "console"])
def test_an_agent_says_why_it_ends_as_it_says_everything(directory: Path, form: str) -> None:
    (directory / "noise.key").unlink()
    done = subprocess.run(  # noqa: S603 - our own program
        [*PROGRAM, "run", "-c", str(directory / "agent.toml")],
        env={**ENVIRONMENT, "METERAGENT__LOG__FORMAT": form},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == Exit.KEY
    [line] = done.stderr.splitlines()
    if form == "console":
        assert line.startswith("meteragent: noise key ")
    else:
        told = json.loads(line)
        assert (told["event"], told["level"], told["error"]) == (
            "agent ended",
            "error",
            "KeyRefused",
        )
        assert told["message"].startswith("noise key ")
