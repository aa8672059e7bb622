"""Numbers in the units that Grafana knows, for pictures."""

import math

_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_BYTES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_TIMES = ((86_400, "d"), (3600, "h"), (60, "min"))
_MANY, _THOUSAND = 10_000, 1000
_SUFFIX = {"ops": " /s", "rps": " /s"}


def shown(value: float, unit: str, decimals: int | None = None, *, axis: bool = False) -> str:
    """A value with its unit; on an axis as short as it can be."""
    if math.isinf(value):
        return "never" if unit in {"s", "dtdurations"} else "∞"
    if unit == "percentunit":
        return f"{_plain(100 * value, decimals)} %"
    if unit in {"s", "dtdurations"}:
        return _scaled(value, _TIMES, "s" if abs(value) >= 1 or not value else "ms")
    if unit == "bytes":
        return _scaled(value, _BYTES, "B")
    if unit == "none":
        return _plain(value, decimals)
    text = _scaled(value, _STEPS, "") if abs(value) >= _MANY else _plain(value, decimals)
    return text.strip() + ("" if axis and unit == "short" else _SUFFIX.get(unit, ""))


def _scaled(value: float, steps: tuple[tuple[float, str], ...], smallest: str) -> str:
    if smallest == "ms":
        return f"{_plain(1000 * value, None)} ms"
    for size, name in steps:
        if abs(value) >= size:
            return f"{_plain(value / size, None)} {name}"
    return f"{_plain(value, None)} {smallest}"


def _plain(value: float, decimals: int | None) -> str:
    if decimals is not None:
        return f"{value:,.{decimals}f}"
    return f"{value:.3g}" if abs(value) < _THOUSAND else f"{value:,.0f}"
