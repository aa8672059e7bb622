"""What the explorer must say of settings, worked out anew from a file that says them."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from meteragent.config import nearby
from meteragent.config.group import GroupSettings
from meteragent.config.policy import PolicySettings
from meteragent.config.presets import filled
from meteragent.explain.bills import sum_quantile
from meteragent.explain.explain import explain
from meteragent.explain.words import factor, share_text, watts_text

if TYPE_CHECKING:
    import pytest

    from meteragent.privacy.group import GroupPolicy

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
        "group": [
            [watts_text(sum_quantile(_group(table), one, 1, 0.95) / many) for many in HOMES]
            for one in asked
        ],
        "loads": [
            [seen.load, share_text(seen.right.once), share_text(seen.right.month)]
            for seen in explained.loads
        ],
        "warnings": [text for text in explained.warnings if "windows will be withheld" not in text],
    }


def _group(table: dict[str, Any]) -> GroupPolicy:
    """A real group of such homes, as `agent.toml` would have it."""
    settings = PolicySettings.model_validate(table)
    domain = settings.policy.domain
    most = f"{min(domain.maximum * max(HOMES), domain.resolution * 900_000):f}W"
    whole = filled(table)
    assert isinstance(whole, dict)
    own = ("window", "timezone", "epsilon", "radius", "queries")
    said = {name: whole[name] for name in own if name in whole}
    return GroupSettings.model_validate(
        {
            **said,
            "name": "group",
            "interval": f"{settings.interval}ms",
            "maximum": most,
            "home_maximum": f"{domain.maximum:f}W",
            "step": f"{domain.step:f}W",
            "resolution": f"{domain.resolution:f}W",
            "horizon": f"{settings.horizon}ms",
            "budget": "100000",
        }
    ).policy
