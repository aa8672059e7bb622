"""How to connect to Kafka as the configuration says, and how to let go of a client."""

import asyncio
import ssl
from asyncio import IncompleteReadError
from collections.abc import Coroutine, Iterator
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import create_conn
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from meteragent.config.kafka import Kafka, Security
from meteragent.errors import BrokerRefused, BrokerUnreachable
from meteragent.kafka.fetch import InputConsumer

BATCH_BYTES = 256 * 1024  # larger ones are no faster, and stay far below a topic's limit
FETCH_BYTES = 1024 * 1024
RETRY_MS = 20
METADATA_MS = 30_000  # new partitions of the input are noticed within this time
CLOSE_SECONDS = 3.0

Options = dict[str, Any]


LOGIN = "username and its password"
TLS_ALERT = 0x15030300
"""How long an answer is to one who takes a TLS record of alert for the length of an answer."""
REFUSALS: tuple[tuple[tuple[type[Exception], ...], str, str], ...] = (
    ((ssl.SSLError,), "TLS was refused", "protocol, cert_file and key_file"),
    ((AuthenticationFailedError, SaslAuthenticationFailed), "the login was refused", LOGIN),
    ((UnsupportedSaslMechanismError,), "it does not offer this login", "mechanism"),
    ((IllegalSaslStateError,), "it does not ask for a login", "protocol"),
)
"""What refuses us for good, how that is said, and which setting to look at."""


def connection(kafka: Kafka) -> Options:
    """What every client needs to connect. Reads the secrets' files."""
    security = kafka.security
    options: Options = {
        "bootstrap_servers": list(kafka.bootstrap_servers),
        "client_id": "meteragent",
        "request_timeout_ms": kafka.request_timeout,
        "security_protocol": security.protocol,
    }
    if security.encrypts:
        options["ssl_context"] = _tls(security)
    if security.mechanism == "OAUTHBEARER":
        options |= {
            "sasl_mechanism": security.mechanism,
            "sasl_oauth_token_provider": _TokenFile(security),
        }
    elif security.mechanism:
        options |= {
            "sasl_mechanism": security.mechanism,
            "sasl_plain_username": security.username,
            "sasl_plain_password": security.read_password(),
        }
    return options


class Clients:
    """The only way to Kafka: makes every client, and lets go of it. Tests hand in another."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka

    def consumer(self, **options: Any) -> AIOKafkaConsumer:  # noqa: ANN401 - aiokafka's own
        """A consumer that reads what is committed, in bounded portions, and never skips."""
        return AIOKafkaConsumer(**self._reading(), **options)

    def input(self, **options: Any) -> InputConsumer:  # noqa: ANN401 - aiokafka's own
        """The same, for whole batches."""
        return InputConsumer(**self._reading(), **options)

    def _reading(self) -> Options:
        return {
            **connection(self.kafka),
            "isolation_level": "read_committed",
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
            "max_partition_fetch_bytes": FETCH_BYTES,
            "fetch_max_bytes": 8 * FETCH_BYTES,
            "fetch_max_wait_ms": 100,
            "metadata_max_age_ms": METADATA_MS,
            "retry_backoff_ms": RETRY_MS,
        }

    def producer(self, transactional_id: str | None) -> AIOKafkaProducer:
        """A producer; one with a transactional id fences every former one of that id."""
        return AIOKafkaProducer(
            **connection(self.kafka),
            transactional_id=transactional_id,
            transaction_timeout_ms=self.kafka.transaction_timeout,
            enable_idempotence=True,
            acks="all",
            max_batch_size=BATCH_BYTES,
            retry_backoff_ms=RETRY_MS,
        )

    def of_partition(self, partition: int) -> AIOKafkaProducer:
        """The producer of a partition of the input: whoever starts it is the only one."""
        return self.producer(f"{self.kafka.group}-{self.kafka.input}-{partition}")

    def admin(self) -> AIOKafkaAdminClient:
        """An administrator."""
        return AIOKafkaAdminClient(**connection(self.kafka))

    async def probe(self) -> None:
        """Connect once, and say why if it cannot be done: the clients would only say that."""
        options = connection(self.kafka)
        failure: Exception | None = None
        for server in options.pop("bootstrap_servers"):
            try:
                await _knock(server, options)
            except (KafkaError, OSError) as error:
                failure = _refusal(server, self.kafka.security, error)
                if isinstance(failure, BrokerRefused):
                    raise failure from error
            else:
                return
        raise failure or BrokerUnreachable("no server", "none is configured")

    async def close(
        self, client: AIOKafkaProducer | AIOKafkaConsumer | AIOKafkaAdminClient
    ) -> None:
        """Stop a client, by force if it does not stop in time: a dead broker must not hold us.

        A transaction that is still open is aborted by the next owner's start.
        """
        stop = getattr(client, "stop", None) or client.close  # an administrator has no other
        if await _in_time(stop()):
            return
        sender = getattr(client, "_sender", None)
        if sender is not None and sender.sender_task is not None:
            sender.sender_task.cancel()
        inner = getattr(client, "client", None) or getattr(client, "_client", None)
        if inner is not None:
            await _in_time(inner.close())


async def _knock(server: str, options: Options) -> None:
    host, _, port = server.rpartition(":")
    connected = await create_conn(host.strip("[]"), int(port), **options)
    try:
        # A bad token shows only in the answer to what follows it: it is an empty one.
        if not (await connected.send(MetadataRequest([]))).brokers:
            raise AuthenticationFailedError
    finally:
        connected.close()


async def _in_time(closing: Coroutine[object, object, None]) -> bool:
    """Whether it ended well; one that does not even heed its cancellation is left behind."""
    task = asyncio.create_task(closing)
    await asyncio.wait({task}, timeout=CLOSE_SECONDS)
    if task.done():
        return not task.cancelled() and task.exception() is None
    task.cancel()
    return False


class _TokenFile(AbstractTokenProvider):  # type: ignore[misc]
    """Reads the token anew for every session, so that it can be renewed beside us."""

    def __init__(self, security: Security) -> None:
        self._security = security

    async def token(self) -> str:
        return await asyncio.to_thread(lambda: self._security.read_token() or "")


def _tls(security: Security) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=security.ca_file)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if security.cert_file:
        password = security.read_key_password() or ""  # without one, OpenSSL asks the terminal
        context.load_cert_chain(security.cert_file, security.key_file, password)
    return context


def _refusal(server: str, security: Security, error: Exception) -> Exception:
    for reason in _behind(error):
        if isinstance(reason, ssl.SSLCertVerificationError):
            problem = f"its certificate is not trusted ({reason.verify_message})"
            return BrokerRefused(server, problem, "check kafka.security.ca_file")
        if isinstance(reason, IncompleteReadError) and reason.expected == TLS_ALERT:
            return BrokerRefused(
                server, "it speaks TLS", 'write kafka.security.protocol = "SSL" or "SASL_SSL"'
            )
        for kinds, problem, setting in REFUSALS:
            if isinstance(reason, kinds):
                token = security.mechanism == "OAUTHBEARER" and setting == LOGIN
                return BrokerRefused(
                    server, problem, f"check kafka.security.{'token_file' if token else setting}"
                )
        if isinstance(reason, ConnectionResetError | IncompleteReadError):
            return BrokerUnreachable(
                server, "it closes the connection: check kafka.security.protocol"
            )
    return BrokerUnreachable(server, type(error).__name__)


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
