"""Both faces, and the OpenAPI document: the same methods with the same parameters, and every operation has one."""

import asyncio
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import mercato
from mercato import openapi
from tests.fake import data

ROOT = Path(__file__).parent.parent.parent.parent
DOCUMENT = ROOT / "src" / "api" / "openapi" / "openapi.json"
FACES = [(mercato.Client, mercato.AsyncClient), (mercato.Dataset, mercato.AsyncDataset),
         (mercato.GroupBy, mercato.AsyncGroupBy), (mercato.Query, mercato.AsyncQuery)]
ONLY_BLOCKING = {
    "scan": "polars calls its sources from threads of its own, which block",
    "filesystem": "readers of files block",
}
"""Methods that asyncio has no use for, and why."""
ASYNC_NAMES = {"__aiter__": "__iter__", "__aenter__": "__enter__", "__aexit__": "__exit__"}

NO_METHOD = {
    "queryDatasetByUrl": "for clients that can only send GET; `query` sends POST",
}
"""Operations without a method, and why."""

NO_PARAMETER = {
    "format": "JSON is asked for by `Accept`",
    "summary": "streams ask for it",
    "afterRows": "streams resume by it",
    "count": "`count()` and `cost()` ask for an estimate",
    "sortDirection": "`descending`",
    "for": "by method",
    "groupBy": "`group_by` (test_groups.py)",
    "aggregates": "`agg`",
    "having": "`group_by`",
    "facets": "they are for pages on which people narrow a dataset down",
}
"""Parameters and fields that are no parameter of a method, and where they went."""

OTHER_PARAMETERS = {"descending", "max_credits", "page_size", "idempotency_key", "path", "progress", "self"}

QUERY = {"filters": {"a": 1}, "columns": ["a"], "sort_by": "a", "descending": True, "limit": 3, "offset": 1,
         "version": "1.0.0", "cursor": "Yw=="}
CALLS: dict[str, Callable[[mercato.Client, Path], Any]] = {
    "searchDatasets": lambda client, path: client.search("q", limit=3, offset=2, tag=["a", "b"], lang="it"),
    "listDatasets": lambda client, path: list(
        client.datasets(limit=3, offset=2, tag="a", license="l", sort="rows", lang="en")),
    "listTags": lambda client, path: list(client.tags(limit=3, offset=2)),
    "getDataset": lambda client, path: client.dataset("d").header(lang="it"),
    "getSchema": lambda client, path: client.dataset("d").schema(lang="it", version="1.0.0"),
    "getSample": lambda client, path: client.dataset("d").sample(version="1.0.0"),
    "getMethodology": lambda client, path: client.dataset("d").methodology(),
    "getChangelog": lambda client, path: client.dataset("d").changelog(),
    "getStatistics": lambda client, path: client.dataset("d").stats(version="1.0.0"),
    "getRelated": lambda client, path: client.dataset("d").related(limit=3, lang="it"),
    "getRelationGraph": lambda client, path: client.graph(lang="it"),
    "queryDataset": lambda client, path: client.dataset("d").query(**QUERY).to_list(),
    "estimateQuery": lambda client, path: client.dataset("d").query(**QUERY).cost(),
    "streamDataset": lambda client, path: list(client.dataset("d").stream(**QUERY)),
    "downloadDataset": lambda client, path: client.dataset("d").download(path / "d", "json", version="1.0.0"),
    "getAccount": lambda client, path: client.account(),
    "getUsage": lambda client, path: client.usage(days=3, by="key", key="key_1"),
    "getCroissant": lambda client, path: client.dataset("d").croissant(lang="it", version="1.0.0"),
    "getOpenApi": lambda client, path: client.openapi(),
}
"""A call of each operation with every parameter that it has."""

METHODS: dict[str, Callable[..., Any]] = {
    "searchDatasets": mercato.Client.search, "listDatasets": mercato.Client.datasets, "listTags": mercato.Client.tags,
    "getDataset": mercato.Dataset.header, "getSchema": mercato.Dataset.schema, "getSample": mercato.Dataset.sample,
    "getMethodology": mercato.Dataset.methodology, "getChangelog": mercato.Dataset.changelog,
    "getStatistics": mercato.Dataset.stats, "getRelated": mercato.Dataset.related,
    "getRelationGraph": mercato.Client.graph, "queryDataset": mercato.Dataset.query,
    "estimateQuery": mercato.Dataset.query, "streamDataset": mercato.Dataset.stream,
    "downloadDataset": mercato.Dataset.download, "getAccount": mercato.Client.account,
    "getUsage": mercato.Client.usage, "getCroissant": mercato.Dataset.croissant, "getOpenApi": mercato.Client.openapi,
}


def document() -> dict[str, Any]:
    if not DOCUMENT.exists():
        pytest.skip("the OpenAPI document is not here")
    found: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return found


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation below /api/v1."""
    return {told["operationId"]: (method.upper(), path, told)
            for path, methods in document()["paths"].items() if path.startswith("/api/v1/")
            for method, told in methods.items() if "operationId" in told}


def named(operation: str) -> set[str]:
    """Parameters and body fields of an operation, as the document names them."""
    told = operations()[operation][2]
    names = {one["name"] for one in told.get("parameters", ()) if one["in"] == "query"}
    if "requestBody" in told:
        schema = told["requestBody"]["content"]["application/json"]["schema"]
        schema = document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        names |= set(schema["properties"])
    return names


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def test_generated_file_is_of_this_document() -> None:
    document()
    outcome = subprocess.run([sys.executable, ROOT / "clients" / "python" / "generate.py", "--check"],
                             capture_output=True, check=False)
    assert outcome.returncode == 0, outcome.stderr.decode()


def test_every_operation_has_a_method() -> None:
    assert set(operations()) - set(NO_METHOD) == set(CALLS) == set(METHODS)
    assert set(NO_METHOD) <= set(operations()), "an exclusion that nothing needs"


@pytest.mark.parametrize("operation", CALLS)
def test_calls_send_what_the_document_names(operation: str, tmp_path: Path) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if request.url.path.endswith("/download"):
            return httpx.Response(200, headers={"Content-Length": "1", "X-Dataset-Version": "1.0.0"}, content=b"1")
        if request.url.path.endswith("/stream"):
            return httpx.Response(200, content=b'{"$end":{"nextCursor":null}}\n')
        page = {"results": [], "nextOffset": None, "nextCursor": None, "totalRows": 0, "query": "q", "lang": None,
                "ranking": "lexical", "total": 0, "rows": 1, "creditsRequired": 1, "creditsAvailable": 9,
                "affordable": True}
        return data(page)

    client = mercato.Client("http://mercato.test/behind", "mk_a", transport=httpx.MockTransport(answer))
    CALLS[operation](client, tmp_path)
    method, path, told = operations()[operation]
    request = sent[-1]
    assert request.method == method
    assert request.url.path == "/behind" + path.replace("{slug}", "d")
    fields = set(json.loads(request.content)) if request.content else set()
    given = set(request.url.params) | fields
    left_out = named(operation) - given
    assert given <= named(operation)
    assert left_out <= set(NO_PARAMETER), f"{operation} sends no {left_out}"
    headers = {one["name"].lower() for one in told.get("parameters", ()) if one["in"] == "header"}
    assert ("idempotency-key" in headers) == ("Idempotency-Key" in request.headers)
    assert request.headers["User-Agent"].startswith("mercato-python/")


@pytest.mark.parametrize("operation", METHODS)
def test_parameters_are_named_as_in_the_document(operation: str) -> None:
    taken = set(inspect.signature(METHODS[operation]).parameters) - OTHER_PARAMETERS
    wanted = {snake(name) for name in named(operation) if name not in NO_PARAMETER}
    if operation == "downloadDataset":
        wanted.add("format")
    assert taken == wanted


def test_exclusions_of_parameters_are_needed() -> None:
    assert set(NO_PARAMETER) <= set().union(*(named(operation) for operation in METHODS))


@pytest.mark.parametrize(("face", "async_face"), FACES, ids=lambda face: face.__name__)
def test_faces_agree(face: type, async_face: type) -> None:
    def public(of: type) -> dict[str, inspect.Signature]:
        return {ASYNC_NAMES.get(name, name): inspect.signature(member) for name, member in vars(of).items()
                if callable(member) and (not name.startswith("_") or name in (*ASYNC_NAMES, *ASYNC_NAMES.values()))}

    one, other = public(face), public(async_face)
    one = {name: signature for name, signature in one.items() if name not in ONLY_BLOCKING}
    assert list(one) == list(other)
    for name, signature in one.items():
        assert [(p.name, p.kind, p.default) for p in signature.parameters.values()] == [
            (p.name, p.kind, p.default) for p in other[name].parameters.values()], name
    assert str(inspect.signature(face.__init__)) == str(inspect.signature(async_face.__init__)).replace(
        "AsyncBaseTransport", "BaseTransport").replace("AsyncClient", "Client")


@pytest.mark.parametrize("operation", CALLS)
def test_both_faces_send_the_same(operation: str, tmp_path: Path) -> None:
    """The asyncio face is called through a stand-in that turns each call of the table into an awaited one."""
    sent: dict[str, list[tuple[str, str, bytes]]] = {"one": [], "other": []}

    def answers(face: str) -> httpx.MockTransport:
        def answer(request: httpx.Request) -> httpx.Response:
            sent[face].append((request.method, str(request.url), request.content))
            return httpx.Response(404, json={"error": {"code": "NOT_FOUND"}})
        return httpx.MockTransport(answer)

    with pytest.raises(mercato.NotFound):
        CALLS[operation](mercato.Client("http://a.test", "mk_a", transport=answers("one")), tmp_path)

    async def awaited() -> None:
        async with mercato.AsyncClient("http://a.test", "mk_a", transport=answers("other")) as client:
            with pytest.raises(mercato.NotFound):
                await asyncio.to_thread(CALLS[operation], Awaiting(client, asyncio.get_running_loop()), tmp_path)

    asyncio.run(awaited())
    assert sent["one"] == sent["other"]


class Awaiting:
    """Looks like a client that blocks."""

    def __init__(self, inner: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner, self._loop = inner, loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            found = getattr(self._inner, name)(*arguments, **options)
            if inspect.isawaitable(found):
                return asyncio.run_coroutine_threadsafe(found, self._loop).result()  # type: ignore[arg-type]
            if hasattr(found, "__aiter__") and inspect.isasyncgen(found):
                return asyncio.run_coroutine_threadsafe(anext(found), self._loop).result()  # type: ignore[arg-type]
            return Awaiting(found, self._loop)
        return call


def test_lists_go_over_all_pages() -> None:
    asked: list[dict[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(dict(request.url.params))
        offset, limit = int(request.url.params["offset"]), int(request.url.params["limit"])
        found = [{"slug": f"d{number}"} for number in range(250)][offset:offset + limit]
        return data({"results": found, "nextOffset": offset + limit if offset + limit < 250 else None})

    client = mercato.Client("http://a.test", transport=httpx.MockTransport(answer))
    assert [item["slug"] for item in client.datasets(sort="rows")] == [f"d{number}" for number in range(250)]
    assert asked == [{"limit": "100", "offset": str(offset), "sort": "rows"} for offset in (0, 100, 200)]
    assert len(list(client.datasets(limit=120, offset=5))) == 120
    assert "X-Api-Key" not in client._http.headers


def test_search_tells_what_it_found() -> None:
    found = {"results": [{"slug": "a"}], "query": "q", "lang": "en", "ranking": "lexical", "total": 7, "nextOffset": 1}
    client = mercato.Client("http://a.test", transport=httpx.MockTransport(lambda request: data(found)))
    results = client.search("q")
    assert [one["slug"] for one in results] == ["a"]
    assert (results.total, results.ranking, results.lang, results.next_offset) == (7, "lexical", "en", 1)


def test_bounds_come_from_the_document() -> None:
    bodies = document()["components"]["schemas"]
    assert bodies["QueryBody"]["properties"]["limit"]["maximum"] == openapi.PAGE_ROWS_MAX
    assert bodies["StreamBody"]["properties"]["limit"]["maximum"] == openapi.STREAM_ROWS_MAX
