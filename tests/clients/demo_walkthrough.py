#!/usr/bin/env python3
"""Creates the demo, then does what it prints: starts the server, pastes every curl command into a shell, signs in, and buys.
Then it pastes every command of the guide of docs/API.md.

    python demo_walkthrough.py --binaries target/debug [--scale 0.01]

Then it checks the whole catalog. Exit code 0 only if the server starts, every command returns rows, the catalog is
valid, and the server stops cleanly.
"""

import argparse
import csv
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

import catalog_checks
import guide

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
COMMAND_SECONDS_MAX = 60
ANSWER_SHOWN_MAX = 2000


def commands(text: str) -> list[str]:
    """The indented commands of the demo's output, with continuation lines joined."""
    joined = text.replace("\\\n", " ")
    return [line.strip() for line in joined.splitlines() if re.match(r"  (curl|mercato) ", line)]


def shell(binaries: Path) -> dict[str, str]:
    """The environment of a shell with the programs in PATH."""
    return os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Waits until the server accepts connections."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the server does not listen")


def paste(command: str, environment: dict[str, str]) -> int:
    """Runs a printed command. Returns the number of rows in its response."""
    outcome = subprocess.run(command, shell=True, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=COMMAND_SECONDS_MAX, check=False)
    answer = outcome.stdout.decode()
    if outcome.returncode != 0 or not answer:
        raise SystemExit(f"{command}\nexit {outcome.returncode}: {outcome.stderr.decode()}")
    try:
        return rows_of(command, answer)
    except (ValueError, KeyError) as error:
        raise SystemExit(f"{command}\n{error!r} in {answer[:ANSWER_SHOWN_MAX]}") from None


def rows_of(command: str, answer: str) -> int:
    """The number of rows in a response, by the format of the command. A response without a list counts as one."""
    if "text/markdown" in command:
        return len(answer.splitlines())
    if "text/csv" in command:
        return len(list(csv.reader(io.StringIO(answer)))) - 1
    if "/query/stream" in command:
        rows = sum(line.startswith("data: {") for line in answer.splitlines())
        end = json.loads(answer.rsplit(": end ", 1)[1]) if ": end " in answer else {}
        if end.get("rowsReturned") != rows:
            raise ValueError(f"{rows} rows, and at the end {end}")
        return rows
    envelope = json.loads(answer)
    if envelope["success"] is not True:
        raise ValueError("no success")
    return len(envelope["data"].get("results", [envelope["data"]]))


def sign_in_and_buy(printed: str) -> None:
    """Signs in at the printed address with the printed password, and buys credits by a click."""
    found = re.search(r"Sign in at (\S+) as (\S+) with the password (\S+)\.\n", printed)
    if found is None or "no money moves" not in printed:
        raise SystemExit("the demo does not say how to sign in")
    address, email, password = found.groups()
    jar = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def form(target: str, **fields: str) -> str:
        body = urllib.parse.urlencode(fields).encode()
        request = urllib.request.Request(target, body, {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"})
        with jar.open(request, timeout=COMMAND_SECONDS_MAX) as answer:
            return str(answer.url) + "\n" + answer.read().decode()

    if "/account/sign-in" in form(address, email=email, password=password).splitlines()[0]:
        raise SystemExit("the printed password is refused")
    page = form(address.replace("/sign-in", "/credits"), credits="10000").splitlines()[0]
    if "/account/purchases/" not in page or "done=paying" not in form(page).splitlines()[0]:
        raise SystemExit(f"credits cannot be bought by a click: {page}")


def walk(binaries: Path, scale: str, folder: Path) -> tuple[int, str]:
    """Runs the walkthrough. Returns the number of curl commands and a summary of the catalog."""
    environment = shell(binaries)
    port = free_port()
    made = subprocess.run(
        ["mercato-tools", "demo", "--scale", scale, "--no-serve", "--data", folder / "demo", "--listen", f"127.0.0.1:{port}"],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if made.returncode != 0:
        raise SystemExit(f"mercato-tools demo: exit {made.returncode}: {made.stderr.decode()}")
    printed = made.stdout.decode()
    if not printed.startswith(f"The site:\n\n  http://127.0.0.1:{port}/\n"):
        raise SystemExit(f"the demo does not print the address of the site first:\n{printed[:ANSWER_SHOWN_MAX]}")
    serve, *curls = commands(printed)
    # The default admin port may be in use on this machine, and this client exceeds the rate limit of one visitor.
    serve = f"exec {serve} --admin unix:{folder / 'admin.sock'} --requests-per-minute 0"
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(serve, shell=True, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(port, server)
        for command in curls:
            if paste(command, environment) < 1:
                raise SystemExit(f"{command}\nno rows")
        sign_in_and_buy(printed)
        key = re.search(r"X-Api-Key: (mk_\w+)", printed)
        (folder / "guide").mkdir()
        guided = guide.run(f"http://127.0.0.1:{port}", key.group(1) if key else "", folder / "guide")
        seen = catalog_checks.check(f"http://127.0.0.1:{port}")
    except (SystemExit, ValueError, OSError):
        sys.stderr.write((folder / "server.log").read_text())
        raise
    finally:
        server.terminate()
        code = server.wait(STOP_SECONDS_MAX)
    if code != 0:
        raise SystemExit(f"the server ended with exit code {code}")
    return len(curls), f"{guided} commands of the guide; {seen}"


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binaries", required=True, type=Path, help="folder of mercato and mercato-tools")
    parser.add_argument("--scale", default="0.01", help="scale factor of the demo")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        count, seen = walk(arguments.binaries.resolve(), arguments.scale, Path(name))
    if count == 0:
        raise SystemExit("the demo printed no command")
    print(f"{count} commands of the demo: all answered; {seen}")


if __name__ == "__main__":
    main()
