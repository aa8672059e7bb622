"""What pydantic says -> what people can act on: the key, its problem, what to write instead.

No value is quoted, for it may be a secret that was put in the wrong place.
"""

from difflib import get_close_matches

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from meteragent.config.fields import BadSetting
from meteragent.config.tree import field_at, is_secret
from meteragent.errors import InvalidSetting

_KINDS = {"model_type": "is not a table", "string_type": "is not a string"}

Location = tuple[str | int, ...]


def problems(error: ValidationError) -> list[InvalidSetting]:
    """Every problem, in the order of the settings."""
    details = error.errors(include_url=False, include_input=False)
    return [problem for detail in details for problem in _explained(detail)]


def dotted(location: Location) -> str:
    """The path as people write it: `policy[0].epsilon`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(steps).removeprefix(".")


def _explained(detail: ErrorDetails) -> list[InvalidSetting]:
    location, cause = detail["loc"], detail.get("ctx", {}).get("error")
    here = dotted(location)
    if isinstance(cause, BadSetting):
        return [
            InvalidSetting(f"{here}.{r.field}".removeprefix("."), r.problem, r.instead)
            for r in cause.refusals
        ]
    if isinstance(cause, InvalidSetting):
        return [InvalidSetting(here, cause.problem, cause.instead)]
    return [InvalidSetting(here, *_problem(detail, location))]


def _problem(detail: ErrorDetails, location: Location) -> tuple[str, str]:
    table, field = field_at(location)
    if field is None:
        known = [name for name, f in table.model_fields.items() if not is_secret(f)]
        near = get_close_matches(str(location[-1]), known, 1)
        return (
            "is not a setting",
            f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}",
        )
    if detail["type"] == "literal_error":
        return "is not one of them", f"write one of {detail['ctx']['expected']}".replace("'", '"')
    [example] = field.examples or [""]
    if detail["type"] == "missing":
        return "is missing", f"write for example {example}"
    return _KINDS.get(detail["type"], "is of another kind"), f"write for example {example}"
