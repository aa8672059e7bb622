"""`explain` as people and programs meet it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.commands.explain import explanations, text
from meteragent.config import load
from meteragent.explain.document import explanation_schema

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "deploy" / "agent.toml")
OTHERS = """
[[policy]]
name = "plugs"
match = "plug-"
window = "1m"
interval = "10s"
maximum = "3kW"
queries = ["avg", "reading"]
epsilon = "1"
budget = "200"
on_exhausted = "partial"
[[policy]]
name = "feeders"
window = "1h"
interval = "1m"
maximum = "24kW"
epsilon = "0.001"
budget = "1"
presence = "private"
"""
QUARTERS = """
[[policy]]
name = "household"
window = "15m"
interval = "10s"
maximum = "24kW"
queries = ["avg", { query = "p95", epsilon = "0.5" }]
epsilon = "1"
budget = "144"
"""
GOLDEN = """\
household: all meters, policy e3055bdf8d86a8ba2b2e83dd5fd0d762
==============================================================

Someone who already knows every reading of a home to within 50 W either way
improves the odds of any guess by at most x4.49 from one release (avg and p95 of
15 min), and without a bound that protects from all releases of 24 h that start
or end with a window.

All releases of any other 24 h, which touch one window more, improve the odds
without a bound that protects.

Of any number of stories whose readings lie within 100 W of one another, one
release lets nobody name the right one more than 1.88 times as often as before.

That holds whatever they know besides and whatever method they use, unless they
hold the noise key or see the readings themselves.

In general: if two versions of a home differ by at most W watts in every
reading, W in whole steps of 10 W, the odds between them change by at most
exp(0.015 x W) from one release, exp(1.44 x W) in 24 h that start or end with a
window, and exp(1.455 x W) in any 24 h.

Which readings arrived is public: a gap in the readings can be seen.

What one answer is worth
query  noise  error  at minimum  90 %  at minimum  bits  times  plus
avg      100   99.8        49.9   230         160  6.92    121     1
p95      200    200         100   460         320  5.93     61     1

Watts: the noise's scale; the expected error, and the error that 90 % of answers
stay within, in the middle of the range and at its minimum. Bits, times and plus
bound what one answer adds to any adversary's knowledge of the level: times
multiplies a chance of success, plus is added to it.

Over 30 days the mean of avg, from unbiased, is off by at most 5.16 W in 95 of
100 cases.

What the budget covers
The budget of 24 h covers every window: none is ever withheld for it.

Odds by which loads can be recognised
load                  avg       p95  together   no gaps
TV programme        x2.72     x1.65     x4.49     x4.06
fridge cycle        x6.05     x4.49     x27.2     x20.1
kettle               x222  no bound  no bound  no bound
washing machine  no bound  no bound  no bound  no bound
oven             no bound  no bound  no bound  no bound
heat pump        no bound  no bound  no bound  no bound
EV charge        no bound  no bound  no bound  no bound
empty house      no bound  no bound  no bound  no bound

Loads: TV programme, an hour of one programme or of another, 15 W apart on
average; fridge cycle, 100 W for 20 min; kettle, 2 kW for 3 min; washing
machine, 300 W for 90 min, and its heater of 2 kW for 20 min; oven, 2.5 kW for
45 min; heat pump, 2 kW for 3 h; EV charge, 7.4 kW for 4 h; empty house, for a
day: without 200 W all day, 200 W of light and screens for 6 h, the oven once
and the kettle four times.

No gaps: where no reading is missing. All else holds whichever are missing.

How often the best attacker is right
load               once  on 7 days  on 30 days
TV programme     59.1 %     72.9 %      89.7 %
fridge cycle     73.9 %     95.2 %       100 %
kettle            100 %      100 %       100 %
washing machine   100 %      100 %       100 %
oven              100 %      100 %       100 %
heat pump         100 %      100 %       100 %
EV charge         100 %      100 %       100 %
empty house       100 %      100 %       100 %

At most, where no reading is missing: for somebody who knows all else in the
home, and says whether it ran, once or on every one of these days. Guessing is
right in 50 %. Budgets come back, and habits add up.

Warning: Effectively not hidden: kettle, washing machine, oven, heat pump, EV
charge and empty house. Of a single one the best attacker is right in more than
three cases of four.

Warning: Over 24 h the releases add up to no bound that protects from someone
who compares two whole histories. Take a smaller budget, or a smaller epsilon
with it.
"""

Said = pytest.CaptureFixture[str]


@pytest.fixture
def several(tmp_path: Path) -> Path:
    path = tmp_path / "agent.toml"
    path.write_text(OTHERS)
    return path


def test_what_has_no_bound_is_explained(
    capsys: Said, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "agent.toml").write_text(QUARTERS)
    assert main(["explain", "-c", str(tmp_path / "agent.toml")]) == Exit.OK
    assert capsys.readouterr().out == GOLDEN


def test_joint_noise_is_explained(capsys: Said, tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    policy = OTHERS.partition("[[policy]]")[2].partition("[[policy]]")[0]
    lines = [line for line in policy.splitlines() if not line.startswith("queries")]
    asking = ["[[policy]]", *lines, 'queries = ["avg", "max"]', 'noise = "joint"']
    path.write_text("\n".join(asking))
    assert main(["explain", "-c", str(path)]) == Exit.OK
    said = " ".join(capsys.readouterr().out.split())
    assert "One draw is for all answers of a window: together they lose" in said
    assert "The answers of a window share one draw" in said


def test_neither_key_nor_broker_is_needed(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    assert main(["explain", "-c", str(tmp_path / "agent.toml")]) == Exit.OK
    assert [path.name for path in tmp_path.iterdir()] == ["agent.toml"]


def test_several_policies_are_explained_in_turn(several: Path, capsys: Said) -> None:
    assert main(["explain", "-c", str(several)]) == Exit.OK
    said = capsys.readouterr().out
    assert said.index('plugs: meters "plug-…"') < said.index("feeders: all meters")
    assert "reading (each of 6)" in said
    assert "* as much as the budget lets" in said


@pytest.mark.parametrize("configuration", [EXAMPLE, ""])
@pytest.mark.parametrize("width", [40, 55, 80, 100])
def test_no_line_is_wider_than_the_terminal(configuration: str, width: int, several: Path) -> None:
    for explained in explanations(load(Path(configuration or several), {})):
        said = text(explained, width).splitlines()
        assert [line for line in said[2:] if len(line) > width] == []


@pytest.mark.parametrize(("columns", "widest"), [("10", 40), ("60", 60), ("500", 100)])
def test_a_terminal_is_filled_within_reason(
    columns: str, widest: int, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["explain", "-c", EXAMPLE]) == Exit.OK
    longest = max(map(len, capsys.readouterr().out.splitlines()[2:]))
    assert widest - 10 < longest <= widest


def test_programs_get_exact_numbers_that_obey_the_schema(several: Path, capsys: Said) -> None:
    assert main(["explain", "--json", "-c", str(several)]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    jsonschema.validate(told, explanation_schema())
    plugs, feeders = told["policies"]
    assert (plugs["name"], plugs["match"], feeders["match"]) == ("plugs", "plug-", "")
    assert plugs["guarantee"]["one_release"]["log_odds"] == 7.0
    assert plugs["answers"][0]["epsilon_per_watt"] == "0.01"
    assert plugs["loads"][-1]["by_query"]["reading"]["odds"] is None
    assert feeders["spending"]["lasts_ms"] is None


def test_a_document_with_a_piece_missing_does_not_obey(several: Path, capsys: Said) -> None:
    main(["explain", "--json", "-c", str(several)])
    told = json.loads(capsys.readouterr().out)
    del told["policies"][1]["guarantee"]["one_horizon"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, explanation_schema())
