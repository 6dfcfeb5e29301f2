"""Machines with a network of their own: namespaces that one bridge joins, inside a namespace that reaches nothing else. Knows
no servers."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# No packet to these is routed anywhere (RFC 2544).
PREFIX = "198.18.0."
BRIDGE = "bridge"
NAMES = Path("/run/netns")
INSIDE = "MERCATO_CLUSTER_IS_INSIDE"
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def enter() -> None:
    """Goes on with this program in a network that reaches nothing. Whatever it starts ends with it, also where it is killed."""
    if os.environ.pop(INSIDE, None):
        # The first process of a namespace hears no signal that it does not ask for.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
        return
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise SystemExit(f"each machine is a network namespace, which takes root and CAP_SYS_ADMIN: {tried.stderr.strip()}")
    os.execvpe(command[0], [*command, sys.executable, *sys.argv], os.environ | {INSIDE: "1"})


def run(*command: Any) -> None:
    """Runs a command of iproute2 to its end."""
    words = [str(word) for word in command]
    outcome = subprocess.run(words, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {outcome.stderr.strip()}")


class Network:
    """The bridge. This program, the load and the balancer are at its address."""

    address = f"{PREFIX}1"

    def __init__(self) -> None:
        self.machines = 1
        # Names of namespaces are files: these are nobody else's.
        NAMES.mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "namespaces", NAMES)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{self.address}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")

    def machine(self, name: str) -> "Machine":
        """A further machine."""
        self.machines += 1
        return Machine(name, self.machines)


class Machine:
    """A namespace with one link to the bridge."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.address = f"{PREFIX}{number}"
        self.link = f"link-{number}"
        self._build()

    def _build(self) -> None:
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "address",
            f"02:00:00:00:00:{self.number:02x}", "netns", self.name)
        run("ip", "link", "set", self.link, "master", BRIDGE, "up")
        run("ip", "-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", self.name, "link", "set", device, "up")

    def command(self, words: list[Any]) -> list[str]:
        """A command as this machine runs it."""
        return ["nsenter", f"--net={NAMES / self.name}", *(str(word) for word in words)]

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Sockets that this thread makes meanwhile are those of the machine."""
        with open("/proc/thread-self/ns/net", "rb") as before, open(NAMES / self.name, "rb") as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def unplug(self) -> None:
        """Nothing reaches it, and it reaches nothing."""
        run("ip", "link", "set", self.link, "down")

    def plug(self) -> None:
        """Its link is back."""
        run("ip", "link", "set", self.link, "up")

    def replace(self) -> None:
        """Another machine with the same address, which knows no connection of the one before."""
        self.remove()
        self._build()

    def remove(self) -> None:
        """It is gone. So are its processes, or they know no network any more."""
        run("ip", "link", "delete", self.link)
        run("ip", "netns", "delete", self.name)


def part(one: Machine, other: Machine, is_parted: bool = True) -> None:
    """Whether two machines lose each other, while all others reach both. Two at a time."""
    for machine in (one, other):
        run("ip", "link", "set", machine.link, "type", "bridge_slave", "isolated", "on" if is_parted else "off")


def _enter(namespace: int) -> None:
    if LIBC.setns(namespace, CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
