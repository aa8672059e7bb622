"""The report is one page: every picture in it, said in words, with what makes it again."""

import base64
import gzip
import json
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from simulations.kit.command import Run
from simulations.kit.plot import axes
from simulations.report.__main__ import results
from simulations.report.page import page
from simulations.report.recordings import SOURCES
from simulations.report.recordings import digest as digest_of


class Tags(HTMLParser):
    """Every tag with its attributes, and the text between."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


SAYS = 'It says "no" & more.'


def made(folder: Path, name: str, found: dict[str, Any] | None = None, caption: str = SAYS) -> None:
    run = Run(name, 7, folder, quick=False, traces=None, command=f"python -m simulations.{name}")
    with axes() as (figure, (panel,)):
        panel.plot([1, 2])
        run.picture(figure, "one", "Noise < signal", caption)
    run.results = found or {}
    run.write()


CHOSEN = {
    "hides": "which film is on",
    "chosen": {
        "policy": {"window": "24h", "queries": ["avg"]},
        "evidence": {
            "success": "0.006",
            "contest": "evenings",
            "chance": "0.005",
            "week": "0.0071",
            "weeks": "0.0082",
            "error": "10W",
        },
    },
    "month_error": 0.0126,
    "bills": [
        {
            "window": "6h",
            "noise_watts": 15,
            "worst": {
                "contest": "evenings <of films>",
                "success": 0.0123,
                "chance": 0.005,
            },
        }
    ],
}
NONE = {"hides": "who is in", "chosen": None, "max_error_watts": 20.0}


@pytest.fixture
def parsed(tmp_path: Path) -> Tags:
    made(tmp_path, "tv")
    made(tmp_path, "new")
    made(tmp_path, "choose-tv-content", CHOSEN)
    made(tmp_path, "choose-presence", NONE)
    (tmp_path / "other.json").write_text(json.dumps({"seconds": 1}))
    return Tags(page(results(tmp_path), tmp_path))


def test_what_a_precise_bill_gives_away_is_told(tmp_path: Path) -> None:
    made(tmp_path, "choose-tv-content", CHOSEN)
    text = page(results(tmp_path), tmp_path)
    row = "<td>6h</td><td>15 W</td><td>evenings &lt;of films&gt;</td><td>1.23 %</td>"
    assert row in text
    assert "What a precise bill" not in page([], tmp_path)


def test_nothing_is_fetched_from_elsewhere(parsed: Tags) -> None:
    links = [a.get(n) or "" for _, a in parsed.tags for n in ("src", "href") if n in a]
    assert links
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in links)
    assert not {"script", "link", "iframe"} & {tag for tag, _ in parsed.tags}


def test_every_picture_is_in_it_and_said_in_words(parsed: Tags, tmp_path: Path) -> None:
    pictures = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert len(pictures) == 4
    inside = {base64.b64decode((p["src"] or "").partition(",")[2]) for p in pictures}
    assert inside == {file.read_bytes() for file in tmp_path.glob("*.png")}
    assert {picture["alt"] for picture in pictures} == {f"Noise < signal: {SAYS}"}


def test_what_stands_in_code_marks_is_code(tmp_path: Path) -> None:
    made(tmp_path, "tv", caption="From `value`, and `a<b`.")
    text = page(results(tmp_path), tmp_path)
    assert "From <code>value</code>, and <code>a&lt;b</code>." in text
    assert 'alt="Noise &lt; signal: From value, and a&lt;b."' in text


def test_every_picture_stands_with_its_command_and_seed(parsed: Tags) -> None:
    for name in ("tv", "new", "choose-tv-content"):
        assert f"python -m simulations.{name}, seed 7" in parsed.text


def test_the_table_tells_what_was_chosen_and_what_could_not_be(parsed: Tags) -> None:
    for told in ("24h", "10 W", "0.6 % (evenings)", "0.5 %", "0.71 %", "0.82 %", "1.26 %"):
        assert told in parsed.text
    assert "no setting with an error of 20 W or less" in parsed.text


def test_every_link_has_its_place(parsed: Tags) -> None:
    places = {attributes.get("id") for _, attributes in parsed.tags}
    linked = {(a["href"] or "").removeprefix("#") for tag, a in parsed.tags if tag == "a"}
    assert {"tv", "new", "choose", "words", "recordings"} == linked <= places


def test_recordings_are_named_with_licence_and_digest(parsed: Tags, tmp_path: Path) -> None:
    assert "under the Open Database License (ODbL)" in parsed.text
    for source in SOURCES:
        assert source.licence in parsed.text
        assert all(name in parsed.text and digest in parsed.text for name, digest in source.files)
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_bytes(b"1;2")
    packed.write_bytes(gzip.compress(b"1;2"))
    assert digest_of(plain) == digest_of(packed) == sha256(b"1;2").hexdigest()[:16]
