#!/usr/bin/env python3
"""Asks mercato and DuckDB the same random questions about the same Parquet files and compares every value, and the
statistics of every column.

    python duckdb_oracle.py --binaries target/debug [--queries 400] [--group-queries 150] [--seed 1] [--rows 20000] [--only NUMBER]

Rows, their order, `nextCursor`, `totalRows`, exact counts and whole cursor walks must agree, of current and of older versions,
with NaN and with float32. Exit code 0 only if all do.
"""

import argparse
import datetime
import decimal
import math
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import column_statistics
from group_questions import GroupQuestion
from questions import Query, Questioner, quoted, shortest_single, to_json
from service import Number, Service
from tables import EPOCH, Dataset, single, write_all

LIMIT_MAX = 10_000
LIMIT_DEFAULT = 100
WALK_PAGES_MAX = 25
OFFSETS_BEYOND = [1 << 32, (1 << 63) - 1, (1 << 64) - 1]
DIFFERENCES_SHOWN_MAX = 10
TRIES_FOR_MATCHES = 3
"""Most queries without matches are replaced, because they test little."""


class Difference(Exception):
    """A difference between mercato and DuckDB; the text names the first one."""


@dataclass
class Page:
    """One page: its request, and its offset in the list of all matching rows."""

    body: dict[str, Any]
    names: list[str]
    begin: int
    limit: int


class Oracle:
    """One dataset in DuckDB, and its questions."""

    def __init__(self, dataset: Dataset, connection: duckdb.DuckDBPyConnection) -> None:
        self.dataset = dataset
        self.connection = connection
        self.contents = pq.read_table(dataset.parquet)
        self.table = quoted(f"{dataset.slug} {dataset.version}")
        connection.execute(
            f"CREATE TABLE {self.table} AS SELECT * RENAME (file_row_number AS _row) "
            f"FROM read_parquet(?, file_row_number = true)", [str(dataset.parquet)])

    def questioner(self, rng: random.Random) -> Questioner:
        """A generator of queries. Texts without sort index cannot be sort columns."""
        return Questioner(self.contents, rng, sortable_texts=self.dataset.sort_index == "all")

    def count(self, query: Query) -> int:
        """The number of matching rows."""
        sql = f"SELECT count(*) FROM {self.table} WHERE {query.where}"
        return int(self.connection.execute(sql, query.parameters).fetchall()[0][0])

    def sql(self, query: Query, page: Page) -> str:
        """The rows of a page."""
        shown = ", ".join(self.shown(name) for name in page.names)
        begin = min(page.begin, self.contents.num_rows)
        return (f"SELECT {shown} FROM {self.table} WHERE {query.where} ORDER BY {query.order} "
                f"LIMIT {page.limit} OFFSET {begin}")

    def shown(self, name: str) -> str:
        """Lossless SQL of a column."""
        kind = self.contents.schema.field(name).type
        if pa.types.is_decimal(kind) or pa.types.is_integer(kind):
            return f"CAST({quoted(name)} AS VARCHAR)"
        return f"epoch_us({quoted(name)})" if pa.types.is_timestamp(kind) else quoted(name)

    def rows(self, query: Query, page: Page) -> list[tuple[Any, ...]]:
        """The rows of a page."""
        return self.connection.execute(self.sql(query, page), query.parameters).fetchall()

    def agrees(self, name: str, found: Any, wanted: Any) -> bool:
        """Whether a value of the response equals the value in DuckDB."""
        kind = self.contents.schema.field(name).type
        if wanted is None or (isinstance(wanted, float) and not math.isfinite(wanted)):
            return found is None
        if isinstance(wanted, float):
            if not isinstance(found, Number):
                return False
            if pa.types.is_float32(kind):
                return len(digits(found)) <= len(digits(shortest_single(wanted))) and repr(single(float(found))) == repr(wanted)
            same = repr(float(found)) == repr(wanted)
            return same and decimal.Decimal(found) == decimal.Decimal(repr(wanted))
        if pa.types.is_decimal(kind) or pa.types.is_integer(kind):
            return isinstance(found, Number) and found == wanted
        if pa.types.is_timestamp(kind):
            moment = EPOCH + datetime.timedelta(microseconds=wanted)
            return bool(found == moment.isoformat(timespec="microseconds") + "Z")
        shown = wanted.isoformat() if isinstance(wanted, datetime.date) else wanted
        return type(found) is type(shown) and bool(found == shown)


def digits(number: str) -> str:
    """The significant digits of a number."""
    mantissa = number.lower().split("e")[0].lstrip("-").replace(".", "")
    return mantissa.strip("0") or "0"


class Check:
    """The check of one query, as one page or as a walk."""

    def __init__(self, service: Service, oracle: Oracle, rng: random.Random) -> None:
        self.service = service
        self.oracle = oracle
        self.rng = rng
        self.questioner = oracle.questioner(rng)
        self.asked: Page | None = None
        for _ in range(TRIES_FOR_MATCHES):
            self.query = self.questioner.query()
            self.total = oracle.count(self.query)
            if self.total > 0:
                break

    def run(self) -> None:
        """Raises a `Difference` at the first one."""
        if self.rng.random() < 0.3:
            self.walk()
        else:
            self.ask(self.single_page())

    def single_page(self) -> Page:
        """A random page, with or without a limit."""
        rng = self.rng
        columns, names = self.questioner.projection()
        limit = rng.choice([None, 1, 7, rng.randint(1, 300), rng.randint(1, LIMIT_MAX), LIMIT_MAX])
        offset = rng.choice([None, 0, 1, rng.randint(0, self.total + 1), rng.randint(0, self.total + 1), self.total,
                             max(0, self.total - (limit or LIMIT_DEFAULT)), rng.choice(OFFSETS_BEYOND)])
        fields = {"limit": limit, "offset": offset}
        body = self.query.body | columns | {name: value for name, value in fields.items() if value is not None}
        return Page(body, names, offset or 0, limit or LIMIT_DEFAULT)

    def walk(self) -> None:
        """Walks from an offset to the end by cursor. Limit and columns vary between pages."""
        rng = self.rng
        begin = rng.choice([0, 0, rng.randint(0, self.total)])
        least = min(LIMIT_MAX, max(1, (self.total - begin) // WALK_PAGES_MAX))
        cursor = None
        while True:
            columns, names = self.questioner.projection()
            limit = rng.randint(least, min(LIMIT_MAX, least * 2 + 3))
            place = {"offset": begin} if cursor is None else {"cursor": cursor}
            page = Page(self.query.body | columns | place | {"limit": limit}, names, begin, limit)
            cursor = self.ask(page)
            begin += limit
            if cursor is None:
                return

    def ask(self, page: Page) -> str | None:
        """Requests a page and compares it. Returns the next cursor."""
        if not self.oracle.dataset.is_current and "cursor" not in page.body:
            page.body["version"] = self.oracle.dataset.version
        if self.rng.random() < 0.3:
            page.body["count"] = "exact"
        self.asked = page
        status, answer = self.service.query(self.oracle.dataset.slug, to_json(page.body))
        if status != 200:
            raise Difference(f"status {status}: {answer['error']}")
        data = answer["data"]
        self.compare_rows(data["results"], page)
        expect("rowsReturned", data["rowsReturned"], str(len(data["results"])))
        expect("paginationMode", data["paginationMode"], "cursor" if "cursor" in page.body else "offset")
        if "totalRowsAtLeast" in data:
            # Only a page without rows costs nothing here, and it tells no more of the number.
            expect("totalRowsAtLeast", data["totalRowsAtLeast"], "10000")
            expect("totalRows beside totalRowsAtLeast", data["totalRows"], None)
            if self.total <= 10_000 or data["results"]:
                raise Difference(f"totalRowsAtLeast beside {len(data['results'])} rows of {self.total}")
        elif data["totalRows"] is not None or "filters" not in page.body or "count" in page.body:
            expect("totalRows", data["totalRows"], str(self.total))
        more = page.begin + page.limit < self.total
        if (data["nextCursor"] is not None) != more:
            left = max(0, self.total - page.begin - page.limit)
            raise Difference(f"nextCursor is {data['nextCursor']!r}, and {left} rows follow")
        return None if data["nextCursor"] is None else str(data["nextCursor"])

    def compare_rows(self, found: list[dict[str, Any]], page: Page) -> None:
        """Compares every value of every row, and the order of the columns."""
        wanted = self.oracle.rows(self.query, page)
        for number, (row, expected) in enumerate(zip(found, wanted, strict=False)):
            expect(f"columns of row {number}", list(row), page.names)
            for name, value in zip(page.names, expected, strict=True):
                if not self.oracle.agrees(name, row[name], value):
                    raise Difference(f"row {number}, column {name!r}: mercato {row[name]!r}, DuckDB {value!r}\n"
                                     f"  mercato: {row}\n  DuckDB:  {dict(zip(page.names, expected, strict=True))}")
        expect("number of rows", len(found), len(wanted))

    def report(self) -> str:
        """The request and the equivalent SQL."""
        if self.asked is None:
            return f"dataset: {self.oracle.dataset.slug}"
        return (f"POST /api/v1/datasets/{self.oracle.dataset.slug}/query\n  {to_json(self.asked.body)}\n"
                f"SQL: {self.oracle.sql(self.query, self.asked)}\n  parameters: {self.query.parameters}")


def expect(what: str, found: Any, wanted: Any) -> None:
    """Raises a `Difference` unless the two are equal."""
    if found != wanted:
        raise Difference(f"{what}: mercato {found!r}, expected {wanted!r}")


def differences(service: Service, oracles: list[Oracle], arguments: argparse.Namespace) -> int:
    """Runs all queries, each with its own seed. Returns the number of differences."""
    failed = 0
    weights = [4 if oracle.contents.num_rows > 1 else 1 for oracle in oracles]
    numbers = range(arguments.queries) if arguments.only is None else [arguments.only]
    for number in numbers:
        rng = random.Random(f"{arguments.seed} {number}")
        check = Check(service, rng.choices(oracles, weights)[0], rng)
        try:
            check.run()
        except Difference as difference:
            failed += 1
            print(f"\ndifference in query {number} (seed {arguments.seed}): {difference}\n{check.report()}", flush=True)
            if failed == DIFFERENCES_SHOWN_MAX:
                print(f"{failed} differences are enough")
                break
        if sys.stderr.isatty():
            print(f"\r{number + 1} of {arguments.queries} queries", end="", file=sys.stderr, flush=True)
    return failed


def group_differences(service: Service, oracles: list[Oracle], arguments: argparse.Namespace) -> int:
    """Asks for groups and aggregates of the current versions. Returns the number of differences."""
    failed = 0
    current = [oracle for oracle in oracles if oracle.dataset.is_current]
    for number in range(arguments.group_queries):
        rng = random.Random(f"{arguments.seed} groups {number}")
        oracle = rng.choice(current)
        texts = oracle.dataset.sort_index == "all"
        question = GroupQuestion(oracle.contents, oracle.questioner(rng), rng, texts)
        sql = question.sql(oracle.table)
        wanted = oracle.connection.execute(sql, question.query.parameters).fetchall()
        difference = question.run(lambda body, slug=oracle.dataset.slug: service.query(slug, body), wanted)
        if difference is not None:
            failed += 1
            print(f"\ndifference in groups {number} (seed {arguments.seed}) of {oracle.dataset.slug}: {difference}\n"
                  f"  {to_json(question.body)}\nSQL: {sql}\n  parameters: {question.query.parameters}", flush=True)
            if failed == DIFFERENCES_SHOWN_MAX:
                break
    return failed


def statistics_differences(service: Service, oracles: list[Oracle]) -> int:
    """Compares the statistics of all columns. Returns the number of datasets that differ."""
    failed = 0
    for oracle in oracles:
        slug = oracle.dataset.slug
        version = None if oracle.dataset.is_current else oracle.dataset.version
        wrong = column_statistics.differences(oracle, service.statistics(slug, version))
        failed += bool(wrong)
        for line in wrong[:DIFFERENCES_SHOWN_MAX]:
            print(f"statistics of {slug}: {line}", flush=True)
    return failed


def main() -> int:
    """Writes the files, publishes them and runs the queries."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--group-queries", type=int, default=150, help="questions with groups and aggregates")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the random table; the order lines are eight times as many")
    parser.add_argument("--only", type=int, help="ask one question again")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, duckdb.connect() as connection:
        folder = Path(name)
        datasets = write_all(random.Random(arguments.seed), arguments.rows, folder)
        service = Service(arguments.binaries.resolve(), folder)
        for dataset in datasets:
            service.publish(dataset.slug, dataset.parquet, dataset.sort_index, dataset.version)
        service.open_account()
        oracles = [Oracle(dataset, connection) for dataset in datasets]
        with service:
            failed = differences(service, oracles, arguments) + statistics_differences(service, oracles)
            failed += group_differences(service, oracles, arguments)
    asked = (arguments.queries if arguments.only is None else 1) + len(oracles) + arguments.group_queries
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"{asked - failed} passed, {failed} failed (seed {arguments.seed}, DuckDB {duckdb.__version__})")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
