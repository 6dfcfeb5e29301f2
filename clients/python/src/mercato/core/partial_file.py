"""The file of a download that is not whole yet, and what is known of it: `NAME.part` and `NAME.part.json`.

A later call finds both and goes on. Does not depend on requests.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from mercato.errors import IntegrityError

PIECE_BYTES = 1 << 20
SHA256 = re.compile(r"(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]+):")


@dataclass(frozen=True)
class Wanted:
    """Which file it is."""

    source: str
    slug: str
    version: str
    format: str


@dataclass(frozen=True)
class Announced:
    """The server's facts of the whole file."""

    bytes: int | None
    """None for a file without ranges, whose length is known only at its end."""
    etag: str
    digest: str | None
    """`Repr-Digest`, which small files have."""


class PartialFile:
    """The beginning of a file, with everything that is needed to go on."""

    def __init__(self, path: Path, wanted: Wanted, key: str, announced: Announced | None, file: BinaryIO) -> None:
        self.path = path
        self.wanted = wanted
        self.key = key
        self.length = 0
        self._is_ended = False
        self._announced = announced
        self._file = file
        self._hash = hashlib.sha256()

    @classmethod
    def open(cls, path: Path, wanted: Wanted, new_key: str) -> PartialFile:
        """Goes on with what is there of the same file, or begins. What is there of another file is refused."""
        part, note = names(path)
        if not part.exists():
            return cls(path, wanted, new_key, None, part.open("xb"))
        try:
            told = json.loads(note.read_text())
            key, of, announced = str(told["key"]), Wanted(**told["wanted"]), Announced(**told["announced"])
        except (OSError, ValueError, KeyError, TypeError):
            raise FileExistsError(f"{part} is there, and nothing says what it is: remove it to begin anew") from None
        if of != wanted:
            raise FileExistsError(f"{part} belongs to {of.slug} {of.version} as {of.format}: finish that, or remove it")
        partial = cls(path, wanted, key, announced, part.open("r+b"))
        partial._read_again()
        return partial

    def _read_again(self) -> None:
        while piece := self._file.read(PIECE_BYTES):
            self._hash.update(piece)
            self.length += len(piece)

    @property
    def announced(self) -> Announced:
        """The server's facts of the whole file; empty before its first part."""
        return self._announced or Announced(0, "", None)

    @property
    def resumable_bytes(self) -> int:
        """Bytes behind which the rest can be asked for."""
        return self.length if self.announced.bytes is not None else 0

    @property
    def is_complete(self) -> bool:
        """Whether all bytes are there."""
        if self._announced is None:
            return False
        return self._is_ended if self._announced.bytes is None else self.length >= self._announced.bytes

    def begin(self, announced: Announced) -> None:
        """Notes what the file will be, before its first byte. Bytes of an earlier try go."""
        self._announced = announced
        self._file.seek(0)
        self._file.truncate()
        self._hash, self.length = hashlib.sha256(), 0
        note = {"key": self.key, "wanted": asdict(self.wanted), "announced": asdict(announced)}
        names(self.path)[1].write_text(json.dumps(note))

    def append(self, piece: bytes) -> None:
        """Adds bytes."""
        self._file.write(piece)
        self._hash.update(piece)
        self.length += len(piece)

    def end(self) -> None:
        """Notes that an answer ended properly."""
        self._is_ended = True

    def finish(self) -> str:
        """Checks the file and gives it its name, unless something else got that meanwhile. Returns its SHA-256."""
        self._file.flush()
        os.fsync(self._file.fileno())
        on_disk = os.fstat(self._file.fileno()).st_size
        self._file.close()
        part, note = names(self.path)
        try:
            self._compare(on_disk)
        except IntegrityError:
            part.unlink(missing_ok=True)
            note.unlink(missing_ok=True)
            raise
        _rename_to_new(part, self.path)
        note.unlink(missing_ok=True)
        return self._hash.hexdigest()

    def _compare(self, on_disk: int) -> None:
        wanted = self.length if self.announced.bytes is None else self.announced.bytes
        if not self.length == on_disk == wanted:
            raise IntegrityError(f"{self.path}: {on_disk} bytes, and the server announced {wanted}")
        found = SHA256.search(self.announced.digest or "")
        if found and base64.b64decode(found[1]) != self._hash.digest():
            raise IntegrityError(f"{self.path}: SHA-256 is {self._hash.hexdigest()}, and the server announced another")

    def close(self) -> None:
        """Keeps what came. Nothing is left of a file that did not begin."""
        self._file.close()
        if self._announced is None:
            with contextlib.suppress(OSError):
                names(self.path)[0].unlink(missing_ok=True)


def names(path: Path) -> tuple[Path, Path]:
    """The unfinished file beside a path, and the note about it."""
    return path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.json")


def _rename_to_new(part: Path, path: Path) -> None:
    """Gives a file its name without replacing another."""
    try:
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:
        # File systems without hard links: the name is taken first, and then replaced by the file.
        path.open("xb").close()
        os.replace(part, path)
        return
    part.unlink()
