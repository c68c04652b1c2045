"""Variables that Memlens sets for itself and its own processes, but not for the programs of others."""

import os

_before: dict[str, str | None] = {}


def set_own(name: str, value: str) -> None:
    """Set a variable for this process and those that it starts."""
    _before.setdefault(name, os.environ.get(name))
    os.environ[name] = value


def as_given() -> dict[str, str]:
    """Return the environment without what :func:`set_own` set, for a program that isn't Memlens's own."""
    given = dict(os.environ)
    for name, value in _before.items():
        given.pop(name, None)
        if value is not None:
            given[name] = value
    return given
