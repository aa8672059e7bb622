"""Which tests are asked about a mistake in a module: fast ones, the likeliest first.

`tests/same_bytes` is not asked: it would find nearly everything, and say of nothing what is wrong;
nor are the stamps of the claims, which only see that a text has changed. Nor are tests that take
minutes, start brokers, or clone the repository, which a copy is not.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNASKED = {"tests/privacy/test_claims.py"}

PURE = ("meteragent/privacy", "meteragent/stream", "meteragent/formats", "meteragent/explain")
SUITES = {
    "meteragent/privacy": (
        *("tests/privacy", "tests/laws/test_small_worlds.py", "tests/laws/test_queries.py"),
        *("tests/laws/test_oracle.py", "tests/explain", "tests/laws/test_accounts.py"),
        *("tests/laws/test_hours.py", "tests/laws/test_small_hours.py"),
        *("tests/laws/test_small_layers.py", "tests/laws/test_small_tiers.py"),
        *("tests/laws/test_small_joint.py", "tests/laws/test_shares.py"),
        *("tests/laws/test_horizons.py", "tests/laws/test_small_resolutions.py"),
        *("tests/laws/test_calendar.py", "tests/config/test_windows.py"),
    ),
    "meteragent/stream": (
        *(
            "tests/stream",
            "tests/laws/test_closing.py",
            "tests/laws/test_panes.py",
            "tests/laws/test_folds.py",
            "tests/laws/test_losses.py",
        ),
        *("tests/laws/test_ticks.py", "tests/laws/test_pipeline.py", "tests/kafka"),
        *("tests/laws/test_partials.py", "tests/laws/test_groups.py"),
        *("tests/laws/test_memberships.py", "tests/laws/test_member_records.py"),
        *("tests/laws/test_counters.py", "tests/laws/test_meters.py"),
        *("tests/laws/test_carried.py", "tests/laws/test_later_windows.py"),
        *("tests/files/test_job.py", "tests/watch/test_balances.py"),
    ),
    "meteragent/formats/fast": ("tests/formats/test_fast.py", "tests/kafka/test_fetch.py"),
    "meteragent/formats": (
        *("tests/formats", "tests/files/test_sanitize.py", "tests/files/test_groups.py"),
    ),
    "meteragent/explain": ("tests/explain", "tests/commands/test_explain.py", "tests/watch"),
    "meteragent/config": ("tests/config", "tests/commands"),
    "meteragent/watch": ("tests/watch",),
    "meteragent/kafka": (
        *("tests/kafka", "tests/schedules", "tests/watch", "tests/formats/test_fast.py"),
    ),
    "meteragent/process": ("tests/process", "tests/kafka/test_agent.py", "tests/schedules"),
    "meteragent/gateway": ("tests/gateway/test_works.py", "tests/gateway/test_journal.py"),
    "meteragent/files": ("tests/files",),
    "meteragent/library": ("tests/library",),
    "meteragent/commands": (
        *("tests/commands", "tests/files/test_sanitize.py", "tests/files/test_ledger_shown.py"),
        "tests/docs/test_troubleshooting.py",
    ),
    "meteragent": ("tests/test_errors.py", "tests/config", "tests/commands"),
}
"""Folder -> tests."""

ON_A_BROKER = {
    "adopt": ("test_instances", "test_groups"),
    "agent": ("test_agent", "test_trouble"),
    "agents": ("test_groups",),
    "alone": ("test_migrate", "test_lost_ledger"),
    "clients": ("test_security", "test_trouble"),
    "fitness": ("test_topics", "test_replay"),
    "group": ("test_instances", "test_agent"),
    "ledger_topic": ("test_ledger_topic",),
    "liveness": ("test_stuck", "test_agent"),
    "loss": ("test_lost_groups", "test_lost_ledger"),
    "memberships": ("test_groups",),
    "migrate": ("test_migrate",),
    "migrate_groups": ("test_migrate_groups",),
    "peek": ("test_mapping",),
    "preparing": ("test_groups",),
    "rights": ("test_trouble", "test_security"),
    "settle": ("test_migrate",),
    "subjects": ("test_registry",),
    "topics": ("test_topics", "test_init"),
    "work": ("test_groups",),
}
"""Rooms of `kafka` -> the tests on a broker that are asked when no fast one notices."""


def suite(module: str) -> tuple[str, ...]:
    """The tests of a module."""
    return SUITES[module.rpartition("/")[0]]


def on_a_broker(module: str) -> tuple[str, ...]:
    """Those that are asked last, and only when somebody has the time."""
    folder, _, name = module.removesuffix(".py").rpartition("/")
    names = ON_A_BROKER.get(name, ()) if folder == "meteragent/kafka" else ()
    return tuple(f"tests/integration/{test}.py" for test in names)


def likeliest_first(module: str, tests: tuple[str, ...]) -> list[str]:
    """Their files: first those that are called like the module, then those that name it."""
    path = Path(module)
    dotted = ".".join(path.with_suffix("").parts)
    files = [file for test in tests for file in _files(ROOT / test)]
    return sorted(
        dict.fromkeys(file.relative_to(ROOT).as_posix() for file in files if file.is_file()),
        key=lambda file: (
            Path(file).stem != f"test_{path.stem}",
            dotted not in (ROOT / file).read_text("utf-8"),
        ),
    )


def _files(test: Path) -> list[Path]:
    files = sorted(test.rglob("test_*.py")) if test.is_dir() else [test]
    return [file for file in files if file.relative_to(ROOT).as_posix() not in UNASKED]
