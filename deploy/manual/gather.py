"""The pages of the manual, gathered: `python -m deploy.manual.gather FOLDER`.

Pages stay where they are in the project, and so do the links between them; beside them come the
pictures and files that they link to. A folder, or a hidden file, is nothing that a site can show:
its name stays.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAVIGATION = Path(__file__).parent / "mkdocs.yml"
_PAGE = re.compile(r": (\S+\.md)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def pages() -> list[str]:
    """All that the navigation names, in its order."""
    return _PAGE.findall(NAVIGATION.read_text("utf-8"))


def gather(into: Path) -> None:
    """Copy them, and what they link to."""
    shutil.rmtree(into, ignore_errors=True)
    for name in pages():
        text = (ROOT / name).read_text("utf-8")
        for target in linked(name, text):
            if _shown(target) and target.suffix != ".md":
                _copied(target, into)
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_text(without_folders(name, text), "utf-8")
    for dress in ("site.css", "site.js"):
        _copied(NAVIGATION.with_name(dress), into)


def linked(page: str, text: str) -> list[Path]:
    """The files and folders of the project that a page links to."""
    return [_target(page, found[2]) for found in _LINK.finditer(text)]


def without_folders(page: str, text: str) -> str:
    """The text, with the names of folders and hidden files in place of links to them."""
    return _LINK.sub(lambda found: found[0 if _shown(_target(page, found[2])) else 1], text)


def _shown(target: Path) -> bool:
    hidden = any(part.startswith(".") for part in target.relative_to(ROOT).parts)
    return not hidden and not target.is_dir()


def _target(page: str, link: str) -> Path:
    return ((ROOT / page).parent / link).resolve()


def _copied(file: Path, into: Path) -> None:
    copy = into / file.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
