#!/usr/bin/env python3
"""Serves the demo and validates its descriptions with third-party tools.

    python discovery.py --binaries target/debug [--seed 1] [--examples 12] [--d3 FOLDER]

- the OpenAPI document against the rules of OpenAPI 3.1;
- all Croissant descriptions with mlcroissant;
- the sitemap against the catalog;
- with --d3, the graph of relations with D3 itself (a folder with node_modules and layout.js);
- thousands of requests that schemathesis generates from the document: no server errors, no undocumented responses, no
  responses that violate the document, no accepted requests that it forbids.

Exit code 0 only if all checks pass.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import mlcroissant
import openapi_spec_validator
from jsonschema import Draft202012Validator

from marketplace import REQUEST_SECONDS_MAX, Marketplace

# Pages for people that are about no one dataset.
PAGES = ("/", "/datasets", "/graph", "/pricing")
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
CONFORMANCE_SECONDS_MAX = 600
REQUIRED_OF_CROISSANT = ["name", "description", "license", "url", "version", "datePublished", "publisher", "citeAs"]


class CheckError(Exception):
    """A failed check."""


def check_document(market: Marketplace) -> str:
    """Validates the OpenAPI document and its examples."""
    document = json.loads(market.read("/api/v1/openapi.json"))
    openapi_spec_validator.validate(document)
    count = 0
    for where, schema, example in examples(document):
        validator = Draft202012Validator({**schema, "components": document["components"]})
        for error in validator.iter_errors(example):
            raise CheckError(f"openapi.json: the example of {where}: {error.json_path}: {error.message}")
        count += 1
    operations = sum(len(item) for item in document["paths"].values())
    return f"{operations} operations, {count} examples fit their schemas"


def examples(document: dict[str, Any]) -> list[tuple[str, dict[str, Any], Any]]:
    """Every example with its schema and its location."""
    found: list[tuple[str, dict[str, Any], Any]] = []
    def walk(node: Any, where: str) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item, where)
        if not isinstance(node, dict):
            return
        if isinstance(node.get("schema"), dict) and "example" in node:
            found.append((where, node["schema"], node["example"]))
        if isinstance(node.get("schema"), dict) and isinstance(node.get("examples"), dict):
            found.extend((f"{where}/{name}", node["schema"], one["value"]) for name, one in node["examples"].items())
        for key, child in node.items():
            if key not in ("example", "examples"):
                walk(child, f"{where}/{key}")
    walk(document, "")
    return found


def check_croissants(market: Marketplace, slugs: list[str]) -> str:
    """Validates every description with mlcroissant, and compares its columns with the schema."""
    fields = 0
    for slug in slugs:
        text = json.loads(market.read(f"/api/v1/datasets/{slug}/croissant"))
        missing = [name for name in REQUIRED_OF_CROISSANT if not text.get(name)]
        if missing:
            raise CheckError(f"{slug}: the description lacks {', '.join(missing)}")
        dataset = mlcroissant.Dataset(jsonld=text)
        issues = dataset.metadata.ctx.issues
        if issues.errors:
            raise CheckError(f"{slug}: mlcroissant finds {issues.report()}")
        seen = dataset.metadata
        if [one.name for one in seen.publisher] != [text["publisher"]["name"]] or seen.cite_as != text["citeAs"]:
            raise CheckError(f"{slug}: mlcroissant sees the publisher {seen.publisher} and the citation {seen.cite_as}")
        named = [field.name for record_set in dataset.metadata.record_sets for field in record_set.fields]
        columns = [column["name"] for column in market.data_of(f"/api/v1/datasets/{slug}/schema")["columns"]]
        if named != columns:
            raise CheckError(f"{slug}: the description has the columns {named}, the schema {columns}")
        fields += len(named)
    return f"mlcroissant reads {len(slugs)} descriptions with {fields} columns"


def check_sitemap(market: Marketplace, slugs: list[str]) -> str:
    """Checks that the sitemap lists exactly the datasets of the catalog and the pages for people, that all of them can be
    read, and that robots.txt names it."""
    robots = market.read("/robots.txt").decode()
    place = re.search(r"^Sitemap: (\S+)$", robots, re.MULTILINE)
    if place is None or place.group(1) != f"{market.url}/sitemap.xml":
        raise CheckError(f"robots.txt does not name the sitemap: {robots}")
    root = ElementTree.fromstring(market.read("/sitemap.xml"))
    found = sorted(str(node.text) for node in root.iter(f"{SITEMAP}loc"))
    of_datasets = [f"{folder}/{slug}" for folder in ("/datasets", "/api/v1/datasets") for slug in slugs]
    expected = sorted(market.url + path for path in [*PAGES, *of_datasets])
    if found != expected:
        raise CheckError(f"the sitemap has {found}, expected {expected}")
    for address in found:
        # As a crawler asks; a program without a preference is told at the root where the API is described.
        asked = urllib.request.Request(address, headers={"Accept": "text/html,application/json;q=0.9"})
        with urllib.request.urlopen(asked, timeout=REQUEST_SECONDS_MAX) as page:
            page.read()
    return f"the sitemap has {len(found)} addresses"


def check_graph(market: Marketplace, d3: Path, folder: Path) -> str:
    """Lays out the graph with D3."""
    graph = folder / "graph.json"
    graph.write_text(json.dumps(market.data_of("/api/v1/datasets/relations/graph")))
    outcome = subprocess.run(["node", d3 / "layout.js", graph], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if outcome.returncode != 0:
        raise CheckError(f"D3: exit {outcome.returncode}: {outcome.stderr.decode()}")
    return outcome.stdout.decode().strip()


def check_conformance(market: Marketplace, seed: int, examples_each: int, folder: Path) -> str:
    """Runs schemathesis against the server."""
    here = Path(__file__).resolve().parent
    command = [
        Path(sys.executable).parent / "schemathesis", "--config-file", here / "schemathesis.toml", "run",
        f"{market.url}/api/v1/openapi.json", "--seed", str(seed), "--max-examples", str(examples_each), "--workers", "1",
        "--continue-on-failure", "--no-color"]
    environment = os.environ | {"MERCATO_KEY": market.key}
    outcome = subprocess.run([str(part) for part in command], capture_output=True, stdin=subprocess.DEVNULL, check=False,
                             cwd=folder, env=environment, timeout=CONFORMANCE_SECONDS_MAX)
    report = outcome.stdout.decode()
    if outcome.returncode != 0:
        raise CheckError(f"schemathesis: exit {outcome.returncode}\n{report}{outcome.stderr.decode()}")
    generated = re.search(r"(\d+) generated", report)
    if generated is None or int(generated.group(1)) < 500:
        raise CheckError(f"schemathesis sent too few requests:\n{report}")
    if market.server_errors():
        raise CheckError("the log has server errors:\n" + "\n".join(market.server_errors()))
    return f"schemathesis made {generated.group(1)} requests; all responses match the document"


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--seed", default=1, type=int, help="seed of the requests")
    parser.add_argument("--examples", default=12, type=int, help="random requests for each operation and kind; 0 leaves schemathesis out")
    parser.add_argument("--d3", type=Path, help="folder with layout.js and node_modules")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Marketplace(arguments.binaries.resolve(), Path(name)) as market:
        slugs = market.slugs()
        try:
            print(check_document(market))
            print(check_croissants(market, slugs))
            print(check_sitemap(market, slugs))
            if arguments.d3:
                print(check_graph(market, arguments.d3.resolve(), Path(name)))
            if arguments.examples:
                print(check_conformance(market, arguments.seed, arguments.examples, Path(name)))
        except CheckError as error:
            raise SystemExit(f"{error}\n(the same requests again: --seed {arguments.seed})") from None


if __name__ == "__main__":
    main()
