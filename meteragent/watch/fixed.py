"""What is shown over HTTP and never changes: the page for people, and the explorer.

The explorer is a file that `meteragent explore` wrote, of settings alone: an agent has no minute to
spare for working it out.
"""

import hashlib
from base64 import b64encode
from importlib.resources import files
from pathlib import Path

from meteragent.config import Http
from meteragent.errors import InvalidSetting
from meteragent.watch.http_message import Response, packed
from meteragent.watch.web import Page

HTML = "text/html; charset=utf-8"
MARK = "<!-- made by meteragent explore -->"
"""Stands at the top of an explorer."""
LARGEST = 32_000_000
"""Bytes of an explorer."""
_ALONE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_TO_BE_RUN = "Other settings: run <code>meteragent explore -c agent.toml</code>."
_TO_BE_OPENED = '<a href="explorer">Try other settings</a>, and see what they would tell.'


def fixed(http: Http) -> dict[str, Page]:
    """Both by their paths, as far as there are both. Raises InvalidSetting."""
    shown = {"/": page(explorer=http.explorer_file is not None)}
    if http.explorer_file is not None:
        shown["/explorer"] = explorer(http.explorer_file)
    return {path: _page(response) for path, response in shown.items()}


def page(*, explorer: bool) -> Response:
    """The page, its style and its script in one: nothing else is fetched, nor may it be."""
    here = files("meteragent") / "watch" / "page"
    html, style, script = (
        (here / name).read_text(encoding="utf-8")
        for name in ("index.html", "style.css", "script.js")
    )
    parts = {
        "<!-- explorer -->": _TO_BE_OPENED if explorer else _TO_BE_RUN,
        "/* style.css */": style,
        "/* script.js */": script,
    }
    for place, part in parts.items():
        html = html.replace(place, part)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"connect-src 'self'; img-src data:; {_ALONE}"
    )
    return Response(html.encode(), HTML, headers={"Content-Security-Policy": policy})


def explorer(file: Path) -> Response:
    """The file, which names the hashes of its script and style itself; nothing is fetched."""
    try:
        with file.open("rb") as opened:
            body = opened.read(LARGEST + 1)
    except OSError as error:
        raise _refused(f"{file} cannot be read ({error.strerror})") from error
    if MARK.encode() not in body[:200] or len(body) > LARGEST:
        raise _refused(f"{file} was not made by `meteragent explore`")
    policy = (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        f"img-src data:; {_ALONE}"
    )
    return Response(body, HTML, headers={"Content-Security-Policy": policy})


def _page(response: Response) -> Page:
    return Page(lambda asked: packed(response, asked), anytime=True)


def _refused(problem: str) -> InvalidSetting:
    instead = "write one with: meteragent explore -c agent.toml -o explorer.html"
    return InvalidSetting("http.explorer_file", problem, instead)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
