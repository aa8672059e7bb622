"""What is written obeys the published schemas, and what is read obeys its own."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from meteragent.formats.encoder import Encoder, reject_document
from meteragent.formats.schema import policy_schema, reading_schema, reject_schema, release_schema
from meteragent.privacy.domain import Domain
from meteragent.privacy.tiers import tier_of
from meteragent.stream.readings import Reason, Reject
from meteragent.stream.releases import Withheld
from tests.formats.payloads import Payloads
from tests.formats.same import decode
from tests.formats.test_encoder import QUERIES, USUAL, asking, asking_together, releases
from tests.stream.test_group_pipeline import FEEDERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from meteragent.privacy.policy import Policy

SCHEMAS = (reading_schema, release_schema, policy_schema, reject_schema)


def obeys(schema: dict[str, Any], document: object) -> bool:
    valid: bool = Draft202012Validator(schema).is_valid(document)
    return valid


def published() -> list[dict[str, Any]]:
    """Releases of every shape."""
    documents = []
    for presence in ("public", "private"):
        for names in (QUERIES, ("avg",)):
            made = releases(asking(*names, presence=presence), 4)
            some = np.array([len(names), 0, 0, len(names) - 1])
            why = [Withheld.NOTHING, Withheld.BUDGET, Withheld.COVERAGE, Withheld.BUDGET]
            documents += Encoder().encode(replace(made, granted=some, withheld=why))
    documents += Encoder().encode(releases(asking("avg", readings="exact"), 1))
    documents += Encoder().encode(releases(asking_together("avg", "max"), 1))
    return [json.loads(document) for document in documents]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_are_schemas(schema: Callable[[], dict[str, Any]]) -> None:
    Draft202012Validator.check_schema(schema())
    json.dumps(schema())


def test_schemas_are_told_apart() -> None:
    assert len({schema()["$id"] for schema in SCHEMAS}) == len(SCHEMAS)


@pytest.mark.parametrize("document", published())
def test_releases_obey_their_schema_and_use_only_its_keys(document: dict[str, Any]) -> None:
    schema = release_schema()
    assert obeys(schema, document)
    assert document.keys() <= schema["properties"].keys()
    assert [key for key in schema["properties"] if key in document] == list(document)


@pytest.mark.parametrize("document", published()[:1] + published()[-1:])
def test_a_release_without_a_required_key_disobeys(document: dict[str, Any]) -> None:
    for key in release_schema()["required"]:
        assert not obeys(release_schema(), {k: v for k, v in document.items() if k != key})


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "meteragent.release/1"},
        {"status": "suppressed"},
        {"status": "partial"},
        {"values": {}},
        {"values": {"avg": "410"}},
        {"values": {"avg": None}},
        {"values": {"mean": 410.0}},
        {"values": {"p100": 410.0}},
        {"values": {"reading": []}},
        {"epsilon": {"avg": 0.004}},
        {"epsilon": {"avg": "4e-3"}},
        {"unit": "kW"},
        {"policy": "x"},
        {"withheld": ""},
        {"withheld": "late"},
        {"readings": -1},
        {"readings": "many"},
        {"window_start": 0.5},
    ],
)
def test_a_spoilt_release_disobeys(changes: dict[str, Any]) -> None:
    good = published()[0]
    assert obeys(release_schema(), good)
    assert not obeys(release_schema(), good | changes)


def test_a_suppressed_release_holds_nothing_and_says_why() -> None:
    suppressed = published()[1]
    assert suppressed["status"] == "suppressed"
    assert obeys(release_schema(), suppressed)
    assert not obeys(release_schema(), suppressed | {"values": {"avg": 1.0}})
    assert not obeys(release_schema(), {k: v for k, v in suppressed.items() if k != "withheld"})
    assert not obeys(release_schema(), suppressed | {"readings": "some", "slots": 4})
    groups = {key: value for key, value in suppressed.items() if key != "meter_id"}
    assert obeys(release_schema(), groups | {"group_id": "f-1", "homes": 12})
    assert not obeys(release_schema(), groups | {"group_id": "f-1"})
    assert not obeys(release_schema(), suppressed | {"group_id": "f-1", "homes": 12})


COARSE = replace(asking("avg"), domain=Domain(0, 1000, 10))


@pytest.mark.parametrize(
    "rules",
    [
        replace(USUAL, readings="exact"),
        replace(USUAL, readings="none", on_exhausted="partial", grace=5, fill_limit=10_000),
        asking(*QUERIES, presence="private"),
        asking_together("avg", "p95"),
        replace(USUAL, domain=Domain(0, 1000, 10, "0.1")),
        FEEDERS,
        tier_of(tier_of(COARSE, "research", 2_000_000), "public", 1_000_000),
    ],
)
def test_policies_obey_their_schema(rules: Policy) -> None:
    document = json.loads(json.dumps(rules.document()))
    schema = policy_schema()
    assert obeys(schema, document)
    optional = {"readings", "noise", "queries", "order", "fill", "fill_limit_ms", "resolution"}
    optional |= {"window", "timezone", "utc_offsets_ms", "offset_ms", "homes", "tier", "unit"}
    assert schema["properties"].keys() - document.keys() <= optional
    for key in schema["properties"]:
        without = {k: v for k, v in document.items() if k != key}
        unneeded = key not in document or key in {
            "readings",
            "order",
            "resolution",
            "homes",
            "tier",
        }
        assert obeys(schema, without) == unneeded
        assert not obeys(schema, document | {key: [None]})


@pytest.mark.parametrize("reason", Reason)
def test_rejects_obey_their_schema(reason: Reason) -> None:
    document = json.loads(reject_document("meter.readings", 0, Reject(0, reason)))
    assert obeys(reject_schema(), document)
    assert document.keys() == reject_schema()["properties"].keys()
    assert not obeys(reject_schema(), document | {"reason": "because"})


def test_what_is_decoded_obeys_the_published_schema() -> None:
    payloads = Payloads(Random(11))
    records = [
        payload for payload in (payloads.odd() for _ in range(6_000)) if len(payload) < 4_000
    ]
    validator = Draft202012Validator(reading_schema())
    bad = {reject.offset for reject in decode(records).rejects}
    accepted = [record for i, record in enumerate(records) if 41 + 3 * i not in bad]
    assert len(accepted) > 500
    for record in accepted:
        assert validator.is_valid(json.loads(record))


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"meter_id": "m", "ts": 1},
        {"meter_id": "m", "ts": "noon", "value": 1},
        {"meter_id": "m", "ts": 1, "value": None},
        {"meter_id": "m", "ts": 1, "value": 1, "unit": "V"},
        {"meter_id": "", "ts": 1, "value": 1},
        {"meter_id": "a\tb", "ts": 1, "value": 1},
        {"meter_id": "m", "start": 1, "interval_ms": 0, "values": [1]},
        {"meter_id": "m", "start": 1, "interval_ms": 1, "values": []},
        {"meter_id": "m", "start": 1, "interval_ms": 1, "values": ["1"]},
        {"meter_id": "m", "start": 1, "interval_ms": 1, "values": [1], "value": 2},
    ],
)
def test_the_published_schema_turns_away_what_the_decoder_does(record: dict[str, Any]) -> None:
    assert not obeys(reading_schema(), record)
    assert len(decode([json.dumps(record).encode()]).rejects) == 1


def test_schemas_are_fresh_each_time() -> None:
    for schema in SCHEMAS:
        first = schema()
        kept = copy.deepcopy(first)
        first["properties" if "properties" in first else "anyOf"] = None
        assert schema() == kept
