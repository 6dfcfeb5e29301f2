#!/usr/bin/env python3
"""Prometheus's own checker reads the scrape configuration, the alerts and the expressions of the dashboard, and tests the alerts.

    python3 tests/monitoring/check.py

Needs promtool (Debian: prometheus). Exit code 0 only if it accepts everything, and the alerts fire as rules.test.yml says.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
# What Grafana puts in their place.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*"}


def promtool(*words: object) -> None:
    command = ["promtool", *map(str, words)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{outcome.stdout}{outcome.stderr}")


def expressions() -> list[str]:
    """Those of the dashboard."""
    panels = json.loads((DOCS / "grafana" / "mercato.json").read_text())["panels"]
    found = [target["expr"] for panel in panels for target in panel["targets"]]
    for variable, value in VARIABLES.items():
        found = [expression.replace(variable, value) for expression in found]
    return found


def check_dashboard() -> int:
    found = expressions()
    groups = [{"name": "dashboard", "rules": [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(found)]}]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as rules:
        # JSON is YAML.
        json.dump({"groups": groups}, rules)
        rules.flush()
        promtool("check", "rules", rules.name)
    return len(found)


def main() -> int:
    promtool("check", "config", DOCS / "alerts" / "prometheus.yml")
    promtool("test", "rules", HERE / "rules.test.yml")
    print(f"scrape configuration, alerts and {check_dashboard()} expressions of the dashboard: accepted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
