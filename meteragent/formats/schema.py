"""JSON Schemas (draft 2020-12) of everything that is read and written, to be published.

They are open: a consumer ignores keys that it does not know, so that a later version may add
some. What a key means never changes under the same name of a schema.
"""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin

from pydantic import TypeAdapter

from meteragent.formats.encoder import CLASSES, REJECT_SCHEMA
from meteragent.formats.json_one import Block, Reading
from meteragent.privacy.calendar import UNITS
from meteragent.privacy.policy import POLICY_SCHEMA, RELEASE_SCHEMA, Policy
from meteragent.privacy.query import NAMED
from meteragent.privacy.registers import PATTERN
from meteragent.privacy.terms import JOINT
from meteragent.privacy.units import BASE, WATT
from meteragent.stream.readings import Reason
from meteragent.stream.releases import Withheld

Schema = dict[str, Any]

READING_SCHEMA = "meteragent.reading/1"

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PERCENTILE = r"p(0|[1-9][0-9]?)(\.[0-9]{1,6})?"
_OF_PARTS = rf"(min|median|max|{_PERCENTILE})\(([0-9]+(d|h|m|s|ms))+\)"
_OF_HOURS = rf"(avg|min|median|max|{_PERCENTILE}|{_OF_PARTS})\[{PATTERN}\]"
_LAYERS = r"layers\([0-9]+(\.[0-9]+)?(MW|kW|W)\)"
_EACH = "|".join((*NAMED, _PERCENTILE, _OF_PARTS, _OF_HOURS, _LAYERS))
_QUERY = {"pattern": rf"^({_EACH})$"}
_CHARGE = {"anyOf": [_QUERY, {"const": JOINT}]}
_DECIMAL = {"type": "string", "pattern": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"}
_POSITIVE = {"type": "string", "pattern": r"^(0|[1-9][0-9]*)(\.[0-9]+)?$"}
_POLICY_ID = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_TIER = {
    "type": "string",
    "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]*$",
    "description": "The name of a tier, which is told noisier copies of a policy's releases.",
}
_TIME = {"type": "integer", "description": "Milliseconds since 1970-01-01T00:00:00Z."}
_INSTANT = {"type": "integer"}
_SPAN = {"type": "integer", "minimum": 1, "description": "Milliseconds."}
_DELAY = _SPAN | {"minimum": 0}
_COUNT = {"type": "integer", "minimum": 0}
_WATTS = {"type": "number"}
_SLOTS = {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 1}
_ANSWERS: Schema = {
    "type": "object",
    "propertyNames": _QUERY,
    "additionalProperties": {"anyOf": [_WATTS, _SLOTS]},
}
_UNIT = {
    "enum": [*BASE.values()],
    "description": "Of all answers: watts, or what else the policy is about.",
}


_LENGTHS = ("size_ms", "hop_ms")
_ZONED = ("window", "timezone", "utc_offsets_ms")
"""What says of a policy which windows there are: these, or those."""

_NOT_ALWAYS = {"meter_id", "group_id", "homes", "tier", "withheld", "readings", "slots"}
"""Of a release."""

_SELDOM: Schema = {
    "readings": {"enum": ["exact", "none"], "description": "If absent: in classes."},
    "resolution": _POSITIVE
    | {"description": "The grid of answers, in watts, where it is finer than step."},
    "unit": {
        "enum": [one for one in BASE.values() if one != WATT],
        "description": "What the policy is about, where it is no power: all that is in watts, or "
        "per watt, is in this unit, or per this unit.",
    },
    "noise": {
        "const": JOINT,
        "description": "One draw is for all answers of a window, and epsilon_per_watt is what "
        "they lose together. If absent, each answer has a draw of its own.",
    },
    "queries": {
        "type": "array",
        "items": {"type": "string"} | _QUERY,
        "minItems": 1,
        "description": "Where noise is joint: what is asked.",
    },
    "order": {
        "const": "least squares",
        "description": "Values whose order is known agree with it: they are the nearest that "
        "do to what was drawn, which `unbiased` tells. If absent, none is known.",
    },
    "fill": {
        "const": "last",
        "description": "If absent, slots without a reading are not filled.",
    },
    "fill_limit_ms": _SPAN,
    **dict.fromkeys(_LENGTHS, _SPAN),
    "homes": {
        "type": "object",
        "description": "Of groups of homes: what is taken of each of them, in watts, and how many "
        "members a group has at least. A group's reading is the sum of averages of its homes over "
        "interval_ms.",
        "properties": {
            "minimum": _DECIMAL,
            "maximum": _DECIMAL,
            "interval_ms": _SPAN,
            "least": _COUNT | {"minimum": 1},
        },
        "required": ["minimum", "maximum", "interval_ms", "least"],
    },
    "tier": {
        "type": "object",
        "description": "Releases are noisier copies of others, made of the same draws. `above` "
        "is what each query's answers lose, per watt, of every draw before these: the first "
        "release's, and those of tiers between. budget_per_watt is then the most that copies of "
        "all that is released in a horizon lose; nothing is charged for them.",
        "properties": {
            "name": _TIER,
            "above": {
                "type": "array",
                "items": {"type": "array", "items": _POSITIVE, "minItems": 1},
                "minItems": 1,
            },
        },
        "required": ["name", "above"],
    },
    "offset_ms": _SPAN | {"description": "How much later windows begin, in milliseconds."},
    "window": {
        "enum": list(UNITS),
        "description": "Windows are these of a time zone, by its clocks; weeks begin on Monday. "
        "If absent, they are of one length.",
    },
    "timezone": {"type": "string", "description": "By its IANA name."},
    "utc_offsets_ms": {
        "type": "array",
        "items": {
            "type": "array",
            "prefixItems": [_INSTANT, {"type": "integer"}],
            "minItems": 2,
            "items": False,
        },
        "minItems": 1,
        "description": "[since, ahead]: since when its clocks are how far ahead of UTC; before the "
        "first of these times as far as then, from the last one on for ever. A window begins at "
        "the first moment at which they show what it begins with, or more.",
    },
}
"""Of a policy: keys that stand in its document where they are not what they mostly are."""


def reading_schema() -> Schema:
    """What is read: a single reading, or an interval block of them."""
    schema = TypeAdapter(Reading | Block).json_schema()
    schema["$defs"]["Block"]["not"] = {"required": ["value"]}
    return named(READING_SCHEMA, "A reading, or a block of readings", schema)


def release_schema() -> Schema:
    """What is published of a meter's window."""
    properties = {
        "schema": {"const": RELEASE_SCHEMA},
        "meter_id": {"type": "string"},
        "group_id": {"type": "string", "description": "In place of meter_id: a group of homes."},
        "homes": _COUNT
        | {"description": "How many members the group has, whether they were heard or not."},
        "window_start": _TIME,
        "window_end": _TIME | {"description": "Exclusive; milliseconds, as window_start."},
        "status": {"enum": ["released", "suppressed"]},
        "values": _ANSWERS
        | {
            "description": "In the policy's range, and in the order of the "
            "queries where one is known: the best single answers."
        },
        "unbiased": _ANSWERS | {"description": "Right on average: for sums and long-run means."},
        "unit": _UNIT,
        "policy": _POLICY_ID,
        "tier": _TIER,
        "epsilon": {
            "type": "object",
            "description": "The loss per watt of each answer (of each slot's, for the list of "
            "`reading`; of all layers together, for a list of layers), or of all of them together.",
            "propertyNames": _CHARGE,
            "additionalProperties": _POSITIVE,
        },
        "withheld": {"enum": [reason.value for reason in Withheld if reason]},
        "readings": {
            "description": "Of the slots, how many hold a reading: some, half, most (0.8 and more) "
            "or all; or their number, if the policy says so. Only of what is released.",
            "anyOf": [{"enum": [*CLASSES]}, _COUNT],
        },
        "slots": _COUNT | {"minimum": 1},
    }
    schema = object_of(properties, optional=_NOT_ALWAYS)
    schema["oneOf"] = [{"required": ["meter_id"]}, {"required": ["group_id", "homes"]}]
    some, none = {"minProperties": 1}, {"maxProperties": 0}
    schema["dependentRequired"] = {"readings": ["slots"], "slots": ["readings"]}
    schema["if"] = {"properties": {"status": {"const": "released"}}}
    schema["then"] = {"properties": dict.fromkeys(("values", "unbiased", "epsilon"), some)}
    schema["else"] = {
        "properties": dict.fromkeys(("values", "unbiased", "epsilon"), none),
        "required": ["withheld"],
        "not": {"required": ["readings"]},
    }
    return named(RELEASE_SCHEMA, "What is released of one window of a meter, or of a group", schema)


def policy_schema() -> Schema:
    """The whole policy that a release names by its id."""
    question = {
        "type": "array",
        "prefixItems": [{"type": "string"} | _CHARGE, _POSITIVE],
        "minItems": 2,
        "items": False,
    }
    properties = {
        "schema": {"const": POLICY_SCHEMA},
        "policy": _POLICY_ID,
        "minimum": _DECIMAL,
        "maximum": _DECIMAL,
        "step": _POSITIVE,
        "interval_ms": _SPAN,
        "grace_ms": _DELAY,
        "idle_ms": _DELAY,
        "epsilon_per_watt": {"type": "array", "items": question, "minItems": 1},
        "min_coverage": _POSITIVE,
        "budget_per_watt": _POSITIVE,
        "horizon_ms": _SPAN,
        **{
            field.name: {"enum": list(get_args(field.type))}
            for field in fields(Policy)
            if get_origin(field.type) is Literal
        },
        **_SELDOM,
    }
    schema = object_of(properties, optional={*_SELDOM})
    schema["dependentRequired"] = {
        "fill": ["fill_limit_ms"],
        "fill_limit_ms": ["fill"],
        "noise": ["queries"],
        "queries": ["noise"],
        **{one: [other for other in _ZONED if other != one] for one in _ZONED},
    }
    schema["oneOf"] = [{"required": [*_LENGTHS]}, {"required": [*_ZONED]}]
    return named(POLICY_SCHEMA, "What decides a release, and its price", schema)


def reject_schema() -> Schema:
    """What is said of a record that was rejected."""
    properties = {
        "schema": {"const": REJECT_SCHEMA},
        "topic": {"type": "string"},
        "partition": _COUNT,
        "offset": _COUNT,
        "reason": {"enum": [reason.value for reason in Reason]},
    }
    return named(REJECT_SCHEMA, "Where a rejected record stands, and why", object_of(properties))


def object_of(properties: Schema, optional: set[str] | None = None) -> Schema:
    """An object with these properties, all of them required but the optional ones."""
    required = [name for name in properties if name not in (optional or ())]
    return {"type": "object", "properties": properties, "required": required}


def named(name: str, title: str, schema: Schema) -> Schema:
    """A schema to be published under this name."""
    urn = f"urn:{name.replace('.', ':').replace('/', ':')}"
    return {"$schema": _DRAFT, "$id": urn, "title": title, **schema}
