"""The setting ``memlens.libraries``: code that the user declares as a library's or their own, overriding the table."""

import re
import zlib
from collections.abc import Iterable, Mapping
from fnmatch import translate
from glob import escape

from memlens.model.frames import LIBRARY, NATIVE, USER
from memlens.model.libraries import canonical, library_of, qualified
from memlens.result_cache import remembered

WORKSPACE = "workspace:"
_CLASS = "class:"

_FOLDER = "workspace"
"""Stands for a workspace's folder in paths: the one in which it lies says nothing about its files."""

_MOST_PATTERNS, _MOST_PATTERN = 1_000, 1_000

Segment = re.Pattern[str] | None
"""The pattern of a single name in a path; None for any number of names."""


class Libraries:
    """Patterns in the user's order; the last one that matches a frame decides.

    ``vendor`` matches every file and folder of that name, and everything in the folder; ``src/vendor`` a folder
    ``vendor`` in a folder ``src``; ``/opt/tools`` and ``C:/tools`` only that path. ``*`` matches any part of a name,
    ``**`` any number of folders, regardless of case. A pattern with ``::`` matches a function's name without its
    arguments: ``absl::*``. A leading ``!`` marks the user's own code. ``!workspace:/home/me/app`` is that folder, but
    for libraries within it (``/home/me/app/node_modules``).

    Frames without a line and native code keep their kind.

    ``class:Attention::42:/home/me/model.py`` matches no frame: it is the class of the module whose ``forward`` runs at
    that line; ``class:nn.Conv2d:nn.conv:17:/home/me/model.py`` that of the ``nn.conv`` that is called at that line.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(
            text.strip()[:_MOST_PATTERN] for text in patterns if text.strip().lstrip("!").strip()
        )[:_MOST_PATTERNS]
        self._paths: list[tuple[int, bool, list[Segment]]] = []
        self._functions: list[tuple[int, bool, re.Pattern[str]]] = []
        self._workspaces: list[tuple[int, str]] = []
        self.classes: dict[tuple[str, str, int], str] = {}
        """The classes of modules: by a module's name, empty for the function itself, a file and a line."""
        for number, pattern in enumerate(self.patterns):
            if pattern.startswith(_CLASS):
                name, known, line, file = (pattern.removeprefix(_CLASS).split(":", 3) + [""] * 3)[:4]
                if name and file and line.isdecimal():
                    self.classes[known, file, int(line)] = name
                continue
            mine = pattern.startswith("!")
            text = pattern.lstrip("!").strip().replace("\\", "/")
            if text.startswith(WORKSPACE):
                self._workspaces.append((number, canonical(text.removeprefix(WORKSPACE)).rstrip("/") + "/"))
            elif "::" in text:
                self._functions.append((number, mine, re.compile(translate(text))))
            else:
                self._paths.append((number, mine, _segments(text)))
        self._of_file = remembered(1 << 15)(self._decide)

    def __bool__(self) -> bool:
        return bool(self.patterns)

    @property
    def key(self) -> int:
        """A key for results that depend on these patterns, below 2³¹; 0 if there are no patterns."""
        text = "\n".join(self.patterns).encode("utf-8", "surrogateescape")
        return (zlib.crc32(text) & 0x7FFFFFFF) or 1 if self.patterns else 0

    def with_workspace(self, folders: Iterable[str]) -> "Libraries":
        """Return patterns by which files in these folders are the user's, unless one of these patterns matches."""
        return Libraries([*(f"!{WORKSPACE}{folder}" for folder in folders), *self.patterns])

    def with_own_files(self, names: Iterable[str]) -> "Libraries":
        """Return patterns by which bare files of these names are the user's, unless one of these patterns matches."""
        return Libraries([*(f"!/{escape(name)}" for name in names), *self.patterns])

    def with_classes(self, classes: Mapping[tuple[str, str, int], str]) -> "Libraries":
        """Return patterns with the classes of modules, as in :attr:`classes`."""
        of_classes = [
            f"{_CLASS}{name}:{known}:{line}:{file}" for (known, file, line), name in classes.items()
        ]
        return Libraries([*of_classes[: _MOST_PATTERNS - len(self.patterns)], *self.patterns])

    def kind_of(self, file: str, function: str, kind: int) -> int:
        """Return the kind of a frame; ``kind`` is the one without these patterns."""
        if kind == NATIVE:
            return kind
        mine = self.is_users(file, function)
        return kind if mine is None else USER if mine else LIBRARY

    def is_users(self, file: str, function: str) -> bool | None:
        """Return whether a frame is the user's own by these patterns; None if none matches."""
        number, mine = self._of_file(file)
        if self._functions:
            name = qualified(function)
            for other, own, pattern in reversed(self._functions):
                if other > number and pattern.match(name):
                    number, mine = other, own
                    break
        return None if number < 0 else mine

    def _decide(self, file: str) -> tuple[int, bool]:
        """Return the number of the last pattern that matches a path, -1 for none, and whether it is the user's."""
        path = canonical(file.replace("\\", "/"))
        names = path.strip("/").lower().split("/")
        found = next(
            ((number, mine) for number, mine, segments in reversed(self._paths) if _matches(names, segments)),
            (-1, False),
        )
        for number, folder in reversed(self._workspaces):
            if number > found[0] and path.startswith(folder):
                return number, not library_of(f"{_FOLDER}/{path[len(folder) :]}")
        return found


def _segments(text: str) -> list[Segment]:
    absolute = text.startswith("/") or text[1:2] == ":"
    names = [name for name in text.lower().split("/") if name]
    segments: list[Segment] = [] if absolute else [None]
    segments += [None if name == "**" else re.compile(translate(name)) for name in names]
    return [*segments, None]


def _matches(names: list[str], segments: list[Segment]) -> bool:
    """Return whether a path matches. After a mismatch, segments after the last ``**`` are tried at the next name."""
    at = number = 0
    retry_at, retry_number = -1, 0
    while at < len(names):
        if number < len(segments):
            segment = segments[number]
            if segment is None:
                retry_at, retry_number = at, number + 1
                number += 1
                continue
            if segment.match(names[at]):
                at, number = at + 1, number + 1
                continue
        if retry_at < 0:
            return False
        retry_at += 1
        at, number = retry_at, retry_number
    return all(segment is None for segment in segments[number:])


NO_LIBRARIES = Libraries()
