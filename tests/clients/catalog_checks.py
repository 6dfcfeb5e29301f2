"""Checks a catalog without an API key: valid schemas, sample rows that match them, a consistent graph."""

import json
import urllib.request
from collections.abc import Callable
from typing import Any

from jsonschema import Draft202012Validator

LIST_LIMIT = 100
SECONDS_MAX = 60
Fetch = Callable[[str], Any]


def fetcher(base: str) -> Fetch:
    """Returns a function that reads `data` of a response."""
    def fetch(path: str) -> Any:
        with urllib.request.urlopen(f"{base}/api/v1/datasets{path}", timeout=SECONDS_MAX) as answer:
            envelope = json.load(answer)
        if envelope["success"] is not True:
            raise ValueError(f"{path}: no success")
        return envelope["data"]
    return fetch


def every_slug(fetch: Fetch) -> list[str]:
    """All slugs, page by page."""
    slugs: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = fetch(f"?limit={LIST_LIMIT}&offset={offset}")
        slugs += [item["slug"] for item in page["results"]]
        offset = page["nextOffset"]
    if len(slugs) != len(set(slugs)) or len(slugs) != page["total"]:
        raise ValueError(f"the list does not show every dataset once: {slugs}")
    return slugs


def check_dataset(fetch: Fetch, slug: str) -> int:
    """Validates every sample row against the schema. Returns the number of rows."""
    schema = fetch(f"/{slug}/schema")
    Draft202012Validator.check_schema(schema)
    names = [column["name"] for column in schema["columns"]]
    if list(schema["properties"]) != names or schema["required"] != names:
        raise ValueError(f"{slug}: properties, required and columns name different columns")
    validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    sample = fetch(f"/{slug}/sample")
    for number, row in enumerate(sample["results"]):
        for error in validator.iter_errors(row):
            raise ValueError(f"{slug}: row {number} of the sample: {error.message}")
    for name, column in schema["properties"].items():
        for example in column.get("examples", []):
            for error in Draft202012Validator(column).iter_errors(example):
                raise ValueError(f"{slug}: example of {name}: {error.message}")
    if not fetch(f"/{slug}/changelog")["entries"] or not fetch(f"/{slug}/methodology")["markdown"]:
        raise ValueError(f"{slug}: no changelog or no methodology")
    for wrong in (0, "x", None):
        if sample["results"] and validator.is_valid(dict(sample["results"][0]) | {"no such column": wrong}):
            raise ValueError(f"{slug}: the schema accepts a column that does not exist")
    return len(sample["results"])


def check_graph(fetch: Fetch, slugs: list[str]) -> int:
    """Checks that every edge has both ends, and that neighbours match `related`. Returns the number of edges."""
    graph = fetch("/relations/graph")
    nodes = {node["id"] for node in graph["nodes"]}
    if nodes != set(slugs):
        raise ValueError(f"nodes and list differ: {nodes ^ set(slugs)}")
    neighbours: dict[str, set[str]] = {slug: set() for slug in slugs}
    for edge in graph["edges"]:
        if edge["source"] not in nodes or edge["target"] not in nodes:
            raise ValueError(f"dangling edge {edge}")
        neighbours[edge["source"]].add(edge["target"])
        neighbours[edge["target"]].add(edge["source"])
    for slug in slugs:
        related = fetch(f"/{slug}/related?limit=50")
        found = {item["slug"] for item in related["results"]}
        weights = [item["weight"] for item in related["results"]]
        if related["source"] == "relations" and (found != neighbours[slug] or weights != sorted(weights, reverse=True)):
            raise ValueError(f"{slug}: related {found}, neighbours in the graph {neighbours[slug]}, weights {weights}")
    return len(graph["edges"])


def check(base: str) -> str:
    """Runs all checks. Returns a summary."""
    fetch = fetcher(base)
    slugs = every_slug(fetch)
    rows = sum(check_dataset(fetch, slug) for slug in slugs)
    edges = check_graph(fetch, slugs)
    return f"{len(slugs)} datasets, {rows} sample rows fit their schemas, {edges} edges"
