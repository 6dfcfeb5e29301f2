"""Plots of what `growth.py` measured, as SVG. Knows nothing of how it was measured."""

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

SIZE = (7.0, 4.2)
Line = tuple[str, list[float], list[float]]


def plot(path: Path, title: str, across: str, up: str, lines: list[Line], logarithmic: bool = True) -> None:
    """Lines over a logarithmic axis."""
    figure, axes = pyplot.subplots(figsize=SIZE)
    for name, xs, ys in lines:
        axes.plot(xs, ys, marker="o", markersize=4, label=name)
    axes.set_xscale("log")
    if logarithmic:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    ticks = sorted({x for _, xs, _ in lines for x in xs})
    axes.set_xticks(ticks, [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_title(title)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def latencies(entries: list[dict[str, Any]], xs: list[float], figure: str = "p50Ms") -> list[Line]:
    """A line for each work; where there was no answer in time, it has a gap."""
    return [(name, xs, [entry["works"][name].get(figure, math.nan) for entry in entries]) for name in entries[0]["works"]]


def rows(entries: list[dict[str, Any]], folder: Path) -> None:
    """Latency, conversion and bytes by rows."""
    xs = [entry["rows"] for entry in entries]
    plot(folder / "latency-by-rows.svg", "Median latency by rows", "rows", "milliseconds", latencies(entries, xs))
    plot(folder / "publish-by-rows.svg", "Publishing by rows", "rows", "seconds, MB", [
        ("seconds", xs, [entry["publish"]["seconds"] for entry in entries]),
        ("seconds of processors", xs, [entry["publish"]["processorSeconds"] for entry in entries]),
        ("peak memory without pages of files, MB", xs, [entry["publish"]["withoutFilesMiB"] * 1.048576 for entry in entries]),
        ("store file, MB", xs, [entry["publish"]["bytes"] / 1e6 for entry in entries])])


def columns(entries: list[dict[str, Any]], folder: Path) -> None:
    """Latency and conversion by columns."""
    xs = [entry["columns"] for entry in entries]
    plot(folder / "latency-by-columns.svg", "Median latency by columns, 100,000 rows", "columns", "milliseconds", latencies(entries, xs))
    plot(folder / "publish-by-columns.svg", "Publishing by columns, 100,000 rows", "columns", "seconds, MB", [
        ("seconds", xs, [entry["publish"]["seconds"] for entry in entries]),
        ("store file, MB", xs, [entry["publish"]["bytes"] / 1e6 for entry in entries])])


def connections(entries: list[dict[str, Any]], folder: Path) -> None:
    """Requests per second and p99 by connections, for each number of cores."""
    kinds = list(dict.fromkeys((entry["work"], entry["cores"]) for entry in entries))
    for key, name, title, up in (("perSecond", "rate", "Requests per second", "requests per second"),
                                 ("p99", "p99", "99th percentile", "milliseconds")):
        lines: list[Line] = []
        for work, cores in kinds:
            several = [entry for entry in entries if (entry["work"], entry["cores"]) == (work, cores)]
            label = f"{work}, {'one core' if cores == 1 else f'{cores} cores'}"
            lines.append((label, [entry["connections"] for entry in several], [entry[key] for entry in several]))
        plot(folder / f"{name}-by-connections.svg", f"{title} by connections", "connections", up, lines, logarithmic=key == "p99")


def memory(entries: list[dict[str, Any]], folder: Path) -> None:
    """Latency by the memory that the server may use."""
    xs = [entry["limitBytes"] / entry["fileBytes"] for entry in entries]
    lines = [line for line in latencies(entries, xs) if not line[0].startswith("W6")]
    lines += [(f"{name}, p99", xs, ys) for name, xs, ys in latencies(entries, xs, "p99Ms") if name.startswith("page")]
    plot(folder / "latency-by-memory.svg", "Latency by memory of the server", "memory as a part of the store file", "milliseconds", lines)


def draw(results: dict[str, Any], folder: Path) -> None:
    """All plots for which there are figures."""
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    for part, draw_part in {"rows": rows, "columns": columns, "connections": connections, "memory": memory}.items():
        if results.get(part):
            draw_part(results[part], folder)
