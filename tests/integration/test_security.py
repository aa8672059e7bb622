"""Every way to connect works from end to end; every refusal is told once, and kept to one try."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from base64 import urlsafe_b64encode
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from meteragent.commands.exit_codes import Exit
from tests.integration.fleet import QUICK, Fleet, reasons
from tests.integration.load import Load, produce
from tests.integration.local_broker import Broker
from tests.integration.oracle import assert_exactly_once
from tests.integration.street import GROUPS, KAFKA, Street, day, soon

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

pytestmark = pytest.mark.integration

OAUTH = (
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="broker";'
)
SUPER = "User:ANONYMOUS;User:admin;User:guest;User:CN=client"
SETTINGS = (
    *("--set", f"super.users={SUPER}"),
    *("--set", "listener.name.sasl_plaintext.scram-sha-256.connections.max.reauth.ms=2000"),
    *("--set", "listener.name.sasl_plaintext.sasl.enabled.mechanisms=SCRAM-SHA-256,OAUTHBEARER"),
    *("--set", f"listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config={OAUTH}"),
)
TLS = 'protocol = "SSL"\nca_file = "{ca}"\n'
CERTIFICATE = 'cert_file = "{client_crt}"\nkey_file = "{client_key}"\n'
SASL_TLS = 'protocol = "SASL_SSL"\nca_file = "{ca}"\n'
SASL = 'protocol = "SASL_PLAINTEXT"\n'
BEARER = 'mechanism = "OAUTHBEARER"\ntoken_file = "{token}"\n'


def password(mechanism: str, user: str = "admin", owner: str = "admin") -> str:
    return (
        f'mechanism = "{mechanism}"\nusername = "{user}"\n'
        f'password_file = "{{{owner}_password_file}}"\n'
    )


SESSIONS = {
    "tls": ("ssl", TLS),
    "mtls": ("mtls", TLS + CERTIFICATE),
    "scram-sha-512": ("sasl_ssl", SASL_TLS + password("SCRAM-SHA-512")),
    "scram-sha-256": ("sasl_plaintext", SASL + password("SCRAM-SHA-256")),
    "plain": ("sasl_ssl", SASL_TLS + password("PLAIN")),
    "oauthbearer": ("sasl_plaintext", SASL + BEARER),
}
"""The listener, and the settings that it takes."""

UNTRUSTED = (
    "its certificate is not trusted (unable to get local issuer certificate); "
    "check kafka.security.ca_file"
)
NO_CERTIFICATE = "TLS was refused; check kafka.security.protocol, cert_file and key_file"
NO_LOGIN = "the login was refused; check kafka.security.username and its password"

REFUSALS = {
    "another authority": ("ssl", TLS.replace("{ca}", "{client_crt}"), UNTRUSTED),
    "no certificate": ("mtls", TLS, NO_CERTIFICATE),
    "no encryption": (
        "ssl",
        "",
        'it speaks TLS; write kafka.security.protocol = "SSL" or "SASL_SSL"',
    ),
    "wrong password": ("sasl_ssl", SASL_TLS + password("SCRAM-SHA-512", owner="guest"), NO_LOGIN),
    "wrong plain password": ("sasl_ssl", SASL_TLS + password("PLAIN", owner="guest"), NO_LOGIN),
    "unknown user": ("sasl_plaintext", SASL + password("SCRAM-SHA-256", "nobody"), NO_LOGIN),
    "stale token": (
        *("sasl_plaintext", SASL + BEARER.replace("{token}", "{stale_token}")),
        "the login was refused; check kafka.security.token_file",
    ),
    "mechanism that is not offered": (
        *("sasl_ssl", SASL_TLS + BEARER),
        "it does not offer this login; check kafka.security.mechanism",
    ),
    "login that nobody asks for": (
        *("bootstrap", SASL + password("PLAIN")),
        "it does not ask for a login; check kafka.security.protocol",
    ),
}
"""The listener, settings that it refuses, and what is said of them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A broker that is choosy, and what opens it."""

    broker: Broker
    told: dict[str, str]

    @property
    def secrets(self) -> list[str]:
        """What nobody may ever read."""
        files = [
            path for name, path in self.told.items() if name.endswith(("password_file", "token"))
        ]
        return [Path(file).read_text().strip() for file in files]

    def refused_logins(self) -> int:
        """How often somebody could not log in."""
        log = self.broker.directory / "broker-1" / "broker.log"
        return log.read_text().count("Failed authentication")

    async def tool(self, *arguments: str) -> None:
        """Run one of Kafka's own tools."""
        done = await asyncio.to_thread(self.broker.run, "tool", *arguments)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A broker with every listener."""
    directory = tmp_path_factory.mktemp("kafka")
    broker = Broker(directory)
    told = broker("start", "--tls", "--sasl", *QUICK, *SETTINGS)
    now = time.time()
    for name, ends in (("token", now + 3600), ("stale_token", now - 3600)):
        told[name] = str(directory / name)
        Path(told[name]).touch(0o600)
        Path(told[name]).write_text(token("admin", ends))
    yield Place(broker, told)
    broker("stop")


def token(user: str, ends: float) -> str:
    """A token as brokers take them that trust everybody's word."""
    claims = {"sub": user, "iat": ends - 7200, "exp": ends}
    parts = ({"alg": "none"}, claims)
    encoded = (urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join((*encoded, ""))


@asynccontextmanager
async def fleet(
    directory: Path, place: Place, listener: str, settings: str
) -> AsyncIterator[Fleet]:
    """A fleet that connects like this, and tells all."""
    security = f'[kafka.security]\n{settings.format_map(place.told)}\n[log]\nlevel = "debug"\n'
    made = Fleet(directory, place.told["bootstrap"], 2, kafka=security, listener=listener)
    made.write()
    try:
        yield made
    finally:
        await made.kill()


@asynccontextmanager
async def counted(address: str) -> AsyncIterator[tuple[str, list[float]]]:
    """An address that leads to another one, and when somebody came."""
    host, _, port = address.rpartition(":")
    came: list[float] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(time.monotonic())
        away_reader, away_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pass_on(reader, away_writer), pass_on(away_reader, writer))

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", came


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while some := await reader.read(65_536):
            writer.write(some)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("session", SESSIONS)
def test_a_session_from_the_first_topic_to_the_last_release(
    tmp_path: Path, place: Place, session: str
) -> None:
    listener, settings = SESSIONS[session]

    async def scenario() -> None:
        async with fleet(tmp_path, place, place.told[listener], settings) as some:
            code, made = await some.command(
                "topics", "create", "--partitions", "2", "--replication", "1"
            )
            assert (code, made.count(": made\n")) == (Exit.OK, 5), made
            code, checked = await some.command("check")
            assert (code, checked.splitlines()[-1]) == (Exit.OK, "brokers and topics: good"), (
                checked
            )
            agent = await some.start()
            load = Load(10, meters=200, partitions=2, steps=9)
            await produce(some.servers, some.config.kafka.input, load, 0)
            await some.all_done()
            await some.stop()
            await assert_exactly_once(some.servers, some.config, some.partitions)
            said = made + checked + agent.log.read_text()
            assert not [secret for secret in place.secrets if secret in said]
            assert not agent.said("partition failed")
            assert not agent.said("agent failed")

    asyncio.run(scenario())


def unwarned(said: str) -> list[str]:
    return [line for line in said.splitlines() if ": warning: " not in line]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_is_told_in_one_line_and_not_tried_again(
    tmp_path: Path, place: Place, refusal: str
) -> None:
    listener, settings, told = REFUSALS[refusal]

    async def scenario() -> None:
        async with (
            counted(place.told[listener]) as (address, came),
            fleet(tmp_path, place, address, settings) as some,
        ):
            for command in ("check", "run"):
                came.clear()
                begun = time.monotonic()
                code, said = await some.command(command)
                assert reasons(said) == [f"kafka.security: {address}: {told}"], said
                assert code == Exit.DENIED
                assert command == "run" or len(unwarned(said)) == 7, said
                assert len(came) == 1
                assert time.monotonic() - begun < 15
                assert not [secret for secret in place.secrets if secret in said]

    asyncio.run(scenario())


@pytest.mark.parametrize(("listener", "settings"), [("bootstrap", TLS), ("sasl_plaintext", "")])
def test_what_may_be_the_network_is_tried_again_ever_more_slowly(
    tmp_path: Path, place: Place, listener: str, settings: str
) -> None:
    async def scenario() -> None:
        async with (
            counted(place.told[listener]) as (address, came),
            fleet(tmp_path, place, address, settings) as some,
        ):
            code, said = await some.command("check")
            assert code == Exit.UNAVAILABLE
            assert said.endswith(
                "does not answer (it closes the connection: check kafka.security.protocol)\n"
            )
            agent = await some.start()
            await agent.becomes("not ready")
            came.clear()
            await asyncio.sleep(6)
            assert 1 <= len(came) <= 5
            assert [f["error"] for f in agent.said("agent failed")] == ["BrokerUnreachable"] * len(
                agent.said("agent failed")
            )
            assert await agent.shows("/readyz") == (503, "not ready\n")
            agent.signal(signal.SIGTERM)
            assert await agent.ended() == Exit.OK

    asyncio.run(scenario())


def test_sessions_that_end_are_begun_anew_until_the_login_is_taken_away(
    tmp_path: Path, place: Place
) -> None:
    """The broker ends every session of two seconds, as those do that ask for the login anew."""
    settings = SASL + password("SCRAM-SHA-256", "guest", "guest")

    async def scenario() -> None:
        async with fleet(tmp_path, place, place.told["sasl_plaintext"], settings) as some:
            assert (await some.command("topics", "create", "--partitions", "2"))[0] == Exit.OK
            agent = await some.start()
            load = Load(11, meters=200, partitions=2, steps=18)
            await produce(some.servers, some.config.kafka.input, load, 10)
            await some.all_done()
            await agent.becomes("ready")
            await assert_exactly_once(some.servers, some.config, some.partitions)

            before = place.refused_logins()
            await place.tool(
                *("configs", "--alter", "--entity-type", "users", "--entity-name", "guest"),
                *("--delete-config", "SCRAM-SHA-256"),
            )
            assert await agent.ended(45) == Exit.DENIED
            assert reasons(agent.log.read_text())[-1].endswith(NO_LOGIN)
            assert 0 < place.refused_logins() - before < 60

    asyncio.run(scenario())


@dataclass(frozen=True, slots=True)
class Rights:
    """Those of a user, as they are changed."""

    place: Place
    user: str

    async def change(self, what: str, operation: str, *of: str) -> None:
        """`--add` or `--remove`."""
        who = ("--allow-principal", f"User:{self.user}")
        await self.place.tool("acls", what, *who, "--operation", operation, *of)

    async def grant(self, operation: str, *topics: str) -> None:
        """On topics."""
        named = [argument for topic in topics for argument in ("--topic", topic)]
        await self.change("--add", operation, *named)


async def hired(directory: Path, place: Place, user: str) -> str:
    """How somebody logs in who has no rights yet."""
    secret = directory / user
    secret.touch(0o600)
    secret.write_text(f"{user}s-own-password")
    await place.tool(
        *("configs", "--alter", "--entity-type", "users", "--entity-name", user),
        *("--add-config", f"SCRAM-SHA-256=[password={user}s-own-password]"),
    )
    return (
        f'mechanism = "SCRAM-SHA-256"\nusername = "{user}"\npassword_file = "{secret}"\n'
        'protocol = "SASL_PLAINTEXT"\n'
    )


def test_rights_that_lack_are_named_before_they_matter_and_when_they_are_taken_away(
    tmp_path: Path, place: Place
) -> None:
    """A user without rights gets some, then all but one, then all; then one is taken again."""

    async def scenario() -> None:
        login = await hired(tmp_path, place, "clerk")
        async with fleet(tmp_path, place, place.told["sasl_plaintext"], login) as some:
            kafka = some.config.kafka
            topics = (kafka.input, kafka.ledger, kafka.output, kafka.rejected, kafka.policies)
            (tmp_path / "admin").mkdir()
            await Fleet(tmp_path / "admin", some.servers, 2, name=some.name).create()

            async def acl(what: str, *arguments: str) -> None:
                await place.tool("acls", what, "--allow-principal", "User:clerk", *arguments)

            async def lacks(*rights: str) -> None:
                code, said = await some.command("check")
                told = f"clerk has no right to {', '.join(rights)}; grant what is missing"
                assert told in said
                assert code == Exit.DENIED

            every = [argument for topic in topics for argument in ("--topic", topic)]
            ids = f"{kafka.group}-{kafka.input}-"
            await lacks(
                *(f"DescribeConfigs on topic {topic}" for topic in topics),
                *(f"Read on topic {topic}" for topic in (kafka.input, kafka.ledger)),
                *(
                    f"Write on topic {topic}"
                    for topic in (kafka.output, kafka.ledger, kafka.rejected, kafka.policies)
                ),
                f"Read on group {kafka.group}",
                f"Write on transactional ids that begin with {ids}",
            )
            operations = ("Read", "Write", "DescribeConfigs")
            await acl("--add", *every, *(a for o in operations for a in ("--operation", o)))
            await acl("--add", "--group", kafka.group, "--operation", "Read")
            await lacks(f"Write on transactional ids that begin with {ids}")
            prefixed = ("--resource-pattern-type", "prefixed", "--transactional-id", ids)
            await acl("--add", *prefixed, "--operation", "Write")
            code, said = await some.command("check")
            assert code == Exit.OK, said

            agent = await some.start()
            await agent.becomes("ready")
            forced = ("--force", "--operation", "Write", "--topic", kafka.output)
            await acl("--remove", *forced)
            await produce(some.servers, kafka.input, Load(12, meters=50, partitions=2, steps=9), 0)
            assert await agent.ended(45) == Exit.DENIED
            told = f"clerk has no right to Write on topic {kafka.output}; grant what is missing"
            assert reasons(agent.log.read_text())[-1].endswith(told)

    asyncio.run(scenario())


def test_rights_on_the_topics_of_groups_are_named_for_each_kind_of_work(
    tmp_path: Path, place: Place
) -> None:
    """Who has what `deploy/agent.toml` lists can run; who may not write partials does not go on."""

    async def scenario() -> None:
        login = await hired(tmp_path, place, "planner")
        (tmp_path / "admin").mkdir()
        owner = Street(tmp_path / "admin", place.told["bootstrap"], 2)
        await owner.prepare()
        async with fleet(tmp_path, place, place.told["sasl_plaintext"], login) as some:
            some.name, some.policies = owner.name, GROUPS
            some.kafka = KAFKA.format(name=owner.name) + some.kafka
            some.write()
            kafka = some.config.kafka
            copies = f"{kafka.groups_output}.research"

            rights = Rights(place, "planner")

            async def lacks(*told: str) -> None:
                code, said = await some.command("check")
                assert code == Exit.DENIED
                assert f"planner has no right to {', '.join(told)}; grant what is missing" in said

            read = (kafka.input, kafka.homes_ledger, kafka.groups)
            write = (kafka.homes_ledger, kafka.rejected, kafka.policies, kafka.partials)
            homes, sums = f"{kafka.group}.homes", f"{kafka.group}.groups"
            ids = f"{homes}-{kafka.input}-", f"{sums}-{kafka.partials}-"
            await lacks(
                *(f"DescribeConfigs on topic {topic}" for topic in dict.fromkeys(read + write)),
                *(f"Read on topic {topic}" for topic in read),
                *(f"Write on topic {topic}" for topic in write),
                f"Read on group {homes}",
                f"Write on transactional ids that begin with {ids[0]}",
            )
            own = (kafka.groups_ledger, kafka.groups_output, copies)
            await rights.grant("DescribeConfigs", *read, *write, *own)
            await rights.grant("Read", *read, kafka.groups_ledger)
            await rights.grant("Write", *write, *own)
            await rights.change("--add", "Read", "--group", homes, "--group", sums)
            named = (argument for one in ids for argument in ("--transactional-id", one))
            await rights.change("--add", "Write", "--resource-pattern-type", "prefixed", *named)
            await lacks(f"Read on topic {kafka.partials}")
            await rights.grant("Read", kafka.partials)
            code, said = await some.command("check")
            assert code == Exit.OK, said

            agent = await some.start()
            await agent.becomes("ready")
            await rights.change("--remove", "Write", "--force", "--topic", kafka.partials)
            await owner.produce(day(soon(), 5))
            assert await agent.ended(45) == Exit.DENIED
            told = f"planner has no right to Write on topic {kafka.partials}; grant what is missing"
            assert reasons(agent.log.read_text())[-1].endswith(told)

    asyncio.run(scenario())
