"""Rules, alerts and the runbook page, as files.

python -m deploy.prometheus.rules           write the files beside this one
python -m deploy.prometheus.rules --check   end with 1 if one is not as it would be written
"""

import argparse
import sys
from pathlib import Path

from deploy.prometheus import health, privacy
from deploy.prometheus.model import PAGE, groups
from deploy.prometheus.recorded import RECORDED

HERE = Path(__file__).parent
ALERTS = (*health.ALERTS, *privacy.ALERTS)

_INTRODUCTION = """\
# Runbooks

What each alert means, and what to do. Written by `python -m deploy.prometheus.rules` from
`health.py` and `privacy.py`. None of these numbers depends on what a meter measured."""


def files() -> dict[str, str]:
    """Name -> text."""
    return {
        "rules.yml": groups([("meteragent", RECORDED)], "recorded.py"),
        "alerts.yml": groups(
            [("meteragent-health", health.ALERTS), ("meteragent-privacy", privacy.ALERTS)],
            "health.py and privacy.py",
        ),
        PAGE: "\n\n".join([_INTRODUCTION, *(alert.runbook() for alert in ALERTS)]) + "\n",
    }


def main() -> int:
    """Write the files, or say which ones are stale."""
    parser = argparse.ArgumentParser(prog="python -m deploy.prometheus.rules")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if one is stale")
    check = parser.parse_args().check
    stale = {
        name: text
        for name, text in files().items()
        if not (HERE / name).exists() or (HERE / name).read_text() != text
    }
    for name, text in stale.items():
        if check:
            print(f"{name} is stale: python -m deploy.prometheus.rules")
        else:
            (HERE / name).write_text(text)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
