"""A package, because another one named `tests` may be installed: ours must come first."""
