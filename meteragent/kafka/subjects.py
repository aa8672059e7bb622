"""How releases are written to Kafka, and under which ids their schema is registered."""

from meteragent.config import Config
from meteragent.errors import InvalidSetting, RegistryRefused
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import MessageDecoder, ReleaseEncoder
from meteragent.formats.registered import RegisteredDecoder, Schema
from meteragent.kafka.apicurio import ApicurioClient
from meteragent.kafka.registry import RegistryClient
from meteragent.kafka.schemas import client_of


def subject(topic: str) -> str:
    """What a registry calls the values of a topic, unless it is told otherwise."""
    return f"{topic}-value"


async def release_encoder(config: Config) -> ReleaseEncoder:
    """What writes releases, with its schema registered where they need one.

    RegistryUnreachable, RegistryRefused: it cannot be. InvalidSetting: an extra is missing.
    """
    if config.kafka.output_format == "json" or not config.kafka.outputs:
        return Encoder()  # whoever reads homes for groups alone releases nothing
    try:
        from meteragent.formats.avro_encoder import AvroEncoder, release_text  # noqa: PLC0415
    except ImportError:
        problem = "is written by meteragent[registry], which is not installed"
        instead = "run: pip install 'meteragent[registry]'"
        raise InvalidSetting("kafka.output_format", problem, instead) from None
    client, schema = RegistryClient(config.kafka.registry), Schema("AVRO", release_text())
    # For whichever subject it is asked for, a registry has one id for one schema.
    numbers = [await client.registered(subject(topic), schema) for topic in config.kafka.outputs]
    return AvroEncoder(numbers[0], config.policies)


async def judged(config: Config, decoder: MessageDecoder) -> list[str]:
    """What is to be said of a registry that answers; of the input's own schemas above all.

    RegistryUnreachable, RegistryRefused: it does not tell. `decoder` is what reads messages.
    """
    registry = config.kafka.registry
    client = client_of(registry, config.input.written)
    if isinstance(client, ApicurioClient):
        return [f"{registry.url}: {await client.entries()} artifacts"]
    subjects = await client.subjects()
    told = [f"{registry.url}: {len(subjects)} subjects"]
    if not isinstance(decoder, RegisteredDecoder):
        return told
    ours = subject(config.kafka.input)
    if ours not in subjects:
        return [*told, f"{ours}: no schema is registered yet"]
    number, schema = await client.latest(ours)
    decoder.learn(number, schema)
    if decoder.reads(number):
        return [*told, f"{ours}: schema {number} is read"]
    problem = f"schema {number} of {ours} is not read as {config.input.written}"
    instead = "write its kind as input.format, or see what deploy/guide/messages.md refuses"
    raise RegistryRefused(registry.url or "", problem, instead)
