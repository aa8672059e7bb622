"""Records as meters, gateways, bugs and attackers write them: seeded, and as many as wanted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

MARKER = "s3cr3t-l0ad"
MARKED_WATTS = 7319.0625
NOON = 1_763_424_000_000

NUMBERS = (
    *("0", "-0", "-0.0", "1", "-17", "412.5", "1e3", "2.5E-3", "0.1", "1e-400", "1e308", "1e400"),
    *("-1e400", "NaN", "Infinity", "-Infinity", "1e304", str(2**53 + 1), str(2**63), str(2**64)),
    *(
        str(2**70),
        str(-(2**70)),
        str(10**308),
        str(10**309),
        "9" * 4300,
        "9" * 4301,
        "-" + "9" * 4300,
    ),
    *("01", "+1", "1.", ".5", "1e", "0x10", "1_000", "--1", "nan", "-NaN", "1,5", "\u0661"),
)
STRINGS = (
    *('""', '"W"', '"kW"', '"KW"', '"\\u006bW"', '"w"', '"412.5"', f'"{MARKER}"', '"\\u0000"'),
    *('"\\n"', '"\\t"', '"\\u007f"', '"\\u0085"', '"\x7f"', '"\x85"', '"\\ud83d\\ude00"', '"😀"'),
    *('"\\ud800"', '"\\udc00\\ud800"', '"zähler-7"', '"fuse-3"', '"\\u0066us\\u0065"', '"a\tb"'),
    *(
        f'"{"m" * 128}"',
        f'"{"m" * 129}"',
        f'"{"😀" * 128}"',
        '"{"',
        '"}"',
        '"},{"',
        '"\\""',
        '"\\\\"',
    ),
)
MOMENTS = (
    *("2025-11-18T00:00:00Z", "2025-11-18 00:00:00.5+01:00", "1970-01-01T00:00:00Z"),
    *("1970-01-01T00:59:59+01:00", "1970-01-01T01:00:00+01:00", "9999-12-31T23:59:59.9999Z"),
    *("9999-12-31T23:59:59-00:01", "2024-02-29T12:00:00.0001-23:59", "2023-02-29T12:00:00Z"),
    *(
        "2100-02-29T00:00:00Z",
        "2000-02-29T00:00:00Z",
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
    ),
    *(
        "2025-11-18T24:00:00Z",
        "2025-11-18T00:00:00",
        "2025-11-18",
        "2025-11-18T00:00Z",
        "20251118T000000Z",
    ),
    *(
        "2025-11-18t00:00:00z",
        "2025-11-18T00:00:00,5Z",
        "2025-11-18T00:00:00.Z",
        "2025-W47-2T00:00:00Z",
    ),
    *("2025-11-18T00:00:00+24:00", "2025-11-18T00:00:00+0100", "2025-11-18T00:00:00+01:00:30"),
    *("٢٠٢٥-11-18T00:00:00Z", "2025-11-18T00:00:00Z\\n", " 2025-11-18T00:00:00Z", "1763424000000"),
    *("0001-01-01T00:00:00+23:59", "2025-11-18T00:00:00." + "9" * 30 + "Z", "2025-13-01T00:00:00Z"),
)
TIMES = (
    *("0", "-1", "1", "253402300799999", "253402300800000", "1763424000000.0", "1.7e12"),
    *(str(2**63), str(-(2**63)), *(f'"{moment}"' for moment in MOMENTS)),
)
OTHERS = (
    *(
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[1]",
        '{"a":1}',
        "[[[]]]",
        "[null]",
        "[true]",
        "[1,false]",
    ),
    *('["1"]', "[1,[2]]", "[1,null,2]", "[NaN]", "[1e400]", "[1,2,3]", '[{"value":1}]', "[1,]"),
    *("[" * 198 + "]" * 198, "[" * 199 + "]" * 199, "[" * 200 + "]" * 200, "[" * 201 + "]" * 201),
    *('{"a":' * 10_000, "[" * 10_000, '{"a":' * 150 + "1" + "}" * 150),
)
LITERALS = (*NUMBERS, *STRINGS, *TIMES, *OTHERS)
KEYS = ("meter_id", "ts", "value", "start", "interval_ms", "values", "unit", "extra")
WHOLE = (
    *(
        b"",
        b" ",
        b"{}",
        b"[]",
        b"null",
        b"true",
        b"1",
        b'"x"',
        b"{",
        b"}",
        b",",
        b"[",
        b"]",
        b"{},{}",
    ),
    *(
        b"\xff",
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\x80"}',
        b'{"\xff":1}',
        b"\x00",
        b"{}\x00",
        b"\xef\xbb\xbf{}",
    ),
    *('{"meter_id":"m"}'.encode(encoding) for encoding in ("utf-16", "utf-32")),
)


class Payloads:
    """Draws records; everything that is not good on purpose may carry a marker."""

    def __init__(self, random: Random, *, accounts: bool = True) -> None:
        """`accounts`: whether some name the account whose home it is."""
        self.random = random
        self._accounts = accounts
        self._keys = (*KEYS, "account") if accounts else KEYS
        self._kinds: tuple[Callable[[], bytes | None], ...] = (
            *(self.reading, self.block, self.odd, self.odd, self.mutated, self.mutated),
            *(self.whole, self.doubled, self.half, self.marked),
        )

    def any(self) -> bytes | None:
        return self.random.choice(self._kinds)()

    def good(self) -> bytes:
        return self.random.choice((self.reading, self.block))()

    def reading(self) -> bytes:
        fields: dict[str, object] = {"meter_id": self._meter(), "ts": self._time()}
        fields["value"] = self._watts()
        return self._written(fields)

    def block(self) -> bytes:
        fields: dict[str, object] = {"meter_id": self._meter(), "start": self._time()}
        fields["interval_ms"] = self.random.choice((1, 10_000, 900_000))
        length = self.random.choice((1, 2, 7))
        gaps = self.random.random() < 0.3
        fields["values"] = [
            None if gaps and self.random.random() < 0.3 else self._watts() for _ in range(length)
        ]
        return self._written(fields)

    def odd(self) -> bytes:
        """A record with a field or two replaced, added, repeated or left out."""
        texts = {k: json.dumps(v) for k, v in json.loads(self.good()).items()}
        for _ in range(self.random.choice((1, 1, 2))):
            key = self.random.choice((*texts, *self._keys)) if texts else "extra"
            if self.random.random() < 0.2:
                texts.pop(key, None)
            else:
                texts[key] = self.random.choice(LITERALS)
        pairs = [f'"{key}":{text}' for key, text in texts.items()]
        if self.random.random() < 0.2 and pairs:
            pairs.append(self.random.choice(pairs))
            key = self.random.choice(self._keys)
            pairs.append(f'"{key}":{self.random.choice(LITERALS)}')
        if self.random.random() < 0.1:
            pairs = [pair.replace("u", "\\u0075", 1) for pair in pairs]
        self.random.shuffle(pairs)
        return ("{" + ",".join(pairs) + "}").encode()

    def mutated(self) -> bytes:
        record = bytearray(self.random.choice((self.good, self.odd))()[:2000])
        for _ in range(self.random.choice((1, 1, 1, 2, 5))):
            where = self.random.randrange(len(record) + 1)
            byte = self.random.choice((self.random.randrange(256), *b'{}[],:"\\ 0tfn'))
            change = self.random.randrange(4)
            if change == 0:
                record[where : where + 1] = bytes([byte])
            elif change == 1:
                record.insert(where, byte)
            elif change == 2:
                del record[where : where + self.random.choice((1, 1, 8))]
            else:
                record[where:where] = record[:where][-self.random.randrange(1, 20) :]
        return bytes(record)

    def whole(self) -> bytes | None:
        return self.random.choice((None, *WHOLE))

    def doubled(self) -> bytes:
        between = self.random.choice((b"", b",", b"\n", b" , ", b"],["))
        return self.good() + between + self.good()

    def half(self) -> bytes:
        record = self.good()
        cut = self.random.randrange(len(record) + 1)
        return self.random.choice((record[:cut], record[cut:], b"{" + record[cut:]))

    def marked(self) -> bytes:
        """A bad record with a value and a word that nobody may ever see."""
        fields: dict[str, object] = {"meter_id": MARKER, "ts": NOON, "value": MARKED_WATTS}
        fields[self.random.choice(("meter_id", "ts", "value", "unit"))] = [
            MARKER,
            MARKED_WATTS,
        ]
        record = json.dumps(fields).encode()
        return record[: self.random.choice((None, -1, -20))]

    def _meter(self) -> str:
        return self.random.choice(("m-17", "fuse", "uuu", "zähler-7", f"m-{self._digit()}", "🏠"))

    def _digit(self) -> int:
        return self.random.randrange(10)

    def _time(self) -> object:
        time = NOON + self.random.randrange(10**9)
        return time if self.random.random() < 0.9 else "2025-11-18T00:00:00.25+01:00"

    def _watts(self) -> float:
        return self.random.choice((0, 17, -250.5, round(self.random.random() * 24_000, 1)))

    def _written(self, fields: dict[str, object]) -> bytes:
        if self.random.random() < 0.1:
            fields["unit"] = self.random.choice(("W", "kW"))
        if self._accounts and self.random.random() < 0.1:
            fields["account"] = self._meter()
        if self.random.random() < 0.05:
            fields["extra"] = {"firmware": [1, None, True, {"f": "u"}]}
        style = self.random.randrange(3)
        text = json.dumps(
            fields,
            ensure_ascii=style == 0,
            separators=(",", ":") if style else None,
        )
        return (text if style < 2 else f" {text}\r\n").encode()
