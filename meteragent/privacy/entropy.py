"""Keyed words per window: the only randomness of a release, and the same on every retry.

The words of a window are BLAKE2b over everything that identifies it *and its exact answers*, so
that a crash, a rebalance or a second instance computes the very same release (no second
draw on one secret), while any other answer gives unrelated noise (equal noise on two
answers would give their difference away). How many readings it held enters too: else a window
that is computed again with a late reading would tell whether that reading changed an answer.
These are few numbers, however long a window is. Claim 7 in `mechanism.md`.

Wire form, so that another implementation can reproduce a release. Block `b` of a window is

    BLAKE2b-512(key    = the noise key, 32 bytes,
                salt   = b as 16 bytes, little endian,
                person = the policy's digest, 16 bytes,
                input  = kind || tag(name) || window start || heard || answers)

    kind     what is named, 1 byte: "m" for a meter, "g" for a group of homes, "t" for either, as a
             tier is told of it, whose digest is that of the tier
    tag      BLAKE2b-128 of its id in UTF-8, 16 bytes
    start    milliseconds since the epoch, 8 bytes, signed, little endian
    heard    how many slots of the window a reading came for, 8 bytes, signed, little endian; 0
             where presence is private
    answers  the exact level that each query of the policy has for the window, paid for or not,
             in their order, 8 bytes each, signed, little endian; a query that answers slot by
             slot has one for each

and its eight 64-bit words, little endian, are words `8b .. 8b+7` of the window. With `q`
outputs in a release, output `o` reads the words `o, o + q, o + 2q, …`. Where all answers share
one draw, the first of the outputs is its radius, and the answers are those behind it.
"""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from meteragent.errors import InvalidSetting, KeyRefused
from meteragent.privacy.query import Answers

KEY_BYTES = 32
LEAST_DIFFERENT = 8
"""Bytes of a key; of random keys, fewer than one in 10^36 holds less."""
TAG_BYTES = 16
METER, GROUP = b"m", b"g"
TIER = b"t"
"""The kinds of what has a window: so that no two kinds of one name share their noise."""
POLICY_BYTES = blake2b.PERSON_SIZE
WORDS_PER_BLOCK = 8
_BLOCK_BYTES = 64

Tags = NDArray[np.uint8]
"""tags[meter, byte]"""


@dataclass(frozen=True, slots=True)
class NoiseKey:
    """The secret that noise is derived from; it never shows itself."""

    secret: bytes

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise KeyRefused(
                "given", f"is not {KEY_BYTES} bytes long", "make one with `meteragent key create`"
            )

    def __repr__(self) -> str:
        return "NoiseKey(…)"

    @classmethod
    def from_hex(cls, text: str, source: str) -> "NoiseKey":
        """Read the 64 hexadecimal digits that a key file or a credential holds."""
        try:
            key = cls(bytes.fromhex(text))
        except (ValueError, KeyRefused):
            # Not chained: a cause's message might quote what it could not read.
            raise KeyRefused(
                source,
                f"does not hold {2 * KEY_BYTES} hexadecimal digits",
                "make one with `meteragent key create`",
            ) from None
        if len(set(key.secret)) < LEAST_DIFFERENT:
            raise KeyRefused(
                source,
                "is clearly not random: it could be guessed, and all noise removed",
                "make one with `meteragent key create`",
            )
        return key

    @property
    def fingerprint(self) -> str:
        """Tells keys apart and gives none away: of another length and purpose than noise."""
        return blake2b(key=self.secret, person=b"fingerprint", digest_size=8).hexdigest()

    def to_hex(self) -> str:
        """The text of a key file."""
        return self.secret.hex() + "\n"


def pseudonym(key: NoiseKey, policy: str, name: str, meter_id: str) -> str:
    """What a meter is called in the releases of one policy, by its id and the name it goes by.

    Postcondition: under another policy, name or key it is called otherwise, and nobody without the
    key can tell which of both are one meter, as far as BLAKE2b is a pseudorandom function.
    """
    return blake2b(
        f"{name}\0{meter_id}".encode(),
        key=key.secret,
        salt=bytes.fromhex(policy),
        person=b"pseudonym",
        digest_size=TAG_BYTES,
    ).hexdigest()


def tag(meter_id: str) -> bytes:
    """A meter's name, of fixed length."""
    return blake2b(meter_id.encode(), digest_size=TAG_BYTES).digest()


class WindowWords:
    """The words of a batch of windows; all but the first few are derived on demand."""

    def __init__(self, key: NoiseKey, policy: bytes, rows: list[bytes], outputs: int) -> None:
        self._key = key
        self._policy = policy
        self._rows = rows
        self._outputs = outputs
        blocks = -(-outputs // WORDS_PER_BLOCK)
        words = np.concatenate([self._block(b) for b in range(blocks)], axis=1)
        self.first = words[:, :outputs]

    def further(self, window: int, output: int, depth: int) -> int:
        """The word at `depth` of one output's row."""
        block, word = divmod(output + depth * self._outputs, WORDS_PER_BLOCK)
        hashed = self._keyed(block)
        hashed.update(self._rows[window])
        return int.from_bytes(hashed.digest()[8 * word : 8 * word + 8], "little")

    def _block(self, block: int) -> NDArray[np.uint64]:
        begun, digests = self._keyed(block).copy, []
        for row in self._rows:
            hashed = begun()
            hashed.update(row)
            digests.append(hashed.digest())
        return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, WORDS_PER_BLOCK)

    def _keyed(self, block: int) -> blake2b:
        return blake2b(
            key=self._key.secret,
            salt=block.to_bytes(blake2b.SALT_SIZE, "little"),
            person=self._policy,
            digest_size=_BLOCK_BYTES,
        )


@dataclass(frozen=True, slots=True)
class Entropy:
    """Derives the words of windows under one key and one policy digest (16 bytes)."""

    key: NoiseKey
    policy: bytes
    kind: bytes = METER

    def __post_init__(self) -> None:
        # A shorter one would be padded, and two policies could share their noise.
        if len(self.policy) != POLICY_BYTES:
            raise InvalidSetting(
                "policy", f"is not {POLICY_BYTES} bytes long", "pass the policy's digest"
            )

    def words(
        self,
        tags: Tags,
        starts: NDArray[np.int64],
        heard: NDArray[np.int64],
        answers: Answers,
        outputs: int,
    ) -> WindowWords:
        """Words for `answers[window, query]`, windows named by tag and start.

        Postcondition: a function of key, policy, kind, tag, start, heard and answers alone; two
        windows that differ in any of them get independent words, as far as BLAKE2b is a
        pseudorandom function.
        """
        named = len(self.kind) + TAG_BYTES
        numbers = np.concatenate([np.stack([starts, heard], axis=1), answers], axis=1)
        message = np.empty((len(answers), named + 8 * numbers.shape[1]), dtype=np.uint8)
        message[:, : len(self.kind)] = np.frombuffer(self.kind, dtype=np.uint8)
        message[:, len(self.kind) : named] = tags
        message[:, named:] = _bytes(numbers)
        flat, length = message.tobytes(), message.shape[1]
        rows = [flat[i : i + length] for i in range(0, len(flat), length)]
        return WindowWords(self.key, self.policy, rows, outputs)


def _bytes(numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8)
