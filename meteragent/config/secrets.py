"""Secrets and certificates: which of them go together, and what they hold.

A secret `x` has two places, of which one is used: the file that `x_file` names, or `x` itself,
which only the environment may set.
"""

from pydantic import SecretStr

from meteragent.config.fields import Settings
from meteragent.config.secretfile import SecretFile
from meteragent.errors import InvalidSetting


def text_of(field: str, given: SecretStr | None, file: SecretFile | None) -> str | None:
    """The secret, read anew; `field` is its whole path, for errors."""
    if given is not None:
        return given.get_secret_value()
    return file.read(f"{field}_file") if file else None


def places(settings: Settings, name: str) -> list[str]:
    """The settings that give `name`."""
    return [n for n in (f"{name}_file", name) if getattr(settings, n, None) is not None]


def once(settings: Settings, name: str) -> list[InvalidSetting]:
    """Refuse two places for one secret."""
    if len(places(settings, name)) < len((name, "its file")):
        return []
    return [InvalidSetting(f"{name}_file", "is also set by the environment", "leave one out")]


def needed(settings: Settings, name: str, why: str) -> list[InvalidSetting]:
    """Refuse its absence."""
    if places(settings, name):
        return []
    fields = type(settings).model_fields
    setting = f"{name}_file" if f"{name}_file" in fields else name
    [example] = fields[setting].examples or [""]
    return [InvalidSetting(setting, f"is missing, {why}", f"write for example {example}")]


def useless(settings: Settings, name: str, why: str) -> list[InvalidSetting]:
    """Refuse what would look as if it protected something."""
    return [
        InvalidSetting(place, f"has no effect, {why}", "leave it out")
        for place in places(settings, name)
    ]


def pair(settings: Settings, one: str, other: str) -> list[InvalidSetting]:
    """Refuse one without the other."""
    return [
        refusal
        for here, there in ((one, other), (other, one))
        for place in places(settings, here)
        for refusal in needed(settings, there, f"which {place} needs")
    ]
