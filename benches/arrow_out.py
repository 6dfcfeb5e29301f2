#!/usr/bin/env python3
"""How long a client waits for 1,000,000 rows of TPC-H `lineitem` as a DataFrame of Polars and of pandas: Arrow and CSV of
mercato, and Arrow over HTTP of DuckDB and ROAPI.

    cargo build --release -p mercato -p mercato-tools
    python3 benches/arrow_out.py --binaries target/release --json arrow_out.json

Uses the environment, the data and the stores of `benches/peers` in --folder and makes what is missing. Every subject is asked
in turn, --rounds times; the table has medians, and how many times as long as our Arrow stream the others take.
"""

import argparse
import http.client
import io
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))

import environment  # noqa: E402

ARROW = "application/vnd.apache.arrow.stream"
ROWS = 1_000_000
PEERS = ("duckdb", "roapi")
DATES = ["l_shipdate", "l_commitdate", "l_receiptdate"]
DUCKDB_BATCH_ROWS = 65_536
START_SECONDS_MAX = 120
ANSWER_SECONDS_MAX = 120


def arguments() -> argparse.Namespace:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--scale", type=float, default=0.2, help="scale factor of lineitem, at least 0.17 for a million rows")
    parser.add_argument("--rounds", type=int, default=7, help="times that every subject is asked (default 7)")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {','.join(PEERS)}, or nothing")
    parser.add_argument("--folder", type=Path, default=HERE.parent / "target" / "peers", help="default target/peers")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--duckdb-server", metavar="PORT:PARQUET", help=argparse.SUPPRESS)
    return parser.parse_args()


def serve_duckdb(port: int, parquet: str) -> None:
    """DuckDB behind HTTP: the body of a request is a statement, its answer an Arrow stream that the engine fills."""
    import duckdb
    import pyarrow.ipc

    database = duckdb.connect()
    database.execute(f"CREATE TABLE lineitem AS SELECT * FROM read_parquet('{parquet}')")

    class Handler(BaseHTTPRequestHandler):
        """One statement."""

        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            """Runs it."""
            sql = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.send_response(200)
            self.send_header("Content-Type", ARROW)
            self.end_headers()
            reader = database.cursor().sql(sql).to_arrow_reader(DUCKDB_BATCH_ROWS)
            with pyarrow.ipc.new_stream(self.wfile, reader.schema) as stream:
                for batch in reader:
                    stream.write_batch(batch)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


def ask(address: tuple[str, int], method: str, path: str, headers: dict[str, str], body: bytes | None) -> bytes:
    """The whole body of an answer."""
    connection = http.client.HTTPConnection(*address, timeout=ANSWER_SECONDS_MAX)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {content[:300]!r}")
    return content


def wait(ready: Callable[[], Any]) -> None:
    """Waits until a server answers."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            ready()
            return
        except (OSError, RuntimeError, http.client.HTTPException):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def frames() -> dict[str, Callable[[bytes, str], int]]:
    """How each library makes a DataFrame of a body; gives its number of rows. Arrow as the Python client makes it, CSV with
    dates. The numbers of CSV become floats, those of Arrow stay decimals."""
    import pandas
    import polars
    import pyarrow.ipc
    import pyarrow.types

    def dtype(kind: Any) -> Any:
        return pandas.ArrowDtype(kind) if pyarrow.types.is_decimal(kind) or pyarrow.types.is_date(kind) else None

    def with_polars(body: bytes, form: str) -> int:
        if form == "arrow":
            return len(polars.from_arrow(pyarrow.ipc.open_stream(body).read_all()))
        return len(polars.read_csv(io.BytesIO(body), try_parse_dates=True))

    def with_pandas(body: bytes, form: str) -> int:
        if form == "arrow":
            return len(pyarrow.ipc.open_stream(body).read_all().to_pandas(types_mapper=dtype))
        return len(pandas.read_csv(io.BytesIO(body), parse_dates=DATES))

    return {"polars": with_polars, "pandas": with_pandas}


def measure(subjects: dict[str, tuple[str, Callable[[], bytes]]], rounds: int) -> dict[str, dict[str, Any]]:
    """Asks every subject in turn. Seconds of the answer alone and with each library, and bytes."""
    found: dict[str, dict[str, Any]] = {name: {"bytes": 0, "answer": [], "polars": [], "pandas": []} for name in subjects}
    libraries = frames()
    for number in range(rounds + 1):
        for name, (form, fetch) in subjects.items():
            for library, read in libraries.items():
                began = time.monotonic()
                body = fetch()
                answered = time.monotonic()
                rows = read(body, form)
                ended = time.monotonic()
                if rows != ROWS:
                    raise SystemExit(f"{name}: {rows} rows with {library}")
                # The first round warms caches.
                if number > 0:
                    found[name]["answer"].append(answered - began)
                    found[name][library].append(ended - began)
                    found[name]["bytes"] = len(body)
    return found


def table(found: dict[str, dict[str, Any]], reference: str) -> str:
    """The medians, and the ratios to the reference."""
    medians = {name: {key: statistics.median(times[key]) for key in ("answer", "polars", "pandas")}
               for name, times in found.items()}
    lines = ["| subject | MB | answer, ms | Polars, ms | × | pandas, ms | × |", "|---|---|---|---|---|---|---|"]
    for name, of in medians.items():
        ratio = {key: of[key] / medians[reference][key] for key in of}
        lines.append(f"| {name} | {found[name]['bytes'] / 1e6:.0f} | {of['answer'] * 1e3:.0f} | {of['polars'] * 1e3:.0f} | "
                     f"{ratio['polars']:.1f} | {of['pandas'] * 1e3:.0f} | {ratio['pandas']:.1f} |")
    return "\n".join(lines)


def main() -> None:
    """Runs it."""
    options = arguments()
    if options.duckdb_server:
        port, parquet = options.duckdb_server.split(":", 1)
        return serve_duckdb(int(port), parquet)
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    environment.enter(options.folder, __file__)

    import peers
    from mercato import Mercato
    from target import free_port

    parquet = environment.lineitem(options.folder, options.scale)
    stores = options.folder / f"stores-{options.scale:g}"
    ours = Mercato(stores, parquet, options.binaries.resolve())
    if not ours.loaded():
        environment.say("publishing")
        ours.publish()
    ours.launch()
    servers: list[Any] = [ours]
    headers = {"X-Api-Key": ours.key, "Content-Type": "application/json"}
    body = json.dumps({"limit": ROWS}).encode()

    def of_ours(accept: str) -> Callable[[], bytes]:
        return lambda: ask(ours.address, "POST", "/api/v1/datasets/lineitem/query/stream", headers | {"Accept": accept}, body)

    subjects: dict[str, tuple[str, Callable[[], bytes]]] = {
        "mercato, Arrow": ("arrow", of_ours(ARROW)),
        "mercato, CSV": ("csv", of_ours("text/csv")),
    }
    duckdb = None
    sql = f"SELECT * FROM lineitem LIMIT {ROWS}".encode()
    try:
        if "duckdb" in options.peers:
            port = free_port()
            duckdb = subprocess.Popen([sys.executable, __file__, "--binaries", options.binaries, "--duckdb-server", f"{port}:{parquet}"])
            subjects["DuckDB, Arrow"] = ("arrow", lambda: ask(("127.0.0.1", port), "POST", "/", {}, sql))
        if "roapi" in options.peers:
            roapi = peers.Roapi(stores, parquet)
            roapi.launch()
            servers.append(roapi)
            subjects["ROAPI, Arrow"] = ("arrow", lambda: ask(roapi.address, "POST", "/api/sql", {"Accept": ARROW}, sql))
        for _, fetch in subjects.values():
            wait(fetch)
        found = measure(subjects, options.rounds)
    finally:
        for server in servers:
            server.stop()
        if duckdb is not None:
            duckdb.terminate()
            duckdb.wait()
    print(table(found, "mercato, Arrow"))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
