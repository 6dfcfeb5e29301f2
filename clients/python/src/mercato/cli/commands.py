"""The commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from mercato.cli import output
from mercato.client import Client
from mercato.core.download import format_of
from mercato.errors import MaxCreditsExceeded
from mercato.progress import printable, size
from mercato.results import Cost

FAILED = 1
LIMIT_DEFAULT = 100
"""Rows that `query` prints unless told otherwise."""


def list_datasets(options: argparse.Namespace, key: str | None) -> int:
    """Lists datasets."""
    with Client(options.url, key) as client:
        found = list(client.datasets(limit=options.limit, tag=options.tag, license=options.license, sort=options.sort,
                                     lang=options.lang))
    _print_datasets(options, found)
    return 0


def search(options: argparse.Namespace, key: str | None) -> int:
    """Finds datasets, or lists them."""
    question = " ".join(options.question)
    with Client(options.url, key) as client:
        found: list[Any]
        if question:
            found = list(client.search(question, limit=options.limit, tag=options.tag, lang=options.lang))
        else:
            found = list(client.datasets(limit=options.limit, tag=options.tag, lang=options.lang))
    _print_datasets(options, found)
    return 0


def _print_datasets(options: argparse.Namespace, found: list[Any]) -> None:
    if options.json:
        output.document(found)
        return
    output.table(("dataset", "title", "rows", "version", "licence"),
                 ([one["slug"], one["title"], f"{one['rowCount']:,}", one["currentVersion"], one["license"]]
                  for one in found))


def show(options: argparse.Namespace, key: str | None) -> int:
    """Describes a dataset."""
    with Client(options.url, key) as client:
        dataset = client.dataset(options.dataset)
        header, schema = dataset.header(lang=options.lang), dataset.schema(lang=options.lang)
        sample = dataset.sample() if options.sample else None
    if options.json:
        output.document({"header": header, "schema": schema, **({"sample": sample} if sample else {})})
        return 0
    price = header["priceForDownload"]
    formats = ", ".join(one["format"] if one["bytes"] is None else f"{one['format']} ({size(one['bytes'])})"
                        for one in header["formats"])
    versions = ", ".join(one["version"] for one in header["versions"])
    for line in (f"{header['title']} ({header['slug']})", header["description"], "",
                 f"licence   {header['license'] or output.NOTHING}", f"rows      {header['rowCount']:,}",
                 f"price     {price['credits']:,} credits for the whole ({price['eur']} EUR), one credit a row",
                 f"versions  {versions}", f"formats   {formats}", ""):
        print(printable(line))
    output.table(("column", "type", "nullable", "example", "description"),
                 ([one["name"], one["type"], one["nullable"], one["example"], one["description"]]
                  for one in schema["columns"]))
    if sample:
        print()
        output.rows_as("table", sample["columns"], sample["results"])
    return 0


def sample(options: argparse.Namespace, key: str | None) -> int:
    """Prints the free sample."""
    with Client(options.url, key, exact_numbers=True) as client:
        found = client.dataset(options.dataset).sample(version=options.data_version)
    output.rows_as(_form(options), found["columns"], found["results"])
    return 0


def _form(options: argparse.Namespace) -> str:
    chosen: str | None = options.format
    return chosen or ("json" if options.json else "table" if sys.stdout.isatty() else "csv")


def query(options: argparse.Namespace, key: str | None) -> int:
    """Prints rows."""
    # A count that stops at the rows of a first page would count nothing.
    limit = None if options.all else options.limit or (None if options.count else LIMIT_DEFAULT)
    with Client(options.url, key, exact_numbers=True) as client:
        dataset = client.dataset(options.dataset)
        question: dict[str, Any] = {
            "filters": options.filters, "columns": options.columns, "sort_by": options.sort_by,
            "descending": options.descending, "limit": limit, "version": options.data_version,
        }
        price = dataset.query(**question).cost()
        if options.count:
            least = price.rows_at_least
            if options.json:
                told = {} if least is None else {"rowsAtLeast": least}
                output.document({"rows": price.rows, "credits": int(price)} | told)
            else:
                print(price.rows if least is None else f"{least} to {price.rows}")
            return 0
        if not is_paid(options, price, f"{price.rows:,} rows"):
            return FAILED
        # Rows that match only since the estimate are not paid for without consent.
        rows = dataset.query(**question, max_credits=bound(options, price))
        names = options.columns or [one["name"] for one in dataset.schema(version=options.data_version)["columns"]]
        output.rows_as(_form(options), names, rows)
    return 0


def download(options: argparse.Namespace, key: str | None) -> int:
    """Fetches a file."""
    with Client(options.url, key) as client:
        dataset = client.dataset(options.dataset)
        header = dataset.header()
        version = options.data_version or header["currentVersion"]
        form = options.format if options.path is None else format_of(options.path, options.format)
        path = options.path or Path(f"{dataset.slug}-{version}.{form or 'csv'}")
        price = dataset.download_cost(version=version)
        if not is_paid(options, price, f"{price.rows:,} rows, all of version {version}"):
            return FAILED
        done = dataset.download(path, form, version=version, max_credits=bound(options, price),
                                progress=False if options.quiet else None)
    if options.json:
        output.document({"path": str(done.path), "bytes": done.bytes, "version": done.version, "format": done.format,
                         "sha256": done.sha256, "resumedAt": done.resumed_at, "creditsCharged": done.credits_charged})
    else:
        print(printable(f"{done.path}: {size(done.bytes)}, {done.credits_charged:,} credits"))
    return 0


def account(options: argparse.Namespace, key: str | None) -> int:
    """Shows the account of the key."""
    with Client(options.url, key) as client:
        found = client.account()
    if options.json:
        output.document(found)
        return 0
    free = f"{found['freeQueriesRemaining']:,} queries of {found['freeRowsPerQuery']:,} rows"
    for line in (f"account   {found['name']} ({found['id']})", f"plan      {found['plan']}",
                 f"credits   {found['credits']:,}, of which {found['reserved']:,} are reserved",
                 f"free      {free} until {found['freeQueriesResetAt']}", ""):
        print(printable(line))
    output.table(("key", "prefix", "label", "created", "last used", "expires", "revoked"),
                 ([one[name] for name in ("id", "prefix", "label", "createdAt", "lastUsedAt", "expiresAt", "revokedAt")]
                  for one in found["keys"]))
    return 0


def usage(options: argparse.Namespace, key: str | None) -> int:
    """Shows what the account has used."""
    with Client(options.url, key) as client:
        found = client.usage(days=options.days, by="key" if options.by_key else None, key=options.key)
    if options.json:
        output.document(found)
        return 0
    names = ["day", "dataset", *(["key"] if options.by_key else []), "requests", "rows", "credits"]
    totals = found["totals"]
    last = ["total", *[None] * (len(names) - 4), totals["requests"], totals["rows"], totals["credits"]]
    output.table(names, [*([one.get(name) for name in names] for one in found["usage"]), last])
    return 0


def is_paid(options: argparse.Namespace, price: Cost, what: str) -> bool:
    """Says the price, and asks unless the command line has the answer."""
    if options.max_credits is not None and price > options.max_credits:
        raise MaxCreditsExceeded(int(price), options.max_credits)
    sentence = f"{what}: {int(price):,} credits of {price.credits_available:,}"
    if options.yes or options.max_credits is not None or price == 0:
        if sys.stderr.isatty():
            output.complain(sentence)
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        output.complain(f"{sentence}; say --yes or --max-credits N to pay")
        return False
    print(f"{sentence}. Pay? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def bound(options: argparse.Namespace, price: Cost) -> int:
    """The credits that were agreed to."""
    return int(price) if options.max_credits is None else options.max_credits
