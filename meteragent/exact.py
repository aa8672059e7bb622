"""Decimals in, integers out: the arithmetic of settings, without a float."""

from decimal import Decimal, InvalidOperation

from meteragent.errors import InvalidSetting, NotExact

type_of_decimal = Decimal | int | str

NANO = 10**9


def decimal(field: str, value: type_of_decimal, *, example: str = "10") -> Decimal:
    """Read an exact, finite decimal, or say which field is at fault.

    A float is refused even if it looks round: `0.1` is not a tenth, and a budget of ten
    tenths must be exactly one.
    """
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
    if not number.is_finite():
        raise InvalidSetting(field, "not a finite decimal", f'write for example "{example}"')
    return number


def nano(field: str, value: type_of_decimal, *, example: str = "0.01") -> int:
    """Round a positive decimal *down* to whole nano-units: never more than was asked for."""
    number = decimal(field, value, example=example)
    units = int(number * NANO)
    if number <= 0 or units == 0:
        raise InvalidSetting(
            field, "must be positive, at least 0.000000001", f'write for example "{example}"'
        )
    return units
