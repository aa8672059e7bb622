"""What the explorer must say of settings, worked out anew from a file that says them."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from meteragent.config import nearby
from meteragent.config.policy import PolicySettings
from meteragent.explain.bills import sum_quantile
from meteragent.explain.explain import explain
from meteragent.explain.words import factor, share_text, watts_text

if TYPE_CHECKING:
    import pytest

HOMES = (1, 10, 100, 1_000, 10_000)


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that is made in a moment."""
    monkeypatch.setattr(nearby, "WINDOWS", ("1h", "24h"))
    monkeypatch.setattr(nearby, "RADII", (Decimal(100),))
    monkeypatch.setattr(nearby, "EPSILONS", (Decimal("0.25"),))


def expected(toml: str) -> dict[str, Any]:
    """The texts of a page whose settings are these."""
    [table] = tomllib.loads(toml, parse_float=Decimal)["policy"]
    settings = PolicySettings.model_validate(table)
    explained = explain(settings.guarantee)
    promised, asked = explained.guarantee, settings.policy.questions
    bounds = (promised.one_release, promised.one_horizon, promised.any_horizon)
    return {
        "words": promised.sentences[0],
        "bounds": [factor(its.log_odds) for its in bounds],
        "answers": [
            [
                its.query,
                watts_text(its.expected_error.middle),
                watts_text(its.error_90.middle),
                "–" if its.month is None else watts_text(its.month),
            ]
            for its in explained.answers
        ],
        "homes": [
            [watts_text(sum_quantile(settings.policy, one, many, 0.95) / many) for many in HOMES]
            for one in asked
        ],
        "loads": [
            [seen.load, share_text(seen.right.once), share_text(seen.right.month)]
            for seen in explained.loads
        ],
        "warnings": [text for text in explained.warnings if "windows miss out" not in text],
    }
