from __future__ import annotations

import os
import subprocess
import sys
import traceback
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meteragent import Domain, Entropy, NoiseKey, TruncatedGeometric
from meteragent.errors import InvalidSetting, KeyRefused
from meteragent.privacy.entropy import tag
from tests.twins import keyed as twin
from tests.twins import noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meteragent.privacy.entropy import Tags
    from meteragent.privacy.query import Answers

KEY = bytes(range(32))
POLICY = bytes(range(100, 116))
FIRST_BLOCK = 8


class Window(NamedTuple):
    """All that the words of a window are made from."""

    key: bytes = KEY
    policy: bytes = POLICY
    meter: str = "m-17"
    start: int = 1_763_424_000_000
    heard: int = 90
    answers: tuple[int, ...] = (41, 7, 40, 2400)


HOME = Window()
EXPORT = Window(meter="zähler/7", start=-900_000, heard=0, answers=(0, 127, 3))
FINE = Window(bytes(32), bytes(16), "", 0, 1, (2**40, 0))


def columns(window: Window) -> tuple[Tags, NDArray[np.int64], NDArray[np.int64], Answers]:
    """A batch of this window alone, as the product takes it."""
    return (
        np.frombuffer(tag(window.meter), dtype=np.uint8)[np.newaxis],
        np.array([window.start]),
        np.array([window.heard]),
        np.array([window.answers]),
    )


def ours(window: Window, outputs: int, depth: int = 1) -> list[list[int]]:
    """words[output][depth] as the product derives them."""
    words = Entropy(NoiseKey(window.key), window.policy).words(*columns(window), outputs)
    first = words.first[0].tolist()
    return [[first[o], *(words.further(0, o, d) for d in range(1, depth))] for o in range(outputs)]


def theirs(window: Window, outputs: int, depth: int = 1) -> list[list[int]]:
    return twin.rows_of_words(twin.words(*window), outputs, depth)


GOLDEN: dict[Window, list[str]] = {
    HOME: [
        "27e9b40f0a677d80 143162cb7226d389 1887f068cbb388f5 f448f5ab39419325",
        "1584972bd45fe9c7 1f074528ab1ceaf8 053c15ae44d0234b 25229d766240a1a6",
        "6f0c76bdb687e452 004628a5c0aa8028 f07c398987ba5ffa 9479669790a65968",
        "28a3121d18a4507a 1865131aa8379c6f 62840eb2a0783c00 62daa9f244deb0e9",
        "9baafdff92e5c140 dedc3a82f8eea204 bdfeaf65c225fa82 d7335a196237b1e3",
        "cb20e249a01fed6a 2754ade6c50e1bd3 954c809ef86ef75c 8659c9411b1d8ddb",
    ],
    EXPORT: [
        "5e4762a77f2edd16 ff56c52869cf3ee4 e014475f8767b650 cb2e0781e8fa0632",
        "d8f04d5ec32655be 91abdfb26ef6f019 0cba5c334e149104 902c9e3a1a725252",
    ],
    FINE: [
        "258ba7b11a595f7e a8becc6acb033bd1 d1a8213e337d5bb0 efe010424a1f67f1",
        "cb712e08c3e8d224 db7b0ca5894eb4e3 c3433939a4d6726a 98473a35e4a081fc",
    ],
}


@pytest.mark.parametrize(("window", "lines"), GOLDEN.items(), ids=["home", "export", "fine"])
def test_golden_words(window: Window, lines: list[str]) -> None:
    """Frozen: another implementation, or the next version of this one, must agree."""
    expected = [int(word, 16) for line in lines for word in line.split()]
    assert [word for (word,) in ours(window, len(expected))] == expected
    assert list(islice(twin.words(*window), len(expected))) == expected


windows = st.builds(
    Window,
    key=st.binary(min_size=32, max_size=32),
    policy=st.binary(min_size=16, max_size=16),
    meter=st.text(st.characters(exclude_categories=["Cs"])),
    start=st.integers(-(2**62), 2**62),
    heard=st.integers(0, 2**31),
    answers=st.lists(st.integers(0, 2**40), min_size=1, max_size=100).map(tuple),
)


@given(windows, st.integers(1, 30), st.integers(1, 5))
def test_words_are_those_of_plain_hashlib(window: Window, outputs: int, depth: int) -> None:
    assert ours(window, outputs, depth) == theirs(window, outputs, depth)


@pytest.mark.parametrize("outputs", [1, 7, 8, 9, 16, 17, 90])
def test_outputs_read_on_across_blocks(outputs: int) -> None:
    assert ours(HOME, outputs, depth=5) == theirs(HOME, outputs, depth=5)


def test_a_batch_gives_each_window_the_words_it_has_alone() -> None:
    others = HOME._replace(meter="m-18"), HOME._replace(heard=3)
    batch = [HOME, *others, HOME._replace(answers=(0, 0, 0, 0)), HOME]
    tags, starts, heard, answers = map(np.concatenate, zip(*map(columns, batch), strict=True))
    words = Entropy(NoiseKey(KEY), POLICY).words(tags, starts, heard, answers, 9)
    assert words.first.tolist() == [[word for (word,) in ours(w, 9)] for w in batch]
    assert [words.further(i, 8, 1) for i in range(5)] == [ours(w, 9, 2)[8][1] for w in batch]


def test_a_batch_of_no_windows_has_no_words() -> None:
    tags, starts, heard, answers = columns(HOME)
    none = Entropy(NoiseKey(KEY), POLICY).words(tags[:0], starts[:0], heard[:0], answers[:0], 3)
    assert none.first.shape == (0, 3)


def test_answers_are_read_as_numbers_however_they_lie_in_memory() -> None:
    tags, starts, heard, answers = columns(HOME)
    crooked = np.repeat(answers, 2, axis=1).astype(">i8")[:, ::2]
    words = Entropy(NoiseKey(KEY), POLICY).words(tags, starts, heard, crooked, 1)
    assert words.first.tolist() == ours(HOME, 1)


CHANGES = {
    "one answer by one level": HOME._replace(answers=(41, 7, 40, 2399)),
    "two answers swapped": HOME._replace(answers=(40, 7, 41, 2400)),
    "start": HOME._replace(start=HOME.start + 1),
    "how many readings it held": HOME._replace(heard=89),
    "meter": HOME._replace(meter="m-18"),
    "policy": HOME._replace(policy=POLICY[:-1] + b"\0"),
    "key": HOME._replace(key=KEY[:-1] + b"\0"),
}
PAIRS = 64
BITS = PAIRS * FIRST_BLOCK * 64


def differences(window: Window, changed: Window) -> list[int]:
    """The words of two windows, bit by bit exclusive, for 64 starts."""
    exclusive = []
    for i in range(PAIRS):
        later = (w._replace(start=w.start + i * 60_000) for w in (window, changed))
        one, other = (ours(w, FIRST_BLOCK) for w in later)
        exclusive += [a ^ b for (a,), (b,) in zip(one, other, strict=True)]
    return exclusive


def is_unrelated(differences: list[int]) -> bool:
    """Whether the bits that differ look like those of independent words.

    Of independent words, each of the 32 768 bits differs with chance 1/2. By Hoeffding, the
    count is off 16 384 by 600 or more with chance at most 2 exp(-2 * 600**2 / 32768) =
    5.8e-10; and one of the 64 bit positions, seen 512 times, is off 256 by 105 or more with
    chance at most 64 * 2 exp(-2 * 105**2 / 512) = 2.6e-17. All 512 differences are distinct
    but for a chance of 512**2 / 2**65 = 7.2e-15. Seven such tests err with chance below 1e-8.
    """
    ones = sum(d.bit_count() for d in differences)
    by_position = [sum(d >> bit & 1 for d in differences) for bit in range(64)]
    return (
        abs(ones - BITS // 2) < 600
        and all(abs(count - 256) < 105 for count in by_position)
        and len(set(differences)) == len(differences)
    )


@pytest.mark.parametrize("change", CHANGES)
def test_a_window_that_differs_in_anything_has_unrelated_words(change: str) -> None:
    assert is_unrelated(differences(HOME, CHANGES[change]))


def test_words_without_the_answers_or_with_the_answers_added_are_not_unrelated() -> None:
    """What the test above must reject: the same noise, and noise moved by the answers."""
    assert not is_unrelated([0] * 512)
    words = [word for i in range(PAIRS) for (word,) in ours(HOME._replace(start=i), FIRST_BLOCK)]
    assert not is_unrelated([word ^ (word + 1) % 2**64 for word in words])
    mask = ours(HOME, 1)[0][0]
    assert not is_unrelated([mask] * 512)


def test_a_tag_tells_meters_apart_whatever_their_names() -> None:
    names = ["m-17", "m-1", "m-17\0", "", "ä", "a\u0308", "x" * 10_000]
    assert len({tag(name) for name in names}) == len(names)
    assert {len(tag(name)) for name in names} == {16}


MECHANISM = TruncatedGeometric(Domain(0, 24000, 10), "0.01")


def release(level: int = 827) -> bytes:
    """What is published of the home's window for 90 queries, values and corrected values."""
    words = Entropy(NoiseKey(HOME.key), HOME.policy).words(*columns(HOME), 90)
    released = MECHANISM.sample(np.full((1, 90), level), words)
    return released.tobytes() + MECHANISM.unbiased(released).tobytes()


def test_a_golden_release() -> None:
    thresholds = noise.thresholds(2400, noise.alpha(10_000_000, Fraction(10)))
    slow = [827 + noise.noise(thresholds, row) for row in theirs(HOME, 90, depth=5)]
    released = np.frombuffer(release(), dtype=np.int64)[:90].tolist()
    assert released == slow
    assert released[:10] == [815, 809, 810, 851, 809, 813, 795, 815, 826, 766]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_gives_the_same_bytes() -> None:
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(ours, release())
        finally:
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "rb") as pipe:
        assert pipe.read() == release()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_another_process_gives_the_same_bytes(hash_seed: str) -> None:
    program = (
        "import sys; from tests.privacy.test_entropy import release; "
        "sys.stdout.buffer.write(release())"
    )
    another = subprocess.run(  # noqa: S603 - this very interpreter
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
    )
    assert another.stdout == release()


SECRET = bytes.fromhex("8badf00dcafebabe" * 4)
SHOWN = ("8badf00d", "8BADF00D", repr(SECRET)[2:10], str(int.from_bytes(SECRET[:4], "big")))


def assert_hidden(text: str) -> None:
    assert not any(shown in text for shown in SHOWN), text


def test_a_key_never_shows_itself() -> None:
    key = NoiseKey(SECRET)
    for shown in (repr(key), str(key), f"{key}", f"{[key]}", repr(Entropy(key, POLICY))):
        assert_hidden(shown)
        assert "NoiseKey(…)" in shown


def test_a_key_file_is_read_as_it_was_written() -> None:
    text = NoiseKey(SECRET).to_hex()
    assert text == "8badf00dcafebabe" * 4 + "\n"
    assert NoiseKey.from_hex(text, "/run/key") == NoiseKey(SECRET)
    assert NoiseKey.from_hex(text.upper(), "/run/key") != NoiseKey(KEY)


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(KeyRefused, match=r"is not 32 bytes long.*meteragent key create") as refused:
        NoiseKey((SECRET * 2)[:length])
    assert refused.value.source == "given"
    assert_hidden("".join(traceback.format_exception(refused.value)))


@pytest.mark.parametrize(
    "text",
    [
        *("", *("8badf00d" * times for times in (1, 7, 9)), "8badf00dcafebabe" * 4 + "0"),
        *("8badf00d" * 7 + end for end in ("8badf00", "8badf00g", "ß")),
        "0x" + "8badf00dcafebabe" * 4,
    ],
)
def test_a_malformed_key_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(
        KeyRefused, match=r"64 hexadecimal digits.*meteragent key create"
    ) as refused:
        NoiseKey.from_hex(text, "/run/key")
    assert refused.value.source == "/run/key"
    assert_hidden("".join(traceback.format_exception(refused.value)))
    assert refused.value.__suppress_context__
    error: BaseException | None = refused.value
    while error is not None:
        assert_hidden(repr(error) + str(error))
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("policy", [b"", b"avg", bytes(15), bytes(17)])
def test_a_policy_digest_of_another_length_is_refused(policy: bytes) -> None:
    with pytest.raises(InvalidSetting, match=r"^policy: is not 16 bytes long; pass the policy's"):
        Entropy(NoiseKey(KEY), policy)


def test_noise_on_two_answers_does_not_reveal_their_difference() -> None:
    """End to end: were the words the same, releases would differ by what answers do."""
    entropy = Entropy(NoiseKey(KEY), POLICY)
    tags = np.tile(np.frombuffer(tag("m-17"), dtype=np.uint8), (200, 1))
    starts, heard = np.arange(200) * 60_000, np.full(200, 6)
    noises = [
        MECHANISM.noise(entropy.words(tags, starts, heard, np.full((200, 4), level), 1))
        for level in (1000, 1001)
    ]
    assert len(np.unique(noises[0] - noises[1])) > 20


def test_a_fingerprint_tells_keys_apart_and_gives_none_away() -> None:
    keys = [NoiseKey(bytes([n]) * 32) for n in range(50)]
    prints = [key.fingerprint for key in keys]
    assert len(set(prints)) == len(prints)
    assert NoiseKey(keys[3].secret).fingerprint == prints[3]
    assert {len(bytes.fromhex(text)) for text in prints} == {8}
    assert not any(text in key.to_hex() for text, key in zip(prints, keys, strict=True))
