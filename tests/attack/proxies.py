"""Programs that stand in front of the server, with the configurations of docs/examples. Knows no check."""

import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 60
# What the server needs to know of a proxy on this machine.
TRUSTED = ["--trusted-proxy", "127.0.0.1/32"]
# Of each of its processes, and of each connection.
NGINX_CONNECTIONS_MAX = 32_768
NGINX_REQUESTS_MAX = 1_000_000
# A client that finds the backlog full comes again after a second.
NGINX_BACKLOG = 4_096
# Lines of nginx's own log that say that nginx, and not the server, was at its end.
NGINX_AT_ITS_END = ("[alert]", "[emerg]", "[crit]")


class Proxy:
    """A program that listens; it ends with the `with` block."""

    def __init__(self, port: int, command: Sequence[object], log: Path) -> None:
        self.port, self.log = port, log
        self.command = [str(part) for part in command]
        self.program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Proxy":
        with self.log.open("wb") as sink:
            self.program = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=sink)
        try:
            self._wait()
        except BaseException:
            self.program.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self.program is not None
        self.program.terminate()
        self.program.wait(STOP_SECONDS_MAX)

    def _wait(self) -> None:
        """Until it listens."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self.program is not None and self.program.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{self.command[0]} does not listen on {self.port}: {self.said()[-2000:]}")

    def process(self) -> int:
        """The number of its process."""
        assert self.program is not None
        return self.program.pid

    def said(self) -> str:
        """What it wrote to its log."""
        return self.log.read_text(errors="replace")


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def nginx(folder: Path, server_port: int, main: str = "", events: str = "", http: str = "",
          listen: str = "") -> Proxy:
    """nginx.conf of the examples as it is, but for its ports. It is a part of a configuration; the other texts are what
    else stands in the whole, at the places of which they have their names."""
    port, folder = free_port(), folder / "nginx"
    folder.mkdir()
    text = (EXAMPLES / "nginx.conf").read_text()
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port}{listen};").replace("    listen [::]:80;\n", "")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{server_port}")
    places = "".join(f"{name}_temp_path {folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    # The folder of a check is nobody else's, so nginx keeps the user that made it.
    user = "user root; " if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(f"{user}daemon off; pid {folder}/pid; error_log stderr warn; {main}\n"
                                       f"events {{ {events} }}\nhttp {{ access_log off; {places}{http}\n{text} }}\n")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    return Proxy(port, [program, "-c", folder / "nginx.conf"], folder / "log")


def busy_nginx(folder: Path, server_port: int, timeouts: str = "") -> Proxy:
    """nginx for many clients: a process for each processor, connections enough, and none of them ended because it was
    used much. The descriptors are those that this process may have."""
    _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    return nginx(folder, server_port, main=f"worker_processes auto; worker_rlimit_nofile {descriptors};",
                 events=f"worker_connections {min(descriptors, NGINX_CONNECTIONS_MAX)};",
                 http=f"keepalive_requests {NGINX_REQUESTS_MAX}; {timeouts}", listen=f" backlog={NGINX_BACKLOG}")


def nginx_faults(proxy: Proxy) -> list[str]:
    """What says that not the server was measured."""
    return [f"nginx itself: {line}" for line in proxy.said().splitlines()
            if any(mark in line for mark in NGINX_AT_ITS_END)][:3]


def caddy(folder: Path, server_port: int) -> Proxy:
    """Caddyfile of the examples as it is, but for its address."""
    port, file = free_port(), folder / "Caddyfile"
    text = (EXAMPLES / "Caddyfile").read_text().replace("data.example.org {", f"http://127.0.0.1:{port} {{")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{server_port}")
    file.write_text("{\n\tadmin off\n}\n" + text)
    return Proxy(port, ["caddy", "run", "--adapter", "caddyfile", "--config", file], folder / "caddy.log")
