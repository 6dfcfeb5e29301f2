"""The face of the client that blocks. Every method hands its arguments to the core and runs what it gets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import httpx

from mercato import openapi as api
from mercato import scan
from mercato.core import arrow, budget, groups, reads, stream, walk
from mercato.core.download import Job, download, format_of
from mercato.core.effects import collected
from mercato.core.exchange import checked_idempotency_key, checked_slug
from mercato.core.question import Question, asked
from mercato.drivers import Driver
from mercato.errors import MissingExtra
from mercato.groups import Aggregate, GroupColumn
from mercato.progress import Progress, reporter
from mercato.results import Cost, Download, Page, Row, SearchResults
from mercato.retry import RetryPolicy
from mercato.setup import TIMEOUT_SECONDS, core_of, http_options

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from mercato.filesystem import MercatoFileSystem

Language = Literal["en", "it"]
Order = Literal["featured", "updated", "title", "rows"]
Filters = Mapping[str, Any]


class Client:
    """A connection to a mercato server. May be shared by threads; close it, or use it in a `with` block.

    `api_key` is needed for queries, streams, downloads and the account. `timeout` is in seconds and bounds each wait
    for the network. With `exact_numbers`, numbers with a fraction are `decimal.Decimal` with all their digits, else
    `float`. `transport` is one of httpx, for proxies, certificates and tests.
    """

    def __init__(self, base_url: str, api_key: str | None = None, *, timeout: float = TIMEOUT_SECONDS,
                 retry: RetryPolicy | None = None, exact_numbers: bool = False,
                 transport: httpx.BaseTransport | None = None) -> None:
        options = http_options(base_url, timeout)
        self._http = httpx.Client(transport=transport, **options)
        self._core = core_of(api_key, retry, exact_numbers, self._http.headers)
        self._driver = Driver(self._http)

    def search(self, q: str, *, limit: int | None = None, offset: int = 0, tag: str | Sequence[str] | None = None,
               lang: Language | None = None) -> SearchResults:
        """Datasets that are about `q`, the best first; 10 unless `limit` says otherwise, at most 50."""
        return self._driver.run(reads.search(self._core, q, limit, offset, tag, lang))

    def datasets(self, *, limit: int | None = None, offset: int = 0, tag: str | Sequence[str] | None = None,
                 license: str | None = None, sort: Order | None = None,
                 lang: Language | None = None) -> Iterator[api.Item]:
        """All published datasets, or the first `limit`, page by page."""
        return self._driver.iterate(reads.items(self._core, api.LIST_DATASETS, 100, limit, offset, tag=tag,
                                                license=license, sort=sort, lang=lang))

    def tags(self, *, limit: int | None = None, offset: int = 0) -> Iterator[api.TagListResult]:
        """All tags with the number of their datasets, the most frequent first."""
        return self._driver.iterate(reads.items(self._core, api.LIST_TAGS, 1000, limit, offset))

    def graph(self, *, lang: Language | None = None) -> api.Graph:
        """How the datasets are related: nodes and edges."""
        found: api.Graph = self._driver.run(reads.read(self._core, api.GET_RELATION_GRAPH, lang=lang))
        return found

    def dataset(self, slug: str) -> Dataset:
        """A dataset by its name. Sends nothing."""
        return Dataset(self, slug)

    def account(self) -> api.Account:
        """Plan, credits, request limits and keys of the account."""
        found: api.Account = self._driver.run(reads.read(self._core, api.GET_ACCOUNT))
        return found

    def usage(self, *, days: int | None = None, by: Literal["key"] | None = None, key: str | None = None) -> api.Usage:
        """The usage of the last days (30), by day and dataset; `key` is the id of one key."""
        found: api.Usage = self._driver.run(reads.read(self._core, api.GET_USAGE, days=days, by=by, key=key))
        return found

    def filesystem(self, *, max_credits: int | None = None) -> MercatoFileSystem:
        """Parquet files for DuckDB, pandas and pyarrow, as a file system of fsspec. Needs `mercato[fsspec]`.

        `mercato://SLUG.parquet` is read by ranges. The first of them pays for all rows of the version, at most
        `max_credits`; those of the next 24 hours are free.
        """
        try:
            from mercato.filesystem import MercatoFileSystem
        except ImportError:
            raise MissingExtra("this needs fsspec: pip install 'mercato[fsspec]'") from None
        return MercatoFileSystem(self._core, self._driver, max_credits)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of the server."""
        found: dict[str, Any] = self._driver.run(reads.document(self._core, api.GET_OPEN_API))
        return found

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._http.base_url)!r})"


class Dataset:
    """A dataset. What it offers for nothing, and what costs a credit a row: `query`, `stream` and `download`."""

    def __init__(self, client: Client, slug: str) -> None:
        self._client = client
        self.slug = checked_slug(slug)

    def _read(self, operation: api.Operation, **query: Any) -> Any:
        return self._client._driver.run(reads.read(self._client._core, operation, self.slug, **query))

    def header(self, *, lang: Language | None = None) -> api.Header:
        """Title, licence, publisher, size, versions, price and links."""
        found: api.Header = self._read(api.GET_DATASET, lang=lang)
        return found

    def versions(self) -> list[api.HeaderVersion]:
        """The versions that can be read, the highest first."""
        return self._client._driver.run(reads.versions(self._client._core, self.slug))

    def schema(self, *, lang: Language | None = None, version: str | None = None) -> api.DatasetSchema:
        """A JSON Schema of a row, and `columns` in their order; `lang` is that of their descriptions."""
        found: api.DatasetSchema = self._read(api.GET_SCHEMA, lang=lang, version=version)
        return found

    def sample(self, *, version: str | None = None) -> api.Sample:
        """At most 100 rows out of the whole file, in `results`."""
        return self._client._driver.run(reads.sample(self._client._core, self.slug, version))

    def stats(self, *, version: str | None = None) -> api.Statistics:
        """Counts, extremes, quantiles and frequent values of every column, over all rows."""
        found: api.Statistics = self._read(api.GET_STATISTICS, version=version)
        return found

    def methodology(self) -> api.Methodology:
        """How the data were made, as Markdown."""
        found: api.Methodology = self._read(api.GET_METHODOLOGY)
        return found

    def changelog(self) -> api.Changelog:
        """The changes, as Markdown, and by version in `entries`."""
        found: api.Changelog = self._read(api.GET_CHANGELOG)
        return found

    def related(self, *, limit: int | None = None, lang: Language | None = None) -> api.RelatedList:
        """Datasets that have to do with this one."""
        found: api.RelatedList = self._read(api.GET_RELATED, limit=limit, lang=lang)
        return found

    def croissant(self, *, lang: Language | None = None, version: str | None = None) -> dict[str, Any]:
        """The description as JSON-LD in the vocabulary of Croissant."""
        steps = reads.document(self._client._core, api.GET_CROISSANT, self.slug, lang=lang, version=version)
        found: dict[str, Any] = self._client._driver.run(steps)
        return found

    def query(self, filters: Filters | None = None, columns: Iterable[str] | None = None, sort_by: str | None = None,
              descending: bool = False, limit: int | None = None, max_credits: int | None = None, *, offset: int = 0,
              version: str | None = None, page_size: int | None = None, cursor: str | None = None,
              idempotency_key: str | None = None) -> Query:
        """Rows that match, all of them or the first `limit`. Sends and pays nothing before rows are asked for."""
        return Query(self._client, asked(self.slug, filters, columns, sort_by, descending, limit, max_credits, offset,
                                         version, page_size, cursor, idempotency_key))

    def group_by(self, *columns: str | GroupColumn, filters: Filters | None = None, having: Filters | None = None,
                 sort_by: str | None = None, descending: bool = False, limit: int | None = None,
                 max_credits: int | None = None, offset: int = 0, version: str | None = None,
                 page_size: int | None = None, cursor: str | None = None,
                 idempotency_key: str | None = None) -> GroupBy:
        """Groups of the rows that match, in place of the rows; `agg` names what is computed of each, and makes a query.

        Each of `columns` is a name, or made by `month("x")`, `bucket("x", 10)` and the like. `having` and `sort_by`
        name columns of the answer. A group costs one credit. `cost()` leaves `having` out: with it, it is a bound.
        """
        question = asked(self.slug, filters, None, sort_by, descending, limit, max_credits, offset, version, page_size,
                         cursor, idempotency_key)
        return GroupBy(self._client, groups.grouped(question, columns, having))

    def scan(self, *, version: str | None = None, max_credits: int | None = None) -> polars.LazyFrame:
        """The rows as a lazy frame of polars. Needs `mercato[polars]`. Each `collect` asks and pays anew.

        The server gets the columns, filters and first rows that the plan needs, and only those rows are paid for. A
        condition that it cannot check is a `MercatoWarning`. All reads are of the version that is current now.
        """
        core = self._client._core
        table, found = self._client._driver.run(arrow.types(core, self.slug, version))
        question = asked(self.slug, None, None, None, False, None, max_credits, version=found)
        return scan.lazy_frame(core, self._client._driver, question, scan.schema_of(table))

    def stream(self, filters: Filters | None = None, columns: Iterable[str] | None = None, sort_by: str | None = None,
               descending: bool = False, limit: int | None = None, max_credits: int | None = None, *, offset: int = 0,
               version: str | None = None, cursor: str | None = None,
               idempotency_key: str | None = None) -> Iterator[Row]:
        """The rows of a query in one long answer, resumed where it is cut. Pays for the rows that come."""
        question = asked(self.slug, filters, columns, sort_by, descending, limit, max_credits, offset, version,
                         cursor=cursor, idempotency_key=idempotency_key)
        return self._client._driver.iterate(stream.rows(self._client._core, question))

    def download(self, path: str | os.PathLike[str], format: str | None = None, *, version: str | None = None,
                 max_credits: int | None = None, progress: Progress = None,
                 idempotency_key: str | None = None) -> Download:
        """A whole version as a file; `format` is by the name of the file, else CSV. Pays one credit a row, once.

        Goes on with what an earlier call left. Replaces no file (`FileExistsError`). `progress` is a function of
        the bytes that are there and of all bytes; by default a bar on a terminal, `False` is silence.
        """
        target = Path(path)
        job = Job(self.slug, target, format_of(target, format), version, max_credits,
                  checked_idempotency_key(idempotency_key), str(self._client._http.base_url))
        with reporter(progress, target.name) as report:
            return self._client._driver.run(download(self._client._core, job, report))

    def download_cost(self, *, version: str | None = None) -> Cost:
        """The price of a download in credits, as of a file that was not begun. Costs no credits itself."""
        return self._client._driver.run(budget.download_cost(self._client._core, self.slug, version))

    def __repr__(self) -> str:
        return f"Dataset({self.slug!r})"


class GroupBy:
    """Groups that await their aggregates."""

    def __init__(self, client: Client, question: Question) -> None:
        self._client = client
        self._question = question

    def agg(self, /, **aggregates: Aggregate) -> Query:
        """A query with a row for each group: its columns, then the aggregates by name, such as `n=count()`.

        Without aggregates it has the distinct combinations; without columns in `group_by`, one row.
        """
        return Query(self._client, groups.aggregated(self._question, aggregates))

    def __repr__(self) -> str:
        return f"GroupBy({self._question!r})"


class Query:
    """Rows that match, not yet asked for. Each iteration and each conversion asks and pays anew."""

    def __init__(self, client: Client, question: Question) -> None:
        self._client = client
        self._question = question

    def __iter__(self) -> Iterator[Row]:
        """The rows, page by page, all of one version. Pages grow, so that a loop that stops early pays little more."""
        return self._client._driver.iterate(walk.rows(self._client._core, self._question))

    def pages(self) -> Iterator[Page]:
        """The same rows by page, with what each page cost."""
        return self._client._driver.iterate(walk.pages(self._client._core, self._question))

    def stream(self) -> Iterator[Row]:
        """The same rows in one long answer, as `Dataset.stream`; `page_size` does not apply."""
        return self._client._driver.iterate(stream.rows(self._client._core, self._question))

    def to_list(self) -> list[Row]:
        """All rows."""
        found: list[Row] = self._client._driver.run(collected(walk.rows(self._client._core, self._question)))
        return found

    def to_arrow(self) -> pyarrow.Table:
        """All rows as an Arrow table with the types of the dataset. Needs `mercato[arrow]`."""
        return self._client._driver.run(arrow.table(self._client._core, self._question))

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars DataFrame. Needs `mercato[polars]`."""
        found: polars.DataFrame = self._client._driver.run(arrow.polars_frame(self._client._core, self._question))
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas DataFrame, decimals and dates as `pandas.ArrowDtype`. Needs `mercato[pandas]`."""
        found: pandas.DataFrame = self._client._driver.run(arrow.pandas_frame(self._client._core, self._question))
        return found

    def count(self) -> int:
        """The number of rows, for no credits. A `ValueError` where it is only bounded: see `cost()`.

        That is so where a filter leaves more than 10,000, and for groups with `having`.
        """
        return self.cost().exact_rows

    def cost(self) -> Cost:
        """The price in credits, with `rows` and whether it is `affordable`. Costs no credits itself."""
        return self._client._driver.run(budget.cost(self._client._core, self._question))

    def __repr__(self) -> str:
        return f"Query({self._question!r})"
