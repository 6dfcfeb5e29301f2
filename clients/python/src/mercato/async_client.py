"""The face of the client that awaits, for asyncio: the methods of `mercato.client`, with the same core below them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import httpx

from mercato import openapi as api
from mercato.client import Filters, Language, Order
from mercato.core import arrow, budget, groups, reads, stream, walk
from mercato.core.download import Job, download, format_of
from mercato.core.effects import collected
from mercato.core.exchange import checked_idempotency_key, checked_slug
from mercato.core.question import Question, asked
from mercato.drivers import AsyncDriver
from mercato.groups import Aggregate, GroupColumn
from mercato.progress import Progress, reporter
from mercato.results import Cost, Download, Page, Row, SearchResults
from mercato.retry import RetryPolicy
from mercato.setup import TIMEOUT_SECONDS, core_of, http_options

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class AsyncClient:
    """As `Client`. Close it with `await client.close()`, or use it in an `async with` block."""

    def __init__(self, base_url: str, api_key: str | None = None, *, timeout: float = TIMEOUT_SECONDS,
                 retry: RetryPolicy | None = None, exact_numbers: bool = False,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        options = http_options(base_url, timeout)
        self._http = httpx.AsyncClient(transport=transport, **options)
        self._core = core_of(api_key, retry, exact_numbers, self._http.headers)
        self._driver = AsyncDriver(self._http)

    async def search(self, q: str, *, limit: int | None = None, offset: int = 0,
                     tag: str | Sequence[str] | None = None, lang: Language | None = None) -> SearchResults:
        """As `Client.search`."""
        return await self._driver.run(reads.search(self._core, q, limit, offset, tag, lang))

    def datasets(self, *, limit: int | None = None, offset: int = 0, tag: str | Sequence[str] | None = None,
                 license: str | None = None, sort: Order | None = None,
                 lang: Language | None = None) -> AsyncIterator[api.Item]:
        """As `Client.datasets`."""
        return self._driver.iterate(reads.items(self._core, api.LIST_DATASETS, 100, limit, offset, tag=tag,
                                                license=license, sort=sort, lang=lang))

    def tags(self, *, limit: int | None = None, offset: int = 0) -> AsyncIterator[api.TagListResult]:
        """As `Client.tags`."""
        return self._driver.iterate(reads.items(self._core, api.LIST_TAGS, 1000, limit, offset))

    async def graph(self, *, lang: Language | None = None) -> api.Graph:
        """As `Client.graph`."""
        found: api.Graph = await self._driver.run(reads.read(self._core, api.GET_RELATION_GRAPH, lang=lang))
        return found

    def dataset(self, slug: str) -> AsyncDataset:
        """As `Client.dataset`."""
        return AsyncDataset(self, slug)

    async def account(self) -> api.Account:
        """As `Client.account`."""
        found: api.Account = await self._driver.run(reads.read(self._core, api.GET_ACCOUNT))
        return found

    async def usage(self, *, days: int | None = None, by: Literal["key"] | None = None,
                    key: str | None = None) -> api.Usage:
        """As `Client.usage`."""
        found: api.Usage = await self._driver.run(reads.read(self._core, api.GET_USAGE, days=days, by=by, key=key))
        return found

    async def openapi(self) -> dict[str, Any]:
        """As `Client.openapi`."""
        found: dict[str, Any] = await self._driver.run(reads.document(self._core, api.GET_OPEN_API))
        return found

    async def close(self) -> None:
        """As `Client.close`."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({str(self._http.base_url)!r})"


class AsyncDataset:
    """As `Dataset`."""

    def __init__(self, client: AsyncClient, slug: str) -> None:
        self._client = client
        self.slug = checked_slug(slug)

    async def _read(self, operation: api.Operation, **query: Any) -> Any:
        return await self._client._driver.run(reads.read(self._client._core, operation, self.slug, **query))

    async def header(self, *, lang: Language | None = None) -> api.Header:
        """As `Dataset.header`."""
        found: api.Header = await self._read(api.GET_DATASET, lang=lang)
        return found

    async def versions(self) -> list[api.HeaderVersion]:
        """As `Dataset.versions`."""
        return await self._client._driver.run(reads.versions(self._client._core, self.slug))

    async def schema(self, *, lang: Language | None = None, version: str | None = None) -> api.DatasetSchema:
        """As `Dataset.schema`."""
        found: api.DatasetSchema = await self._read(api.GET_SCHEMA, lang=lang, version=version)
        return found

    async def sample(self, *, version: str | None = None) -> api.Sample:
        """As `Dataset.sample`."""
        return await self._client._driver.run(reads.sample(self._client._core, self.slug, version))

    async def stats(self, *, version: str | None = None) -> api.Statistics:
        """As `Dataset.stats`."""
        found: api.Statistics = await self._read(api.GET_STATISTICS, version=version)
        return found

    async def methodology(self) -> api.Methodology:
        """As `Dataset.methodology`."""
        found: api.Methodology = await self._read(api.GET_METHODOLOGY)
        return found

    async def changelog(self) -> api.Changelog:
        """As `Dataset.changelog`."""
        found: api.Changelog = await self._read(api.GET_CHANGELOG)
        return found

    async def related(self, *, limit: int | None = None, lang: Language | None = None) -> api.RelatedList:
        """As `Dataset.related`."""
        found: api.RelatedList = await self._read(api.GET_RELATED, limit=limit, lang=lang)
        return found

    async def croissant(self, *, lang: Language | None = None, version: str | None = None) -> dict[str, Any]:
        """As `Dataset.croissant`."""
        steps = reads.document(self._client._core, api.GET_CROISSANT, self.slug, lang=lang, version=version)
        found: dict[str, Any] = await self._client._driver.run(steps)
        return found

    def query(self, filters: Filters | None = None, columns: Iterable[str] | None = None, sort_by: str | None = None,
              descending: bool = False, limit: int | None = None, max_credits: int | None = None, *, offset: int = 0,
              version: str | None = None, page_size: int | None = None, cursor: str | None = None,
              idempotency_key: str | None = None) -> AsyncQuery:
        """As `Dataset.query`."""
        return AsyncQuery(self._client, asked(self.slug, filters, columns, sort_by, descending, limit, max_credits,
                                              offset, version, page_size, cursor, idempotency_key))

    def group_by(self, *columns: str | GroupColumn, filters: Filters | None = None, having: Filters | None = None,
                 sort_by: str | None = None, descending: bool = False, limit: int | None = None,
                 max_credits: int | None = None, offset: int = 0, version: str | None = None,
                 page_size: int | None = None, cursor: str | None = None,
                 idempotency_key: str | None = None) -> AsyncGroupBy:
        """As `Dataset.group_by`."""
        question = asked(self.slug, filters, None, sort_by, descending, limit, max_credits, offset, version, page_size,
                         cursor, idempotency_key)
        return AsyncGroupBy(self._client, groups.grouped(question, columns, having))

    def stream(self, filters: Filters | None = None, columns: Iterable[str] | None = None, sort_by: str | None = None,
               descending: bool = False, limit: int | None = None, max_credits: int | None = None, *, offset: int = 0,
               version: str | None = None, cursor: str | None = None,
               idempotency_key: str | None = None) -> AsyncIterator[Row]:
        """As `Dataset.stream`. Where a loop ends early, `contextlib.aclosing` closes the connection at once."""
        question = asked(self.slug, filters, columns, sort_by, descending, limit, max_credits, offset, version,
                         cursor=cursor, idempotency_key=idempotency_key)
        return self._client._driver.iterate(stream.rows(self._client._core, question))

    async def download(self, path: str | os.PathLike[str], format: str | None = None, *, version: str | None = None,
                       max_credits: int | None = None, progress: Progress = None,
                       idempotency_key: str | None = None) -> Download:
        """As `Dataset.download`."""
        target = Path(path)
        job = Job(self.slug, target, format_of(target, format), version, max_credits,
                  checked_idempotency_key(idempotency_key), str(self._client._http.base_url))
        with reporter(progress, target.name) as report:
            return await self._client._driver.run(download(self._client._core, job, report))

    async def download_cost(self, *, version: str | None = None) -> Cost:
        """As `Dataset.download_cost`."""
        return await self._client._driver.run(budget.download_cost(self._client._core, self.slug, version))

    def __repr__(self) -> str:
        return f"AsyncDataset({self.slug!r})"


class AsyncGroupBy:
    """As `GroupBy`."""

    def __init__(self, client: AsyncClient, question: Question) -> None:
        self._client = client
        self._question = question

    def agg(self, /, **aggregates: Aggregate) -> AsyncQuery:
        """As `GroupBy.agg`."""
        return AsyncQuery(self._client, groups.aggregated(self._question, aggregates))

    def __repr__(self) -> str:
        return f"AsyncGroupBy({self._question!r})"


class AsyncQuery:
    """As `Query`: `async for`, and conversions to await."""

    def __init__(self, client: AsyncClient, question: Question) -> None:
        self._client = client
        self._question = question

    def __aiter__(self) -> AsyncIterator[Row]:
        """As `Query.__iter__`."""
        return self._client._driver.iterate(walk.rows(self._client._core, self._question))

    def pages(self) -> AsyncIterator[Page]:
        """As `Query.pages`."""
        return self._client._driver.iterate(walk.pages(self._client._core, self._question))

    def stream(self) -> AsyncIterator[Row]:
        """As `Query.stream`."""
        return self._client._driver.iterate(stream.rows(self._client._core, self._question))

    async def to_list(self) -> list[Row]:
        """As `Query.to_list`."""
        found: list[Row] = await self._client._driver.run(collected(walk.rows(self._client._core, self._question)))
        return found

    async def to_arrow(self) -> pyarrow.Table:
        """As `Query.to_arrow`."""
        return await self._client._driver.run(arrow.table(self._client._core, self._question))

    async def to_polars(self) -> polars.DataFrame:
        """As `Query.to_polars`."""
        steps = arrow.polars_frame(self._client._core, self._question)
        found: polars.DataFrame = await self._client._driver.run(steps)
        return found

    async def to_pandas(self) -> pandas.DataFrame:
        """As `Query.to_pandas`."""
        steps = arrow.pandas_frame(self._client._core, self._question)
        found: pandas.DataFrame = await self._client._driver.run(steps)
        return found

    async def count(self) -> int:
        """As `Query.count`."""
        return (await self.cost()).exact_rows

    async def cost(self) -> Cost:
        """As `Query.cost`."""
        return await self._client._driver.run(budget.cost(self._client._core, self._question))

    def __repr__(self) -> str:
        return f"AsyncQuery({self._question!r})"
