"""The words of the command line."""

from __future__ import annotations

import argparse
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from mercato.cli import commands
from mercato.cli.commands import LIMIT_DEFAULT
from mercato.setup import package_version

URL_VARIABLE = "MERCATO_URL"
URL_DEFAULT = "http://127.0.0.1:8080"
EPILOG = f"""The key is read from MERCATO_API_KEY, the address from {URL_VARIABLE}. What costs credits says its price
and asks; scripts give --yes or --max-credits."""


def parser() -> argparse.ArgumentParser:
    """The parser; `run` of its result is the command."""
    top = argparse.ArgumentParser(prog="mercato-client", description="Datasets of a mercato server.", epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"mercato-client {package_version()}")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--url", default=os.environ.get(URL_VARIABLE, URL_DEFAULT),
                        help=f"address of the server (default: {URL_VARIABLE}, else {URL_DEFAULT})")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    names = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (add_words, summary) in COMMANDS.items():
        add_words(names.add_parser(name, parents=[common], help=summary, epilog=EPILOG))
    return top


def _list(words: argparse.ArgumentParser) -> None:
    words.add_argument("--limit", type=positive, help="datasets at most (default: all)")
    words.add_argument("--tag", action="append", help="only datasets with this tag; may be repeated")
    words.add_argument("--license", help="only datasets with this licence")
    words.add_argument("--sort", choices=("featured", "updated", "title", "rows"), help="order (default: featured)")
    words.add_argument("--lang", choices=("en", "it"), help="language of titles and descriptions")
    words.set_defaults(run=commands.list_datasets)


def _search(words: argparse.ArgumentParser) -> None:
    words.add_argument("question", nargs="*", help="what the data are about; without it all datasets are listed")
    words.add_argument("--limit", type=positive, default=10, help="datasets at most (default: 10)")
    words.add_argument("--tag", action="append", help="only datasets with this tag; may be repeated")
    words.add_argument("--lang", choices=("en", "it"), help="language of titles and descriptions")
    words.set_defaults(run=commands.search)


def _show(words: argparse.ArgumentParser) -> None:
    words.add_argument("dataset", help="its slug")
    words.add_argument("--lang", choices=("en", "it"), help="language of title and description")
    words.add_argument("--sample", action="store_true", help="print the free sample, too")
    words.set_defaults(run=commands.show)


def _sample(words: argparse.ArgumentParser) -> None:
    words.add_argument("dataset", help="its slug")
    _format(words)
    words.set_defaults(run=commands.sample)


def _query(words: argparse.ArgumentParser) -> None:
    words.add_argument("dataset", help="its slug")
    words.add_argument("--filter", "-f", type=json_object, metavar="JSON", dest="filters",
                       help="""conditions by column, such as '{"price_min": 10}'""")
    words.add_argument("--columns", "-c", type=names, metavar="NAME,NAME", help="columns in the order wanted")
    words.add_argument("--sort-by", metavar="NAME", help="order of the rows (default: that of the file)")
    words.add_argument("--descending", action="store_true", help="the greatest first")
    many = words.add_mutually_exclusive_group()
    many.add_argument("--limit", type=positive,
                      help=f"rows at most (default: {LIMIT_DEFAULT}; with --count all that match)")
    many.add_argument("--all", action="store_true", help="all rows that match")
    _format(words)
    words.add_argument("--count", action="store_true", help="print only how many rows match; costs nothing")
    _price(words)
    words.set_defaults(run=commands.query)


def _download(words: argparse.ArgumentParser) -> None:
    words.add_argument("dataset", help="its slug")
    words.add_argument("path", nargs="?", type=Path, help="file to write (default: DATASET-VERSION.FORMAT)")
    words.add_argument("--format", help="csv, json, ndjson and what else `show` lists (default: by PATH, else csv)")
    words.add_argument("--data-version", metavar="VERSION", help="a version that `show` lists")
    words.add_argument("--quiet", "-q", action="store_true", help="no progress bar")
    _price(words)
    words.set_defaults(run=commands.download)


def _account(words: argparse.ArgumentParser) -> None:
    words.set_defaults(run=commands.account)


def _usage(words: argparse.ArgumentParser) -> None:
    words.add_argument("--days", type=positive, help="days until today (default: 30)")
    words.add_argument("--by-key", action="store_true", help="count each key apart")
    words.add_argument("--key", metavar="ID", help="only the key with this id, which `account` lists")
    words.set_defaults(run=commands.usage)


def _format(words: argparse.ArgumentParser) -> None:
    words.add_argument("--format", choices=("table", "csv", "ndjson", "json"),
                       help="default: a table on a terminal, else csv; --json is --format json")
    words.add_argument("--data-version", metavar="VERSION", help="a version that `show` lists")


def _price(words: argparse.ArgumentParser) -> None:
    words.add_argument("--yes", "-y", action="store_true", help="pay the price without a question")
    words.add_argument("--max-credits", type=amount, metavar="N", help="pay at most N credits, without a question")


COMMANDS = {
    "list": (_list, "list all datasets"),
    "search": (_search, "find datasets"),
    "show": (_show, "describe a dataset and its columns"),
    "sample": (_sample, "print the free sample"),
    "query": (_query, "print rows (one credit each)"),
    "download": (_download, "fetch a whole version (one credit a row)"),
    "account": (_account, "show credits, free queries and keys"),
    "usage": (_usage, "show requests, rows and credits by day and dataset"),
}


def positive(text: str) -> int:
    """A number from 1."""
    number = amount(text)
    if number == 0:
        raise argparse.ArgumentTypeError("expected 1 or more")
    return number


def amount(text: str) -> int:
    """A number from 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}")
    return int(text)


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def json_object(text: str) -> dict[str, Any]:
    """An object of JSON."""
    try:
        found = json.loads(text, parse_float=Decimal)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(f"expected JSON: {fault}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError("expected a JSON object, such as '{\"price_min\": 10}'")
    return found
