#!/usr/bin/env python3
"""Serves the demo and reads what describes it with the tools that others use for that.

    python discovery.py --binaries target/debug [--seed 1] [--examples 12] [--d3 FOLDER]

- the OpenAPI document against the rules of OpenAPI 3.1;
- every Croissant description with mlcroissant;
- the map of the site against the catalog;
- with --d3, the graph of relations with D3 itself (a folder with node_modules and layout.js);
- thousands of requests that schemathesis makes of the document: no fault of the server, no answer that the document
  does not describe, no answer that does not fit it, nothing accepted that the document forbids.

Exit code 0 only if all of it holds.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import mlcroissant
import openapi_spec_validator
from jsonschema import Draft202012Validator

from marketplace import Marketplace

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
CONFORMANCE_SECONDS_MAX = 600
REQUIRED_OF_CROISSANT = ["name", "description", "license", "url", "version", "datePublished", "publisher", "citeAs"]


class Fault(Exception):
    """Something does not hold."""


def check_document(market: Marketplace) -> str:
    """The OpenAPI document is one, and its examples fit their schemas."""
    document = json.loads(market.read("/api/v1/openapi.json"))
    openapi_spec_validator.validate(document)
    count = 0
    for where, schema, example in examples(document):
        validator = Draft202012Validator({**schema, "components": document["components"]})
        for error in validator.iter_errors(example):
            raise Fault(f"openapi.json: the example of {where}: {error.json_path}: {error.message}")
        count += 1
    operations = sum(len(item) for item in document["paths"].values())
    return f"{operations} operations, {count} examples fit their schemas"


def examples(document: dict[str, Any]) -> list[tuple[str, dict[str, Any], Any]]:
    """Every example beside a schema, with where it stands."""
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
    """mlcroissant reads every description, finds no fault, and sees the columns that the schema has."""
    fields = 0
    for slug in slugs:
        text = json.loads(market.read(f"/api/v1/datasets/{slug}/croissant"))
        missing = [name for name in REQUIRED_OF_CROISSANT if not text.get(name)]
        if missing:
            raise Fault(f"{slug}: the description lacks {', '.join(missing)}")
        dataset = mlcroissant.Dataset(jsonld=text)
        issues = dataset.metadata.ctx.issues
        if issues.errors:
            raise Fault(f"{slug}: mlcroissant finds {issues.report()}")
        seen = dataset.metadata
        if [one.name for one in seen.publisher] != [text["publisher"]["name"]] or seen.cite_as != text["citeAs"]:
            raise Fault(f"{slug}: mlcroissant sees the publisher {seen.publisher} and the citation {seen.cite_as}")
        named = [field.name for record_set in dataset.metadata.record_sets for field in record_set.fields]
        columns = [column["name"] for column in market.data_of(f"/api/v1/datasets/{slug}/schema")["columns"]]
        if named != columns:
            raise Fault(f"{slug}: the description has the columns {named}, the schema {columns}")
        fields += len(named)
    return f"mlcroissant reads {len(slugs)} descriptions with {fields} columns"


def check_sitemap(market: Marketplace, slugs: list[str]) -> str:
    """The map has exactly the datasets of the catalog, and robots are told where it lies."""
    robots = market.read("/robots.txt").decode()
    place = re.search(r"^Sitemap: (\S+)$", robots, re.MULTILINE)
    if place is None or place.group(1) != f"{market.url}/sitemap.xml":
        raise Fault(f"robots.txt does not name the map: {robots}")
    root = ElementTree.fromstring(market.read("/sitemap.xml"))
    found = sorted(str(node.text) for node in root.iter(f"{SITEMAP}loc"))
    expected = sorted(f"{market.url}/api/v1/datasets/{slug}" for slug in slugs)
    if found != expected:
        raise Fault(f"the map has {found}, expected {expected}")
    return f"the map has {len(found)} addresses"


def check_graph(market: Marketplace, d3: Path, folder: Path) -> str:
    """D3 lays the graph out."""
    graph = folder / "graph.json"
    graph.write_text(json.dumps(market.data_of("/api/v1/datasets/relations/graph")))
    outcome = subprocess.run(["node", d3 / "layout.js", graph], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if outcome.returncode != 0:
        raise Fault(f"D3: exit {outcome.returncode}: {outcome.stderr.decode()}")
    return outcome.stdout.decode().strip()


def check_conformance(market: Marketplace, seed: int, examples_each: int, folder: Path) -> str:
    """What schemathesis sends is answered as the document says."""
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
        raise Fault(f"schemathesis: exit {outcome.returncode}\n{report}{outcome.stderr.decode()}")
    generated = re.search(r"(\d+) generated", report)
    if generated is None or int(generated.group(1)) < 500:
        raise Fault(f"schemathesis made too few requests to tell anything:\n{report}")
    if market.faults():
        raise Fault("the log tells of faults:\n" + "\n".join(market.faults()))
    return f"schemathesis made {generated.group(1)} requests; every answer is as the document says"


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
        except Fault as fault:
            raise SystemExit(f"{fault}\n(the same requests again: --seed {arguments.seed})") from None


if __name__ == "__main__":
    main()
