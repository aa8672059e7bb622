"""What is asked of a window, and what its answer may lose."""

from dataclasses import dataclass
from decimal import Decimal

from meteragent.errors import InvalidSetting
from meteragent.privacy.exact import NANO, decimal, per_watt_text
from meteragent.privacy.query import Query, query


@dataclass(frozen=True, slots=True)
class Question:
    """A query and the loss per watt, in whole nano-units, of each of its answers."""

    query: Query
    nano: int

    @property
    def epsilon(self) -> str:
        """The exact loss per watt, as it is published."""
        return per_watt_text(self.nano)


def question(name: str, epsilon: Decimal | int | str, radius: Decimal | int | str) -> Question:
    """Ask `name` with odds within `exp(epsilon)` for worlds `radius` watts apart."""
    return Question(query(name), per_watt("epsilon", epsilon, radius))


def per_watt(field: str, loss: Decimal | int | str, radius: Decimal | int | str) -> int:
    """A loss at a radius, as whole nano-units per watt, rounded down once and for all."""
    numerator, denominator = decimal(field, loss).as_integer_ratio()
    watts = decimal("radius", radius, example="100")
    if watts <= 0:
        raise InvalidSetting("radius", "must be positive", 'write for example "100W"')
    over, under = watts.as_integer_ratio()
    units = numerator * under * NANO // (denominator * over)
    if units <= 0:
        raise InvalidSetting(
            field, "is below 0.000000001 per watt of radius", 'write for example "1"'
        )
    return units
