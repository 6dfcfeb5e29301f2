"""A question as an Arrow table: over Arrow where the server offers it, else out of NDJSON with the types of the schema.

The buffers of the answer are the buffers of the table; nothing is copied. An answer that is cut gives its whole record
batches, and the same request goes on behind them.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mercato.core import budget as budgets
from mercato.core.effects import Emit, Read, Sleep, Steps, gathered
from mercato.core.exchange import Core
from mercato.core.question import Question
from mercato.core.reads import ARROW, arrow_sample
from mercato.core.stream import Leg, Patience, answered
from mercato.core.typed_rows import table_of_json
from mercato.errors import ConnectionError, MissingExtra, PaymentRequired, StatusError, UnexpectedAnswer
from mercato.openapi import STREAM_ROWS_MAX

if TYPE_CHECKING:
    import pyarrow as pa

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
NOT_ACCEPTABLE = 406


def pyarrow() -> Any:
    """The library, or what to install."""
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise MissingExtra("this needs pyarrow: pip install 'mercato[arrow]'") from None
    return pyarrow


def polars() -> Any:
    """The library, or what to install."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("this needs polars: pip install 'mercato[polars]'") from None
    return polars


def pandas() -> Any:
    """The library, or what to install."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("this needs pandas: pip install 'mercato[pandas]'") from None
    return pandas


def polars_frame(core: Core, question: Question) -> Steps[Any]:
    """All rows as a polars DataFrame."""
    library = polars()
    found = yield from table(core, question)
    return library.from_arrow(found)


def pandas_frame(core: Core, question: Question) -> Steps[Any]:
    """All rows as a pandas DataFrame. Decimals and dates stay in Arrow's form: objects take most of the time."""
    library, types = pandas(), pyarrow().types
    found = yield from table(core, question)

    def form(kind: pa.DataType) -> Any:
        return library.ArrowDtype(kind) if types.is_decimal(kind) or types.is_date(kind) else None

    return found.to_pandas(types_mapper=form)


def table(core: Core, question: Question) -> Steps[pa.Table]:
    """All rows as an Arrow table."""
    library = pyarrow()
    parts = Parts(library)
    try:
        yield from gathered(tables(core, question, itertools.repeat(STREAM_ROWS_MAX)), parts.tables.extend)
    except StatusError as refusal:
        # The types of groups are in no schema.
        if refusal.status != NOT_ACCEPTABLE or parts.tables or question.groups is not None:
            raise
        return (yield from table_of_json(core, library, question))
    return parts.table()


def types(core: Core, slug: str, version: str | None) -> Steps[tuple[pa.Table, str]]:
    """A table without rows that has the types of the dataset, and its version. Costs no credits."""
    library = pyarrow()
    content, found = yield from arrow_sample(core, slug, version)
    try:
        sample = library.ipc.open_stream(content).read_all()
    except library.ArrowInvalid as fault:
        raise UnexpectedAnswer(f"the answer is no Arrow stream: {fault}") from None
    return sample.slice(0, 0), found


def tables(core: Core, question: Question, sizes: Iterable[int]) -> Steps[None]:
    """Emits the rows as tables of at most so many rows, each paid for when it is requested."""
    library = pyarrow()
    budget = yield from budgets.opened(core, question)
    rows, left, most = 0, question.limit, STREAM_ROWS_MAX
    version: str | None = None
    if question.cursor is not None and not 1 <= (question.limit or 0) <= STREAM_ROWS_MAX:
        raise ValueError(f"behind a cursor an Arrow table needs a limit, of {STREAM_ROWS_MAX:,} at most")
    for number, size in enumerate(sizes, 1):
        if version is not None and budget.is_spent and not (yield from budgets.has_more(core, question, version, rows)):
            return
        limit = budget.bound(min(size, most) if left is None else min(size, most, left))
        # Only the trailer of a stream tells its cursor, which not every client sees. With the version by name,
        # the next leg begins at the same row by its number.
        leg = Leg(question, limit, question.key(f"arrow-{number}", core.new_key), ARROW,
                  offset=question.offset + rows or None, version=version, is_anew=version is not None)
        parts = Parts(library)
        try:
            yield from _leg(core, leg, parts)
        except PaymentRequired as refusal:
            most = budgets.free_plan_rows(refusal, leg.limit)
            continue
        yield Emit([parts.table()])
        budget.spend(leg.rows)
        rows, version = rows + leg.rows, leg.version
        left = None if left is None else left - leg.rows
        if leg.rows < limit or left == 0:
            return


def _leg(core: Core, leg: Leg, parts: Parts) -> Steps[None]:
    """Adds the batches of a leg."""
    patience = Patience(core)
    while True:
        answer = yield from answered(core, leg)
        received = io.BytesIO()
        fault: ConnectionError | None = None
        try:
            while piece := (yield Read(answer)):
                received.write(piece)
            if not received.getbuffer()[-len(END_OF_STREAM):] == END_OF_STREAM:
                raise ConnectionError("the stream ended before its end")
        except ConnectionError as cut:
            fault = cut
        before = leg.rows
        parts.add(received, leg, is_whole=fault is None)
        if fault is None:
            return
        wait = patience.after_cut(leg.rows > before)
        if wait is None:
            raise fault
        yield Sleep(wait)


@dataclass
class Parts:
    """Tables whose rows follow each other."""

    library: Any
    tables: list[Any] = field(default_factory=list)

    def add(self, received: io.BytesIO, leg: Leg, is_whole: bool) -> None:
        """Adds what came of a leg; of one that was cut, its whole batches."""
        schema, batches = self._batches(received, is_whole)
        if schema is None:
            return
        came = self.library.Table.from_batches(batches, schema=schema)
        known = leg.take(came.num_rows)
        if came.num_rows > known or not self.tables:
            self.tables.append(came.slice(known))

    def _batches(self, received: io.BytesIO, is_whole: bool) -> tuple[Any, list[Any]]:
        schema, batches = None, []
        errors = (self.library.ArrowInvalid, OSError, EOFError)
        try:
            reader = self.library.ipc.open_stream(self.library.py_buffer(received.getbuffer()))
            schema = reader.schema
            while True:
                batches.append(reader.read_next_batch())
        except StopIteration:
            pass
        except errors as fault:
            if is_whole:
                raise UnexpectedAnswer(f"the answer is no Arrow stream: {fault}") from None
        return schema, batches

    def table(self) -> Any:
        """All rows. Each answer has dictionaries of its own; the table has one for each column."""
        schema = self.tables[0].schema
        for number, field_ in enumerate(schema):
            if any(part.schema.field(number).type != field_.type for part in self.tables):
                # A short leg has no dictionary where a long one has.
                schema = schema.set(number, field_.with_type(field_.type.value_type
                                                             if self._is_dictionary(field_.type) else field_.type))
        parts = [part.cast(schema) for part in self.tables]
        return self.library.concat_tables(parts).unify_dictionaries()

    def _is_dictionary(self, kind: Any) -> bool:
        return bool(self.library.types.is_dictionary(kind))
