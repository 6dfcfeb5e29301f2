#!/usr/bin/env python3
"""Reads what Prometheus answered for each expression of the dashboard: no error, and figures but for parts that do not run.

    python3 tests/packages/panels.py ANSWERS

ANSWERS has one answer a line, in the order of the expressions in docs/grafana/mercato.json.
"""

import json
import sys
from pathlib import Path

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana" / "mercato.json"
# Panels that say so need a server with that flag; rates of what has not happened have no figures.
NEEDS_A_FLAG = "With --"
MAY_BE_EMPTY = ("mercato_edge_refusals_total", "histogram_quantile", "mercato_selection_hits_total")


def main() -> int:
    answers = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines() if line]
    asked = [(panel, target["expr"]) for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]
    if len(answers) != len(asked):
        raise SystemExit(f"{len(answers)} answers to {len(asked)} expressions")
    filled = 0
    for (panel, expression), answer in zip(asked, answers, strict=True):
        if answer["status"] != "success":
            raise SystemExit(f"{panel['title']}: {expression}: {answer}")
        if answer["data"]["result"]:
            filled += 1
        elif NEEDS_A_FLAG not in panel["description"] and not any(name in expression for name in MAY_BE_EMPTY):
            raise SystemExit(f"{panel['title']}: no figures for {expression}")
    print(f"{filled} of {len(asked)} expressions of the dashboard have figures; the others need parts that do not run here")
    return 0


if __name__ == "__main__":
    sys.exit(main())
