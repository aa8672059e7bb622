"""`python -m simulations.report`: all results in one page that needs nothing beside it.

python -m simulations.report                     of the results that are kept here
python -m simulations.report --results DIR --out FILE
"""

import argparse
import json
import sys
from pathlib import Path

from simulations.kit.command import RESULTS
from simulations.report.page import Document, page


def main() -> int:
    """Read every result there is, and write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m simulations.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="FILE", help="by default DIR/report.html")
    given = parser.parse_args()
    out = given.out or given.results / "report.html"
    documents = results(given.results)
    if not documents:
        print(f"{given.results} holds no results yet: run one of the simulations", file=sys.stderr)
        return 1
    out.write_text(page(documents, given.results), encoding="utf-8")
    print(f"report: {out} ({out.stat().st_size / 1e6:.1f} MB)")
    return 0


def results(folder: Path) -> list[Document]:
    """Every result of a folder that a simulation wrote, by name."""
    found = [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
    return [
        one for one in found if isinstance(one, dict) and {"simulation", "figures"} <= one.keys()
    ]


if __name__ == "__main__":
    sys.exit(main())
