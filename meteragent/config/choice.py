"""What of a policy is its preset's, and what was set otherwise."""

from meteragent.config.policy import PolicySettings
from meteragent.config.presets import presets
from meteragent.explain.document import Choice


def choice(settings: PolicySettings) -> Choice | None:
    """The preset that was chosen, if one was, and what was set otherwise."""
    if settings.preset is None:
        return None
    preset = (presets("meters") | presets("groups"))[settings.preset]
    own = type(settings).model_validate({"name": settings.name, "preset": settings.preset})
    changed = tuple(
        name
        for name in type(settings).model_fields
        if name not in {"match", "output", "share", "tier"}
        and getattr(settings, name) != getattr(own, name)
    )
    return Choice(settings.preset, preset.hides, preset.why, preset.evidence.words, changed)
