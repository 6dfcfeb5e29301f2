#!/usr/bin/env python3
"""Packs the client for TypeScript, installs the package into an empty folder, and runs it against real servers: its unit tests,
every example of its README, values, prices, cut connections, refusals and request limits; with `--modules` also in Chromium.

    python typescript_client.py --binaries target/release [--modules DIR] [--chromium PROGRAM]

`--modules` is a folder in which npm has installed what chromium/package.json names. Exit code 0 only if all checks pass.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from marketplace import CREDITS, Marketplace

sys.path.insert(0, str(Path(__file__).parent.parent / "differential"))
from service import Service  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "typescript"
CHECKS = Path(__file__).parent / "typescript"
DOCUMENT = Path("src", "api", "openapi", "openapi.json")
SECONDS_MAX = 600
REQUESTS_A_MINUTE = 4
FREE_QUERIES = 100
# What the package holds beside compiled files.
PACKED = {"package.json", "README.md", "LICENSE"}
# The lines with which every example of the README begins.
BEGINNING = re.compile(r'^import \{ Client \} from "@mercato/client";\n\nconst client = new Client\(.*\);\n$')


def main() -> int:
    """Builds, packs, installs and runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--modules", type=Path)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    arguments = parser.parse_args()
    binaries = arguments.binaries.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = build(folder / "tree")
        consumer = install(tree, folder / "consumer")
        install_as_printed(folder / "checkout")
        with Marketplace(binaries, folder, free_queries=FREE_QUERIES) as market:
            publish_exact(market, folder)
            run(["node", "--test", "checks.mjs"], consumer, environment(market, folder))
            run_examples(market, tree, consumer)
            if arguments.modules is not None:
                run_in_chromium(market, consumer, arguments.modules.resolve(), arguments.chromium)
            errors = market.server_errors()
        run_limited(binaries, folder, consumer)
    for error in errors:
        print(f"FAULT the server: {error}")
    return 1 if errors else 0


def run(command: list[str | Path], folder: Path, variables: dict[str, str] | None = None) -> None:
    """Runs a command, shows what it prints, and ends the checks where it fails."""
    outcome = subprocess.run(command, cwd=folder, env=os.environ | (variables or {}), stdin=subprocess.DEVNULL,
                             timeout=SECONDS_MAX, check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))}: exit {outcome.returncode}")


# The package. -------------------------------------------------------------------------------------------------

def build(tree: Path) -> Path:
    """A copy of the sources with the OpenAPI document at its place, tested and built there."""
    package = tree / "clients" / "typescript"
    shutil.copytree(CLIENT, package, ignore=shutil.ignore_patterns("node_modules", "dist", "build"))
    (tree / DOCUMENT).parent.mkdir(parents=True)
    shutil.copyfile(ROOT / DOCUMENT, tree / DOCUMENT)
    run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], package)
    run(["npm", "test", "--silent"], package)
    run(["npm", "run", "build", "--silent"], package)
    return package


def install(package: Path, consumer: Path) -> Path:
    """Packs the package and installs it into an empty folder. Nothing else may come with it."""
    packed = subprocess.run(["npm", "pack", "--json"], cwd=package, capture_output=True, check=True, timeout=SECONDS_MAX)
    described = json.loads(packed.stdout)
    described = described[0] if isinstance(described, list) else next(iter(described.values()))
    strange = [file["path"] for file in described["files"] if file["path"] not in PACKED and not re.fullmatch(r"dist/\w+(\.d)?\.[jt]s", file["path"])]
    missing = PACKED - {file["path"] for file in described["files"]}
    if strange or missing:
        raise SystemExit(f"the package holds {strange} and lacks {missing}")
    consumer.mkdir()
    (consumer / "package.json").write_text('{"private": true, "type": "module"}')
    run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--offline", package / described["filename"]], consumer)
    modules = sorted(str(path.relative_to(consumer / "node_modules")) for path in (consumer / "node_modules").glob("*/*"))
    if modules != ["@mercato/client"]:
        raise SystemExit(f"the package brings {modules}")
    for script in CHECKS.glob("*.mjs"):
        shutil.copyfile(script, consumer / script.name)
    return consumer


def install_as_printed(checkout: Path) -> None:
    """Runs the first commands of the README in a fresh checkout, and then a program that imports the package."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "clients/typescript", "packaging",
                             "Cargo.toml", str(DOCUMENT)], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    run(["git", "init", "--quiet"], checkout)
    run(["git", "add", "--all"], checkout)
    commands = re.search(r"^```\n(.*?)^```$", (CLIENT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert commands is not None, "the README says how to install"
    run(["bash", "-euc", commands[1]], checkout)
    (checkout / "program.mjs").write_text('import { Client } from "@mercato/client";\nnew Client("http://127.0.0.1:1");\n')
    run(["node", "program.mjs"], checkout)
    print("the package installs as printed")


# The examples of the README. ----------------------------------------------------------------------------------

def run_examples(market: Marketplace, tree: Path, consumer: Path) -> None:
    """Type-checks and runs every example as it stands, with the address and the key of the server put in."""
    beginning, *examples = re.findall(r"^```ts\n(.*?)^```$", (CLIENT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    if BEGINNING.match(beginning) is None:
        raise SystemExit(f"the first example of the README is not the beginning of the others:\n{beginning}")
    folder = consumer / "examples"
    folder.mkdir()
    for number, example in enumerate(examples, 1):
        program = beginning + example
        program = program.replace("http://127.0.0.1:8080", market.url).replace("mk_…", market.key)
        (folder / f"example{number}.mts").write_text(program)
    names = [f"example{number}" for number in range(1, len(examples) + 1)]
    compiler: list[str | Path] = [tree / "node_modules" / ".bin" / "tsc", "--strict", "--target", "es2022", "--module", "nodenext",
                                  "--lib", "es2022,dom,dom.iterable", "--noEmitOnError"]
    run([*compiler, *(f"{name}.mts" for name in names)], folder)
    for name in names:
        print(f"-- {name}", flush=True)
        run(["node", f"{name}.mjs"], folder)
    print(f"{len(names)} examples of the README run.")


# Chromium. ----------------------------------------------------------------------------------------------------

def run_in_chromium(market: Marketplace, consumer: Path, modules: Path, chromium: str | None) -> None:
    """A page of another origin uses the installed package."""
    if chromium is None:
        raise SystemExit("chromium: not found; name it with --chromium")
    for name in ("browser.mjs", "proxy.mjs"):
        shutil.copyfile(CHECKS / name, modules / name)
    variables = {"MERCATO_URL": market.url, "MERCATO_KEY": market.key}
    run(["node", "browser.mjs", chromium, consumer / "node_modules" / "@mercato" / "client"], modules, variables)


# Servers and their data. --------------------------------------------------------------------------------------

def environment(market: Marketplace, folder: Path) -> dict[str, str]:
    """What checks.mjs reads."""
    other, free = (market._json("account", "create", "--name", name)["id"] for name in ("other", "free"))
    market._json("credits", "buy", "--account", other, "--credits", CREDITS)
    other_key, free_key = (market._json("key", "create", "--account", account)["key"] for account in (other, free))
    market.use_up_free_queries(other_key)
    publication = [market.binaries / "mercato-tools", *publication_of(folder, "2.0.0"), "--data", market.data]
    return {"MERCATO_URL": market.url, "MERCATO_KEY": market.key, "MERCATO_OTHER_KEY": other_key, "MERCATO_FREE_KEY": free_key,
            "MERCATO_EXPECTED": str(folder / "exact.json"), "MERCATO_PUBLISH": shlex.join(map(str, publication))}


def publish_exact(market: Marketplace, folder: Path) -> None:
    """A dataset with values that a double cannot hold, and what its rows are, numbers as text."""
    big = [9007199254740993, -9223372036854775808, 9223372036854775807, 0, 1, -1, 1234567890123456789]
    exact = ["12345678901234567890.12", "-0.10", "901.00", "0.00", "99999999999999999999.99", "1.50", "2.00"]
    texts = ["città", "😀 \"x\"", "\\", "a\nb", "", "$end", "{}"]
    columns: dict[str, Any] = {
        "big": pa.array(big, pa.int64()),
        "exact": pa.array([Decimal(text) for text in exact], pa.decimal128(22, 2)),
        "text": pa.array(texts, pa.string()),
        "flag": pa.array([None if number % 3 == 0 else number % 2 == 0 for number in range(len(big))], pa.bool_()),
    }
    rows = [{"big": str(big[at]), "exact": exact[at], "text": texts[at], "flag": columns["flag"][at].as_py()} for at in range(len(big))]
    (folder / "exact.json").write_text(json.dumps({"columns": list(columns), "rows": rows}))
    pq.write_table(pa.table(columns), folder / "exact-1.0.0.parquet")
    pq.write_table(pa.table(columns).slice(2), folder / "exact-2.0.0.parquet")
    dataset = folder / "exact.dataset"
    dataset.mkdir()
    (dataset / "dataset.toml").write_text('slug = "exact"\n[title]\nen = "Exact"\n')
    market._tools(*publication_of(folder, "1.0.0"))


def publication_of(folder: Path, version: str) -> list[object]:
    """The arguments that publish a version of that dataset."""
    return ["publish", folder / "exact.dataset", "--parquet", folder / f"exact-{version}.parquet", "--version", version]


def run_limited(binaries: Path, folder: Path, consumer: Path) -> None:
    """A server that admits few requests a minute."""
    limited = folder / "limited"
    limited.mkdir()
    service = Service(binaries, limited, "--requests-per-minute", str(REQUESTS_A_MINUTE))
    service.publish("exact", folder / "exact-1.0.0.parquet")
    service.open_account()
    with service:
        assert service.connection is not None, "the server runs"
        url = f"http://{service.connection.host}:{service.connection.port}"
        variables = {"MERCATO_URL": url, "MERCATO_KEY": service.key, "MERCATO_LIMIT": str(REQUESTS_A_MINUTE)}
        run(["node", "--test", "limits.mjs"], consumer, variables)


if __name__ == "__main__":
    sys.exit(main())
