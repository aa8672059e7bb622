"""How releases are written to Kafka, and under which ids their schema is registered."""

from meteragent.config import Config
from meteragent.errors import InvalidSetting
from meteragent.formats.encoder import Encoder
from meteragent.formats.forms import ReleaseEncoder
from meteragent.formats.registered import Schema
from meteragent.kafka.registry import RegistryClient


def subject(topic: str) -> str:
    """What a registry calls the values of a topic, unless it is told otherwise."""
    return f"{topic}-value"


async def release_encoder(config: Config) -> ReleaseEncoder:
    """What writes releases, with its schema registered where they need one.

    RegistryUnreachable, RegistryRefused: it cannot be. InvalidSetting: an extra is missing.
    """
    if config.kafka.output_format == "json":
        return Encoder()
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
