"""The three dashboards, as files.

python -m deploy.grafana.dashboards           write the JSON files beside this one
python -m deploy.grafana.dashboards --check   end with 1 if one is not as it would be written
"""

import argparse
import json
import sys
from pathlib import Path

from deploy.grafana import groups, health, privacy
from deploy.grafana.layout import Dashboard

HERE = Path(__file__).parent
ALL = (privacy.DASHBOARD, health.DASHBOARD, groups.DASHBOARD)


def written(dashboard: Dashboard) -> str:
    """The file's text."""
    return json.dumps(dashboard.json(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the files, or say which ones are stale."""
    parser = argparse.ArgumentParser(prog="python -m deploy.grafana.dashboards")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if one is stale")
    check = parser.parse_args().check
    stale = [
        d for d in ALL if not (path := HERE / d.file).exists() or path.read_text() != written(d)
    ]
    for dashboard in stale:
        if check:
            print(f"{dashboard.file} is stale: python -m deploy.grafana.dashboards")
        else:
            (HERE / dashboard.file).write_text(written(dashboard))
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
