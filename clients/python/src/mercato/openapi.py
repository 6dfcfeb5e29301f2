"""Operations and types of the API. Made by `generate.py` out of the OpenAPI document; do not edit."""

# fmt: off
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypedDict


@dataclass(frozen=True)
class Operation:
    """A method on a path."""

    name: str
    method: str
    path: str
    parameters: tuple[str, ...]
    """Names in the query."""
    headers: tuple[str, ...]
    """Headers that the operation reads."""
    body: tuple[str, ...]
    """Fields of the JSON body."""


SEARCH_DATASETS = Operation(
    "searchDatasets", "GET", "/api/v1/datasets/search",
    ('q', 'limit', 'offset', 'tag', 'lang'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

LIST_DATASETS = Operation(
    "listDatasets", "GET", "/api/v1/datasets",
    ('limit', 'offset', 'tag', 'license', 'sort', 'lang'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

LIST_TAGS = Operation(
    "listTags", "GET", "/api/v1/tags",
    ('limit', 'offset'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_DATASET = Operation(
    "getDataset", "GET", "/api/v1/datasets/{slug}",
    ('lang',),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_SCHEMA = Operation(
    "getSchema", "GET", "/api/v1/datasets/{slug}/schema",
    ('lang', 'version'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_SAMPLE = Operation(
    "getSample", "GET", "/api/v1/datasets/{slug}/sample",
    ('version', 'format'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_METHODOLOGY = Operation(
    "getMethodology", "GET", "/api/v1/datasets/{slug}/methodology",
    (),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_CHANGELOG = Operation(
    "getChangelog", "GET", "/api/v1/datasets/{slug}/changelog",
    (),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_STATISTICS = Operation(
    "getStatistics", "GET", "/api/v1/datasets/{slug}/stats",
    ('version',),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_RELATED = Operation(
    "getRelated", "GET", "/api/v1/datasets/{slug}/related",
    ('limit', 'lang'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_RELATION_GRAPH = Operation(
    "getRelationGraph", "GET", "/api/v1/datasets/relations/graph",
    ('lang',),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

QUERY_DATASET_BY_URL = Operation(
    "queryDatasetByUrl", "GET", "/api/v1/datasets/{slug}/query",
    ('filters', 'columns', 'groupBy', 'aggregates', 'having', 'limit', 'offset', 'sortBy', 'sortDirection', 'cursor', 'version', 'count', 'format'),
    ('Idempotency-Key', 'If-Match'),
    (),
)

QUERY_DATASET = Operation(
    "queryDataset", "POST", "/api/v1/datasets/{slug}/query",
    (),
    ('Idempotency-Key', 'If-Match'),
    ('filters', 'columns', 'groupBy', 'aggregates', 'having', 'limit', 'offset', 'sortBy', 'sortDirection', 'version', 'cursor', 'count'),
)

ESTIMATE_QUERY = Operation(
    "estimateQuery", "POST", "/api/v1/datasets/{slug}/query/estimate",
    (),
    (),
    ('filters', 'columns', 'groupBy', 'aggregates', 'having', 'limit', 'offset', 'sortBy', 'sortDirection', 'version', 'cursor', 'count', 'for', 'facets'),
)

STREAM_DATASET = Operation(
    "streamDataset", "POST", "/api/v1/datasets/{slug}/query/stream",
    ('summary', 'afterRows'),
    ('Idempotency-Key', 'If-Match', 'Last-Event-ID'),
    ('filters', 'columns', 'groupBy', 'aggregates', 'having', 'limit', 'offset', 'sortBy', 'sortDirection', 'version', 'cursor', 'count'),
)

DOWNLOAD_DATASET = Operation(
    "downloadDataset", "GET", "/api/v1/datasets/{slug}/download",
    ('format', 'version'),
    ('Idempotency-Key', 'Range', 'If-Range', 'If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_ACCOUNT = Operation(
    "getAccount", "GET", "/api/v1/account",
    (),
    (),
    (),
)

GET_USAGE = Operation(
    "getUsage", "GET", "/api/v1/account/usage",
    ('days', 'by', 'key'),
    (),
    (),
)

GET_CROISSANT = Operation(
    "getCroissant", "GET", "/api/v1/datasets/{slug}/croissant",
    ('lang', 'version'),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

GET_OPEN_API = Operation(
    "getOpenApi", "GET", "/api/v1/openapi.json",
    (),
    ('If-None-Match', 'If-Modified-Since', 'If-Match', 'If-Unmodified-Since'),
    (),
)

SLUG_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$"
PAGE_ROWS_MAX = 10000
STREAM_ROWS_MAX = 1000000


class SearchItem(TypedDict):
    """A dataset that was found."""

    slug: str
    title: str
    description: str
    license: str | None
    currentVersion: str
    rowCount: int
    fileSize: int
    tags: list[str]
    featured: bool
    updatedAt: str
    score: float
    rank: int
    matchedOn: list[Literal['title', 'tags', 'description', 'columns', 'slug', 'methodology', 'meaning']]
    snippet: str


class SearchList(TypedDict):
    """Datasets that answer a question."""

    query: str
    lang: Literal['en', 'it'] | None
    ranking: Literal['cross-encoder', 'embedding', 'lexical']
    total: int
    limit: int
    offset: int
    nextOffset: int | None
    results: list[SearchItem]


class Item(TypedDict):
    """A dataset as lists show it."""

    slug: str
    title: str
    description: str
    license: str | None
    currentVersion: str
    rowCount: int
    fileSize: int
    tags: list[str]
    featured: bool
    updatedAt: str


class DatasetList(TypedDict):
    """A page of the catalog."""

    results: list[Item]
    total: int
    limit: int
    offset: int
    nextOffset: int | None


class TagListResult(TypedDict):
    """A tag."""

    tag: str
    count: int


class TagList(TypedDict):
    """The most frequent tags first, then by name."""

    results: list[TagListResult]
    total: int
    limit: int
    offset: int
    nextOffset: int | None


class HeaderPublisher(TypedDict):
    """Who publishes it."""

    name: str
    url: str | None


HeaderCoverage = TypedDict("HeaderCoverage", {
    "from": "str | None",
    "to": "str | None",
    "places": "list[str]",
})
"""A time and places. Dates are days, months or years."""


class HeaderFormat(TypedDict):
    """One format of the download."""

    format: Literal['csv', 'json', 'ndjson', 'arrow', 'parquet', 'xlsx']
    bytes: int | None


class HeaderPriceForDownload(TypedDict):
    """The price of the whole dataset."""

    credits: int
    eur: str
    vatIncluded: Literal[False]


class HeaderVersion(TypedDict):
    """A version that cursors can still read."""

    version: str
    rowCount: int
    fileSize: int
    publishedAt: str
    current: bool


class Header(TypedDict):
    """A dataset: its facts, versions, price and links."""

    slug: str
    title: str
    description: str
    license: str | None
    currentVersion: str
    rowCount: int
    fileSize: int
    tags: list[str]
    featured: bool
    updatedAt: str
    licenseUrl: str | None
    publisher: HeaderPublisher | None
    contact: str | None
    homepage: str | None
    citation: str | None
    coverage: HeaderCoverage | None
    updateFrequency: Literal['continuous', 'hourly', 'daily', 'weekly', 'fortnightly', 'monthly', 'quarterly', 'half-yearly', 'yearly', 'irregular', 'never'] | None
    methodologyUrl: str
    changelogUrl: str
    schemaUrl: str
    sampleUrl: str
    statsUrl: str
    relatedUrl: str
    croissantUrl: str
    queryUrl: str
    streamUrl: str
    downloadUrl: str
    columnCount: int
    formats: list[HeaderFormat]
    creditsForDownload: int
    priceForDownload: HeaderPriceForDownload
    versions: list[HeaderVersion]


class DatasetSchemaQuery(TypedDict):
    """What the seller offers beside rows."""

    groups: Literal['on', 'off']
    minGroupRows: int


class DatasetSchemaColumn(TypedDict):
    """A column."""

    name: str
    type: Literal['string', 'integer', 'number', 'boolean', 'datetime']
    nullable: bool
    sortable: bool
    indexed: bool
    description: str | None
    example: Any


DatasetSchema = TypedDict("DatasetSchema", {
    "$schema": "Literal['https://json-schema.org/draft/2020-12/schema']",
    "title": "str",
    "type": "Literal['object']",
    "properties": "dict[str, Any]",
    "required": "list[str]",
    "additionalProperties": "Literal[False]",
    "version": "str",
    "query": "DatasetSchemaQuery",
    "columns": "list[DatasetSchemaColumn]",
})
"""A JSON Schema (2020-12) of one row, and the columns in their order."""


class Sample(TypedDict):
    """Sample rows, always the same ones."""

    results: list[dict[str, Any]]
    rowsReturned: int
    columns: list[str]
    totalRows: int
    version: str


class Methodology(TypedDict):
    """How the data was made."""

    markdown: str
    version: str
    updatedAt: str


class ChangelogEntry(TypedDict):
    """The changes of one version."""

    version: str
    date: str | None
    markdown: str


class Changelog(TypedDict):
    """What changed, cut at headings such as `## [1.2.0] - 2026-01-31`."""

    markdown: str
    version: str
    updatedAt: str
    entries: list[ChangelogEntry]


class Quantiles(TypedDict):
    """For each, the smallest value that is not below that many hundredths of all values."""

    p5: str | float | bool
    p25: str | float | bool
    p50: str | float | bool
    p75: str | float | bool
    p95: str | float | bool


class ColumnStatisticsLengths(TypedDict):
    """Lengths of the texts in characters."""

    min: int
    max: int
    mean: Any
    quantiles: Quantiles | None


ColumnStatisticsHistogramBin = TypedDict("ColumnStatisticsHistogramBin", {
    "from": "str | float | bool",
    "to": "str | float | bool",
    "count": "int",
})
"""A bin."""


class ColumnStatisticsHistogram(TypedDict):
    """Bins of equal width. The last one ends at the largest value, so it may be narrower."""

    of: Literal['values', 'lengths']
    bins: list[ColumnStatisticsHistogramBin]


class ColumnStatisticsTopValue(TypedDict):
    """A frequent value."""

    value: str | float | bool
    count: int


class _ColumnStatisticsRequired(TypedDict):
    """Fields that every ColumnStatistics has."""

    name: str
    type: Literal['string', 'integer', 'number', 'boolean', 'datetime']
    complete: bool
    count: int
    nulls: int
    nans: int
    infinities: int | None
    distinct: int | None
    min: str | float | bool | None
    max: str | float | bool | None
    mean: str | float | bool | None
    quantiles: Quantiles | None
    histogram: ColumnStatisticsHistogram | None
    topValues: list[ColumnStatisticsTopValue] | None


class ColumnStatistics(_ColumnStatisticsRequired, total=False):
    """Statistics of all values of a column."""

    lengths: ColumnStatisticsLengths | None


class Statistics(TypedDict):
    """Statistics of all values of each column."""

    version: str
    rowCount: int
    columns: list[ColumnStatistics]
    complete: bool


class RelatedItem(TypedDict):
    """A related dataset, and how it is related."""

    slug: str
    title: str
    description: str
    license: str | None
    currentVersion: str
    rowCount: int
    fileSize: int
    tags: list[str]
    featured: bool
    updatedAt: str
    relationType: str
    relationDescription: str | None
    direction: Literal['outgoing', 'incoming'] | None
    weight: float


class RelatedList(TypedDict):
    """Datasets related to this one."""

    slug: str
    source: Literal['relations', 'fallback']
    results: list[RelatedItem]


class GraphNode(TypedDict):
    """A dataset."""

    id: str
    slug: str
    title: str
    group: str
    size: int
    featured: bool


class GraphEdge(TypedDict):
    """A relation. Both ends are nodes of this graph."""

    source: str
    target: str
    type: str
    label: str
    weight: float


class Graph(TypedDict):
    """Ready for `d3.forceLink(edges).id(d => d.id)`."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]


class _PageRequired(TypedDict):
    """Fields that every Page has."""

    results: list[dict[str, Any]]
    rowsReturned: int
    nextCursor: str | None
    paginationMode: Literal['cursor', 'offset']
    totalRows: int | None


class Page(_PageRequired, total=False):
    """A page of rows."""

    totalRowsAtLeast: int


class _EstimateRequired(TypedDict):
    """Fields that every Estimate has."""

    rows: int
    creditsRequired: int
    creditsAvailable: int
    affordable: bool


class Estimate(_EstimateRequired, total=False):
    """What a query would cost."""

    rowsAtLeast: int
    facets: dict[str, Any]


class Limit(TypedDict):
    """A request limit of this key."""

    limit: int
    remaining: int
    resetAt: str


class AccountQuota(TypedDict):
    """Request limits."""

    scope: Literal['key', 'address']
    minute: Limit | None
    day: Limit | None


class AccountKeyLimits(TypedDict):
    """What it may spend and read."""

    creditsPerDay: int | None
    creditsPerMonth: int | None
    datasets: list[str]


class AccountKeySpent(TypedDict):
    """Credits spent of its caps, with those that its running streams hold."""

    day: int | None
    month: int | None


class AccountKey(TypedDict):
    """A key, without its secret."""

    id: str
    account: str
    prefix: str
    label: str
    createdAt: str
    lastUsedAt: str | None
    expiresAt: str | None
    revokedAt: str | None
    limits: AccountKeyLimits
    spent: AccountKeySpent | None


class Account(TypedDict):
    """The account of the key that asks."""

    id: str
    name: str
    plan: Literal['free', 'prepaid']
    credits: int
    reserved: int
    freeQueriesRemaining: int
    freeRowsPerQuery: int
    freeQueriesResetAt: str
    createdAt: str
    quota: AccountQuota
    keys: list[AccountKey]


class UsageTotals(TypedDict):
    """Over all days."""

    requests: int
    rows: int
    credits: int


class _UsageUsageRequired(TypedDict):
    """Fields that every UsageUsage has."""

    day: str
    dataset: str
    requests: int
    rows: int
    credits: int


class UsageUsage(_UsageUsageRequired, total=False):
    """One day and dataset, with `by=key` also one key."""

    key: str


Usage = TypedDict("Usage", {
    "days": "int",
    "from": "str",
    "to": "str",
    "totals": "UsageTotals",
    "usage": "list[UsageUsage]",
})
"""Usage of the account by UTC day and dataset."""
