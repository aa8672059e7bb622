"""What the server shows and never changes: the page, and an explorer where one is named."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from meteragent.cli import main
from meteragent.commands.exit_codes import Exit
from meteragent.config import keyfile
from meteragent.config.watch import Http
from meteragent.errors import InvalidSetting
from meteragent.watch import fixed
from meteragent.watch.http_message import Request
from meteragent.watch.status import Status
from tests.commands.explorers import few
from tests.watch.stage import Stage, config

if TYPE_CHECKING:
    from pathlib import Path

ASKED = Request("GET", "/explorer", {"accept-encoding": "gzip"})


@pytest.fixture
def explorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    few(monkeypatch)
    path = tmp_path / "explorer.html"
    assert main(["explore", "-o", str(path)]) == Exit.OK
    return path


def test_an_explorer_is_shown_as_it_was_written_and_linked(explorer: Path) -> None:
    stage = Stage(config())
    stage.settings = stage.settings.model_copy(update={"http": Http(explorer_file=explorer)})
    pages = Status(stage.settings, stage.monitor, stage, wall=lambda: stage.now).pages()
    assert not pages["/explorer"].open, "a password is asked for, where there is one"
    answer = pages["/explorer"].answer(ASKED)
    assert gzip.decompress(answer.body) == explorer.read_bytes()
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "frame-ancestors 'none'" in policy
    assert "connect-src" not in policy
    assert b'<a href="explorer">' in pages["/"].answer(Request("GET", "/", {})).body


def test_where_none_is_named_the_page_says_how_to_make_one() -> None:
    [(path, page)] = fixed.fixed(Http()).items()
    assert path == "/"
    html = page.answer(Request("GET", "/", {})).body.decode()
    assert "meteragent explore -c agent.toml" in html
    assert 'href="explorer"' not in html
    assert fixed.MARK not in html


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read"),
        (b"meter_id,ts,value\nhome-1,0,1\n", "was not made by"),
        (b"<!DOCTYPE html>\n" + fixed.MARK.encode() + b"x" * fixed.LARGEST, "was not made by"),
    ],
    ids=["missing", "readings", "endless"],
)
def test_what_is_no_explorer_is_never_shown(
    content: bytes | None, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "explorer.html"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidSetting, match=problem) as refused:
        fixed.fixed(Http(explorer_file=file))
    assert refused.value.field == "http.explorer_file"
    assert "meter_id" not in str(refused.value)


def test_check_looks_at_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keyfile.create(tmp_path / "noise.key")
    toml = f"""
    [agent]
    key_file = "{tmp_path}/noise.key"
    [http]
    explorer_file = "{tmp_path}/noise.key"
    [[policy]]
    name = "household"
    preset = "appliances"
    interval = "1m"
    """
    (tmp_path / "agent.toml").write_text(toml)
    asked = ["check", "--offline", "-c", str(tmp_path / "agent.toml")]
    assert main(asked) == Exit.CONFIGURATION
    assert "http.explorer_file: " in capsys.readouterr().err
