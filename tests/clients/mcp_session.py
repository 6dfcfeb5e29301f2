#!/usr/bin/env python3
"""Serves the demo and drives `/mcp` with the official Python client, then with the conformance suite of the protocol.

    python mcp_session.py --binaries target/debug [--modules FOLDER]

- a buyer's session in every revision that the client speaks: search, describe, sample, estimate, query by cursor; the
  client checks every result against the schema of its tool, and the rows are those of the API;
- faults arrive as results that a model can correct, unknown tools as errors of the protocol;
- credits are charged once, and never above the ceiling of a call;
- with --modules (a folder with node_modules of `mcp/package.json`), every scenario of the suite that applies to a server
  with tools alone.

Exit code 0 only if all checks pass.
"""

import argparse
import asyncio
import json
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.exceptions import MCPError

from marketplace import REQUEST_SECONDS_MAX, Marketplace

SLUG = "tpch-orders"
TOOLS = ["search_datasets", "describe_dataset", "sample_rows", "estimate_cost", "query_rows", "aggregate_rows"]
# How the client connects, and the revision that both sides then speak.
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
INVALID_PARAMS = -32602
PAGE_ROWS = 300
SUITE_SECONDS_MAX = 120
# The suite is made for servers that have everything, under names of its own. These scenarios ask for no more than tools.
SCENARIOS = {
    "2025-11-25": ["server-initialize", "server-session-lifecycle", "ping", "tools-list", "dns-rebinding-protection"],
    "2026-07-28": ["server-stateless", "tools-list", "dns-rebinding-protection", "http-header-validation",
                   "caching"],
}


class CheckError(Exception):
    """A failed check."""


def expect(holds: bool, what: str, found: Any) -> None:
    """Fails with what was found unless `holds`."""
    if not holds:
        raise CheckError(f"{what}: found {found}")


def api(market: Marketplace, path: str, body: dict[str, Any] | None = None) -> Any:
    """`data` of the API's response, with the key."""
    data = json.dumps(body).encode() if body is not None else None
    asked = urllib.request.Request(market.url + path, data, {"X-Api-Key": market.key, "Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=REQUEST_SECONDS_MAX) as answer:
        return json.loads(answer.read())["data"]


async def session(market: Marketplace, mode: str) -> str:
    """One buyer's session."""
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {market.key}"})
    async with http, Client(streamable_http_client(f"{market.url}/mcp", http_client=http), mode=mode) as client:
        expect(client.protocol_version == MODES[mode], f"{mode}: the revision", client.protocol_version)
        # Without discovery the client asks for no name.
        named = client.server_info.name if client.server_info else "mercato"
        expect(named == "mercato", f"{mode}: the server", named)
        listed = await client.list_tools()
        expect([tool.name for tool in listed.tools] == TOOLS, f"{mode}: the tools", listed)
        await looks_around(client)
        rows = await buys(market, client, mode)
        await is_corrected(client)
    return f"{mode}: revision {MODES[mode]}, {rows} rows by cursor beside the API, faults told"


async def given(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured result of a call that succeeds; the client has checked it against the schema of the tool."""
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    expect(not result.is_error, f"{tool} {arguments}", text)
    structured: dict[str, Any] = result.structured_content
    expect(len(result.content) == 2 and len(text) < 1_500, f"{tool}: a short text, and the result as a text", text)
    told = json.loads(result.content[1].text)
    expect(told == structured, f"{tool}: the result as a text", told)
    return structured


async def looks_around(client: Client) -> None:
    """Everything that is free."""
    found = await given(client, "search_datasets", {"query": "orders of customers"})
    expect(SLUG in [one["slug"] for one in found["results"]], "the search", found)
    described = await given(client, "describe_dataset", {"slug": SLUG})
    expect("o_orderkey" in [column["name"] for column in described["columns"]], "the columns", described)
    sample = await given(client, "sample_rows", {"slug": SLUG, "limit": 3, "columns": ["o_orderkey"]})
    expect(len(sample["rows"]) == 3 and list(sample["rows"][0]) == ["o_orderkey"], "the sample", sample)


async def buys(market: Marketplace, client: Client, mode: str) -> int:
    """Walks a query by cursor beside the API, and pays once."""
    query = {"filters": {"o_orderpriority": "1-URGENT", "o_orderkey": {"lt": 4_000}}, "sortBy": "o_totalprice"}
    expected = api(market, f"/api/v1/datasets/{SLUG}/query", {**query, "limit": 10_000})["results"]
    estimated = await given(client, "estimate_cost", {"slug": SLUG, **query, "limit": PAGE_ROWS})
    expect(estimated["matchingRows"] == len(expected) > PAGE_ROWS / 2, "the estimate", estimated)
    before = api(market, "/api/v1/account")["credits"]
    rows: list[Any] = []
    cursor = None
    while cursor is not None or not rows:
        page = await given(client, "query_rows", {"slug": SLUG, **query, "limit": PAGE_ROWS // 4, "cursor": cursor})
        expect(page["creditsCharged"] == page["rowsReturned"] == len(page["rows"]), "the charge", page["creditsCharged"])
        rows += page["rows"]
        cursor = page["nextCursor"]
    expect(rows == expected, "the rows of the API", f"{len(rows)} rows, {len(expected)} expected")
    once = {"slug": SLUG, "limit": 7, "idempotencyKey": f"session {mode}"}
    charged = [(await given(client, "query_rows", once))["creditsCharged"] for _ in range(3)]
    expect(charged == [7, 0, 0], "a retry under one idempotency key", charged)
    after = api(market, "/api/v1/account")["credits"]
    expect(before - after == len(rows) + 7, "the balance", f"{before - after} credits for {len(rows) + 7} rows")
    return len(rows)


async def is_corrected(client: Client) -> None:
    """Faults that a model sees, and faults of the protocol."""
    for arguments, word in [
        ({"slug": SLUG, "filters": {"o_orderkye": 1}}, "o_orderkey"),
        ({"slug": "tpch-order"}, SLUG),
        ({"slug": SLUG, "limit": 5_000}, "5,000 credits"),
        ({"slug": SLUG, "limit": 5, "maxCredits": 4}, "maxCredits 4"),
    ]:
        result = await client.call_tool("query_rows", arguments)
        expect(result.is_error and word in result.content[0].text, f"query_rows {arguments}", result.content)
    try:
        await client.call_tool("no_such_tool", {})
    except MCPError as error:
        expect(error.error.code == INVALID_PARAMS, "an unknown tool", error.error)
    else:
        raise CheckError("an unknown tool is no error")


async def stranger(market: Marketplace) -> str:
    """A session without a key: all but the query."""
    async with Client(f"{market.url}/mcp") as client:
        await looks_around(client)
        estimated = await given(client, "estimate_cost", {"slug": SLUG, "limit": 10})
        expect(estimated["creditsRequired"] == 10 and estimated["affordable"] is None, "the estimate", estimated)
        result = await client.call_tool("query_rows", {"slug": SLUG})
        expect(result.is_error and "API_KEY_MISSING" in result.content[0].text, "a query without a key", result.content)
    return "without a key: everything but the query"


def suite(market: Marketplace, modules: Path) -> str:
    """Runs the scenarios of the conformance suite."""
    here = Path(__file__).resolve().parent / "mcp"
    program = modules / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    count = 0
    for revision, scenarios in SCENARIOS.items():
        for scenario in scenarios:
            command = ["node", "--import", here / "older-node.mjs", program, "server", "--url", f"{market.url}/mcp",
                       "--scenario", scenario, "--spec-version", revision,
                       "--expected-failures", here / "not-applicable.yml"]
            outcome = subprocess.run([str(part) for part in command], capture_output=True, stdin=subprocess.DEVNULL,
                                     check=False, timeout=SUITE_SECONDS_MAX)
            report = outcome.stdout.decode() + outcome.stderr.decode()
            if outcome.returncode != 0:
                raise CheckError(f"{scenario} of {revision}: exit {outcome.returncode}\n{report}")
            count += 1
    return f"conformance suite: {count} scenarios of {len(SCENARIOS)} revisions"


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--modules", type=Path, help="folder with node_modules of mcp/package.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Marketplace(arguments.binaries.resolve(), Path(name)) as market:
        for mode in MODES:
            print(asyncio.run(session(market, mode)))
        print(asyncio.run(stranger(market)))
        if arguments.modules:
            print(suite(market, arguments.modules.resolve()))
        if market.server_errors():
            raise CheckError("the log has server errors:\n" + "\n".join(market.server_errors()))


if __name__ == "__main__":
    main()
