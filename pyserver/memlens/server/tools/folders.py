"""Which files a model may read: those in some folders. Nothing outside of them is looked at, links included."""

# paths are compared by their texts, and none may be looked up before that
# ruff: noqa: PTH100, PTH113, PTH115, PTH117, PTH118, PTH206

import os
from collections.abc import Sequence

_MOST_LINKS = 40
"""Of one path; systems have similar limits."""


class Folders:
    """Folders and all that is in them. They are looked up once."""

    def __init__(self, folders: Sequence[str]) -> None:
        written = [os.path.abspath(folder) for folder in folders]
        self._roots = [(folder, os.path.realpath(folder)) for folder in written]

    def __bool__(self) -> bool:
        return bool(self._roots)

    @property
    def names(self) -> list[str]:
        """The folders as they were named."""
        return [folder for folder, _ in self._roots]

    def whole(self, path: str) -> str:
        """A relative path as that in the first of the folders that has such a file, else in the first one."""
        if os.path.isabs(path) or not self._roots:
            return os.path.abspath(path)
        places = [os.path.abspath(os.path.join(folder, path)) for folder, _ in self._roots]
        for place in places:
            real = self.real(place)
            if real is not None and os.path.isfile(real):
                return place
        return places[0]

    def real(self, path: str) -> str | None:
        """Where an absolute path leads after all links; None if that is outside, however the path is written.

        Each link is read only if it is inside, so that an answer says nothing about what is elsewhere.
        """
        wanted = os.path.abspath(path)
        for _ in range(_MOST_LINKS):
            parts = self._parts(wanted)
            if parts is None:
                return None
            at, rest = parts
            while rest:
                name, rest = rest[0], rest[1:]
                here = os.path.join(at, name)
                try:
                    target = os.readlink(here)
                except (OSError, ValueError):
                    # no link, or nothing at all
                    at = here
                    continue
                wanted = os.path.abspath(os.path.join(at, target, *rest))
                break
            else:
                return at
        return None

    def _parts(self, path: str) -> tuple[str, list[str]] | None:
        """The real folder that a path is in, and the names from there on."""
        wanted = os.path.normcase(path)
        for folder, real in self._roots:
            for root in (folder, real):
                within = os.path.normcase(root).rstrip(os.sep) + os.sep
                if wanted == os.path.normcase(root):
                    return real, []
                if wanted.startswith(within):
                    return real, path[len(within) :].split(os.sep)
        return None
