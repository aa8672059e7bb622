"""A registry is asked in time, over TLS and with a password; whatever it answers, nothing hangs."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
import tomllib
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from meteragent.config import from_document
from meteragent.config.registry import Registry as Settings
from meteragent.config.works import Work, works
from meteragent.errors import InvalidSetting, MeterAgentError, RegistryRefused, RegistryUnreachable
from meteragent.formats.avro_encoder import AvroEncoder
from meteragent.formats.encoder import Encoder
from meteragent.formats.mapping import Mapping
from meteragent.formats.messages import message_decoder
from meteragent.formats.registered import RegisteredDecoder, Schema, SchemasLacking
from meteragent.kafka import asked, schemas
from meteragent.kafka import registry as asking
from meteragent.kafka.registry import RegistryClient
from meteragent.kafka.schemas import Schemas, Wanted
from meteragent.kafka.subjects import release_encoder
from meteragent.watch.events import Occurrence, SchemasAwaited
from tests.registry.server import Registry, Store, registry

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from pathlib import Path

SCHEMA = Schema("JSON", "{}")


@pytest.fixture
def server() -> Iterator[Registry]:
    with registry() as made:
        yield made


def client(server: Registry, **settings: Any) -> RegistryClient:  # noqa: ANN401 - of any kind
    return RegistryClient(Settings.model_validate({"url": server.url, **settings}))


def run(work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - whatever comes of it
    return asyncio.run(work)


def refused(kind: type[MeterAgentError], made: RegistryClient) -> str:
    with pytest.raises(kind) as found:
        run(made.schema(1))
    return str(found.value)


def test_schemas_are_registered_once_and_told(server: Registry) -> None:
    made = client(server)
    first = run(made.registered("a/b c-value", SCHEMA))
    assert run(made.registered("a/b c-value", SCHEMA)) == first
    assert sum("versions" in path for path in server.behaviour.asked) == 1
    assert run(made.registered("other", SCHEMA)) == first
    assert run(made.schema(first)) == SCHEMA
    assert run(made.latest("a/b c-value")) == (first, SCHEMA)
    assert run(made.subjects()) == ["a/b c-value", "other"]
    assert run(made.schema(99)) is None
    with pytest.raises(RegistryRefused):
        run(made.latest("nobody's"))


def test_a_path_before_it_is_kept(server: Registry) -> None:
    made = client(server, url=f"{server.url}/apis/ccompat/v7/")
    assert "it answers 404" in refused(RegistryRefused, made)
    assert server.behaviour.asked == ["/apis/ccompat/v7/schemas/ids/1"]


def test_what_a_schema_refers_to_comes_with_it(server: Registry) -> None:
    keep = server.store.register
    keep("inner", {"schema": "i", "schemaType": "PROTOBUF"})
    refers = [{"name": "in.proto", "subject": "inner", "version": 1}]
    outer = keep("outer", {"schema": "o", "schemaType": "PROTOBUF", "references": refers})
    made = RegistryClient(Settings(url=server.url), serialized=True)
    expected = Schema("PROTOBUF", "o", {"in.proto": Schema("PROTOBUF", "i")})
    assert run(made.schema(outer)) == expected
    assert all(path.endswith("?format=serialized") for path in server.behaviour.asked)


@pytest.mark.parametrize(
    "references",
    [
        [{"name": "x", "subject": "itself", "version": 1}],
        [{"name": "x", "subject": "nobody", "version": 1}],
        [{"name": "x"}],
        ["x"],
        [{"name": str(at), "subject": "leaf", "version": 1} for at in range(200)],
    ],
)
def test_references_without_an_end_are_refused(server: Registry, references: list[Any]) -> None:
    server.store.register("leaf", {"schema": "l"})
    number = server.store.register("itself", {"schema": "s", "references": references})
    with pytest.raises(RegistryRefused, match="does not answer as a registry"):
        run(client(server).schema(number))
    assert len(server.behaviour.asked) < 120


@pytest.mark.parametrize("long", [asking.DEEPEST - 1, asking.DEEPEST])
def test_references_are_followed_so_deep_and_no_deeper(server: Registry, long: int) -> None:
    server.store.register("0", {"schema": "s"})
    for at in range(long):
        refers = [{"name": "x", "subject": str(at), "version": 1}]
        number = server.store.register(str(at + 1), {"schema": f"s{at}", "references": refers})
    if long < asking.DEEPEST:
        assert run(client(server).schema(number)) is not None
        return
    with pytest.raises(RegistryRefused, match="does not answer as a registry"):
        run(client(server).schema(number))


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (200, b"{", RegistryRefused, "not answer as a registry"),
        (200, b"[]", RegistryRefused, "not answer as a registry"),
        (200, b"{}", RegistryRefused, "not answer as a registry"),
        (200, b'{"schema":1}', RegistryRefused, "not answer as a registry"),
        (200, b'{"schema":"x","schemaType":7}', RegistryRefused, "not answer as a registry"),
        (200, b" " * (asked.MOST_BYTES + 9), RegistryRefused, "not answer as a registry"),
        (302, b"", RegistryRefused, "it answers 302"),
        (404, b"not here", RegistryRefused, "it answers 404"),
        (403, b"", RegistryRefused, "the login was refused"),
        (429, b"", RegistryUnreachable, "it answers 429"),
        (500, b"", RegistryUnreachable, "it answers 500"),
        (503, b"secret", RegistryUnreachable, "it answers 503"),
    ],
)
def test_whatever_it_answers_is_told_in_words_of_ours(
    server: Registry, status: int, body: bytes, kind: type[MeterAgentError], words: str
) -> None:
    server.behaviour.status, server.behaviour.body = status, body
    said = refused(kind, client(server))
    assert words in said
    assert "secret" not in said
    assert kind.retriable == (kind is RegistryUnreachable)


def test_odd_answers_to_other_questions_are_refused(server: Registry) -> None:
    server.behaviour.body = b'{"id":"x"}'
    for work in (client(server).subjects(), client(server).registered("s", SCHEMA)):
        with pytest.raises(RegistryRefused):
            run(work)
    server.behaviour.status = 404
    server.behaviour.body = b'{"error_code":40401}'
    with pytest.raises(RegistryRefused):
        run(client(server).registered("s", SCHEMA))


def test_a_password_is_shown_and_read_anew(server: Registry, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("wrong\n")
    file.chmod(0o600)
    server.behaviour.login = "agent:right"
    made = client(server, username="agent", password_file=str(file))
    assert "check username and its password" in refused(RegistryRefused, made)
    file.write_text("right\n")
    assert run(made.schema(1)) is None


def test_who_does_not_answer_in_time_is_given_up(server: Registry) -> None:
    for harm in ("seconds", "drip"):
        setattr(server.behaviour, harm, 3.0 if harm == "seconds" else True)
        begun = time.monotonic()
        assert "TimeoutError" in refused(
            RegistryUnreachable, client(server, request_timeout="200ms")
        )
        assert time.monotonic() - begun < 2.5
        server.behaviour.seconds = 0.0


def test_who_is_not_there_is_not_reached(server: Registry) -> None:
    made = client(server)
    server.kill()
    assert "ConnectionRefusedError" in refused(RegistryUnreachable, made)
    assert refused(RegistryUnreachable, client(server, url="http://no.such.host.invalid"))


@pytest.fixture(scope="session")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server's certificate and a client's, each signed by itself."""
    directory = tmp_path_factory.mktemp("papers")
    for name in ("server", "client"):
        make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
        words = [*make.split(), "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
        files = ["-keyout", str(directory / f"{name}.key"), "-out", str(directory / f"{name}.pem")]
        subprocess.run(["openssl", *words, *files], check=True, capture_output=True)  # noqa: S603, S607
    return directory


def test_tls_is_spoken_with_whom_is_trusted_and_a_certificate_shown(papers: Path) -> None:
    pem, key = papers / "server.pem", papers / "server.key"
    mine = {"cert_file": papers / "client.pem", "key_file": papers / "client.key"}
    with registry(certificate=(pem, key), authority=papers / "client.pem") as server:
        assert run(client(server, ca_file=pem, **mine).schema(1)) is None
        assert "certificate is not trusted" in refused(RegistryRefused, client(server))
        assert refused(MeterAgentError, client(server, ca_file=pem))
        missing = client(server, ca_file=papers / "none.pem")
        assert "FileNotFoundError" in refused(RegistryUnreachable, missing)
        plain = client(server, url=server.url.replace("https", "http"))
        assert refused(RegistryUnreachable, plain)
    with registry() as server:
        tls = client(server, url=server.url.replace("http", "https"), request_timeout="1s")
        assert refused(MeterAgentError, tls)


class Told(list[Occurrence]):
    __call__ = list.append


def learning(
    server: Registry,
    **settings: Any,  # noqa: ANN401 - of any kind
) -> tuple[Schemas, RegisteredDecoder, Told]:
    made = message_decoder(Mapping(written="json-schema"))
    assert isinstance(made, RegisteredDecoder)
    told = Told()
    rules = Settings.model_validate({"url": server.url, **settings})
    return Schemas(rules, RegistryClient(rules), made, told), made, told


def in_a_hurry(monkeypatch: pytest.MonkeyPatch, first: float, unknown: float = 60.0) -> None:
    """Ask again after so long, and take what is unknown for known to be so for so long."""
    monkeypatch.setattr(schemas, "FIRST_RETRY_SECONDS", first)
    monkeypatch.setattr(schemas, "UNKNOWN_SECONDS", unknown)


def lacking(*numbers: int) -> SchemasLacking:
    return SchemasLacking(frozenset(numbers))


def test_what_is_known_is_not_asked_for_again(server: Registry) -> None:
    server.store.register("a", {"schema": "{}", "schemaType": "JSON"})
    known, decoder, told = learning(server)

    async def scenario() -> None:
        await asyncio.gather(known.learn(0, lacking(1)), known.learn(1, lacking(1)))
        await known.learn(0, lacking(1))

    run(scenario())
    assert decoder.reads(1)
    assert server.behaviour.asked == ["/schemas/ids/1"]
    assert told == []


def test_a_cache_keeps_the_last_ones_and_all_that_a_batch_needs(server: Registry) -> None:
    for at in range(6):
        server.store.register("a", {"schema": f'{{"title":"{at}"}}', "schemaType": "JSON"})
    known, decoder, _ = learning(server, cache=2)

    async def scenario() -> list[set[int]]:
        kept = []
        for numbers in ((1,), (2,), (1, 3), (4, 5, 6), (1,)):
            await known.learn(0, lacking(*numbers))
            assert all(map(decoder.knows, numbers))
            known.taken(0)
            kept.append({at for at in range(1, 7) if decoder.knows(at)})
        return kept

    assert run(scenario()) == [{1}, {1, 2}, {1, 3}, {5, 6}, {6, 1}]


def test_what_a_batch_needs_is_not_forgotten_for_the_sake_of_another(server: Registry) -> None:
    for at in range(4):
        server.store.register("a", {"schema": f'{{"title":"{at}"}}', "schemaType": "JSON"})
    known, decoder, _ = learning(server, cache=1)

    async def scenario() -> None:
        await known.learn(0, lacking(1, 2))
        await known.learn(1, lacking(3, 4))
        assert all(map(decoder.knows, (1, 2, 3, 4)))
        known.taken(0)
        assert [at for at in (1, 2, 3, 4) if decoder.knows(at)] == [3, 4]
        known.taken(1)
        assert [at for at in (1, 2, 3, 4) if decoder.knows(at)] == [4]

    run(scenario())


def test_who_waits_tries_again_until_it_is_there(
    server: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_hurry(monkeypatch, 0.01)
    known, decoder, told = learning(server)
    clock = time.monotonic
    wanted = Wanted(clock)

    async def scenario() -> None:
        assert wanted.seconds == 0.0
        wanted.begin(partial(known.learn, 3, lacking(1)), told_of_failure, partial(known.taken, 3))
        for _ in range(200):
            await asyncio.sleep(0.01)
            if len(told) > 2:
                break
        assert wanted.waits
        assert wanted.seconds > 0
        assert not wanted.stands_still
        server.store.register("a", {"schema": "{}", "schemaType": "JSON"})
        for _ in range(500):
            await asyncio.sleep(0.01)
            if decoder.reads(1):
                break
        await asyncio.sleep(0.01)
        assert wanted.seconds == 0.0
        wanted.end()
        wanted.end()

    def told_of_failure(error: Exception) -> None:
        raise AssertionError from error

    run(scenario())
    assert decoder.reads(1)
    events = [event for event in told if isinstance(event, SchemasAwaited)]
    assert [event.partition for event in events] == [3] * len(told)
    assert events[1].retry_in == 2 * events[0].retry_in


def test_who_does_not_wait_rejects_for_a_while(
    server: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_hurry(monkeypatch, 0.01, 0.05)
    known, decoder, told = learning(server, unknown="reject")

    async def scenario() -> None:
        await known.learn(0, lacking(1))
        assert decoder.knows(1)
        assert not decoder.reads(1)
        assert [event.retry_in for event in told if isinstance(event, SchemasAwaited)] == [0.0]
        server.kill()
        await known.learn(0, lacking(2))
        assert decoder.knows(2)
        assert len(told) == 1 + schemas.TRIES
        await asyncio.sleep(0.1)
        assert not decoder.knows(1)
        assert decoder.knows(2)  # its batch was not taken yet
        known.taken(0)
        assert not decoder.knows(2)

    run(scenario())


def test_a_batch_is_rejected_however_long_its_schemas_are_asked_for(
    server: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of them was unknown for long enough before the last one is."""
    in_a_hurry(monkeypatch, 0.02, 0.01)
    known, decoder, told = learning(server, unknown="reject")
    server.kill()

    async def scenario() -> None:
        await known.learn(0, lacking(*range(1, 5)))
        assert all(map(decoder.knows, range(1, 5)))
        assert len(told) == 4 * schemas.TRIES
        await asyncio.sleep(0.05)
        assert all(map(decoder.knows, range(1, 5)))
        known.taken(0)
        assert not any(map(decoder.knows, range(1, 5)))

    run(scenario())


def test_a_failure_that_nobody_reckons_with_is_told() -> None:
    wanted = Wanted(time.monotonic)
    found: list[Exception] = []

    async def broken() -> None:
        await asyncio.sleep(0)
        raise LookupError

    async def scenario() -> None:
        wanted.begin(broken, found.append, found.clear)
        for _ in range(10):
            await asyncio.sleep(0)
        assert not wanted.waits

    run(scenario())
    assert [type(error) for error in found] == [LookupError]


def test_who_is_told_at_once_to_wait_no_longer_leaves_nothing_behind(server: Registry) -> None:
    """Not even a coroutine that nobody awaited: this run would fail of its warning."""
    known, decoder, told = learning(server)
    wanted = Wanted(time.monotonic)
    failures: list[Exception] = []

    async def scenario() -> None:
        wanted.begin(partial(known.learn, 3, lacking(1)), failures.append, partial(known.taken, 3))
        wanted.end()
        await asyncio.sleep(0)

    run(scenario())
    gc.collect()
    assert not told
    assert not failures
    assert not decoder.knows(1)


def test_a_store_outlives_its_server() -> None:
    store = Store()
    with registry(store=store) as server:
        number = run(client(server).registered("a", SCHEMA))
    with registry(store=store) as server:
        assert run(client(server).schema(number)) == SCHEMA


GROUPS = """
[agent]
key_file = "noise.key"
[kafka]
output_format = "avro"
[kafka.registry]
url = "{url}"
[budget]
amount = "100"
radius = "100W"
groups = "50"
[[policy]]
name = "homes"
window = "30m"
interval = "15m"
maximum = "24kW"
epsilon = "1"
radius = "100W"
share = "48"
[[policy.tier]]
name = "research"
epsilon = "0.5"
[[group]]
name = "feeders"
window = "30m"
interval = "15m"
maximum = "24kW"
home_maximum = "24kW"
epsilon = "1"
radius = "100W"
min_homes = 2
[[group.tier]]
name = "public"
epsilon = "0.5"
"""


def test_who_lacks_what_writes_avro_is_told_what_to_install(
    server: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = from_document(tomllib.loads(GROUPS.format(url=server.url)), tmp_path, {})
    monkeypatch.setitem(sys.modules, "meteragent.formats.avro_encoder", None)
    with pytest.raises(InvalidSetting, match=r"install 'meteragent\[registry\]'") as refused:
        run(release_encoder(config))
    assert "kafka.output_format" in str(refused.value)
    assert not server.store.subjects


def test_groups_and_tiers_are_written_in_avro_too(server: Registry, tmp_path: Path) -> None:
    """Each kind of work registers what it writes; who reads homes for groups writes nothing."""
    config = from_document(tomllib.loads(GROUPS.format(url=server.url)), tmp_path, {})
    made = {work: run(release_encoder(own)) for work, own in works(config).items()}
    assert {work: type(encoder) for work, encoder in made.items()} == {
        Work.METERS: AvroEncoder, Work.HOMES: Encoder, Work.GROUPS: AvroEncoder
    }  # fmt: skip
    written = [config.kafka.output, f"{config.kafka.output}.research"]
    written += [config.kafka.groups_output, f"{config.kafka.groups_output}.public"]
    assert server.store.subjects == {f"{topic}-value": [1] for topic in written}
