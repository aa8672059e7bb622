"""Decimals in, integers out: the arithmetic of settings, without a float."""

from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation

from meteragent.errors import InvalidSetting, NotExact

type_of_decimal = Decimal | int | str

NANO = 10**9
LARGEST = Decimal("1e15")
FINEST = Decimal("1e-12")
"""Between these two, sums, products and remainders fit the 28 digits that decimals keep."""
_PRODUCTS = Context(prec=60)
"""In which any account times any distance is exact."""


def decimal(field: str, value: type_of_decimal, *, example: str = "10") -> Decimal:
    """Read an exact decimal of at most 12 decimal places, or say which field is at fault."""
    number = _finite(field, value, example)
    if number and (number.adjusted() < FINEST.adjusted() or number % FINEST):
        raise InvalidSetting(field, "has more than 12 decimal places", f'write "{example}"')
    return number


def nano(field: str, value: type_of_decimal, *, example: str = "0.01") -> int:
    """Round a positive decimal *down* to whole nano-units: never more than was asked for."""
    number = _finite(field, value, example)
    units = int(number.quantize(Decimal(1) / NANO, rounding=ROUND_DOWN) * NANO)
    if units <= 0:
        raise InvalidSetting(
            field, "must be positive, at least 0.000000001", f'write for example "{example}"'
        )
    return units


def whole(field: str, value: int, most: int) -> None:
    """Refuse what is no whole number from 1 up to `most`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise NotExact(field, f"{type(value).__name__} is not a whole number", "write an integer")
    if not 0 < value <= most:
        raise InvalidSetting(field, "is out of bounds", f"write a whole number in 1..{most}")


def epsilon_at(units: int, watts: Decimal) -> Decimal:
    """A loss of so many nano-units per watt between two worlds `watts` apart, exactly."""
    return _PRODUCTS.multiply(Decimal(units).scaleb(-9, _PRODUCTS), watts)


def per_watt_text(units: int) -> str:
    """Nano-units per watt, as an exact decimal."""
    return f"{(Decimal(units) / NANO).normalize():f}"


def _finite(field: str, value: type_of_decimal, example: str) -> Decimal:
    """Why no float, even one that looks round: `0.1` is not a tenth, but ten are to be one."""
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise NotExact(
            field,
            f"{type(value).__name__} is not an exact decimal",
            f'write it as a string, for example "{example}"',
        )
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number.copy_abs() >= LARGEST:
        raise InvalidSetting(
            field, "not a finite decimal below 10**15", f'write for example "{example}"'
        )
    return number
