"""What is claimed stands in the results that are kept, and the presets are written from them."""

import json
from pathlib import Path
from typing import Any

import pytest

from simulations.choose.__main__ import PRESETS, YARDSTICKS, presets_text
from simulations.kit.command import RESULTS

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
ALL = sorted(path.stem for path in RESULTS.glob("*.json"))


def results(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return document


def test_the_presets_are_what_was_chosen() -> None:
    """If not: python -m simulations.choose --write-presets"""
    assert PRESETS.read_text("utf-8") == presets_text(RESULTS)


@pytest.mark.parametrize("hide", YARDSTICKS)
def test_a_preset_holds_every_attack_and_promises_what_standard_privacy_cannot(hide: str) -> None:
    found = results(f"choose-{hide}")
    assert not found["quick"]
    told = found["results"]
    assert told["verdicts"]
    assert all(v["held"] and v["low"] <= v["chance"] for v in told["verdicts"])
    assert told["standard"]["times_smaller"] >= 5


@pytest.mark.parametrize("name", ALL)
def test_every_picture_that_is_named_is_kept_and_small(name: str) -> None:
    for figure in results(name).get("figures", []):
        assert 0 < (RESULTS / figure["file"]).stat().st_size < 150_000


def test_attacks_are_strong_on_clean_data() -> None:
    clean = results("tv")["results"]["clean"]
    assert clean["real"]["exact"]["low"] >= 0.95
    assert clean["real"]["by_slower_column"]["low"] >= 0.95
    for row in clean["channels"]:
        if row["attack"] == "changes":
            assert row["top1"]["share"] >= 0.93
    for row in clean["displays"]:
        if row["seconds"] == 2:
            static = row["display"] == "static"
            assert row["top1"]["high"] < 0.03 if static else row["top1"]["low"] > 0.95


def test_the_yardstick_of_the_design_is_reproduced() -> None:
    """Correlation with real chunks: as printed in the design, give or take what windows differ."""
    printed = {
        2: {"0.5": 1.0, "0.1": 0.96, "0.05": 0.59, "0.01": 0.01},
        10: {"0.5": 1.0, "0.1": 0.27, "0.05": 0.05, "0.01": 0.0},
        60: {"0.5": 0.11, "0.1": 0.0, "0.05": 0.0, "0.01": 0.0},
    }
    for row in results("tv")["results"]["real"]["correlation"]:
        told = printed[row["window_seconds"]][row["epsilon_per_watt"]]
        assert row["top1"]["share"] == pytest.approx(told, abs=0.03)


def test_the_readme_quotes_the_results() -> None:
    chosen = results("choose-tv-content")["results"]
    for verdict in chosen["verdicts"]:
        low, high = f"{100 * verdict['low']:.2f}", f"{100 * verdict['high']:.2f}"
        assert f"{100 * verdict['success']:.2f} % ({low} to {high} %)" in README
        guessing = f"{100 * verdict['chance']:.2f}".rstrip("0")
        assert f"| {guessing} % |" in README
    noise = {p["window"]: p["noise_watts"] for p in chosen["points"] if p["queries"] == ["avg"]}
    error = chosen["chosen"]["evidence"]["error"].removesuffix("W")
    told = " ".join(README.split())
    assert f"a day's average is off by {error} W" in told
    assert (
        f"an hour it would be {noise['1h']} W, of a quarter of an hour {noise['15m']:,} W" in told
    )
    assert f"within {100 * chosen['month_error']:.2f} % in 95 % of months" in told
    energy = results("utility")["results"]["energy"]
    homes = [energy[f"preset {hide}"]["homes_for_1_percent"] for hide in YARDSTICKS]
    assert f"that of {homes[0]} simulated homes together is within 1 %" in told
    assert f"that of {homes[1]} under `appliances` and of {homes[2]:,} under `presence`" in told
    least = min(bill["worst"]["success"] for bill in results("choose-presence")["results"]["bills"])
    assert f"`presence`, in {least:.0%} of all".replace("%", " %") in told
    rows = results("tv")["results"]["clean"]["displays"]
    [every_2_s] = [r for r in rows if (r["display"], r["seconds"]) == ("OLED", 2)]
    assert every_2_s["top1"]["share"] == 1


@pytest.mark.parametrize("hide", YARDSTICKS)
def test_a_single_home_cannot_have_a_precise_bill_and_hide_everything(hide: str) -> None:
    bills = results(f"choose-{hide}")["results"]["bills"]
    assert len(bills) == 5
    assert all(bill["month_error"] <= 0.01 and not bill["held"] for bill in bills)


def test_the_command_that_chose_is_the_one_that_is_named() -> None:
    for hide in YARDSTICKS:
        told = results(f"choose-{hide}")
        assert (
            told["results"]["chosen"]["evidence"]["source"].split(" --hide ")[1].split()[0] == hide
        )
        assert f"--hide {hide}" in told["command"]
