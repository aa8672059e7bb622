"""What is said of policies whose releases others are told noisier copies of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.commands.explain import explanations
from tests.config.test_group import config
from tests.config.test_tiers import PUBLIC, RESEARCH, with_tiers

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_each_audience_is_told_what_it_learns_and_what_all_of_them_do() -> None:
    first, research, public = explanations(config(policy=[with_tiers(RESEARCH, PUBLIC)]))
    assert [one.name for one in (research, public)] == ["homes/research", "homes/public"]
    assert (
        first.guarantee.one_release.log_odds
        == 2 * research.guarantee.one_release.log_odds
        == 10 * public.guarantee.one_release.log_odds
        == 1
    )
    assert research.guarantee.one_horizon.log_odds == first.guarantee.one_horizon.log_odds / 2
    said = " ".join(first.guarantee.sentences)
    assert "only the noisier copies of homes/research improves the odds by at most x1.65" in said
    assert "knows no more than whoever has the first releases." in said
    of_copies = " ".join(research.guarantee.sentences)
    assert "These are noisier copies of releases that others get" in of_copies
    assert "only the noisier copies" not in of_copies


def test_nobody_without_tiers_hears_of_them() -> None:
    [alone] = explanations(config(policy=[with_tiers()]))
    assert not any("copies" in one for one in alone.guarantee.sentences)


def test_a_preset_with_a_tier_keeps_its_evidence() -> None:
    [one, _] = explanations(
        config(policy=[{"name": "a", "preset": "appliances", "tier": [RESEARCH]}])
    )
    assert one.choice is not None
    assert one.choice.changed == ()


def test_an_assessment_names_the_topics_of_tiers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.toml").write_text(
        '[[policy]]\nname = "a"\npreset = "appliances"\n'
        '[[policy.tier]]\nname = "research"\nepsilon = "0.1"\n'
    )
    assert main(["explain", "--dpia", "-c", str(tmp_path / "agent.toml")]) == Exit.OK
    said = capsys.readouterr().out
    assert "`meter.sanitized.research`" in said
    assert "a/research" in said
