"""`python -m deploy.helm.schema`: the schema of the chart's values, written beside the chart.

What stands under `config` is read from the configuration's own models, so that `helm install`
refuses a setting that no agent knows, and names it.
"""

import json
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from meteragent.config.fields import Settings
from meteragent.config.model import Config
from meteragent.config.tree import is_secret, table_in
from meteragent.privacy.calendar import UNITS

FILE = Path(__file__).parent / "meteragent" / "values.schema.json"
DURATION = r"^([0-9.]+(ms|s|m|h|d))+$"
PRESET = "preset"
IN_THE_CHART = ("http.host", "http.port")
"""Settings that probes, services and ports are made for."""

Schema = dict[str, Any]


def table(of: type[Settings], path: str = "") -> Schema:
    """What one table of the configuration may hold."""
    fields = {
        name: field
        for name, field in of.model_fields.items()
        if not is_secret(field) and f"{path}{name}" not in IN_THE_CHART
    }
    required = [name for name, field in fields.items() if field.is_required()]
    settings = {name: _setting(field, f"{path}{name}.") for name, field in fields.items()}
    return _unless_preset(settings, required) if PRESET in fields else _object(settings, required)


def _unless_preset(settings: Schema, required: list[str]) -> Schema:
    """A preset sets whatever is not set, so that beside it nothing but a name is needed."""
    named = {"if": {"required": [PRESET]}, "else": {"required": required}}
    return _object(settings, required=["name"]) | named


def _setting(field: FieldInfo, path: str) -> Schema:
    inner = table_in(field.annotation)
    listed = inner and str(field.annotation).startswith("tuple")
    if inner and not listed:
        return table(inner, path)
    described = {"description": field.description} if field.description else {}
    return described | (_list_of(inner, path) if inner else _scalar(field))


def _list_of(inner: type[Settings], path: str) -> Schema:
    one = table(inner, path)
    names = {"anyOf": [{"type": "string"}, one]} if path.endswith("queries.") else one
    return {"type": "array", "minItems": 1, "items": names}


def _scalar(field: FieldInfo) -> Schema:
    kinds = [kind for kind in (field.annotation, *get_args(field.annotation)) if kind]
    for kind in kinds:
        if get_origin(kind) is Literal:
            return {"enum": list(get_args(kind))}
    example = tomllib.loads(f"example = {(field.examples or [''])[0]}")["example"]
    if isinstance(example, list):
        return {"type": "array", "minItems": 1, "items": {"type": "string"}}
    if isinstance(example, int):
        return {"type": "integer"}
    if int in kinds and str in kinds:
        return {"type": "string", "pattern": f"{DURATION}|^({'|'.join(UNITS)})$"}
    if int in kinds:
        return {"type": "string", "pattern": DURATION}
    return {"type": ["string", "number"] if Decimal in kinds else "string"}


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    made = {"type": "object", "additionalProperties": False, "properties": properties}
    return made | ({"required": required} if required else {})


TEXT = {"type": "string"}
NAME = {"type": "string", "minLength": 1}
FLAG = {"type": "boolean"}
SOME = {"type": "integer", "minimum": 1}
TEXTS = {"type": "object", "additionalProperties": TEXT}
FREE = {"type": "object"}
LIST = {"type": "array"}
PEERS = {"type": "array", "minItems": 1, "items": FREE}


def schema() -> Schema:
    """Of all values."""
    values = {
        "replicas": SOME,
        "image": _object(
            {
                "repository": NAME,
                "tag": TEXT,
                "digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
                "pullSecrets": LIST,
            }
        ),
        "secretName": NAME,
        "files": TEXTS,
        "config": table(Config),
        "resources": _object({"requests": FREE, "limits": FREE}),
        "terminationGracePeriodSeconds": SOME,
        "autoscaling": _object(
            {
                "enabled": FLAG,
                "minReplicas": SOME,
                "maxReplicas": SOME,
                "lagRecords": SOME,
                "scaleDownAfterSeconds": {"type": "integer", "minimum": 0, "maximum": 3600},
            }
        ),
        "podDisruptionBudget": _object({"maxUnavailable": {"type": ["integer", "string"]}}),
        "networkPolicy": _object(
            {
                "enabled": FLAG,
                "from": PEERS,
                "brokers": _object({"to": PEERS, "port": SOME}),
            }
        ),
        "monitoring": _object(
            {
                "enabled": FLAG,
                "interval": {"type": "string", "pattern": "^[0-9]+(s|m)$"},
                "runbooks": _object({"url": {"type": "string", "pattern": "^(https?://[^#]+)?$"}}),
                "labels": TEXTS,
                "dashboards": FLAG,
                "dashboardLabels": TEXTS,
            }
        ),
        "podAnnotations": TEXTS,
        "podLabels": TEXTS,
        "nodeSelector": TEXTS,
        "tolerations": LIST,
        "affinity": FREE,
        "global": FREE,
    }
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "meteragent"}
    return head | _object(values, required=["config", "secretName"])


def text() -> str:
    """As it stands in the file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
