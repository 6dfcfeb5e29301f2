"""A bar on a terminal that says how much of a file is there."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TextIO

BAR_WIDTH = 30
REDRAWS_PER_SECOND = 10
UNITS = ("B", "kB", "MB", "GB", "TB")

Report = Callable[[int, int], None]
Progress = bool | Report | None
"""None: a bar where stderr is a terminal. True: a bar anyway. False: nothing. A function hears bytes and all bytes; 0
where nobody knows those."""


@contextlib.contextmanager
def reporter(progress: Progress, name: str) -> Iterator[Report]:
    """The receiver of a download's progress."""
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        bar = Bar(name, sys.stderr)
        try:
            yield bar
        finally:
            bar.end()
    else:
        yield lambda done, total: None


class Bar:
    """One line that is drawn again and again."""

    def __init__(self, name: str, out: TextIO) -> None:
        self.name = printable(name)
        self.out = out
        self.began = time.monotonic()
        self.first: int | None = None
        self.drawn = 0.0
        self.text = ""

    def __call__(self, done: int, total: int) -> None:
        """Draws, but not too often."""
        now = time.monotonic()
        if self.first is None:
            self.first, self.began = done, now
        if (done < total or total == 0) and now - self.drawn < 1 / REDRAWS_PER_SECOND:
            return
        self.drawn = now
        self.text = line(self.name, done, total, (done - self.first) / max(now - self.began, 1e-3))
        self.out.write(f"\r\x1b[K{self.text}")
        self.out.flush()

    def end(self) -> None:
        """Leaves the last line standing."""
        if self.text:
            self.out.write("\n")
            self.out.flush()


def line(name: str, done: int, total: int, bytes_per_second: float) -> str:
    """How far, in words and as a bar."""
    if total == 0:
        return f"{name} {size(done)}, {size(int(bytes_per_second))}/s"
    share = done / total
    filled = int(BAR_WIDTH * min(share, 1.0))
    bar = "█" * filled + "░" * (BAR_WIDTH - filled)
    return f"{name} {bar} {share:4.0%} {size(done)} of {size(total)}, {size(int(bytes_per_second))}/s"


def size(count: int) -> str:
    """Bytes in a unit that is easy to read."""
    number, unit = float(count), 0
    while number >= 1000 and unit < len(UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} {UNITS[unit]}" if unit == 0 else f"{number:.1f} {UNITS[unit]}"


def printable(text: str) -> str:
    """A text that moves no cursor and hides nothing: what comes from outside may hold anything."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
