"""The setting ``memlens.libraries``: what a person calls library code, or their own, whatever the table says."""

import re
import zlib
from collections.abc import Iterable
from fnmatch import translate
from glob import escape

from memlens.kept import remembered
from memlens.model.frames import LIBRARY, NATIVE, USER
from memlens.model.libraries import canonical, qualified

_MOST_PATTERNS, _MOST_PATTERN = 1_000, 1_000

Segment = re.Pattern[str] | None
"""What one name of a path is held to; None for any number of names."""


class Libraries:
    """Patterns in the order in which they are given; the last one that a frame fits decides.

    ``vendor`` fits every file and folder of that name, and what is in the folder; ``src/vendor`` such a folder in such
    a folder; ``/opt/tools`` and ``C:/tools`` only what is there. ``*`` is any part of a name, ``**`` any number of
    folders, and case makes no difference. A pattern with ``::`` is about a function's name, without its arguments:
    ``absl::*``. Behind ``!`` stands what is the user's own.

    Frames without a line stay what they are, and so does native code.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(
            text.strip()[:_MOST_PATTERN] for text in patterns if text.strip().lstrip("!").strip()
        )[:_MOST_PATTERNS]
        self._paths: list[tuple[int, bool, list[Segment]]] = []
        self._functions: list[tuple[int, bool, re.Pattern[str]]] = []
        for number, pattern in enumerate(self.patterns):
            mine = pattern.startswith("!")
            text = pattern.lstrip("!").strip().replace("\\", "/")
            if "::" in text:
                self._functions.append((number, mine, re.compile(translate(text))))
            else:
                self._paths.append((number, mine, _segments(text)))
        self._of_file = remembered(1 << 15)(self._decide)

    def __bool__(self) -> bool:
        return bool(self.patterns)

    @property
    def key(self) -> int:
        """A number for what was worked out with these patterns, below 2³¹; 0 where there are none."""
        text = "\n".join(self.patterns).encode("utf-8", "surrogateescape")
        return (zlib.crc32(text) & 0x7FFFFFFF) or 1 if self.patterns else 0

    def with_own_files(self, names: Iterable[str]) -> "Libraries":
        """The same, but files of these names without a folder are the user's unless a pattern here says otherwise."""
        return Libraries([*(f"!/{escape(name)}" for name in names), *self.patterns])

    def kind_of(self, file: str, function: str, kind: int) -> int:
        """The kind of a frame, where it was ``kind`` so far."""
        if kind == NATIVE:
            return kind
        number, mine = self._of_file(file)
        if self._functions:
            name = qualified(function)
            for other, own, pattern in reversed(self._functions):
                if other > number and pattern.match(name):
                    number, mine = other, own
                    break
        return kind if number < 0 else USER if mine else LIBRARY

    def _decide(self, file: str) -> tuple[int, bool]:
        """The last pattern for paths that a file fits, and whether it says that it is the user's; -1 for none."""
        names = canonical(file.replace("\\", "/")).strip("/").lower().split("/")
        for number, mine, segments in reversed(self._paths):
            if _fits(names, segments):
                return number, mine
        return -1, False


def _segments(text: str) -> list[Segment]:
    absolute = text.startswith("/") or text[1:2] == ":"
    names = [name for name in text.lower().split("/") if name]
    found: list[Segment] = [] if absolute else [None]
    found += [None if name == "**" else re.compile(translate(name)) for name in names]
    return [*found, None]


def _fits(names: list[str], segments: list[Segment]) -> bool:
    """Whether a path fits. What follows a ``**`` is looked for from the next name on where it fits no more."""
    at = want = 0
    back_at, back_want = -1, 0
    while at < len(names):
        if want < len(segments):
            segment = segments[want]
            if segment is None:
                back_at, back_want = at, want + 1
                want += 1
                continue
            if segment.match(names[at]):
                at, want = at + 1, want + 1
                continue
        if back_at < 0:
            return False
        back_at += 1
        at, want = back_at, back_want
    return all(segment is None for segment in segments[want:])


NO_LIBRARIES = Libraries()
