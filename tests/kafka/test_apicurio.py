"""Messages as Apicurio's own serializers write them, and schemas as its own interface tells them.

`tests/registry/apicurio/written.txt` is what these serializers, of version 2.6.5, wrote of one
reading; `Written.java` makes it again.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import types
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from meteragent.config import from_document
from meteragent.config.registry import Registry as Settings
from meteragent.errors import ConfigRefused, RegistryRefused
from meteragent.formats.framing import MAGIC, Framing, name_of, told_by_headers
from meteragent.formats.mapping import Mapping as Mapped
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import KINDS, RegisteredDecoder, Schema, SchemasLacking
from meteragent.kafka import apicurio
from meteragent.kafka.apicurio import ApicurioClient
from meteragent.kafka.registry import DEEPEST, MOST_REFERENCES
from meteragent.kafka.schemas import client_of
from meteragent.kafka.subjects import judged
from meteragent.kafka.unpack import unpacker_for
from meteragent.kafka.work import MeterWork
from meteragent.privacy import native
from meteragent.stream.homes import Homes
from tests.batches import Stored, fetched
from tests.given import KEY
from tests.registry.server import GLOBAL, Registry, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from meteragent.config import Config
    from meteragent.stream.readings import Readings

APICURIO = Path(__file__).parent.parent / "registry" / "apicurio"
NOON = 1_763_467_200_000
OF_SCHEMAS = {"avro": 1, "protobuf": 2}


class Told(NamedTuple):
    """A message that Apicurio's serializers wrote."""

    written: str
    framing: str
    value: bytes
    headers: list[tuple[str, bytes]]

    @classmethod
    def of(cls, line: str) -> Told:
        written, framing, value, *headers = line.split(" ")
        pairs = [one.split("=") for one in headers]
        return cls(
            written, framing, bytes.fromhex(value), [(k, bytes.fromhex(v)) for k, v in pairs]
        )

    @property
    def mapping(self) -> Mapped:
        ids = "content" if self.framing == "apicurio-4" else "global"
        return Mapped(written=self.written, framing=self.framing, ids=ids)  # type: ignore[arg-type]


LINES = (APICURIO / "written.txt").read_text().splitlines()
WRITTEN = [*map(Told.of, LINES)]
"""By framing and format."""


@pytest.fixture(params=["v2", "v3"])
def server(request: pytest.FixtureRequest) -> Iterator[Registry]:
    with registry(under=f"/apis/registry/{request.param}") as made:
        schemas = (("avro", "reading.avsc"), ("protobuf", "reading.proto"))
        for written, file in schemas:
            schema = {"schema": (APICURIO / file).read_text(), "schemaType": written.upper()}
            made.store.register(f"readings-{written}", schema)
        yield made


def settings(server: Registry, one: Told) -> Settings:
    ids = one.mapping.ids
    return Settings.model_validate({"url": server.url, "framing": one.framing, "ids": ids})


def read(one: Told, decoder: RegisteredDecoder) -> Readings:
    """As an agent reads it."""
    value: bytes | None = one.value
    if one.headers:
        of_protobuf = one.written == "protobuf"
        value = told_by_headers(value, one.headers, one.mapping.ids, of_protobuf=of_protobuf)
    return decoder.decode([value], [7], [NOON])


@pytest.mark.parametrize("one", WRITTEN, ids=lambda one: f"{one.written}-{one.framing}")
def test_what_apicurios_serializers_write_is_read(server: Registry, one: Told) -> None:
    decoder = message_decoder(one.mapping)
    assert isinstance(decoder, RegisteredDecoder)
    with pytest.raises(SchemasLacking) as lacking:
        read(one, decoder)
    [number] = lacking.value.numbers
    first = 0 if one.mapping.ids == "content" else GLOBAL
    assert number == first + OF_SCHEMAS[one.written]
    client = client_of(settings(server, one), one.mapping.written)
    decoder.learn(number, asyncio.run(client.schema(number)))
    found = read(one, decoder)
    assert ([*found.meters], found.starts.tolist()) == (["m-17"], [NOON])
    assert found.watts.tolist() == [412.5]
    assert found.rejects == []
    assert asyncio.run(client.schema(number + 9)) is None


_HEAD, _NAME = bytes((0, 0, 0, 0, 2)), b"\x09\x0a\x07Reading"
_ONE = next(one for one in WRITTEN if (one.written, one.framing) == ("protobuf", "apicurio-4"))
_BODY = _ONE.value.removeprefix(_HEAD + _NAME)
_PLACE = b"\x02\x02"
"""Of the second message, as `send-indexes` of Apicurio 3 writes it: a path and its length."""


@pytest.mark.parametrize(
    ("framing", "before", "reason"),
    [
        ("apicurio-4", _NAME, None),
        ("confluent", _PLACE, None),
        ("confluent", b"\x02\x00", "wrong_shape"),
        ("apicurio-4", _PLACE, "bad_framing"),
        ("confluent", _NAME, "bad_framing"),
        ("apicurio-4", _NAME + _PLACE, "not_protobuf"),
        ("confluent", _NAME + _PLACE, "bad_framing"),
        ("apicurio-4", b"", "bad_framing"),
    ],
)
def test_names_and_places_of_messages_are_not_taken_for_each_other(
    framing: Framing, before: bytes, reason: str | None
) -> None:
    """Apicurio 3 writes a name, or a place where senders set `send-indexes`, or both, or none."""
    decoder = message_decoder(Mapped(written="protobuf", framing=framing, ids="content"))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(2, Schema("PROTOBUF", (APICURIO / "reading.proto").read_text()))
    found = decoder.decode([_HEAD + before + _BODY], [7], [NOON])
    assert [one.reason for one in found.rejects] == ([reason] if reason else [])
    assert found.watts.tolist() == ([] if reason else [412.5])


def test_all_framings_were_written() -> None:
    assert {(one.written, one.framing) for one in WRITTEN} == {
        (written, framing)
        for written in ("avro", "protobuf")
        for framing in ("apicurio-4", "apicurio-8", "apicurio-headers")
    }


GOOD = [("apicurio.value.globalId", bytes((*bytes(7), 5)))]
TYPE = ("apicurio.protobuf.type", b"Reading")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("apicurio.value.contentId", bytes(8))],
        [("apicurio.value.globalId", None)],
        [("apicurio.value.globalId", bytes(4))],
        [*GOOD, ("apicurio.value.encoding", b"JSON")],
    ],
)
def test_messages_whose_headers_say_no_schema_are_rejected(
    headers: list[tuple[str, bytes | None]],
) -> None:
    """Also where they begin as if they said it themselves."""
    decoder = message_decoder(Mapped(written="avro", framing="apicurio-headers", ids="global"))
    message = told_by_headers(bytes((MAGIC, *bytes(40))), headers, "global", of_protobuf=False)
    found = decoder.decode([message], [7], [NOON])
    assert [one.reason for one in found.rejects] == ["bad_framing"]


def test_headers_are_looked_into_only_where_they_say_the_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The wheel never does: so it is not there."""
    monkeypatch.setattr(native, "wheel", None)
    mapping = Mapped()
    reading = b'{"meter_id":"m-17","ts":%d,"value":412.5}' % NOON
    found = unpacker_for(mapping, message_decoder(mapping)).columns(fetched([Stored(reading, 0)]))
    assert found is not None
    assert (found.watts.tolist(), found.rejects) == ([412.5], [])


def test_headers_stand_before_the_body() -> None:
    told = partial(told_by_headers, ids="global", of_protobuf=False)
    assert told(b"x", GOOD) == bytes((0, *bytes(7), 5)) + b"x"
    assert told(None, GOOD) is None
    assert told(b"", GOOD) == b""
    named = partial(told_by_headers, ids="global", of_protobuf=True)
    assert named(b"x", [*GOOD, TYPE]) == bytes((0, *bytes(7), 5)) + b"\x09\x0a\x07Readingx"
    assert named(b"x", GOOD) == b"\xff"
    long = ("apicurio.protobuf.type", b"R" * 200)
    assert named(b"x", [*GOOD, long]) is not None
    assert name_of((named(b"x", [*GOOD, long]) or b"")[9:]) == ("R" * 200, 205)


@pytest.mark.parametrize("written", ["avro", "protobuf"])
def test_headers_of_records_are_read(server: Registry, written: str, tmp_path: Path) -> None:
    [one] = [t for t in WRITTEN if (t.written, t.framing) == (written, "apicurio-headers")]
    more = {"framing": "apicurio-headers", "ids": "global"}
    work = MeterWork(configured(server, tmp_path, written, more), KEY, Homes("murmur2", 1))
    assert isinstance(work.decoder, RegisteredDecoder)
    schema = (APICURIO / ("reading.avsc" if written == "avro" else "reading.proto")).read_text()
    work.decoder.learn(GLOBAL + OF_SCHEMAS[written], Schema(written.upper(), schema))
    records = [Stored(one.value, 3, NOON, headers=one.headers), Stored(one.value, 4, NOON)]
    found = work.unpacker(0).columns(fetched(records))
    assert found is not None
    assert found.watts.tolist() == [412.5]
    assert [(its.offset, its.reason) for its in found.rejects] == [(4, "bad_framing")]


def of_protobuf(body: bytes) -> list[str]:
    decoder = message_decoder(Mapped(written="protobuf", framing="apicurio-4"))
    assert isinstance(decoder, RegisteredDecoder)
    decoder.learn(1, Schema("PROTOBUF", (APICURIO / "reading.proto").read_text()))
    found = decoder.decode([b"\0\0\0\0\1" + body], [7], [NOON])
    return [one.reason.value for one in found.rejects]


def test_a_message_of_protobuf_says_its_name() -> None:
    body = b"\x0a\x01m\x10\x05\x19" + bytes(8)
    assert of_protobuf(b"\x09\x0a\x07Reading" + body) == []
    for head in (b"", b"\0", b"\x09\x0b\x07Reading", b"\x0a\x0a\x07Reading", b"\x08\x0a\x06Nobody"):
        assert of_protobuf(head + body) == ["bad_framing"]
    assert of_protobuf(b"\x7f\x0a\x7dReading") == ["bad_framing"]


def client(server: Registry, written: str = "avro", ids: str = "content") -> ApicurioClient:
    made = client_of(Settings.model_validate({"url": server.url, "ids": ids}), written)  # type: ignore[arg-type]
    assert isinstance(made, ApicurioClient)
    return made


def test_what_a_schema_refers_to_comes_with_it(server: Registry) -> None:
    keep = server.store.register
    keep("inner", {"schema": "i"})
    middle = {"schema": "m", "references": [{"name": "i", "subject": "inner", "version": 1}]}
    keep("middle", middle)
    refers = [{"name": "m", "subject": "middle", "version": 1}]
    number = keep("outer", {"schema": "o", "references": refers})
    for ids, first in (("content", 0), ("global", GLOBAL)):
        found = asyncio.run(client(server, ids=ids).schema(first + number))
        assert found == Schema("AVRO", "o", {"m": Schema("AVRO", "m", {"i": Schema("AVRO", "i")})})


@pytest.mark.parametrize(
    "references",
    [
        [{"name": "x", "subject": "itself", "version": 1}],
        [{"name": "x", "subject": "nobody", "version": 1}],
        [{"name": str(at), "subject": "leaf", "version": 1} for at in range(200)],
    ],
)
def test_references_without_an_end_are_refused(server: Registry, references: list[Any]) -> None:
    server.store.register("leaf", {"schema": "l"})
    number = server.store.register("itself", {"schema": "s", "references": references})
    with pytest.raises(RegistryRefused, match="does not answer as a registry"):
        asyncio.run(client(server).schema(number))
    assert len(server.behaviour.asked) <= 2 * MOST_REFERENCES + DEEPEST


@pytest.mark.parametrize(
    "body", [b"{", b"{}", b'[{"name": "x"}]', b"[7]", b"\xff", b'[{"artifactId": "x"}]']
)
def test_odd_answers_are_refused(server: Registry, body: bytes) -> None:
    server.behaviour.body = body
    with pytest.raises(RegistryRefused, match="does not answer as a registry"):
        asyncio.run(client(server).schema(1))
    with pytest.raises(RegistryRefused, match="does not answer as a registry"):
        asyncio.run(client(server).entries())


def test_a_schema_may_be_so_long_and_no_longer(
    server: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = server.store.register("long", {"schema": "s" * 100, "references": []})
    monkeypatch.setattr(apicurio, "MOST_BYTES", 100)
    assert asyncio.run(client(server, ids="content").schema(number)) == Schema("AVRO", "s" * 100)
    monkeypatch.setattr(apicurio, "MOST_BYTES", 99)
    with pytest.raises(RegistryRefused, match="does not answer as a registry"):
        asyncio.run(client(server, ids="content").schema(number))


def test_a_path_that_is_not_there_is_no_unknown_schema(server: Registry) -> None:
    server.behaviour.status = 404
    with pytest.raises(RegistryRefused, match="it answers 404"):
        asyncio.run(client(server).schema(1))


def configured(
    server: Registry,
    directory: Path,
    written: str = "avro",
    more: Mapping[str, str] = types.MappingProxyType({}),
    **kafka: Any,  # noqa: ANN401 - settings of any kind
) -> Config:
    (directory / "noise.key").write_text("ab" * 32)
    (directory / "noise.key").chmod(0o600)
    kafka["registry"] = {"url": server.url, "ids": "global", **more}
    policy = {"name": "p", "preset": "appliances", "interval": "15m"}
    return from_document(
        {"agent": {"key_file": "noise.key"}, "input": {"format": written}, "kafka": kafka,
         "policy": [policy]},
        directory,
        {},
    )  # fmt: skip


def test_check_says_that_it_answers(server: Registry, tmp_path: Path) -> None:
    config = configured(server, tmp_path)
    told = asyncio.run(judged(config, message_decoder(config.mapping)))
    assert told == [f"{server.url}: 2 artifacts"]


def test_what_its_interface_does_not_do_is_refused(server: Registry, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"write /apis/ccompat/v7 as its path"):
        configured(server, tmp_path, output_format="avro")
    with pytest.raises(ConfigRefused, match=r"registry.ids: is global, and url is not of"):
        from_document({"kafka": {"registry": {"url": "http://x", "ids": "global"}}}, tmp_path, {})


@pytest.mark.slow
def test_apicurios_serializers_still_write_it(tmp_path: Path) -> None:
    """The whole of it: Maven fetches them, and they register their schemas with our server."""
    for file in ("pom.xml", "Written.java"):
        shutil.copy(APICURIO / file, tmp_path)
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
    fetch = ["mvn", "--quiet", "--batch-mode", plugin, "-DoutputDirectory=jars"]
    subprocess.run(fetch, check=True, cwd=tmp_path, timeout=600)  # noqa: S603
    with registry(under="/apis/registry/v2") as server:
        run = ["java", "-cp", "jars/*", "Written.java", server.url]
        done = subprocess.run(run, check=True, cwd=tmp_path, capture_output=True, text=True)  # noqa: S603
        kept = {one["schemaType"].lower(): one["schema"] for one in server.store.schemas.values()}
    assert json.loads(kept["avro"]) == json.loads((APICURIO / "reading.avsc").read_text())
    assert kept["protobuf"] == (APICURIO / "reading.proto").read_text()
    assert {line.split(" ")[1] for line in done.stdout.splitlines()} == {
        one.framing for one in WRITTEN
    }
    bodies = {(t.written, t.framing): t.value[-18:] for t in map(Told.of, done.stdout.splitlines())}
    assert bodies == {(t.written, t.framing): t.value[-18:] for t in WRITTEN}


def test_every_format_has_its_kind() -> None:
    assert KINDS == {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}
