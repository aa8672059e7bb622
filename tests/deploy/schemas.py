"""The schemas that others publish, from the modules that `install` fetched."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import yaml

KUBERNETES = ("1.29", "1.34", kubernetes_validate.latest_version())
"""The oldest that the chart promises, the one of the tests, and the newest known."""

Document = dict[str, Any]


@cache
def module(name: str) -> Path:
    """Where Go keeps a module, of the version in schemas.txt."""
    lines = (Path(__file__).parent / "schemas.txt").read_text().split()
    (wanted,) = [line for line in lines if name in line]
    done = subprocess.run(  # noqa: S603 - a fixed command
        ["go", "mod", "download", "-json", wanted],  # noqa: S607 - found as a shell would
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(done.stdout)["Dir"])


def compose() -> Document:
    """Of a compose file."""
    file = module("compose-go") / "schema" / "compose-spec.json"
    schema: Document = json.loads(file.read_text())
    return schema


@cache
def resource_of_operator(kind: str) -> Document:
    """Of a kind that the Prometheus Operator defines, closed to unknown fields."""
    where = module("prometheus-operator") / "example" / "prometheus-operator-crd"
    file = where / f"monitoring.coreos.com_{kind.lower()}s.yaml"
    definition = yaml.safe_load(file.read_text())
    schema: Document = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return _closed(schema)


def _closed(schema: Document) -> Document:
    """Kubernetes drops what it does not know; here it is an error."""
    inner = {name: _closed(of) for name, of in schema.get("properties", {}).items()}
    if not inner:
        items = schema.get("items")
        return schema | {"items": _closed(items)} if isinstance(items, dict) else schema
    if set(inner) >= {"apiVersion", "kind"}:
        inner["metadata"] = {"type": "object"}
    return schema | {"properties": inner, "additionalProperties": False}


def validate(manifest: Document) -> None:
    """Against Kubernetes' own schemas, or those of the operator."""
    if manifest["apiVersion"].startswith("monitoring.coreos.com/"):
        schema = resource_of_operator(manifest["kind"])
        jsonschema.Draft202012Validator(schema).validate(manifest)
        return
    for version in KUBERNETES:
        kubernetes_validate.validate(manifest, version, strict=True)
