"""`--slow` adds the long runs; without it they are deselected, never skipped.

`--without-fast` hides the wheel, here and from all that is started: then Python reads records.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer

# Nobody's build may depend on luck: by default the same examples are drawn every time, whichever
# modules are loaded (Hypothesis would take some numbers from them). Nor may it depend on how busy a
# machine is.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
settings.register_profile("ci", derandomize=True, database=None, max_examples=60)
settings.register_profile("slow", max_examples=2000, print_blob=True)


NOT_FOLLOWED = {
    *("browser", "dashboards", "deploy", "docs", "integration", "mutants"),
    *("same_bytes", "schedules", "simulations", "statistical"),
}
"""Folders whose tests are not followed line by line: it would make schedules two and a half times
as slow, and cover nothing more that is asked for."""
LONG_LAWS = {"test_small_hours", "test_small_resolutions", "test_whole_records"}
"""Nor are these laws: others go through the same lines."""

WAITING = {"browser", "dashboards", "deploy", "docs", "gateway", "integration"}
"""Folders whose tests mostly wait, for brokers and for other programs ..."""
WORKING = {"laws", "schedules", "simulations", "statistical"}
"""... and those whose tests keep a processor busy. Files of both take long: they come first, and by
turns, so that no processor is idle, and none is still under way alone when all else has ended."""
WITH_THE_IMAGE = {f"tests/deploy/test_{name}.py" for name in ("cell", "image", "service")}
"""Files that look into the agent's image, which takes a minute to make or two: tests that do are
slow, and go to one process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption("--without-fast", action="store_true", help="hide meteragent-fast")


def pytest_configure(config: pytest.Config) -> None:
    # Started in the background, we and all that we start would not hear Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("without_fast"):
        hidden = str(Path(__file__).parent / "without_fast")
        sys.path.insert(0, hidden)
        os.environ["PYTHONPATH"] = os.pathsep.join([hidden, os.environ.get("PYTHONPATH", "")])
    settings.load_profile("slow" if config.getoption("slow") else "ci")
    draw_the_same()
    config.pluginmanager.register(Teller(config))


def draw_the_same() -> None:
    """Let Hypothesis take no numbers from modules that happen to be loaded: tests/test_draws.py."""
    assert callable(providers._get_local_constants)  # there is no setting for it
    providers._get_local_constants = Constants


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    def folder(item: pytest.Function) -> str:
        return item.path.relative_to(config.rootpath / "tests").parts[0]

    for item in items:
        if folder(item) in NOT_FOLLOWED or item.path.stem in LONG_LAWS:
            item.add_marker("no_cover")
        if "image" in item.fixturenames:
            item.add_marker("slow")
    if hasattr(config, "workerinput"):  # one of several: alone, what was named first comes first
        of_file = {item.path: folder(item) for item in items}
        some = [[file for file, its in of_file.items() if its in of] for of in (WAITING, WORKING)]
        by_turns = filter(None, chain(*zip_longest(*some)))
        place = {file: nth for nth, file in enumerate(dict.fromkeys([*by_turns, *of_file]))}
        items.sort(key=lambda item: place[item.path])
    unwanted = {"slow": not config.getoption("slow"), "fast": config.getoption("without_fast")}
    names = {name for name, is_unwanted in unwanted.items() if is_unwanted}
    left_out = [item for item in items if names & {mark.name for mark in item.iter_markers()}]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def unit_of_work(test: str) -> str:
    """What goes to one process: a file, or those together that stand on the same costly thing."""
    file = test.partition("::")[0]
    return "with the image" if file in WITH_THE_IMAGE else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = unit_of_work
    return scheduler


class Teller:
    """Says at once what fails: who ends a long run early, or loses it, is to know."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter:
            lines = report.longreprtext.splitlines()
            why = next((line for line in lines if line.startswith("E ")), *lines[-1:])
            reporter.write_line(f"\n{report.nodeid} ({report.when}): {why}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In CI a skipped test is a hole in the proof."""
    if os.environ.get("CI") and terminalreporter.stats.get("skipped"):
        terminalreporter.section("skipped tests are failures where CI is set", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
