"""Parquet files by fsspec: read by ranges, paid once, and refused with a reason."""

import io
import warnings
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest

import mercato
from tests.fake import Fake, answers, data, refusal

pytest.importorskip("fsspec")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

from mercato import filesystem  # noqa: E402

ROWS = 2_000
DATE = "Tue, 24 Nov 2026 10:00:00 GMT"


class Shelf(Fake):
    """Offers `numbers` as Parquet. The first range of a version pays for all of it."""

    def __init__(self) -> None:
        super().__init__()
        sink = io.BytesIO()
        parquet.write_table(pa.table({"id": range(ROWS), "text": [f"text {row}" * 9 for row in range(ROWS)]}), sink)
        self.content = sink.getvalue()
        self.bought: set[str] = set()
        self.offers_parquet = True

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path, version = request.url.path, request.url.params.get("version", self.version)
        if path == "/api/v1/datasets/numbers":
            versions = [{"version": one, "rowCount": ROWS} for one in {"1.0.0", self.version}]
            return data({"currentVersion": self.version, "rowCount": ROWS, "versions": versions})
        if path == "/api/v1/datasets":
            return data({"results": [{"slug": "numbers"}], "nextOffset": None})
        if path.endswith("/estimate"):
            return data({"rows": ROWS, "creditsRequired": ROWS, "creditsAvailable": 5, "affordable": True})
        if not path.endswith("/numbers/download"):
            return refusal(404, "NOT_FOUND", "no dataset `number`", suggestion="numbers")
        assert request.url.params["format"] == "parquet"
        headers = {"ETag": f'"{version}"', "Last-Modified": DATE}
        if request.method == "HEAD":
            status = 200 if self.offers_parquet else 406
            return httpx.Response(status, headers={**headers, "Content-Length": str(len(self.content))})
        assert request.headers["If-Match"] == headers["ETag"]
        if version not in self.bought:
            self.bought.add(version)
            self.credits -= ROWS
        first, last = (int(one) for one in request.headers["Range"].removeprefix("bytes=").split("-"))
        headers["Content-Range"] = f"bytes {first}-{last}/{len(self.content)}"
        return httpx.Response(206, headers=headers, content=self.content[first:last + 1])

    def ranges(self) -> list[str]:
        return [one.headers["Range"] for one in self.requests if "Range" in one.headers]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def paid(shelf: Shelf) -> int:
    return 1_000_000 - shelf.credits


def test_duckdb_could_not_read_by_fsspec(shelf: Shelf) -> None:
    """The file system for HTTP has no dates, and asks for the whole file to see whether it exists."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register_filesystem(shelf.client().filesystem())
        question = "SELECT count(*), max(id), max(length(text)) FROM 'mercato://numbers.parquet'"
        assert connection.sql(question).fetchall() == [(ROWS, ROWS - 1, 81)]
        assert connection.sql("SELECT id FROM read_parquet('mercato://numbers/1.0.0.parquet') LIMIT 1").fetchall()
    assert paid(shelf) == ROWS
    assert "GET" not in {one.method for one in shelf.requests if one.url.path.endswith("/download")
                         and "Range" not in one.headers}


def test_other_readers_take_it(shelf: Shelf) -> None:
    system = shelf.client().filesystem()
    assert parquet.read_table("numbers.parquet", filesystem=system, columns=["id"]).num_rows == ROWS
    pandas = pytest.importorskip("pandas")
    assert pandas.read_parquet("numbers.parquet", filesystem=system).shape == (ROWS, 2)
    assert paid(shelf) == ROWS


def test_looking_costs_nothing(shelf: Shelf) -> None:
    system = shelf.client().filesystem()
    assert system.exists("mercato://numbers.parquet")
    assert not system.exists("mercato://numbers.csv")
    assert system.ls("") == [{"name": "numbers.parquet", "size": None, "type": "file"}]
    assert system.ls("numbers.parquet", detail=False) == system.glob("mercato://num*.parquet") == ["numbers.parquet"]
    assert system.info("numbers.parquet")["size"] == system.size("numbers.parquet") == len(shelf.content)
    assert system.modified("numbers.parquet") == datetime(2026, 11, 24, 10, tzinfo=timezone.utc)
    with system.open("numbers.parquet"):
        pass
    assert paid(shelf) == 0


@pytest.mark.parametrize("block", [1, 7, 100, 5_000, 1 << 20])
def test_reads_the_bytes_of_the_file(shelf: Shelf, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "BLOCK_BYTES", block)
    system, whole = shelf.client().filesystem(), shelf.content
    with system.open("numbers.parquet") as file:
        for start, count in [(0, 4), (3, 10), (len(whole) - 8, 8), (len(whole) - 3, 100), (50, 500), (0, 1), (7, 0)]:
            file.seek(start)
            assert file.read(count) == whole[start:start + count]
        file.seek(0)
        assert file.read() == whole


def test_blocks_are_fetched_once(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "BLOCK_BYTES", 100)
    monkeypatch.setattr(filesystem, "BLOCKS_MAX", 4)
    system = shelf.client().filesystem()
    for start, count in [(0, 150), (120, 80), (50, 300), (0, 10), (500, 400), (0, 10)]:
        with system.open("numbers.parquet") as file:
            file.seek(start)
            assert file.read(count) == shelf.content[start:start + count]
    assert shelf.ranges() == ["bytes=0-199", "bytes=200-399", "bytes=500-899", "bytes=0-99"]


def test_stays_on_its_version(shelf: Shelf) -> None:
    system = shelf.client().filesystem()
    file = system.open("numbers.parquet")
    shelf.version = "2.0.0"
    file.read(1)
    assert system.info("numbers.parquet")["version"] == "1.0.0"
    system.invalidate_cache()
    assert system.info("numbers.parquet")["version"] == "2.0.0"
    assert shelf.bought == {"1.0.0"}
    with pytest.raises(FileNotFoundError, match=r"numbers has no version 3\.0\.0, but "):
        system.open("numbers/3.0.0.parquet")


def test_budget_holds_for_a_file(shelf: Shelf) -> None:
    client = shelf.client()
    with pytest.raises(mercato.MaxCreditsExceeded):
        client.filesystem(max_credits=ROWS - 1).open("numbers.parquet")
    system = client.filesystem(max_credits=ROWS)
    for _ in range(3):
        system.open("numbers.parquet")
    assert len([one for one in shelf.requests if one.url.path.endswith("/estimate")]) == 2
    assert paid(shelf) == 0


def test_faults_of_files_are_told(shelf: Shelf) -> None:
    system = shelf.client().filesystem()
    with pytest.raises(FileNotFoundError, match="no dataset `number`"):
        system.open("mercato://number.parquet")
    for path in ("numbers", "numbers.csv", "No Slug.parquet", "a/b/c.parquet", "../x.parquet"):
        with pytest.raises(FileNotFoundError, match=r"SLUG\.parquet"):
            system.open(path)
    with pytest.raises(ValueError, match="read only"):
        system.open("numbers.parquet", "wb")
    shelf.offers_parquet = False
    with pytest.raises(FileNotFoundError, match=r"version 1\.0\.0 of numbers is not offered as Parquet"):
        system.open("numbers.parquet")
    shelf.faults = [answers(401)]
    with pytest.raises(mercato.Unauthorized):
        system.exists("numbers.parquet")


@pytest.mark.parametrize("answer", [
    httpx.Response(200, content=b"1234"),
    httpx.Response(206, headers={"Content-Range": "bytes 0-2/9"}, content=b"123"),
    httpx.Response(206, headers={"Content-Range": "bytes 0-3/9"}, content=b"123"),
])
def test_other_bytes_are_refused(shelf: Shelf, answer: httpx.Response, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "BLOCK_BYTES", 4)
    with shelf.client().filesystem().open("numbers.parquet") as file:
        shelf.faults = [lambda request: answer]
        with pytest.raises(mercato.UnexpectedAnswer):
            file.read(4)


def test_missing_fsspec_is_named(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mercato.filesystem", None)
    with pytest.raises(mercato.MissingExtra, match=r"pip install 'mercato\[fsspec\]'"):
        shelf.client().filesystem()


def test_no_text_of_a_file_system_holds_the_key(shelf: Shelf) -> None:
    system: Any = shelf.client().filesystem()
    with system.open("numbers.parquet") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = repr(system) + repr(file) + repr(system.storage_options) + repr(system.info("numbers.parquet"))
    assert "mk_0" not in told
