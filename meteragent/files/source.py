"""A file, gzip or pipe -> blocks of whole lines.

Blocks end where their number of lines passes multiples of `LINES`, however the stream trickles
in: so a job that was killed goes on with the very batches of one that was not. Why lines and not
bytes: 1000 is longer than 90, and nothing that can be seen should follow from that. (The order of
releases does not: it is that of the records, whatever the blocks.) Lines may end as on Unix,
Windows or old Macs, mixed.
"""

import os
import select
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from meteragent.errors import InputDamaged, InputReplaced
from meteragent.formats.json_one import LONGEST_RECORD

LINES = 2**12
"""Lines that are worked on together."""
SEGMENT = 2**18
"""Bytes that are looked at together."""
MOST_HELD = 2**26
"""Bytes, that lines of unusual length may not surpass: they are worked on as they come."""
HEAD = 2**16
"""By so many first bytes an input is known again."""

STANDARD = "-"
_PIECE = SEGMENT
_POLL_SECONDS = 0.2
_GZIP = b"\x1f\x8b"
_NEWLINE = ord("\n")
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines, each with its end; none at all where there is nothing more for now."""

    first: int
    """The number of the first line, from 0."""
    text: bytes
    lines: int

    def since(self, line: int) -> "LineBlock":
        """What stands from a line on."""
        skipped = max(0, line - self.first)
        if not skipped:
            return self
        if skipped >= self.lines:
            return LineBlock(self.first + self.lines, b"", 0)
        rest = self.text.split(b"\n", skipped)[-1]
        return LineBlock(self.first + skipped, rest, self.lines - skipped)


class Source:
    """An input; `name` is a path, or `-` for standard input."""

    def __init__(
        self,
        name: str,
        *,
        follow: bool = False,
        whole: bool = True,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        """Open it. `whole`: a last line without an end is complete, not still being written."""
        self.name = name if name == STANDARD else str(Path(name).resolve())
        self.shown = "standard input" if name == STANDARD else name
        self.head = b""
        self.consumed = 0
        """Bytes of the file, compressed if it is."""
        self._follow = follow
        self._whole = whole
        self._wait = wait
        self._descriptor = 0 if name == STANDARD else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(21, "Is a directory", name)
        self._regular = stat.S_ISREG(status.st_mode)
        self.size = status.st_size if self._regular else None
        self.lines = 0
        """How many lines have been handed out."""
        self._held: list[bytes] = []
        self._held_lines = 0
        self._begun = False

    def close(self) -> None:
        """Let go of the file; not of standard input, which is not ours."""
        if self.name != STANDARD:
            os.close(self._descriptor)

    def digest(self, length: int) -> bytes:
        """Of the first `length` bytes, or fewer if there are no more."""
        return blake2b(self.head[:length], digest_size=16).digest()

    def is_over(self, path: Path) -> bool:
        """Whether a path is this very file."""
        return path.exists() and os.path.samestat(os.fstat(self._descriptor), path.stat())

    def blocks(self) -> Iterator[LineBlock]:
        """All lines; when following, an empty block whenever there is nothing more for now.

        InputDamaged: it ends before its end; what stood before has been handed out.
        """
        damaged = None
        try:
            for lines in self._lines():
                yield from self._full_blocks(lines)
                if not lines and self._held:
                    yield self._block()
                if not lines:
                    yield self._block()
        except InputDamaged as error:
            damaged = error
        if self._held:
            yield self._block()
        if damaged:
            raise damaged

    def _lines(self) -> Iterator[bytes]:
        """Whole lines as they come, and of the next what is there; empty ones mean a pause."""
        rest = b""
        for segment in self._segments():
            text = _unified(rest + segment)
            cut = text.rfind(b"\n") + 1
            rest = text[cut:]
            if len(rest) > LONGEST_RECORD:  # no good record, whatever it holds: its size is enough
                rest = rest[:LONGEST_RECORD] + rest[-1:]
            if cut:
                yield text
            if not segment:
                yield b""
        if rest and self._whole:
            yield rest.removesuffix(b"\r") + b"\n"

    def _full_blocks(self, text: bytes) -> Iterator[LineBlock]:
        """Hold the whole lines of a text, and give those that make a block full."""
        ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _NEWLINE) + 1
        done = at = 0
        while done < len(ends):
            room = LINES - (self.lines + self._held_lines) % LINES
            lines = min(room, len(ends) - done)
            done += lines
            end = int(ends[done - 1])
            self._held.append(text[at:end])
            self._held_lines += lines
            at = end
            if lines == room or sum(map(len, self._held)) > MOST_HELD:
                yield self._block()

    def _block(self) -> LineBlock:
        """What is held, and nothing is held any more."""
        block = LineBlock(self.lines, b"".join(self._held), self._held_lines)
        self.lines += block.lines
        self._held, self._held_lines = [], 0
        return block

    def _segments(self) -> Iterator[bytes]:
        """The stream without its mark, cut at multiples of `SEGMENT`; empty ones mean a pause."""
        held: list[bytes] = []
        at = 0
        try:
            for piece in self._plain():
                begin = 0
                while len(piece) - begin >= (room := SEGMENT - at % SEGMENT):
                    held.append(piece[begin : begin + room])
                    begin, at = begin + room, at + room
                    yield self._segment(held)
                if begin < len(piece):
                    held.append(piece[begin:])
                    at += len(piece) - begin
                if not piece:
                    if held:
                        yield self._segment(held)
                    yield b""
        except (zlib.error, EOFError):
            yield self._segment(held)
            raise InputDamaged(
                self.shown,
                self.lines + self._held_lines + 1,
                "the gzip stream is cut short or damaged",
                _FETCH,
            ) from None
        if held:
            yield self._segment(held)

    def _segment(self, held: list[bytes]) -> bytes:
        """What is held, and nothing is held any more; what comes in one piece is not copied."""
        segment = b"".join(held)
        held.clear()
        if not self._begun and segment.startswith(_UTF16):
            raise InputDamaged(self.shown, 1, "is UTF-16 text", "save it as UTF-8")
        if not self._begun:
            segment = segment.removeprefix(_BOM)
        self._begun = True
        self.head += segment[: HEAD - len(self.head)]
        return segment

    def _plain(self) -> Iterator[bytes]:
        pieces = self._pieces()
        first = next(pieces, b"")
        while 0 < len(first) < len(_GZIP) and (more := next(pieces, b"")):
            first += more
        if not first.startswith(_GZIP):
            if first or self._follow:
                yield first
            yield from pieces
            return
        if self._follow:
            raise InputDamaged(self.shown, 1, "is gzip, which cannot grow", "leave out --follow")
        yield from _inflated(first, pieces)

    def _pieces(self) -> Iterator[bytes]:
        """What is read, as it comes; empty ones mean that there is nothing more for now."""
        while True:
            if self._follow and not self._regular:
                while not select.select([self._descriptor], [], [], _POLL_SECONDS)[0]:
                    yield b""
            try:
                piece = os.read(self._descriptor, _PIECE)
            except OSError as error:
                error.filename = self.shown
                raise
            self.consumed += len(piece)
            if piece:
                yield piece
            elif self._follow and self._regular:
                self._refuse_replaced()
                yield b""
                self._wait(_POLL_SECONDS)
            else:
                return

    def _refuse_replaced(self) -> None:
        ours = os.fstat(self._descriptor)
        try:
            same = os.path.samestat(ours, os.stat(self.name))  # noqa: PTH116 - beside fstat
        except FileNotFoundError:
            same = False
        if not same or ours.st_size < self.consumed:
            raise InputReplaced(self.shown)


_FETCH = "fetch it again; what came before is released, and will not be released again"


def _inflated(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The content of one gzip member or several, in pieces of bounded size."""
    inflater = zlib.decompressobj(wbits=31)
    data = first
    while data or (data := next(pieces, b"")):
        if inflater.eof:
            data = data.lstrip(b"\0")  # tapes pad
            if not data:
                continue
            inflater = zlib.decompressobj(wbits=31)
        if inflated := inflater.decompress(data, _PIECE):
            yield inflated
        data = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    if not inflater.eof:
        raise EOFError


def _unified(text: bytes) -> bytes:
    """Every line end as Unix has it, but for a last CR, which may be half of one."""
    if b"\r" not in text:
        return text
    half = b"\r" if text.endswith(b"\r") else b""
    text = text.removesuffix(half).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text + half
