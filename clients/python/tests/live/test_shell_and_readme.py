"""Against a real server: the command, the snippets of the README, and a server that says "later"."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import mercato
from tests.live.conftest import Live
from tests.live.proxy import Proxy

README = Path(__file__).parent.parent.parent / "README.md"
COMMAND = Path(sys.executable).parent / "mercato-client"
SECONDS_MAX = 120
ORDERS = 15_000


def environment(live: Live, **more: str) -> dict[str, str]:
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"MERCATO_URL": live.url, "MERCATO_API_KEY": live.key, "PATH": path} | more


def run(live: Live, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], env=environment(live, **more), capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=SECONDS_MAX)


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def test_snippets_in_python(live: Live, folder: Path) -> None:
    """All of them in their order, as one program."""
    found = snippets("python")
    assert len(found) >= 7
    outcome = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(found)], env=environment(live),
                             capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    assert outcome.returncode == 0, outcome.stderr
    assert "o_totalprice" in outcome.stdout
    assert Path("orders.csv").exists()


def test_snippets_on_the_command_line(live: Live, folder: Path) -> None:
    lines = [line.removeprefix("$ ") for block in snippets("console") for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        outcome = subprocess.run(["bash", "-ec", line], env=environment(live), capture_output=True, text=True,
                                 check=False, timeout=SECONDS_MAX, stdin=subprocess.DEVNULL)
        assert outcome.returncode == 0, f"{line}: {outcome.stderr}"
    assert Path("orders.ndjson").read_text().count("\n") == ORDERS


def test_rows_for_scripts(live: Live, folder: Path) -> None:
    question = ["query", "tpch-orders", "--filter", '{"o_totalprice_min": 200000.10}', "--columns",
                "o_orderkey,o_totalprice", "--sort-by", "o_totalprice", "--descending", "--limit", "3"]
    refused = run(live, *question)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "3 rows: 3 credits" in refused.stderr
    table = run(live, *question, "--max-credits", "3")
    assert table.returncode == 0, table.stderr
    assert table.stdout.splitlines()[:2] == ["o_orderkey,o_totalprice", "52965,466001.28"]
    document = json.loads(run(live, *question, "--yes", "--json").stdout)
    assert document[0] == {"o_orderkey": 52965, "o_totalprice": 466001.28}
    shown = json.loads(run(live, "show", "tpch-orders", "--sample", "--json").stdout)
    assert shown["header"]["rowCount"] == ORDERS
    assert len(shown["sample"]["results"]) == 100
    assert "o_totalprice" in run(live, "show", "tpch-orders").stdout


def test_commands_for_scripts(live: Live, folder: Path) -> None:
    """Those that were methods only, and a count beyond the rows of a first page."""
    listed = json.loads(run(live, "list", "--sort", "title", "--json").stdout)
    assert len(listed) == len({one["slug"] for one in listed}) >= 20
    assert run(live, "sample", "tpch-orders").stdout.count("\n") == 101
    assert json.loads(run(live, "account", "--json").stdout)["plan"] == "prepaid"
    assert "prepaid" in run(live, "account").stdout
    assert json.loads(run(live, "usage", "--days", "1", "--json").stdout)["days"] == 1
    assert "total" in run(live, "usage").stdout
    assert run(live, "query", "tpch-orders", "--count").stdout == f"{ORDERS}\n"
    few = json.loads(run(live, "query", "tpch-orders", "--count", "--json", "--filter",
                         '{"o_totalprice_min": 200000}').stdout)
    assert 100 < few["rows"] == few["credits"] < ORDERS
    many = run(live, "query", "tpch-orders", "--count", "--filter", '{"o_totalprice_min": 1000}').stdout
    assert many == f"10000 to {ORDERS}\n"


def test_faults_for_scripts(live: Live, folder: Path) -> None:
    wrong = run(live, "query", "tpch-orders", "--yes", MERCATO_API_KEY="mk_wrong")
    assert wrong.returncode == 1
    assert wrong.stderr.startswith("mercato-client: ")
    assert "mk_wrong" not in wrong.stderr
    assert wrong.stderr.count("\n") == 1
    nowhere = run(live, "search", "a b", MERCATO_URL="http://127.0.0.1:1")
    assert nowhere.returncode == 1
    assert nowhere.stderr.startswith("mercato-client: http://127.0.0.1:1: ")
    assert nowhere.stderr.count("\n") == 1
    assert run(live, "nothing").returncode == 2
    assert run(live, "--version").stdout == f"mercato-client {mercato.__version__}\n"


def test_pipe_that_closes_early(live: Live, folder: Path) -> None:
    line = "mercato-client query tpch-orders --all --format ndjson --max-credits 200000 | head -n 1"
    outcome = subprocess.run(["bash", "-c", line], env=environment(live), capture_output=True, text=True, check=False,
                             timeout=SECONDS_MAX)
    assert outcome.stdout.count("\n") == 1
    assert outcome.stderr == ""


def test_killed_download_goes_on(live: Live, folder: Path) -> None:
    """Killed where nothing can be tidied up. No other test pays for this format, which would make ranges free."""
    before = live.settled()
    with Proxy(live.url, [None, 700_000, None]) as proxy:
        words = [COMMAND, "download", "tpch-orders", "orders.json", "--yes", "--quiet"]
        process = subprocess.Popen(words, env=environment(live, MERCATO_URL=proxy.url), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        part, deadline = Path("orders.json.part"), time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline and not (part.exists() and part.stat().st_size):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not Path("orders.json").exists():
            done = run(live, "download", "tpch-orders", "orders.json", "--yes", "--json", MERCATO_URL=proxy.url)
            assert done.returncode == 0, done.stderr
    assert len(json.loads(Path("orders.json").read_text())) == ORDERS
    assert before - live.settled() == ORDERS


def test_zz_waits_as_the_server_says(live: Live, refused: tuple[float, mercato.RateLimited]) -> None:
    """Last, because the minute of the limited server was used up at the beginning."""
    began, refusal = refused
    assert refusal.reason == "MINUTE_RATE_EXCEEDED"
    assert refusal.retry_after is not None
    assert 50 <= refusal.retry_after <= 60
    with mercato.Client(live.limited_url, live.key) as client:
        rows = client.dataset("tpch-nation").query(page_size=5).to_list()
    assert len(rows) == 25
    assert time.monotonic() - began > 50
