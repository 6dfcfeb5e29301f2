"""Reads the log of a server."""

import json
import subprocess
import time
from pathlib import Path

POLL_SECONDS = 0.05


def listening_address(server: subprocess.Popen[bytes], log: Path, seconds_max: float) -> str | None:
    """The address that the server listens on; None when it ends or is not ready in time."""
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline and server.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if line.endswith("\n") and json.loads(line).get("message") == "listening":
                return str(json.loads(line)["address"])
        time.sleep(POLL_SECONDS)
    return None
