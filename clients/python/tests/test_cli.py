"""The command: it pays nothing unasked, prints what scripts can read, and nothing that moves a cursor."""

import io
import json
import sys
from typing import Any

import pytest

from mercato import cli
from mercato.cli import commands, output
from mercato.client import Client
from tests.fake import KEY, QUICK, Fake, answers, data

COLUMNS = [{"name": "id", "type": "integer", "nullable": False, "example": 1, "description": None},
           {"name": "name", "type": "string", "nullable": True, "example": "n", "description": "\x1b[31mred\x9b2J"}]


class Shop(Fake):
    def _answer(self, request: Any) -> Any:
        if request.url.path.endswith("/schema"):
            return data({"columns": COLUMNS})
        if request.url.path in ("/api/v1/datasets/search", "/api/v1/datasets"):
            item = {"slug": "numbers", "title": "Num\x1b[2Jbers", "rowCount": 25, "currentVersion": "1.0.0",
                    "license": None}
            return data({"results": [item], "query": "q", "lang": None, "ranking": "lexical", "total": 1,
                         "nextOffset": None})
        if request.url.path.endswith("/sample"):
            import httpx
            rows = '[{"id":1,"name":"a","x":901.00},{"id":2,"name":null,"x":0.10}]'
            text = f'{{"data":{{"results":{rows},"columns":["id","name","x"]}},"meta":{{}}}}'
            return httpx.Response(200, text=text)
        if request.url.path == "/api/v1/account":
            key = {"id": "key_1", "prefix": "mk_0123", "label": "\x1b[2J", "createdAt": "2026-11-01T00:00:00Z",
                   "lastUsedAt": None, "expiresAt": None, "revokedAt": None}
            return data({"id": "acct_1", "name": "n", "plan": "prepaid", "credits": self.credits, "reserved": 5,
                         "freeQueriesRemaining": 3, "freeRowsPerQuery": 100,
                         "freeQueriesResetAt": "2026-12-01T00:00:00Z", "keys": [key]})
        if request.url.path == "/api/v1/account/usage":
            used = {"requests": 2, "rows": 30, "credits": 30}
            row = {"day": "2026-11-01", "dataset": "numbers", "key": "key_1", **used}
            return data({"totals": used, "usage": [row]})
        return super()._answer(request)


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Shop:
    import httpx
    shop = Shop()
    monkeypatch.setattr(commands, "Client", lambda url, key, **options: Client(
        "http://mercato.test", key, transport=httpx.MockTransport(shop), retry=QUICK, **options))
    monkeypatch.setenv("MERCATO_API_KEY", KEY)
    return shop


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_rows_as_csv(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.rows = [{"id": 1, "name": "a,b"}, {"id": 2, "name": None}, {"id": 3, "name": ""}, {"id": 4, "name": 'q"'}]
    assert cli.main(["query", "numbers", "--yes"]) == 0
    assert capsys.readouterr().out == 'id,name\r\n1,"a,b"\r\n2,\r\n3,""\r\n4,"q"""\r\n'


def test_rows_as_json_keep_their_digits(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    import httpx
    text = '{"success":true,"data":{"results":[{"id":1,"x":901.00}],"nextCursor":null,"totalRows":1},"meta":{}}'
    shop.faults = [lambda request: None, lambda request: None, lambda request: None,
                   lambda request: httpx.Response(200, text=text)]
    assert cli.main(["query", "numbers", "--yes", "--json"]) == 0
    assert capsys.readouterr().out == '[\n{"id":1,"x":901.00}\n]\n'
    assert cli.main(["query", "numbers", "--yes", "--format", "ndjson", "--filter", '{"id_min": 24}']) == 0
    assert capsys.readouterr().out == '{"id":24,"name":"n24"}\n'
    assert cli.main(["query", "numbers", "--yes", "--json", "--filter", '{"id_min": 99}']) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_script_pays_nothing_unasked(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "numbers"]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "", "mercato-client: 25 rows: 25 credits of 1,000,000; say --yes or --max-credits N to pay\n")
    assert shop.credits == 1_000_000


@pytest.mark.parametrize(("answer", "paid"), [("y\n", 25), ("YES\n", 25), ("n\n", 0), ("\n", 0), ("", 0)])
def test_terminal_asks(shop: Shop, answer: str, paid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", asked)
    assert cli.main(["query", "numbers"]) == (0 if paid else 1)
    assert asked.getvalue().startswith("25 rows: 25 credits of 1,000,000. Pay? [y/N] ")
    assert shop.credits == 1_000_000 - paid


def test_pays_at_most_what_is_allowed(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "numbers", "--max-credits", "24"]) == 1
    assert "24" in capsys.readouterr().err
    assert cli.main(["query", "numbers", "--max-credits", "25"]) == 0
    assert shop.credits == 1_000_000 - 25


def test_count_stopped_at_the_first_100(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.rows = [{"id": number, "name": "n"} for number in range(250)]
    assert cli.main(["query", "numbers", "--count"]) == 0
    assert capsys.readouterr().out == "250\n"
    assert cli.main(["query", "numbers", "--count", "--filter", '{"id_min": 100}', "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 150, "credits": 150}
    assert cli.main(["query", "numbers", "--count", "--limit", "7"]) == 0
    assert capsys.readouterr().out == "7\n"
    assert cli.main(["query", "numbers", "--yes", "--format", "ndjson"]) == 0
    assert capsys.readouterr().out.count("\n") == 100


def test_count_costs_nothing(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["query", "numbers", "--all", "--count"]) == 0
    assert capsys.readouterr().out == "25\n"
    assert cli.main(["query", "numbers", "--all", "--count", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": 25, "credits": 25}
    assert shop.credits == 1_000_000


def test_commands_were_missing(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """`list`, `sample`, `account` and `usage` were methods only."""
    assert cli.main(["list", "--tag", "a", "--license", "l", "--sort", "rows", "--lang", "it", "--limit", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("numbers  Num")
    sent = shop.requests[-1].url.params
    assert dict(sent) == {"limit": "3", "offset": "0", "tag": "a", "license": "l", "sort": "rows", "lang": "it"}
    assert cli.main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["slug"] == "numbers"
    assert cli.main(["sample", "numbers", "--data-version", "1.0.0"]) == 0
    assert capsys.readouterr().out == "id,name,x\r\n1,a,901.00\r\n2,,0.10\r\n"
    assert shop.requests[-1].url.params["version"] == "1.0.0"
    assert cli.main(["sample", "numbers", "--json"]) == 0
    assert '"x":901.00}' in capsys.readouterr().out
    assert cli.main(["account"]) == 0
    shown = capsys.readouterr().out
    assert "credits   1,000,000, of which 5 are reserved" in shown
    assert "key_1  mk_0123" in shown
    assert cli.main(["account", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["credits"] == 1_000_000
    assert cli.main(["usage", "--days", "7", "--by-key", "--key", "key_1"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()][2:] == [
        ["2026-11-01", "numbers", "key_1", "2", "30", "30"], ["total", "-", "-", "2", "30", "30"]]
    assert dict(shop.requests[-1].url.params) == {"days": "7", "by": "key", "key": "key_1"}
    assert cli.main(["usage", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["totals"]["credits"] == 30
    assert shop.credits == 1_000_000


def test_refused_connection_names_the_address(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "Client", lambda url, key, **options: Client(url, key, retry=QUICK, **options))
    assert cli.main(["list", "--url", "http://127.0.0.1:1/shop"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("mercato-client: http://127.0.0.1:1/shop: ConnectError: ")
    assert "refused" in told


def test_command_is_not_called_like_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.startswith("mercato-client ")
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert capsys.readouterr().out.startswith("usage: mercato-client ")


def test_tables_hide_what_moves_the_cursor(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["search", "anything"]) == 0
    out = capsys.readouterr().out
    assert "numbers" in out
    assert "\x1b" not in out
    assert cli.main(["search", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["title"] == "Num\x1b[2Jbers"
    shop.rows = [{"id": 1, "name": "\x1b]0;title\x07\u202eevil\x9b"}]
    assert cli.main(["query", "numbers", "--yes", "--format", "table"]) == 0
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(capsys.readouterr().out)


def test_json_on_a_terminal_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    output.rows_as("json", ["a"], [{"a": "\x9b\u202eé"}])
    output.rows_as("csv", ["a"], [{"a": "\x1b[2J"}])
    output.document({"a": "\x9b"})
    assert out.getvalue().isascii() or "\x9b" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_faults_are_one_line(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    shop.faults = [answers(401, reason="API_KEY_UNKNOWN", hint="send a key")]
    assert cli.main(["query", "numbers"]) == 1
    told = capsys.readouterr()
    assert told.err == "mercato-client: refused; send a key [401, CODE, API_KEY_UNKNOWN] (request request-1)\n"
    assert cli.main(["show", "No Slug"]) == 1
    assert "is no slug" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [
    [], ["buy"], ["query"], ["query", "a", "--limit", "0"], ["query", "a", "--limit", "x"],
    ["query", "a", "--filter", "{"], ["query", "a", "--filter", "[]"], ["query", "a", "--limit", "1", "--all"],
    ["query", "a", "--max-credits", "-1"], ["query", "a", "--format", "xml"],
])
def test_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2


def test_download_says_what_it_did(shop: Shop, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "n.csv"
    assert cli.main(["download", "numbers", str(path)]) == 1
    assert "25 rows, all of version 1.0.0: 25 credits" in capsys.readouterr().err
    assert cli.main(["download", "numbers", str(path), "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["creditsCharged"] == 25
    assert path.read_bytes() == shop.file()
    assert cli.main(["download", "numbers", str(path), "--yes"]) == 1
    assert "replaces no file" in capsys.readouterr().err
    assert shop.credits == 1_000_000 - 25
