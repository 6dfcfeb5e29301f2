"""A dataset as a lazy frame of polars, which asks the server for the columns, rows and first rows that a plan needs."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mercato.core import arrow
from mercato.core.exchange import Core
from mercato.core.pushdown import Node, Translator, Unknown
from mercato.core.question import Question
from mercato.drivers import Driver
from mercato.errors import MissingExtra
from mercato.notices import tell
from mercato.openapi import STREAM_ROWS_MAX

if TYPE_CHECKING:
    import polars

POLARS_MIN = 2
GROWING_SIZES = (100, 1_000, 10_000, 100_000)
"""Rows of the first requests of a scan that polars may leave early, before they are as large as possible."""
PARTS = 4
"""Polars asks for two frames more than it needs. They lie in the request that is paid already."""


def lazy_frame(core: Core, driver: Driver, question: Question, schema: Mapping[str, Any]) -> polars.LazyFrame:
    """A lazy frame; each `collect` asks and pays anew."""
    library = checked_polars()
    from polars.io.plugins import register_io_source

    def source(with_columns: list[str] | None, predicate: polars.Expr | None, n_rows: int | None,
               batch_size: int | None) -> Iterator[polars.DataFrame]:
        # An empty list would be all columns, and the number of rows needs one.
        names = list(schema) if with_columns is None else with_columns or list(schema)[:1]
        kinds = {name: schema[name] for name in names}
        if n_rows == 0:
            yield library.DataFrame(schema=kinds)
            return
        asked = replace(question, columns=tuple(names), limit=n_rows)
        # Polars counts `n_rows` before it filters: a server that filters would count other rows.
        if predicate is not None and n_rows is None:
            asked = replace(asked, filters=filters_of(library, predicate, schema))
        sizes = growing_sizes() if n_rows is None else itertools.repeat(STREAM_ROWS_MAX)
        for table in driver.iterate(arrow.tables(core, asked, sizes)):
            frame = library.from_arrow(table).cast(kinds)
            for part in frame.iter_slices(max(1, -(-frame.height // PARTS))) if frame.height else [frame]:
                yield part if predicate is None else part.filter(predicate)

    found: polars.LazyFrame = register_io_source(source, schema=library.Schema(schema), is_pure=True)
    return found


def checked_polars() -> Any:
    """The library. Older ones write expressions otherwise and hide the errors of a source."""
    library = arrow.polars()
    if int(library.__version__.split(".")[0]) < POLARS_MIN:
        raise MissingExtra(f"a scan needs polars {POLARS_MIN} or newer, and this is {library.__version__}")
    return library


def growing_sizes() -> Iterator[int]:
    """Rows of the first request, the second, and so on."""
    yield from GROWING_SIZES
    yield from itertools.repeat(STREAM_ROWS_MAX)


def schema_of(table: Any) -> dict[str, Any]:
    """The types of a scan, out of an Arrow table. Dictionaries are a matter of the transport."""
    library = checked_polars()
    return {name: library.String() if kind == library.Categorical else kind
            for name, kind in library.from_arrow(table).schema.items()}


def filters_of(library: Any, predicate: Any, schema: Mapping[str, Any]) -> str | None:
    """The filters of a predicate, as JSON. Warns of what is not sent, because its rows are paid for and dropped."""
    node = json.loads(predicate.meta.serialize(format="json"))
    families = {name: family_of(kind) for name, kind in schema.items()}
    scales = {name: kind.scale for name, kind in schema.items() if kind.is_decimal()}
    pushed = Translator(families, scales, literals(library)).predicate(node)
    if pushed.left_out:
        tell({}, [f"the server does not check {pushed.left_out} of the conditions of {predicate}, "
                  "so rows that fail them are paid for"])
    return None if pushed.filters is None else json.dumps(pushed.filters, ensure_ascii=False, allow_nan=False)


def family_of(kind: Any) -> str:
    """`float`, `integer` or `other`: whose literals need care."""
    return "float" if kind.is_float() else "integer" if kind.is_integer() else "other"


def literals(library: Any) -> Callable[[Node], Any]:
    """Reads literals by polars itself, whose form of them is not ours to know."""
    def value(node: Node) -> Any:
        text = json.dumps({"Literal": node}).encode()
        try:
            column = library.select(library.Expr.deserialize(io.BytesIO(text), format="json")).to_series()
        except library.exceptions.PolarsError:
            # JSON has no infinity, for example.
            raise Unknown from None
        found = printed(library, column)[0]
        return printed(library, found) if isinstance(found, library.Series) else found
    return value


def printed(library: Any, column: Any) -> list[Any]:
    """Values as the API takes them: times with all their digits, decimals as texts."""
    if isinstance(column.dtype, library.Datetime):
        column = column.dt.convert_time_zone("UTC") if column.dtype.time_zone else column
        return list(column.dt.to_string("%Y-%m-%dT%H:%M:%S%.9fZ"))
    if column.dtype == library.Date or isinstance(column.dtype, library.Decimal):
        return list(column.cast(library.String))
    return list(column)

