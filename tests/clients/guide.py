"""The commands of the guide of docs/API.md, pasted into a shell one after the other. Knows no server but its address.

Every JSON answer has to succeed, but for the one example of an error, which has to be the error that the guide shows.
"""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).parents[2] / "docs" / "API.md"
SHOWN = ("status", "code", "reason", "pointer", "suggestion")
COMMAND_SECONDS_MAX = 60


def blocks(text: str) -> list[tuple[str, str]]:
    """The language and the text of each block of code of the guide, which ends where the reference begins."""
    guide = text.split("\n# Reference\n")[0]
    return re.findall(r"^```(\w*)\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[str]:
    """The commands of a block: each begins at the beginning of a line."""
    return re.split(r"\n(?=curl )", block.strip())


def paste(command: str, beginning: str, folder: Path) -> str:
    """What a command prints."""
    outcome = subprocess.run(["bash", "-ec", beginning + command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=COMMAND_SECONDS_MAX, check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"{command}\nexit {outcome.returncode}: {outcome.stderr}")
    return outcome.stdout


def error_of(envelope: dict[str, Any]) -> dict[str, Any]:
    """What programs read of an error."""
    every = envelope["error"] | envelope["error"]["details"]
    return {name: every.get(name) for name in SHOWN}


def run(address: str, key: str, folder: Path) -> int:
    """Runs every command of the guide at a server of the demo. Returns how many there are."""
    beginning = f"API={address}/api/v1\nKEY={key}\n"
    found = blocks(GUIDE.read_text())
    shown = [json.loads(text) for language, text in found if language == "json"]
    expected = [error_of(envelope) for envelope in shown if not envelope["success"]]
    errors, cursor, count = [], "", 0
    for block in [text for language, text in found if not language][1:]:
        assigned, _, rest = block.partition("\n") if block.startswith("CURSOR=") else ("", "", block)
        for command in commands(rest):
            answer = paste(command, beginning + (f"CURSOR={cursor}\n" if assigned else ""), folder)
            count += 1
            if not answer.startswith("{"):
                continue
            envelope = json.loads(answer)
            if envelope["success"]:
                cursor = envelope["data"].get("nextCursor") or cursor
            else:
                errors.append(error_of(envelope))
    if errors != expected or not expected:
        raise SystemExit(f"errors of the guide: {errors}, and it shows {expected}")
    rows = [len((folder / name).read_text().splitlines()) for name in ("rows.ndjson", "orders.csv")]
    if rows[0] != 5000 or rows[1] <= rows[0]:
        raise SystemExit(f"{rows} lines of the stream and of the download")
    return count
