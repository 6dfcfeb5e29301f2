"""Downloads: resumed by range, compared before they get their name, never replacing a file."""

import asyncio
import base64
import hashlib
import json
import random
from pathlib import Path

import httpx
import pytest

import mercato
from mercato.progress import line
from tests.fake import Fake, answers


def download(fake: Fake, path: Path, **options: object) -> mercato.Download:
    return fake.client().dataset("numbers").download(path, **options)  # type: ignore[arg-type]


def leftovers(path: Path) -> list[str]:
    return sorted(one.name for one in path.parent.iterdir() if one != path)


@pytest.mark.parametrize("seed", range(20))
def test_resumes_wherever_it_is_cut(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    fake = Fake()
    fake.cuts = [rng.randrange(0, 100) for _ in range(4)]
    path = tmp_path / "numbers.csv"
    done = download(fake, path)
    assert path.read_bytes() == fake.file()
    assert (done.bytes, done.sha256) == (len(fake.file()), hashlib.sha256(fake.file()).hexdigest())
    assert (done.version, done.format, done.credits_charged, done.resumed_at) == ("1.0.0", "csv", 25, 0)
    assert fake.credits == 1_000_000 - 25
    assert leftovers(path) == []
    assert len(set(fake.keys())) == 1


@pytest.mark.parametrize("seed", range(10))
def test_file_without_ranges_begins_anew_wherever_it_is_cut(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    fake = Fake(has_ranges=False)
    fake.cuts = [rng.randrange(0, 189) for _ in range(3)]
    path = tmp_path / "numbers.xlsx"
    told: list[tuple[int, int]] = []
    done = download(fake, path, progress=lambda done, total: told.append((done, total)))
    assert path.read_bytes() == fake.file()
    assert (done.bytes, done.sha256) == (189, hashlib.sha256(fake.file()).hexdigest())
    assert (done.format, done.credits_charged, done.resumed_at) == ("xlsx", 25, 0)
    assert told[-1] == (189, 0)
    assert all("Range" not in request.headers for request in fake.requests)
    assert fake.credits == 1_000_000 - 25
    assert leftovers(path) == []
    assert len(set(fake.keys())) == 1


def test_file_without_ranges_begins_anew_in_a_later_call(tmp_path: Path) -> None:
    fake = Fake(cuts=[50], has_ranges=False)
    fake.faults = [lambda request: None, lambda request: None, *[answers(500)] * 5]
    path = tmp_path / "numbers.arrow"
    with pytest.raises(mercato.ServerError):
        download(fake, path)
    assert leftovers(path) == ["numbers.arrow.part", "numbers.arrow.part.json"]
    done = download(fake, path)
    assert path.read_bytes() == fake.file()
    assert (done.resumed_at, done.sha256) == (0, hashlib.sha256(fake.file()).hexdigest())
    assert fake.credits == 1_000_000 - 25
    assert len(set(fake.keys())) == 1


def test_demands_the_rest_before_it_appends(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    whole = httpx.Response(200, headers={"Content-Length": "9", "X-Dataset-Version": "1.0.0"}, content=b"other file")
    fake.faults = [lambda request: None, lambda request: None, lambda request: whole]
    with pytest.raises(mercato.UnexpectedAnswer, match="rest of the file"):
        download(fake, tmp_path / "numbers.csv")
    assert (tmp_path / "numbers.csv.part").read_bytes() == fake.file()[:50]


@pytest.mark.parametrize("found", ["bytes 49-188/189", "bytes 50-150/189", "bytes 50-188/190", "bytes 50-188/*", ""])
def test_demands_the_very_rest(found: str, tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    assert len(fake.file()) == 189
    wrong = httpx.Response(206, headers={"Content-Range": found, "X-Dataset-Version": "1.0.0"}, content=b"x")
    fake.faults = [lambda request: None, lambda request: None, lambda request: wrong]
    with pytest.raises(mercato.UnexpectedAnswer):
        download(fake, tmp_path / "numbers.csv")
    assert (tmp_path / "numbers.csv.part").read_bytes() == fake.file()[:50]


def test_asks_for_the_rest_of_the_same_file(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    download(fake, tmp_path / "numbers.csv")
    first, second = fake.requests[1:]
    assert "Range" not in first.headers
    assert second.headers["Range"] == "bytes=50-"
    assert second.headers["If-Match"].startswith('"')
    for request in (first, second):
        assert request.headers["Accept-Encoding"] == "identity"
        assert dict(request.url.params) == {"format": "csv", "version": "1.0.0"}


def test_later_call_goes_on(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    fake.faults = [lambda request: None, lambda request: None, answers(500), answers(500), answers(500), answers(500),
                   answers(500)]
    path = tmp_path / "numbers.csv"
    with pytest.raises(mercato.ServerError):
        download(fake, path)
    assert leftovers(path) == ["numbers.csv.part", "numbers.csv.part.json"]
    assert "mk_" not in (tmp_path / "numbers.csv.part.json").read_text()
    done = download(fake, path)
    assert path.read_bytes() == fake.file()
    assert (done.resumed_at, done.sha256) == (50, hashlib.sha256(fake.file()).hexdigest())
    assert fake.credits == 1_000_000 - 25
    assert leftovers(path) == []


def test_whole_file_that_only_lacks_its_name_is_not_asked_for_again(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    fake.faults = [lambda request: None, lambda request: None, *[answers(500)] * 5]
    with pytest.raises(mercato.ServerError):
        download(fake, tmp_path / "numbers.csv")
    (tmp_path / "numbers.csv.part").write_bytes(fake.file())
    fake.requests.clear()
    download(fake, tmp_path / "numbers.csv")
    assert [request.url.path for request in fake.requests] == ["/api/v1/datasets/numbers"]


def test_changed_file_is_a_conflict(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])

    def changed(request: httpx.Request) -> None:
        fake.rows = fake.rows[:20]

    fake.faults = [lambda request: None, lambda request: None, changed]
    with pytest.raises(mercato.Conflict):
        download(fake, tmp_path / "numbers.csv")


def test_unfinished_file_of_something_else_is_refused(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    fake.faults = [lambda request: None, lambda request: None, *[answers(500)] * 5]
    path = tmp_path / "numbers.csv"
    with pytest.raises(mercato.ServerError):
        download(fake, path)
    credits = fake.credits
    fake.version = "2.0.0"
    with pytest.raises(FileExistsError, match=r"1\.0\.0 as csv"):
        download(fake, path)
    with pytest.raises(FileExistsError, match=r"1\.0\.0 as csv"):
        download(fake, path, format="json", version="1.0.0")
    (tmp_path / "numbers.csv.part.json").unlink()
    with pytest.raises(FileExistsError, match="nothing says what it is"):
        download(fake, path)
    (tmp_path / "numbers.csv.part.json").write_text("[]")
    with pytest.raises(FileExistsError, match="nothing says what it is"):
        download(fake, path)
    assert fake.credits == credits


@pytest.mark.parametrize("is_link", [False, True])
def test_replaces_no_file_and_pays_nothing(is_link: bool, tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    if is_link:
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.write_text("precious")
    fake = Fake()
    with pytest.raises(FileExistsError):
        download(fake, path)
    assert not fake.requests
    assert is_link or path.read_text() == "precious"


def test_replaces_no_file_that_appears_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    with pytest.raises(FileExistsError):
        download(Fake(), path, progress=lambda done, total: path.write_text("precious"))
    assert path.read_text() == "precious"


def digest(content: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def test_compares_the_checksum(tmp_path: Path) -> None:
    fake = Fake()
    fake.digest = digest(fake.file())
    download(fake, tmp_path / "right.csv")
    fake.digest = digest(b"another file")
    with pytest.raises(mercato.IntegrityError, match="SHA-256"):
        download(fake, tmp_path / "wrong.csv")
    assert [one.name for one in tmp_path.iterdir()] == ["right.csv"]


def test_compares_the_length(tmp_path: Path) -> None:
    fake = Fake()
    path = tmp_path / "numbers.csv"

    def meddle(done: int, total: int) -> None:
        if done == total:
            with path.with_name("numbers.csv.part").open("ab") as other:
                other.write(b"more" * 5000)

    with pytest.raises(mercato.IntegrityError, match="announced 189"):
        download(fake, path, progress=meddle)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "x", "Accept-Ranges": "none"}])
def test_file_without_length_is_refused(headers: dict[str, str], tmp_path: Path) -> None:
    whole = httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"x"))
    fake = Fake(faults=[lambda request: None, lambda request: whole])
    with pytest.raises(mercato.UnexpectedAnswer, match="length"):
        download(fake, tmp_path / "numbers.csv")
    assert list(tmp_path.iterdir()) == []


def test_refuses_a_price_above_before_paying(tmp_path: Path) -> None:
    fake = Fake()
    with pytest.raises(mercato.MaxCreditsExceeded):
        download(fake, tmp_path / "numbers.csv", max_credits=24)
    assert fake.credits == 1_000_000
    assert list(tmp_path.iterdir()) == []
    assert download(fake, tmp_path / "numbers.csv", max_credits=25).credits_charged == 25
    assert fake.bodies("/estimate") == [{"for": "download", "version": "1.0.0"}] * 2


@pytest.mark.parametrize(("name", "format", "asked"), [
    ("a.csv", None, "csv"), ("a.json", None, "json"), ("a.NDJSON", None, "ndjson"), ("a.jsonl", None, "ndjson"),
    ("a.parquet", None, "parquet"), ("a.arrow", None, "arrow"), ("a.txt", None, "csv"), ("a", None, "csv"),
    ("a.csv", "json", "json"),
])
def test_format_is_by_name(name: str, format: str | None, asked: str, tmp_path: Path) -> None:
    fake = Fake()
    done = download(fake, tmp_path / name, format=format)
    assert done.format == asked
    assert fake.requests[-1].url.params["format"] == asked


def test_key_of_the_caller_is_sent(tmp_path: Path) -> None:
    fake = Fake()
    download(fake, tmp_path / "a.csv", idempotency_key="nightly-7")
    assert fake.keys() == ["nightly-7"]


def test_reports_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, int]] = []
    fake = Fake(cuts=[100])
    download(fake, tmp_path / "a.csv", progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 189)
    assert told[-1] == (189, 189)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert capsys.readouterr().err == ""
    download(Fake(), tmp_path / "b.csv", progress=True)
    assert "b.csv" in capsys.readouterr().err
    assert line("a.csv", 50, 200, 1500) == f"a.csv {'█' * 7}{'░' * 23}  25% 50 B of 200 B, 1.5 kB/s"
    assert line("a.xlsx", 50, 0, 1500) == "a.xlsx 50 B, 1.5 kB/s"


def test_empty_folder_stays_empty_when_nothing_begins(tmp_path: Path) -> None:
    fake = Fake(faults=[lambda request: None, answers(402, reason="INSUFFICIENT_CREDITS")])
    with pytest.raises(mercato.PaymentRequired):
        download(fake, tmp_path / "numbers.csv")
    assert list(tmp_path.iterdir()) == []


def test_note_beside_the_part_says_what_it_is(tmp_path: Path) -> None:
    fake = Fake(cuts=[50])
    fake.faults = [lambda request: None, lambda request: None, *[answers(500)] * 5]
    with pytest.raises(mercato.ServerError):
        download(fake, tmp_path / "numbers.csv")
    note = json.loads((tmp_path / "numbers.csv.part.json").read_text())
    assert note["wanted"] == {"source": "http://mercato.test", "slug": "numbers", "version": "1.0.0", "format": "csv"}
    assert note["announced"]["bytes"] == 189


def test_awaits_the_same(tmp_path: Path) -> None:
    async def fetch(fake: Fake) -> mercato.Download:
        async with fake.async_client() as client:
            return await client.dataset("numbers").download(tmp_path / "numbers.csv")

    fake = Fake(cuts=[50, 0, 99])
    assert asyncio.run(fetch(fake)).bytes == 189
    assert (tmp_path / "numbers.csv").read_bytes() == fake.file()
