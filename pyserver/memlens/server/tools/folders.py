"""Which files a model may read: those in some folders. Nothing outside of them is looked at, links included."""

# paths are compared by their texts, and none may be looked up before that
# ruff: noqa: PTH100, PTH113, PTH115, PTH117, PTH118, PTH120, PTH206

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
        """A relative path made absolute in the first folder that has such a file, else in the first one."""
        if os.path.isabs(path) or not self._roots:
            return os.path.abspath(path)
        places = [os.path.abspath(os.path.join(folder, path)) for folder, _ in self._roots]
        for place in places:
            real = self.real(place)
            if real is not None and os.path.isfile(real):
                return place
        return places[0]

    def real(self, path: str) -> str | None:
        """The target of an absolute path after all links; None if that is outside, however the path is written.

        Each link is read only if it is inside, so that an answer says nothing about files elsewhere.
        """
        # no link is read yet: the path is taken by its text, as it is opened
        parts, links = self._parts(os.path.abspath(path)), 0
        if parts is None:
            return None
        at, rest = parts
        while rest:
            name, rest = rest[0], rest[1:]
            here = os.path.dirname(at) if name == os.pardir else os.path.join(at, name)
            if not self._is_within(here):
                # a link may lead out and in again, through the folders that a root is in; these are no links
                if not any(_folder(real).startswith(_folder(here)) for _, real in self._roots):
                    return None
                at = here
                continue
            try:
                target = os.readlink(here)
            except (OSError, ValueError):
                # no link, or nothing at all
                at = here
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            # what ".." means depends on the links before it, so the target isn't shortened
            if os.path.isabs(target):
                parts = self._parts(target)
                if parts is None:
                    return None
                at, rest = parts[0], [*parts[1], *rest]
            else:
                rest = [*_names(target), *rest]
        return at if self._is_within(at) else None

    def _is_within(self, path: str) -> bool:
        return any(f"{os.path.normcase(path)}{os.sep}".startswith(_folder(real)) for _, real in self._roots)

    def _parts(self, path: str) -> tuple[str, list[str]] | None:
        """The real folder that a path is in, and the names from there on."""
        for folder, real in self._roots:
            for root in map(_folder, (folder, real)):
                if f"{os.path.normcase(path)}{os.sep}".startswith(root):
                    return real, _names(path[len(root) :])
        return None


def _names(path: str) -> list[str]:
    """The components of a relative path."""
    return [name for name in path.replace(os.altsep or os.sep, os.sep).split(os.sep) if name not in ("", ".")]


def _folder(path: str) -> str:
    """The prefix of all paths in a folder, normalised where the system ignores case."""
    return os.path.normcase(path).rstrip(os.sep) + os.sep
