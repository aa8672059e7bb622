"""Policies as somebody would set them: named ones, and drawn ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from meteragent.config import Config, from_document

if TYPE_CHECKING:
    from random import Random

Table = dict[str, Any]
"""Settings of a `[[policy]]`; without its name."""

SHORT: Table = {
    "window": "5m",
    "interval": "30s",
    "maximum": "24kW",
    "epsilon": "1",
    "budget": "24",
    "min_coverage": "0.1",
}
HOPPING = SHORT | {"window": "10m", "hop": "4m", "grace": "1m", "queries": ["avg", "p95", "max"]}
NAMED: dict[str, list[Table]] = {
    "tumbling": [SHORT],
    "hopping": [HOPPING],
    "hopping by a slot": [SHORT | {"window": "2m", "hop": "30s", "budget": "5"}],
    "private": [SHORT | {"presence": "private", "min_coverage": "0"}],
    "private and hopping": [HOPPING | {"presence": "private", "min_coverage": "0"}],
    "partial": [
        SHORT
        | {
            "queries": ["avg", {"query": "p95", "epsilon": "0.3"}, {"query": "max", "epsilon": 2}],
            "budget": "5",
            "horizon": "30m",
            "on_exhausted": "partial",
        }
    ],
    "a small budget": [SHORT | {"budget": "3", "horizon": "40m"}],
    "every query": [SHORT | {"queries": ["avg", "min", "median", "max", "p0", "p99.9", "p33.3"]}],
    "joint": [SHORT | {"queries": ["min", "avg", "p95", "max"], "noise": "joint"}],
    "joint, private and hopping": [
        HOPPING | {"presence": "private", "min_coverage": "0", "noise": "joint"}
    ],
    "joint, a small budget": [
        SHORT
        | {
            "queries": ["max", "avg"],
            "noise": "joint",
            "budget": "3",
            "horizon": "40m",
            "on_exhausted": "partial",
        }
    ],
    "every reading": [SHORT | {"queries": ["reading", "avg"], "epsilon": "0.1"}],
    "every reading, private": [
        SHORT | {"queries": ["reading"], "presence": "private", "min_coverage": "0"}
    ],
    "a fine grid": [SHORT | {"step": "0.5W", "maximum": "3kW", "radius": "0.75W"}],
    "finer answers": [
        SHORT | {"step": "20W", "resolution": "0.5W", "queries": ["avg", "p95", "reading"]}
    ],
    "finer answers of an hour": [
        SHORT | {"window": "1h", "resolution": "1W", "queries": ["min", "avg", "max"]}
    ],
    "two levels": [SHORT | {"step": "3kW", "maximum": "3kW", "radius": "3kW"}],
    "export": [SHORT | {"minimum": "-6kW", "radius": "1W", "epsilon": "0.01"}],
    "next to no noise": [SHORT | {"epsilon": "90", "radius": "10W", "budget": "10000"}],
    "a long horizon": [SHORT | {"horizon": "7d", "budget": "40"}],
    "a fine budget": [SHORT | {"epsilon": "0.123456", "budget": "1.5", "horizon": "20m"}],
    "no grace": [SHORT | {"grace": "0s", "idle": "0s"}],
    "much grace": [SHORT | {"grace": "20m", "idle": "2h"}],
    "by prefix": [
        {**SHORT, "match": ""},
        {**HOPPING, "match": "h-", "maximum": "3kW"},
        {**SHORT, "match": "h-2", "presence": "private", "min_coverage": "0"},
    ],
}
PRESETS = ("tv-content", "appliances", "presence")


def config(tables: list[Table], **agent: object) -> Config:
    """The configuration with these policies, whose key is in `noise.key`."""
    named = [{"name": f"policy-{number}", **table} for number, table in enumerate(tables)]
    document = {"agent": {"key_file": "noise.key", **agent}, "policy": named}
    return from_document(document, Path(), {})


def drawn(draw: Random) -> Table:
    """Some policy that is accepted; most want few readings, so that windows are many."""
    interval = draw.choice((250, 1000, 10_000, 30_000, 60_000, 900_000))
    hop = draw.randrange(1, 12)
    slots = hop if draw.random() < 0.6 else hop + draw.randrange(1, 24)
    step = draw.choice(("1", "2.5", "10", "0.25", "40"))
    levels = draw.choice((1, 7, 60, 127, 128, 2400, 40_000))
    names = ("avg", "min", "median", "max", "p95", "p99.9", "p12.5", "reading")
    asked = [names[at] for at in sorted({draw.randrange(8) for _ in range(draw.randrange(1, 4))})]
    epsilons = [draw.choice(("1", "0.5", "0.037", "3")) for _ in asked]
    outputs = [slots if name == "reading" else 1 for name in asked]
    whole = sum(float(e) * n for e, n in zip(epsilons, outputs, strict=True))
    private = draw.random() < 0.3
    return {
        "window": f"{slots * interval}ms",
        "hop": f"{hop * interval}ms",
        "interval": f"{interval}ms",
        "grace": f"{draw.choice((0, 1, 2, 7)) * interval // 2}ms",
        "idle": f"{draw.choice((0, 1, 10, 100)) * interval}ms",
        "minimum": f"{draw.choice((0, 0, -4)) * float(step)}W",
        "maximum": f"{levels * float(step)}W",
        "step": f"{step}W",
        "queries": [
            {"query": name, "epsilon": epsilon}
            for name, epsilon in zip(asked, epsilons, strict=True)
        ],
        "epsilon": "1",
        "radius": f"{draw.choice((1, 3, 100, 12.5))}W",
        "budget": f"{whole * draw.choice((1, 2, 5, 100)) + 0.001:.3f}",
        "horizon": f"{slots * interval * draw.choice((1, 3, 50, 1000))}ms",
        "min_coverage": "0" if private else draw.choice(("0", "0.3", "0.8")),
        "presence": "private" if private else "public",
        "on_exhausted": draw.choice(("suppress", "partial")),
    }
