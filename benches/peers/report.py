"""The table: what was measured beside what is aimed at, with the ratio to every peer. Knows nothing of how time is taken."""

import statistics
from collections.abc import Callable
from typing import Any

from works import LOAD_AIMS, LOAD_P99_MS_MAX, Work

NOISY_PERCENT = 10
STREAM_FIRST_BYTE_MS = 1.0
STREAM_MEMORY_MIB = 64.0
DEPTH_RATIO_MAX = 1.2
CONVERSION_SECONDS = 6.0
CONVERSION_BYTES = 650e6
START_MS = 30.0
OURS, POWER = "mercato", "mercato-power"
Figures = dict[str, Any]


def short(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(ours: float, theirs: float, more_is_better: bool) -> str:
    """How many times as good ours is; nothing where a figure is 0, as the memory of a small table may be."""
    if ours == 0 or theirs == 0:
        return ""
    return f"×{short(ours / theirs if more_is_better else theirs / ours)}"


def met(value: float, aim: float, more_is_better: bool) -> str:
    """Whether the aim is met."""
    return "met" if (value >= aim if more_is_better else value <= aim) else "**missed**"


class Table:
    """Rows of the report, one column for each server."""

    def __init__(self, columns: dict[str, str], aims_hold: bool) -> None:
        self._columns = columns
        self._aims_hold = aims_hold
        self.rows: list[list[str]] = []
        self.missed: list[str] = []

    def row(self, title: str, unit: str, values: dict[str, float], aim: float | None, more_is_better: bool,
            notes: Callable[[str], str] = lambda _: "", texts: dict[str, str] | None = None,
            seconds: dict[str, float] | None = None) -> None:
        """One row. `texts` stand where there is no value. Ratios are those of `seconds` where these are given."""
        ours = values.get(OURS)
        cells = []
        for name in self._columns:
            value = values.get(name)
            if value is None:
                cells.append((texts or {}).get(name, ""))
                continue
            text = short(value) + notes(name)
            if ours is not None and name not in (OURS, POWER):
                text += " " + (ratio(seconds[OURS], seconds[name], False) if seconds else ratio(ours, value, more_is_better))
            cells.append(text)
        verdict = ""
        if aim is not None and ours is not None and self._aims_hold:
            verdict = met(ours, aim, more_is_better)
            if verdict != "met":
                self.missed.append(f"{title}: {short(ours)} {unit}, aim {short(aim)}")
        limit = "" if aim is None else f"{'≥' if more_is_better else '≤'} {short(aim)}"
        self.rows.append([title, unit, *cells, limit, verdict])

    def text(self) -> str:
        """The table in Markdown."""
        heads = ["work", "unit", *self._columns.values(), "aim", ""]
        lines = [heads, ["---"] * len(heads), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mark(figures: Figures) -> str:
    """`*` where other programs were busy, `†` where rows came in another order than in the file."""
    noisy = "*" if figures.get("foreignPercent", 0) > NOISY_PERCENT else ""
    return noisy + ("†" if figures.get("checked") == "other order" else "")


def add_work(table: Table, work: Work, cells: dict[str, Figures]) -> None:
    """The row of a work, and for streams the rows of the first byte and the memory."""
    good = {name: cell for name, cell in cells.items() if "p50Ms" in cell}
    texts = {name: cell["error"][:60].replace("|", "/") for name, cell in cells.items() if cell.get("error")}
    if not work.is_rate:
        table.row(f"{work.name}: {work.title}", "ms", {name: cell["p50Ms"] for name, cell in good.items()}, work.aim, False,
                  lambda name: f" ({short(good[name]['p99Ms'])}){mark(good[name])}", texts)
        return
    table.row(f"{work.name}: {work.title}", "MB/s", {name: cell["megabytesPerSecond"] for name, cell in good.items()}, work.aim,
              True, lambda name: mark(good[name]), texts, {name: cell["p50Ms"] for name, cell in good.items()})
    if work.form in ("ndjson", "events"):
        served = {name: cell for name, cell in good.items() if name != "polars"}
        table.row(f"{work.name}: first byte", "ms", {name: cell["firstByteMs"] for name, cell in served.items()},
                  STREAM_FIRST_BYTE_MS, False)
        table.row(f"{work.name}: memory without pages of files", "MiB", {name: cell["withoutFilesMiB"] for name, cell in served.items()},
                  STREAM_MEMORY_MIB, False)


def add_depths(table: Table, answers: dict[str, dict[str, Figures]]) -> None:
    """How much slower the slowest depth is than the fastest."""
    walks = [cells for name, cells in answers.items() if name.startswith("W2k@")]
    if len(walks) < 2:
        return
    names = [name for name in walks[0] if all("p50Ms" in cells.get(name, {}) for cells in walks)]
    found = {name: max(cells[name]["p50Ms"] for cells in walks) / min(cells[name]["p50Ms"] for cells in walks) for name in names}
    table.row("W2k: slowest depth to fastest", "", found, DEPTH_RATIO_MAX, False)


def add_loads(table: Table, entries: list[Figures]) -> None:
    """W8, requests per second with p99."""
    for work, connections in dict.fromkeys((entry["work"], entry["connections"]) for entry in entries):
        cells = {entry["target"]: entry for entry in entries if (entry["work"], entry["connections"]) == (work, connections)}
        title = f"W8: {work}, {connections} connection{'s' if connections > 1 else ''}"
        table.row(title, "1/s", {name: cell["perSecond"] for name, cell in cells.items()}, LOAD_AIMS.get((work, connections)), True,
                  lambda name, cells=cells: mark(cells[name]) + (f" ({cells[name]['failed']:.0f} failed)" if cells[name]["failed"] else ""))
        table.row(f"{title}, p99", "ms", {name: cell["p99"] for name, cell in cells.items()}, LOAD_P99_MS_MAX.get((work, connections)),
                  False)


def add_stores(table: Table, entries: list[Figures]) -> None:
    """W9: the best of several runs of each way to load, because whatever disturbs a load makes it slower."""
    ours = [entry for entry in entries if entry["target"] == OURS and entry["name"].startswith("converted")]
    ways = list(dict.fromkeys((entry["target"], entry["name"]) for entry in entries if entry not in ours))
    figures = (("seconds", "seconds", "s", 1.0, CONVERSION_SECONDS), ("peakMiB", "peak memory", "MiB", 1.0, 2048.0),
               ("bytes", "bytes on disk", "MB", 1e6, CONVERSION_BYTES / 1e6))
    for key, title, unit, divisor, aim in figures:
        values, texts = {}, {}
        if ours:
            values[OURS] = min(entry[key] for entry in ours) / divisor
        for target in dict.fromkeys(target for target, _ in ways):
            parts = []
            for name in (name for owner, name in ways if owner == target):
                least = min(entry[key] for entry in entries if (entry["target"], entry["name"]) == (target, name)) / divisor
                parts.append(f"{short(least)} {name}" + (f" {ratio(values[OURS], least, False)}" if ours and target != OURS else ""))
            texts[target] = "; ".join(parts)
        table.row(f"W9: {title}", unit, values, aim, False, lambda _, texts=texts: f" ({texts[OURS]})" if texts.get(OURS) else "", texts)


def text(results: Figures, works: list[Work]) -> str:
    """The whole report."""
    full = results["scale"] == 1
    table = Table(results["columns"], full)
    for work in works:
        if work.name in results["answers"]:
            add_work(table, work, results["answers"][work.name])
    add_depths(table, results["answers"])
    add_loads(table, results["loads"])
    if results["stores"]:
        add_stores(table, results["stores"])
    if results["starts"]:
        table.row("W10: start to first answer, 100 datasets", "ms",
                  {name: statistics.median(values) * 1e3 for name, values in results["starts"].items()}, START_MS, False)
    machine, versions = results["machine"], ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        f"{machine['date']}, {machine['cores']} cores of {machine['processor']}, {machine['memoryGiB']} GiB, Linux {machine['kernel']}. "
        f"TPC-H `lineitem`, scale {results['scale']:g}: {results['rows']:,} rows. {versions}.", "",
        "Medians (p99 in brackets); `×` is how many times as good ours is in the same rounds. "
        f"`*`: other programs took more than {NOISY_PERCENT} % of the machine in some block. `†`: the right rows in another order.",
        "", table.text(), ""]
    if not full:
        lines.append("The aims are for scale 1; nothing is judged here. Depths are named after scale 1.")
    elif table.missed:
        lines += ["Missed: " + "; ".join(table.missed) + "."]
    else:
        lines.append("Every aim is met.")
    return "\n".join(lines) + "\n"
