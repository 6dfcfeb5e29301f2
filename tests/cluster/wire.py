"""A proxy between one server and the database, at an address that stays when the database moves. It reads PostgreSQL's messages
as they pass: it refuses connections, or swallows answers to commits. Knows no books but the words of statements that commit."""

import re
import socket
import struct
import threading
from collections.abc import Callable

from machines import Machine

PORT = 5432
# Statements that are transactions of their own: they charge, or put a void batch in the place of one of unknown outcome.
COMMITTING = (b"INSERT INTO batch (server, number, places", b"INSERT INTO batch (server, number, is_void")
CONNECT_SECONDS_MAX = 5
# How a session asks for probes of its connection when that is silent.
PROBES = {b"tcp_keepalives_idle": socket.TCP_KEEPIDLE, b"tcp_keepalives_interval": socket.TCP_KEEPINTVL,
          b"tcp_keepalives_count": socket.TCP_KEEPCNT}
PROBE = re.compile(b"SET (" + b"|".join(PROBES) + b") = ([0-9]+)")


class DatabaseProxy:
    """Listens on a port of its own of a machine, and leads to the database at the address that `target` says."""

    def __init__(self, machine: Machine, target: Callable[[], str]) -> None:
        self.machine, self.target = machine, target
        with machine.inside():
            self.listener = socket.create_server((machine.address, 0), backlog=128)
        self.port = int(self.listener.getsockname()[1])
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        self.is_cut = False
        self.is_armed = self.is_armed_again = False
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Ends all connections and refuses further ones."""
        with self.lock:
            self.is_cut = True
            for end in self.open:
                _end(end)

    def swallow(self, is_armed_again: bool = False) -> None:
        """The answer to the next commit does not arrive, and its connection ends; if armed again, so after each that arrived."""
        self.is_armed, self.is_armed_again = True, is_armed_again

    def mend(self) -> None:
        """Everything passes again."""
        with self.lock:
            self.is_cut = self.is_armed = self.is_armed_again = False

    def swallows(self) -> bool:
        """Whether the answer to the commit that passes now is swallowed."""
        with self.lock:
            is_swallowed = self.is_armed
            self.is_armed = self.is_armed_again and not is_swallowed
            return is_swallowed

    def _accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        try:
            with self.machine.inside():
                server = socket.create_connection((self.target(), PORT), timeout=CONNECT_SECONDS_MAX)
        except OSError:
            _end(client)
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with self.lock:
            if self.is_cut:
                _end(client), _end(server)
                return
            self.open |= {client, server}
        link = _Link(self, client, server)
        for work in (link.questions, link.answers):
            threading.Thread(target=link.until_it_ends, args=(work,), daemon=True).start()


class _Link:
    """One connection."""

    def __init__(self, proxy: DatabaseProxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.is_swallowing = False

    def until_it_ends(self, work: Callable[[], None]) -> None:
        """One direction; its end is that of the other, too."""
        try:
            work()
        except (OSError, EOFError):
            pass
        with self.proxy.lock:
            self.proxy.open -= {self.client, self.server}
        _end(self.client), _end(self.server)

    def questions(self) -> None:
        """What the server says to the database."""
        reader = self.client.makefile("rb")
        length = _exactly(reader, 4)
        self.server.sendall(length + _exactly(reader, struct.unpack("!I", length)[0] - 4))
        committing: set[bytes] = set()
        while True:
            letter, body = _message(reader)
            if letter == b"P" and any(text in body for text in COMMITTING):
                committing.add(body.split(b"\0", 1)[0])
            elif letter == b"Q" and body.startswith(b"COMMIT") or letter == b"B" and body.split(b"\0", 2)[1] in committing:
                self.is_swallowing = self.is_swallowing or self.proxy.swallows()
            if letter == b"Q":
                # As the database would, if there were nobody between.
                for name, value in PROBE.findall(body):
                    self.client.setsockopt(socket.IPPROTO_TCP, PROBES[name], int(value))
            self.server.sendall(letter + struct.pack("!I", len(body) + 4) + body)

    def answers(self) -> None:
        """What the database says."""
        reader = self.server.makefile("rb")
        while True:
            letter, body = _message(reader)
            if self.is_swallowing:
                if letter == b"Z":
                    self.proxy.swallowed += 1
                    return
            else:
                self.client.sendall(letter + struct.pack("!I", len(body) + 4) + body)


def _message(reader: "socket.SocketIO") -> tuple[bytes, bytes]:
    head = _exactly(reader, 5)
    return head[:1], _exactly(reader, struct.unpack("!I", head[1:])[0] - 4)


def _exactly(reader: "socket.SocketIO", length: int) -> bytes:
    data = reader.read(length)
    if data is None or len(data) < length:
        raise EOFError
    return bytes(data)


def _end(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
