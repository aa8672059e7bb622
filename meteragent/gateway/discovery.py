"""What Home Assistant is told of a meter: where its releases are, and how each answer is read.

A document for each answer, retained at `PREFIX/sensor/ID/config`. It says what the policy and the
meter are called, and nothing of readings.
"""

import json
from hashlib import blake2b

from meteragent.formats.topics import Template
from meteragent.privacy.policy import Policy
from meteragent.privacy.units import LITRE_AN_HOUR, VAR, WATT

_ONE = "{% if %(answer)s is number %}{{ %(answer)s }}{% else %}None{% endif %}"

_CLASSES = {
    WATT: {"unit_of_measurement": "W", "device_class": "power"},
    VAR: {"unit_of_measurement": "var", "device_class": "reactive_power"},
    LITRE_AN_HOUR: {"unit_of_measurement": "L/h", "device_class": "volume_flow_rate"},
}
"""What Home Assistant calls what is measured."""


def documents(
    prefix: str, template: Template, policy: Policy, name: str, meter: str
) -> list[tuple[str, bytes]]:
    """Topics and what goes there, for a meter of the policy of this name."""
    return [
        _document(prefix, template.topic(meter, name), policy, (name, meter, question.query.name))
        for question in policy.questions
        if question.query.outputs(policy.slots) == 1
    ]


def _document(
    prefix: str, topic: str, policy: Policy, names: tuple[str, str, str]
) -> tuple[str, bytes]:
    name, meter, query = names
    device = f"meteragent_{_digest(meter)}"
    unique = f"{device}_{_digest(name, query)}"
    answer = f"value_json.get('values', {{}}).get({json.dumps(query)})"
    said = {
        "name": f"{name} {query}",
        "unique_id": unique,
        "state_topic": topic,
        "value_template": _ONE.replace("%(answer)s", answer),
        "json_attributes_topic": topic,
        **_CLASSES[policy.domain.unit],
        "force_update": True,
        "device": {"identifiers": [device], "name": meter, "manufacturer": "meteragent"},
        "qos": 1,
    }
    return f"{prefix}/sensor/{unique}/config", json.dumps(said, separators=(",", ":")).encode()


def _digest(*names: str) -> str:
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8).hexdigest()
