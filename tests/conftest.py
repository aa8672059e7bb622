"""`--slow` adds the long runs; without it they are deselected, never skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

# Nobody's build may depend on luck: by default the same examples are drawn every time.
settings.register_profile("ci", derandomize=True, database=None, deadline=None, max_examples=100)
settings.register_profile("slow", deadline=None, max_examples=2000, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("slow" if config.getoption("slow") else "ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("slow"):
        return
    left_out = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=left_out)
