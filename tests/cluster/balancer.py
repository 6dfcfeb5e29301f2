"""nginx with a configuration of docs/examples, on this machine. Knows neither servers nor load."""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from stores import free_port

START_SECONDS_MAX, STOP_SECONDS_MAX = 30, 30
EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
# The servers of an example, with their parameters.
SERVERS = re.compile(r"(?:^    server \S+:8080(?P<parameters>[^;\n]*);\n)+", re.MULTILINE)


class Balancer:
    """nginx before these servers. What an example says of its servers counts for them, unless `parameters` does."""

    def __init__(self, folder: Path, addresses: list[str], example: str, parameters: str | None = None) -> None:
        folder.mkdir()
        self.port, self.log = free_port(), folder / "log"
        (folder / "nginx.conf").write_text(_configuration(folder, self.port, addresses, example, parameters))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        self.process = subprocess.Popen([program, "-c", str(folder / "nginx.conf")], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.log.open("wb"))
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"nginx does not start: {self.log.read_text()}") from None
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.wait(STOP_SECONDS_MAX)


def _configuration(folder: Path, port: int, addresses: list[str], example: str, parameters: str | None) -> str:
    text = (EXAMPLES / example).read_text()
    found = SERVERS.search(text)
    if found is None:
        raise SystemExit(f"{example} names no server")
    said = found["parameters"] if parameters is None else parameters
    text = SERVERS.sub("".join(f"    server {address}{said};\n" for address in addresses), text, count=1)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};").replace("    listen [::]:80;\n", "")
    places = "".join(f"{name}_temp_path {folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root; " if os.geteuid() == 0 else ""
    return (f"{user}daemon off; pid {folder}/pid; error_log stderr error;\nevents {{ }}\n"
            f"http {{ access_log off; proxy_connect_timeout 3s; {places}\n{text} }}\n")
