"""A proxy that passes bytes on and cuts its connections, without a word, after so many bytes of answers."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType

PIECE_BYTES = 16 * 1024
SECONDS_MAX = 60
BUFFER_BYTES = 32 * 1024


class Proxy:
    """`cuts` gives each connection its bytes; None, and every connection behind the last, is whole."""

    def __init__(self, url: str, cuts: Iterable[int | None] = ()) -> None:
        host, port = url.removeprefix("http://").rsplit(":", 1)
        self.target = (host, int(port))
        self.cuts: Iterator[int | None] = iter(cuts)
        self.connections = 0
        self.made = 0
        """Cuts that were made."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client, next(self.cuts, None)), daemon=True).start()

    def _serve(self, client: socket.socket, cut: int | None) -> None:
        # Small buffers, so that a cut of the client's side is soon felt on the server's.
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        server.settimeout(SECONDS_MAX)
        server.connect(self.target)
        client.settimeout(SECONDS_MAX)
        threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
        left = cut
        with contextlib.suppress(OSError):
            while piece := server.recv(PIECE_BYTES if left is None else min(PIECE_BYTES, max(left, 1))):
                if left is not None:
                    if len(piece) > left:
                        self.made += 1
                        break
                    left -= len(piece)
                client.sendall(piece)
        for one in (client, server):
            self._reset(one)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(PIECE_BYTES):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)

    @staticmethod
    def _reset(one: socket.socket) -> None:
        with contextlib.suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            one.close()
