"""The manual: every page has its place, and every link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deploy.manual.gather import ROOT, gather, linked, pages, without_folders
from deploy.prometheus.rules import ALERTS
from meteragent.watch.fixed import MARK

if TYPE_CHECKING:
    from pathlib import Path


def test_every_page_has_its_place_in_the_navigation() -> None:
    there = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "deploy").rglob("*.md")
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    }
    assert there <= {*pages()}
    assert len(pages()) == len({*pages()})


def test_pages_are_gathered_with_what_they_link_to(tmp_path: Path) -> None:
    gather(tmp_path)
    for name in pages():
        text = (tmp_path / name).read_text("utf-8")
        for target in linked(name, text):
            assert (tmp_path / target.relative_to(ROOT)).is_file(), (name, target)


def test_folders_and_hidden_files_are_named_and_not_linked() -> None:
    text = "[a](deploy/helm) [b](.gitignore) [c](SECURITY.md#x) [d](https://e.example) [e](#f)"
    kept = "a b [c](SECURITY.md#x) [d](https://e.example) [e](#f)"
    assert without_folders("README.md", text) == kept


def test_lists_stand_apart_from_the_line_before_them() -> None:
    """Where they do not, GitHub shows a list and the site a paragraph."""
    for name in pages():
        text = re.sub(r"```.*?```", "", (ROOT / name).read_text("utf-8"), flags=re.DOTALL)
        assert re.findall(r"^(?![-\s]|\d+\. ).+\n(?:- |1\. ).*", text, re.MULTILINE) == [], name


def test_alerts_that_pages_name_are_there() -> None:
    there = {alert.name for alert in ALERTS}
    for name in {*pages()} - {"CHANGELOG.md"}:
        named = {*re.findall(r"`(MeterAgent\w+)`", (ROOT / name).read_text("utf-8"))}
        assert named <= there, name


@pytest.mark.slow
def test_the_site_is_built_and_a_link_to_nowhere_is_not() -> None:
    built = subprocess.run(  # noqa: S603 - our own command
        [ROOT / "deploy" / "manual" / "build"],
        env={"PATH": "/usr/bin:/bin", "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    site = ROOT / "out" / "manual" / "site"
    assert (site / "index.html").exists()
    for name in pages():
        if not name.endswith("README.md"):
            assert (site / name).with_suffix(".html").exists()
    assert 'href="explorer.html"' in (site / "index.html").read_text("utf-8").replace("'", '"')
    assert MARK in (site / "explorer.html").read_text("utf-8")[:200]
    for page in {*site.rglob("*.html")} - {site / "explorer.html"}:
        text = page.read_text("utf-8")
        fetched = [*re.findall(r"<(?:script|img|iframe|source)[^>]* src=\"?([^\" >]+)", text)]
        fetched += re.findall(r"<link[^>]* href=\"([^\"]+)\"[^>]*stylesheet", text)
        assert fetched
        assert not [one for one in fetched if re.match(r"(https?:)?//", one)], page
    page = ROOT / "out" / "manual" / "pages" / "SECURITY.md"
    page.write_text(f"{page.read_text()}\n[nowhere](nowhere.md)\n")
    mkdocs = (ROOT / "out" / "manual-environment" / "bin" / "python", "-m", "mkdocs")
    refused = subprocess.run(  # noqa: S603 - what `build` runs
        [*mkdocs, "build", "--strict", "-f", "deploy/manual/mkdocs.yml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode != 0
    assert "nowhere.md" in refused.stderr
