"""Find, query, stream and download datasets of a mercato server.

    from mercato import Client

    with Client("http://127.0.0.1:8080", api_key="mk_…") as client:
        for row in client.dataset("tpch-orders").query({"o_totalprice_min": 200_000}, limit=10):
            print(row)
"""

from mercato.async_client import AsyncClient, AsyncDataset, AsyncGroupBy, AsyncQuery
from mercato.client import Client, Dataset, GroupBy, Query
from mercato.errors import (
    BadRequest,
    Conflict,
    ConnectionError,
    IntegrityError,
    MaxCreditsExceeded,
    MercatoError,
    MissingExtra,
    NotFound,
    PaymentRequired,
    RateLimited,
    ServerError,
    StatusError,
    Timeout,
    Unauthorized,
    UnexpectedAnswer,
)
from mercato.groups import (
    Aggregate,
    GroupColumn,
    avg,
    bucket,
    count,
    count_distinct,
    day,
    hour,
    max_,
    median,
    min_,
    month,
    quantile,
    quarter,
    sum_,
    week,
    year,
)
from mercato.notices import CreditsWarning, MercatoWarning, ServerDeprecationWarning
from mercato.results import Cost, Download, Page, Row, SearchResults
from mercato.retry import RetryPolicy
from mercato.setup import package_version

__version__ = package_version()

__all__ = [
    "Aggregate", "AsyncClient", "AsyncDataset", "AsyncGroupBy", "AsyncQuery", "BadRequest", "Client", "Conflict",
    "ConnectionError", "Cost", "CreditsWarning", "Dataset", "Download", "GroupBy", "GroupColumn", "IntegrityError",
    "MaxCreditsExceeded", "MercatoError", "MercatoWarning", "MissingExtra", "NotFound", "Page", "PaymentRequired",
    "Query", "RateLimited", "RetryPolicy", "Row", "SearchResults", "ServerDeprecationWarning", "ServerError",
    "StatusError", "Timeout", "Unauthorized", "UnexpectedAnswer", "avg", "bucket", "count", "count_distinct", "day",
    "hour", "max_", "median", "min_", "month", "quantile", "quarter", "sum_", "week", "year",
]
