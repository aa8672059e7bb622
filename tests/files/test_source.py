"""Blocks of lines: the same from any file, pipe or gzip, however it trickles in."""

from __future__ import annotations

import gzip
import os
import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent.errors import InputDamaged, InputReplaced
from meteragent.files import source
from meteragent.files.source import LineBlock, Source
from meteragent.formats.json_one import LONGEST_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = b"one\ntwo\n\nthree\n"


def read(path: Path, *, follow: bool = False, whole: bool = True) -> list[LineBlock]:
    one = Source(str(path), follow=follow, whole=whole)
    try:
        return list(one.blocks())
    finally:
        one.close()


def text_of(blocks: list[LineBlock]) -> bytes:
    return b"".join(block.text for block in blocks)


def in_pieces(
    pieces: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
    segment: int = source.SEGMENT,
    lines: int = source.LINES,
) -> list[LineBlock]:
    """What comes of standard input that arrives so."""
    given = iter([*pieces, b""])
    with monkeypatch.context() as patch:
        patch.setattr(source, "SEGMENT", segment)
        patch.setattr(source, "LINES", lines)
        patch.setattr(os, "read", lambda *_: next(given))
        return list(Source("-").blocks())


def cut(text: bytes, at: list[int]) -> list[bytes]:
    places = sorted({place % (len(text) + 1) for place in at} | {0, len(text)})
    return [text[a:b] for a, b in pairwise(places)]


TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\xff", b""]), max_size=40)


@given(
    parts=TEXTS,
    at=st.lists(st.integers(0, 200)),
    block=st.integers(len(b"\xef\xbb\xbf"), 50),
    zipped=st.booleans(),
    mark=st.booleans(),
)
def test_blocks_depend_on_the_content_alone(
    parts: list[bytes],
    at: list[int],
    block: int,
    zipped: bool,  # noqa: FBT001
    mark: bool,  # noqa: FBT001
) -> None:
    text = b"".join(parts)
    stream = (b"\xef\xbb\xbf" if mark else b"") + text
    stream = gzip.compress(stream[:7]) + gzip.compress(stream[7:]) + b"\0" * 9 if zipped else stream
    with pytest.MonkeyPatch.context() as patch:
        blocks = in_pieces(cut(stream, at), patch, block)
        at_once = in_pieces([stream], patch, block)
    assert [b for b in blocks if b.lines] == [b for b in at_once if b.lines]
    expected = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if expected and not expected.endswith(b"\n"):
        expected += b"\n"
    assert text_of(blocks) == expected
    firsts = [block.first for block in blocks]
    assert firsts == [text_of(blocks[:i]).count(b"\n") for i in range(len(blocks))]


@given(
    parts=st.lists(st.sampled_from([b"a\n", b"\n", b"long\n"]), max_size=20),
    line=st.integers(0, 25),
)
def test_a_block_goes_on_from_any_line(parts: list[bytes], line: int) -> None:
    block = LineBlock(3, b"".join(parts), len(parts))
    rest = block.since(line)
    skipped = min(len(parts), max(0, line - 3))
    assert rest == LineBlock(3 + skipped, b"".join(parts[skipped:]), len(parts) - skipped)


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(LINES)
    one = Source(str(path))
    assert text_of(list(one.blocks())) == LINES
    assert (one.size, one.consumed, one.lines, one.head) == (len(LINES), len(LINES), 4, LINES)
    assert one.digest(5) != one.digest(6)
    assert one.digest(1000) == one.digest(len(LINES))
    one.close()


@given(
    lengths=st.lists(st.integers(0, 30), max_size=60),
    others=st.lists(st.integers(0, 30), min_size=60, max_size=60),
    segment=st.integers(len(b"\xef\xbb\xbf"), 50),
    lines=st.integers(1, 9),
)
def test_where_blocks_end_depends_on_the_number_of_lines_alone(
    lengths: list[int], others: list[int], segment: int, lines: int
) -> None:
    """Else the order of releases would tell how many digits readings have."""
    texts = (
        b"".join(b"7" * length + b"\n" for length in each[: len(lengths)])
        for each in (lengths, others)
    )
    with pytest.MonkeyPatch.context() as patch:
        ends = [[b.lines for b in in_pieces([text], patch, segment, lines)] for text in texts]
    full, rest = divmod(len(lengths), lines)
    assert ends[0] == ends[1] == [lines] * full + [rest] * (rest > 0)


def test_lines_of_unusual_length_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_HELD", 1000)
    blocks = in_pieces([b"x" * 600 + b"\n"] * 10, monkeypatch, segment=500)
    assert [block.lines for block in blocks] == [2] * 5


def test_a_last_line_that_is_still_being_written_can_wait(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"one\ntw")
    assert text_of(read(path)) == b"one\ntw\n"
    assert text_of(read(path, whole=False)) == b"one\n"


def test_memory_stays_flat_whatever_a_line_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    long = [b"x" * 100_000] * 50
    blocks = in_pieces([b"a\n", *long, b"\nb\n"], monkeypatch)
    lines = text_of(blocks).split(b"\n")
    assert [len(line) > LONGEST_RECORD for line in lines] == [False, True, False, False]
    assert max(map(len, lines)) <= LONGEST_RECORD + source.SEGMENT + 1
    by_cr = in_pieces([b"a\r", b"x" * 5 * 2**20, b"\rb\r"], monkeypatch)
    assert text_of(by_cr).count(b"\n") == 3


@pytest.mark.parametrize("lost", [1, 8, 9, 500])
def test_what_stands_before_a_gzip_breaks_off_is_handed_out(tmp_path: Path, lost: int) -> None:
    lines = b"".join(b"%d\n" % (i * i) for i in range(5000))
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(lines)[:-lost])
    one = Source(str(path))
    blocks: list[LineBlock] = []
    with pytest.raises(InputDamaged, match=r"in\.csv\.gz: line \d+: the gzip stream") as damaged:
        blocks.extend(one.blocks())  # keeps what came before the error
    one.close()
    assert damaged.value.line == one.lines + 1
    assert one.lines > 3000
    assert lines.startswith(text_of(blocks))


def test_a_gzip_with_a_wrong_sum_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "in.gz"
    zipped = bytearray(gzip.compress(LINES))
    zipped[-8] ^= 1
    path.write_bytes(zipped)
    with pytest.raises(InputDamaged):
        read(path)


def test_a_gzip_is_inflated_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\n" * 5_000_000))
    blocks = read(path)
    assert sum(block.lines for block in blocks) == 5_000_000
    assert max(block.lines for block in blocks) == source.LINES


def test_a_short_file_is_no_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_of(in_pieces([b"\x1f"], monkeypatch)) == b"\x1f\n"
    assert in_pieces([], monkeypatch) == []
    empty = tmp_path / "empty"
    empty.touch()
    assert read(empty) == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_told(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes("\ufeffmeter_id\n".encode(encoding))
    with pytest.raises(InputDamaged, match="save it as UTF-8"):
        read(path)


def test_a_directory_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        Source(str(tmp_path))


def test_a_read_that_fails_names_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    path = tmp_path / "in.csv"
    path.write_bytes(LINES)
    monkeypatch.setattr(os, "read", broken)
    with pytest.raises(OSError, match="Input/output error") as failed:
        read(path)
    assert failed.value.filename == str(path)


# Following: what happens between two looks is done by `wait`.


class Ended(Exception):
    """Nobody waits for more."""


def followed(path: Path, steps: Iterator[object]) -> Iterator[LineBlock]:
    def wait(_: float) -> None:
        if next(steps, Ended) is Ended:
            raise Ended

    one = Source(str(path), follow=True, whole=False, wait=wait)
    try:
        yield from one.blocks()
    except Ended:
        return
    finally:
        one.close()


def test_a_growing_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b"one\ntw")

    def growing() -> Iterator[object]:
        for more in (b"", b"o\r", b"\nthree\n", b"fo"):
            with path.open("ab") as file:
                yield file.write(more)

    blocks = list(followed(path, growing()))
    assert text_of(blocks) == b"one\ntwo\nthree\n"
    assert sum(not block.lines for block in blocks) >= 4
    assert blocks[-1].first == 3


@pytest.mark.parametrize("how", ["cut", "replaced", "removed"])
def test_a_followed_file_that_is_another_is_told(tmp_path: Path, how: str) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(LINES)

    def changing() -> Iterator[object]:
        if how != "cut":
            path.rename(tmp_path / "in.csv.1")
        if how != "removed":
            path.write_bytes(b"a\n")
        yield None

    with pytest.raises(InputReplaced):
        list(followed(path, changing()))


def test_a_pipe_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_POLL_SECONDS", 0.001)
    reading, writing = os.pipe()
    one = Source("-", follow=True, whole=False)
    one._descriptor = reading
    blocks = one.blocks()
    os.write(writing, b"one\n")
    assert next(block for block in blocks if block.lines).text == b"one\n"
    assert not next(blocks).lines
    later = threading.Thread(target=os.write, args=(writing, b"two\n"))
    later.start()
    assert next(block for block in blocks if block.lines).text == b"two\n"
    later.join()
    os.close(writing)
    assert not [block for block in blocks if block.lines]
    os.close(reading)


def test_gzip_cannot_grow(tmp_path: Path) -> None:
    path = tmp_path / "in.gz"
    path.write_bytes(gzip.compress(LINES))
    with pytest.raises(InputDamaged, match="leave out --follow"):
        read(path, follow=True)
