"""The operations guide: its links lead somewhere, its figures are the measured ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from meteragent.config import load
from meteragent.config.policy import PolicySettings
from meteragent.explain.explain import explain
from meteragent.explain.words import time_text
from meteragent.stream.trail import read_back

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "deploy" / "operations.md"
MEASURED = json.loads((ROOT / "deploy" / "capacity.json").read_text())
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "deploy").glob("*.md")),
    *sorted((ROOT / "deploy" / "guide").glob("*.md")),
)


def anchors(page: Path) -> set[str]:
    """Those of the headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text())
    assert links
    for file, anchor in links:
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), file
        assert not anchor or anchor in anchors(target), anchor


def test_the_machine_and_the_commands_are_named() -> None:
    """The figures themselves: `tests/docs/measured.toml`."""
    text = " ".join(GUIDE.read_text().split())
    machine, _, rest = MEASURED["machine"].partition(", 2 cores")
    assert machine in text
    assert rest.rpartition(", ")[2] in text
    for command in MEASURED["commands"]:
        assert command.removesuffix(" --json FILE") in text


def test_the_plan_is_on_the_safe_side_of_what_was_measured() -> None:
    assert MEASURED["rates"]["readings_per_cpu_second"] >= 2 * 200_000
    assert 1.49 * MEASURED["memory"]["bytes_per_meter"] <= 1024
    assert MEASURED["rates"]["resident_megabytes"] * 1e6 <= 256 * 2**20


UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def amount(text: str) -> float:
    """`900 MB/s` -> 9e8; the time that something is for is left out."""
    number, unit = re.match(r"([\d,.]+) ?([A-Za-z]+)?", text).groups()  # type: ignore[union-attr]
    return float(number.replace(",", "")) * UNITS.get(unit or "", 1)


def test_the_arithmetic_is_right() -> None:
    block = re.search(r"```\n(readings .*?)```", GUIDE.read_text(), re.DOTALL)
    assert block
    checked = 0
    for line in block[1].splitlines():
        left, equals, right = line.partition(" = ")
        terms = re.search(r"(?<![\w(])\(?[\d,]+ .*[*/+].*$", left[15:])
        if not equals or not terms:
            continue
        replaced = re.sub(
            r"[\d,.]+(?: ?(?:KiB|MiB|MB|B)\b)?(?: ?/?s\b)?",
            lambda found: str(amount(found[0])),
            terms[0].replace("accounts", ""),
        )
        assert re.fullmatch(r"[\d.e+*/() ]+", replaced), replaced
        value = eval(replaced)  # noqa: S307 - digits and operators, as was just asserted
        assert value == pytest.approx(amount(right.strip()), rel=0.05), line
        checked += 1
    assert checked >= 12


@pytest.mark.parametrize("row", MEASURED["presets"], ids=lambda row: row["preset"])
def test_each_presets_row_is_what_was_measured_and_what_follows(row: dict[str, Any]) -> None:
    times = {name: f"{row[f'{name}_ms'] // 1000}s" for name in ("interval", "grace")}
    settings = {"name": "all", "preset": row["preset"], **times}
    policy = PolicySettings.model_validate(settings).policy
    name = f"`{row['preset']}`, {time_text(policy.interval)}, {time_text(policy.grace)}"
    back = read_back(policy)
    measured = f"{row['resident']:,}, {row['peak']:,}"
    line = next(line for line in GUIDE.read_text().splitlines() if line.startswith(f"| {name} |"))
    _, _, bytes_of_a_meter, plan, read, readings, _ = (cell.strip() for cell in line.split("|"))
    assert (bytes_of_a_meter, read) == (measured, time_text(back))
    assert readings == f"{-(-back // policy.interval):,} readings"
    assert amount(plan) >= 1.45 * row["resident"]
    assert row["peak"] <= (2048 if policy.interval < 30_000 else 1024)


def test_the_policy_by_hours_protects_what_is_said_of_it(tmp_path: Path) -> None:
    [block] = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (tmp_path / "agent.toml").write_text(f'[agent]\nkey_file = "noise.key"\n{block}')
    [settings] = load(tmp_path / "agent.toml", {}).policy
    said = explain(settings.guarantee)
    assert [answer.noise_scale for answer in said.answers] == [2, 2]
    assert said.spending.lasts_ms is None
    told = {load.load: load.without_gaps.odds for load in said.loads}
    assert (told["TV programme"] or 99) < 1.3
    assert (told["EV charge"] or 1e9) > 1000
