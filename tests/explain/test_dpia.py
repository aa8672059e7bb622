"""An assessment that is begun: every number in it is `explain`'s, and what is missing is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from meteragent.cli import main
from meteragent.commands.explain import explanations
from meteragent.config import Config, from_document
from meteragent.explain.dpia import HONEST, IN_FILES, NO_LAWYER, YOURS, Streams, assessment
from meteragent.explain.words import share_text

STREAMS = Streams("`in`", "`out`", "`ledger`", "`bad`", 3_600_000)
ROOT = Path(__file__).parents[2]


def configured(**settings: str) -> Config:
    return from_document({"policy": [{"name": "homes", **settings}]}, Path(), {})


def told(config: Config, streams: Streams = STREAMS) -> str:
    guarantees = [policy.guarantee for policy in config.policy]
    return assessment([*zip(guarantees, explanations(config), strict=True)], streams)


PLAIN = {"window": "1h", "interval": "1m", "maximum": "24kW", "epsilon": "1", "budget": "24"}


@pytest.mark.parametrize("preset", ["tv-content", "appliances", "presence", "bill"])
def test_every_share_of_everyday_loads_is_that_of_explain(preset: str) -> None:
    config = configured(preset=preset)
    text = told(config)
    [explained] = explanations(config)
    assert explained.choice is not None
    assert explained.choice.evidence in text
    for seen in explained.loads:
        its = seen.right
        row = " | ".join(map(share_text, (its.once, its.week, its.month)))
        assert f"| {seen.load} | {seen.meaning} | {row} |" in text
    for said in (*explained.guarantee.sentences, *explained.warnings, HONEST, NO_LAWYER):
        assert said in text


def test_evidence_of_a_preset_that_was_changed_is_none() -> None:
    text = told(configured(preset="tv-content", interval="1m"))
    assert "Changed: interval." in text
    assert "Measured attack" not in text
    assert "No attack was measured" in told(configured(**PLAIN))


def test_of_what_is_measured_without_known_loads_it_says_so() -> None:
    var = {"quantity": "reactive", "maximum": "10kvar", "radius": "100var", "step": "10var"}
    policy = {"name": "homes", **PLAIN, **var}
    config = from_document({"policy": [policy], "input": {"unit": "var"}}, Path(), {})
    assert "no everyday load of it is known here" in told(config)


def test_what_only_the_operator_knows_is_left_to_them() -> None:
    text = told(configured(**PLAIN))
    for left in ("controller", "processors", "data protection officer", "what avg of each window"):
        assert re.search(rf"{left}.*{re.escape(YOURS)}|{re.escape(YOURS)}.*{left}", text), left


def test_all_steps_and_articles_are_there() -> None:
    text = told(configured(**PLAIN))
    assert re.findall(r"^## (\d)\.", text, re.MULTILINE) == [*"12345678"]
    for article in ("5(1)(c)", "25", "32", "35"):
        assert re.search(rf"^\| [^|]*{re.escape(article)}[^|]* \|", text, re.MULTILINE)


def test_every_row_of_a_table_has_its_cells() -> None:
    text = told(configured(match="a|b", presence="private", **PLAIN))
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in table.strip().split("\n")}
        assert len(cells) == 1, table
    assert "`a\\|b…`" in text
    assert "| protected |" in text
    assert "| can be seen |" in told(configured(**PLAIN))


def test_where_data_are_is_named() -> None:
    config = configured(**PLAIN)
    assert "at least 1 h, for open windows" in told(config)
    assert "a file of SQLite" in told(config, IN_FILES)
    assert "for open windows |" not in told(config, IN_FILES)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--dpia", "-c", str(ROOT / "deploy" / "agent.toml")]) == 0
    text = capsys.readouterr().out
    assert "| readings | `meter.readings` |" in text
    assert main(["explain", "--dpia", "--preset", "tv-content"]) == 0
    assert "| readings | the input file |" in capsys.readouterr().out
    assert main(["explain", "--dpia", "--json", "--preset", "tv-content"]) != 0


def test_groups_are_assessed_as_policies_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(
        '[[group]]\nname = "feeders"\nwindow = "15m"\ninterval = "1m"\nhome_maximum = "24kW"\n'
        'maximum = "1MW"\nstep = "100W"\nradius = "1kW"\nepsilon = "1"\nbudget = "96"\n'
    )
    assert main(["explain", "--dpia", "-c", str(file)]) == 0
    text = capsys.readouterr().out
    assert "### `feeders`" in text
    assert "| `feeders` | all groups |" in text
