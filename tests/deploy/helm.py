"""Helm without its command: the same Go code, as a shared library."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "meteragent"
LIBRARY = Path(__file__).parent / ".tools" / "helm-linux-amd64.so"
KUBERNETES = "1.34.0"

Manifest = dict[str, Any]


class HelmRefused(Exception):
    """Helm did not do it, and says why."""


class _Result(ctypes.Structure):
    _fields_: ClassVar = [
        ("out", ctypes.c_char_p),
        ("err", ctypes.c_char_p),
        ("stdout", ctypes.c_char_p),
        ("stderr", ctypes.c_char_p),
    ]


def _options(struct: str, /, **fields: type) -> type[ctypes.Structure]:
    return type(struct, (ctypes.Structure,), {"_fields_": list(fields.items())})


_text, _flag = ctypes.c_char_p, ctypes.c_int
_Template = _options(
    "Template",
    **dict.fromkeys(("name", "version", "chart", "namespace", "kube_version"), _text),
    **dict.fromkeys(("dependency_update", "skip_crds"), _flag),
    **dict.fromkeys(("values", "set_files", "values_files", "cert", "key", "ca"), _text),
    **dict.fromkeys(("insecure", "plain_http"), _flag),
    keyring=_text,
    debug=_flag,
    repositories=_text,
)
_Lint = _options("Lint", path=_text, strict=_flag, quiet=_flag)
_Package = _options(
    "Package",
    **dict.fromkeys(("path", "destination"), _text),
    sign=_flag,
    **dict.fromkeys(("key", "keyring", "passphrase"), _text),
)


def rendered(
    directory: Path, values: Mapping[str, object] | None = None, chart: Path = CHART
) -> list[Manifest]:
    """What `helm template` makes of the chart; `directory` is for the values' file."""
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(dict(values or {})))
    text = _called(
        "Template",
        _Template(
            name=b"agent",
            chart=_path(chart),
            namespace=b"metering",
            kube_version=KUBERNETES.encode(),
            values_files=_path(file),
        ),
    )
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def linted(chart: Path = CHART) -> str:
    """What `helm lint --strict` says."""
    return _called("Lint", _Lint(path=_path(chart), strict=1))


def packaged(directory: Path, chart: Path = CHART) -> Path:
    """The archive that `helm package` makes."""
    _called("Package", _Package(path=_path(chart), destination=_path(directory)))
    (archive,) = directory.glob("*.tgz")
    return archive


def _path(path: Path) -> bytes:
    return str(path).encode()


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(LIBRARY))


def _called(function: str, options: ctypes.Structure) -> str:
    call = getattr(_library(), function)
    call.restype = _Result
    result = call(ctypes.byref(options))
    if result.err:
        raise HelmRefused(result.err.decode())
    return (result.out or b"").decode()
