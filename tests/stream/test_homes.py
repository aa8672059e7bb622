"""Where meters are at home: hashes as the clients' own tests have them, and what follows."""

from __future__ import annotations

from unittest.mock import patch
from zlib import crc32

import pytest
from aiokafka import partitioner
from hypothesis import given
from hypothesis import strategies as st

from meteragent.stream.homes import PARTITIONERS, Homes, fitting, fnv1a, murmur2
from meteragent.stream.pipeline import Assigned, Pipeline
from meteragent.stream.readings import Reason
from tests.given import KEY, Record, policy, readings

POSITIVE = 0x7FFFFFFF


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ],
)
def test_murmur2_is_that_of_kafka(key: str, hashed: int) -> None:
    """The numbers stand in Kafka's own UtilsTest."""
    assert murmur2(key.encode()) == hashed & POSITIVE


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        ("kafka", 0xD33C4E1),
        ("giberish123456789", 0x77A58295),
        ("1234", 0x23BDD03),
        ("234", 0x2DEA3CD2),
        ("34", 0x740FA83E),
        ("4", 0x310CA263),
    ],
)
def test_fnv1a_is_that_of_sarama(key: str, hashed: int) -> None:
    """The numbers stand in librdkafka's own unit test, and come from Go."""
    assert fnv1a(key.encode()) == hashed


@given(st.binary())
def test_murmur2_is_that_of_aiokafka(key: bytes) -> None:
    assert murmur2(key) == partitioner.murmur2(key) & POSITIVE


@given(st.text(min_size=1, max_size=20), st.integers(1, 500))
def test_every_meter_has_one_home(meter: str, partitions: int) -> None:
    for name in PARTITIONERS:
        homes = Homes(name, partitions)
        at_home = [p for p in range(partitions) if not homes.astray([meter], p)]
        assert at_home == [homes.of(meter)]
    assert Homes("crc32", partitions).of(meter) == crc32(meter.encode()) % partitions


@pytest.mark.parametrize("way", PARTITIONERS)
def test_the_partitioner_is_known_by_where_meters_are(way: str) -> None:
    meters = [f"m-{number}" for number in range(99)]
    mine = [meter for meter in meters if Homes(way, 3).of(meter) == 2]
    assert fitting(mine, 2, 3) == way
    assert fitting(meters, 2, 3) is None


HOMES = Homes("murmur2", 2)
HERE, THERE = (next(f"m-{n}" for n in range(9) if HOMES.of(f"m-{n}") == p) for p in (0, 1))


def pipeline(*, normalise: bool = False, max_meters: int = 99, prefix: str = "") -> Pipeline:
    """That of partition 0."""
    return Pipeline(
        [Assigned(prefix, "all", policy())],
        KEY,
        max_skew=1000,
        max_meters=max_meters,
        normalise_ids=normalise,
        at_home=lambda meter: HOMES.of(meter) == 0,
    )


def rejected(some: Pipeline, *meters: str) -> list[tuple[int, Reason]]:
    log = [Record(meter, 10**6, 10**6, (1.0,)) for meter in meters]
    [*some.feed(readings(log))]
    return [(reject.offset, reject.reason) for reject in some.counted().rejects]


def test_a_meter_that_is_at_home_elsewhere_is_rejected_and_gets_no_account() -> None:
    some = pipeline()
    assert rejected(some, HERE, THERE, THERE) == [
        (1, Reason.WRONG_PARTITION),
        (2, Reason.WRONG_PARTITION),
    ]
    assert [holding.meters for holding in some.holdings()] == [1]


def test_what_is_wrong_besides_is_said_as_it_was() -> None:
    assert rejected(pipeline(prefix="x"), HERE, THERE) == [
        (0, Reason.NO_POLICY),
        (1, Reason.NO_POLICY),
    ]
    others = [f"m-{n}" for n in range(99) if HOMES.of(f"m-{n}") == 0][:2]
    assert rejected(pipeline(max_meters=1), THERE, *others) == [
        (0, Reason.WRONG_PARTITION),
        (2, Reason.TOO_MANY_METERS),
    ]


def test_all_spellings_of_an_id_have_the_home_of_the_meter_that_they_name() -> None:
    meant = next(f"m-{n}" for n in range(99) if HOMES.of(f"m-{n}") != HOMES.of(f"M-{n}") == 1)
    assert HOMES.of(meant) == 0
    some = pipeline(normalise=True)
    assert rejected(some, meant.upper(), meant) == []
    assert [holding.meters for holding in some.holdings()] == [1]


def test_a_known_meter_is_not_asked_for_again() -> None:
    some = pipeline()
    with patch.object(some._residents, "_astray", return_value=None) as asked:
        for _ in range(3):
            assert rejected(some, HERE, HERE) == []
    asked.assert_called_once_with(HERE)
