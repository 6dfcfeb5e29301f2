"""A proxy between one server and the database, which reads PostgreSQL's messages as they pass: it cuts the server off, holds
everything up, or swallows the answer to the next commit. Knows no books but the words of the statement that charges."""

import socket
import struct
import threading
from collections.abc import Callable

CHARGES = b"INSERT INTO batch (server, number, places"
CONNECT_SECONDS_MAX = 5


class DatabaseProxy:
    """Listens on a port of its own."""

    def __init__(self, target: Callable[[], int]) -> None:
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        self.is_cut = False
        self.is_armed = False
        self.swallowed = 0
        self.flows = threading.Event()
        self.flows.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Ends all connections and refuses further ones."""
        with self.lock:
            self.is_cut = True
            for end in self.open:
                _end(end)

    def stall(self) -> None:
        """Passes nothing on, and ends nothing: as a network that loses everything."""
        self.flows.clear()

    def swallow_next(self) -> None:
        """The answer to the next commit does not arrive, and its connection ends."""
        self.is_armed = True

    def mend(self) -> None:
        """Everything passes again."""
        with self.lock:
            self.is_cut = self.is_armed = False
        self.flows.set()

    def _accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        self.flows.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self.target()), timeout=CONNECT_SECONDS_MAX)
        except OSError:
            _end(client)
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
        charging: set[bytes] = set()
        while True:
            letter, body = _message(reader)
            self.proxy.flows.wait()
            if letter == b"P" and CHARGES in body:
                charging.add(body.split(b"\0", 1)[0])
            else:
                commits = letter == b"Q" and body.startswith(b"COMMIT")
                charges = letter == b"B" and body.split(b"\0", 2)[1] in charging
                with self.proxy.lock:
                    if (commits or charges) and self.proxy.is_armed:
                        self.proxy.is_armed, self.is_swallowing = False, True
            self.server.sendall(letter + struct.pack("!I", len(body) + 4) + body)

    def answers(self) -> None:
        """What the database says."""
        reader = self.server.makefile("rb")
        while True:
            letter, body = _message(reader)
            self.proxy.flows.wait()
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
