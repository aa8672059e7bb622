"""What all answers of a horizon may lose: as a file says it, or as an account shares it out."""

from typing import Annotated

from pydantic import BeforeValidator

from meteragent.config.fields import Exact
from meteragent.errors import InvalidSetting

LEFT_TO_THE_ACCOUNT = object()
"""As a `budget`: what no file can write, and stands where there is a `[budget]`."""


def _asked_for(budget: object) -> object:
    if budget is None:
        raise InvalidSetting("budget", "is missing", 'write for example "24"')
    return None if budget is LEFT_TO_THE_ACCOUNT else budget


Amount = Annotated[Exact | None, BeforeValidator(_asked_for)]
