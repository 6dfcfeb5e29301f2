#!/usr/bin/env python3
"""Real programs on the other side: curl, nginx and Caddy with the configurations of docs/examples, nghttp; and the
checkers of the other files of docs. What is not installed is skipped by name.

    python tests/attack/peers.py --binaries target/debug

Exit code 0 only if every program that is there gets what it should.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import proxies
from proxies import Proxy
from site_under_test import DATASET, Site

COMMAND_SECONDS_MAX = 60


def run(*command: object, body: bytes | None = None) -> tuple[int, bytes]:
    """Exit code and output of a program."""
    outcome = subprocess.run([str(part) for part in command], input=body, capture_output=True, check=False,
                             timeout=COMMAND_SECONDS_MAX)
    return outcome.returncode, outcome.stdout + outcome.stderr


def expect(condition: bool, what: object) -> None:
    """Ends the check where the condition does not hold."""
    if not condition:
        raise SystemExit(f"{what}")


def curl(port: int, key: str, *protocol: str, too_large: str = r"413 \d+") -> None:
    """What curl can do, over a protocol; `too_large` is what a body above the limit gets."""
    url = f"http://127.0.0.1:{port}/api/v1/datasets"
    status = ("-s", "-S", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", *protocol)
    with_key = ("-H", f"X-Api-Key: {key}", "-H", "Content-Type: application/json")

    def check(expected: str, *arguments: object, body: bytes | None = None) -> None:
        code, output = run("curl", *status, *arguments, body=body)
        # Where curl fails it says so in its output, which then is what was expected or not.
        expect((code == 0) == (b"curl: (" not in output) and re.fullmatch(expected, output.decode()) is not None,
               f"curl {protocol} {arguments}: {code} {output!r}, expected {expected}")

    check(r"200 \d+", url)
    check("200 0", "--head", url)
    check("404 0", "--head", f"{url}/nothing")
    check(r"404 \d+", f"{url}/nothing")
    # Two on one connection, the second after a refusal.
    check(r"404 \d+200 \d+", f"{url}/nothing", "-o", "/dev/null", url)
    check(r"200 \d+", *with_key, "-d", '{"limit": 3}', f"{url}/{DATASET}/query")
    spaces = b" " * 900_000
    check(r"200 \d+", *with_key, "-H", "Expect: 100-continue", "--data-binary", "@-", f"{url}/{DATASET}/query",
          body=b'{"limit": 1}' + spaces)
    if "--http1.0" not in protocol:
        check(r"200 \d+", *with_key, "-H", "Transfer-Encoding: chunked", "--data-binary", "@-",
              f"{url}/{DATASET}/query", body=b'{"limit": 1}' + spaces)
    check(too_large, *with_key, "--data-binary", "@-", f"{url}/{DATASET}/query", body=spaces * 2)
    check(too_large, *with_key, "-H", "Expect: 100-continue", "--data-binary", "@-", f"{url}/{DATASET}/query",
          body=spaces * 2)
    check(r"200 \d{6,}", *with_key, "-N", "-d", '{"limit": 5000}', f"{url}/{DATASET}/query/stream")
    check(r"200 \d+", "--compressed", f"{url}?limit=100")


def direct(site: Site) -> None:
    """Nothing between curl and the server."""
    for protocol in ("--http1.1", "--http1.0"):
        curl(site.port, site.key, protocol)


def first_row_at_once(port: int, key: str) -> None:
    """A proxy must hand on the first rows of a stream while the rest is still on its way."""
    command = ["curl", "-s", "-N", "--limit-rate", "40k", "-H", f"X-Api-Key: {key}", "-H",
               "Content-Type: application/json", "-d", '{"limit": 30000}',
               f"http://127.0.0.1:{port}/api/v1/datasets/{DATASET}/query/stream"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as stream:
        assert stream.stdout is not None
        lines = [stream.stdout.readline() for _ in range(3)]
        alive = stream.poll() is None
        stream.kill()
    expect(alive and any(line.startswith(b"data: ") for line in lines), f"the stream is held back: {lines}")


def through(proxy: Proxy, site: Site, too_large: str = r"413 \d+") -> None:
    """A proxy in front: everything that curl can do, then the proxy's end."""
    with proxy:
        curl(proxy.port, site.key, too_large=too_large)
        first_row_at_once(proxy.port, site.key)
    said = proxy.said()
    expect("upstream prematurely" not in said and "panic" not in said, said[-2000:])


def nginx(site: Site) -> None:
    """docs/examples/nginx.conf as it is, but for its ports."""
    proxy = proxies.nginx(site.folder, site.port)
    code, said = run(*proxy.command, "-t")
    expect(code == 0, said.decode())
    through(proxy, site)


def caddy(site: Site) -> None:
    """docs/examples/Caddyfile as it is, but for its address."""
    code, said = run("caddy", "validate", "--adapter", "caddyfile", "--config", proxies.EXAMPLES / "Caddyfile")
    expect(code == 0, said.decode())
    through(proxies.caddy(site.folder, site.port), site,
            # Caddy drops what it has of an answer that comes before the body of its request is read, and hangs up on
            # the client (the same with and without a limit of its own); until 2.7 it called such a body a failure of
            # the server behind it. So the client may see an end; it must not see a success.
            too_large=r"(413|502|100|000) \d+(curl: \((18|52|55|56)\) .*\n)?")


def nghttp(site: Site) -> None:
    """An offer of HTTP/2 is passed over, and nothing is left of it."""
    _, said = run("nghttp", "-v", "-u", "-t", "5", f"http://127.0.0.1:{site.port}/healthz")
    expect(b"200" in said or b"HTTP Upgrade failed" in said, said.decode(errors="replace"))
    code, said = run("nghttp", "-v", "-t", "5", f"http://127.0.0.1:{site.port}/healthz")
    expect(b"panic" not in said, said.decode(errors="replace"))
    curl(site.port, site.key, "--http2")


def systemd_analyze(site: Site) -> None:
    """The unit can be read; only its program and its user are of another machine."""
    text = (proxies.ROOT / "packaging" / "debian" / "mercato.service").read_text()
    text = text.replace("/usr/bin/mercato", str(site.binaries / "mercato"))
    # Its manual page comes with the package.
    unit = site.folder / "mercato.service"
    unit.write_text(text)
    code, said = run("systemd-analyze", "--man=no", "verify", unit)
    faults = [line for line in said.decode().splitlines() if "mercato.service" in line]
    expect(code == 0 and not faults, said.decode())


PEERS: dict[str, Callable[[Site], None]] = {
    "curl": direct,
    "nginx": nginx,
    "caddy": caddy,
    "nghttp": nghttp,
    "systemd-analyze": systemd_analyze,
}


def main() -> int:
    """Reads the options and meets every peer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", type=Path, required=True)
    parser.add_argument("--only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        site = Site(arguments.binaries.resolve(), Path(name), ["--trusted-proxy", "127.0.0.1/32"])
        site.prepare()
        with site:
            before = site.footprint()
            for peer, meet in PEERS.items():
                if arguments.only not in (None, peer):
                    continue
                if shutil.which(peer) is None and not Path(f"/usr/sbin/{peer}").exists():
                    print(f"{peer}: skipped, it is not installed")
                    continue
                meet(site)
                print(f"{peer}: ok", flush=True)
            after = site.wait_for_footprint(before, 4, 90)
            expect(after.threads <= before.threads + 4 and after.descriptors <= before.descriptors + 4,
                   f"left behind: {before} {after}")
            log = [json.loads(line) for line in site.log.read_text().splitlines()]
            expect(not [line for line in log if line.get("status", 0) >= 500], "an answer was an error of the server")
    return 0


if __name__ == "__main__":
    sys.exit(main())
