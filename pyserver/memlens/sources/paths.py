"""Which local file a path in a snapshot means. Pure: nothing in this file accesses a disk.

A snapshot's paths are foreign: another user's home, a container, Windows, an installed package. They are compared
component by component from the end, because the end of a path stays the same on another machine.
"""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import NamedTuple

from memlens.errors import BadRequestError
from memlens.local_paths import below
from memlens.model.served import served
from memlens.packs import registry
from memlens.texts import phrase
from memlens.units import plain_name

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")

# Parents of installed packages, and of the interpreter's own modules (lib/python3.12/…).
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_PYTHON_FOLDER = re.compile(r"python\d(\.\d+)?t?|Python\d+", re.ASCII)
_CUT = [(folder,) for pack in registry.packs() for folder in pack.cut_folders]

# Names so common in projects that the name alone is no evidence.
_COMMON_NAMES = frozenset({"__init__.py", "__main__.py", "setup.py", "conftest.py"})


class ForeignPath(NamedTuple):
    """A path as the snapshot spells it, split. ``anchor`` is empty for a relative one, and the origin of a URL."""

    text: str
    windows: bool
    anchor: str
    parts: tuple[str, ...]
    """The components after the anchor, with ``.`` and ``..`` resolved."""
    served_here: bool = False
    """Whether it is a URL of this machine: then its path is probably that of a file in a folder of the workspace."""

    @property
    def name(self) -> str:
        """The base name."""
        return self.parts[-1]

    @property
    def key(self) -> tuple[str, ...]:
        """The components to compare: in lower case for Windows, which ignores case."""
        return _fold(self.parts, self.windows)

    @property
    def library(self) -> bool:
        """Whether it belongs to an installed package or to Python itself."""
        folders = self.parts[:-1]
        if not _PACKAGE_FOLDERS.isdisjoint(folders):
            return True
        below_lib = any(_PYTHON_FOLDER.fullmatch(folder) for folder in folders) and "lib" in self.key
        return below_lib or (not self.anchor and folders[:1] in _CUT)

    @property
    def needed_components(self) -> int:
        """The fewest components that a local file must share with it to match."""
        return 2 if self.library or self.name in _COMMON_NAMES else 1


class Match(NamedTuple):
    """The best of some local files, and how many components they share with the foreign path."""

    paths: list[str]
    components: int


def parse(text: str) -> ForeignPath | None:
    """Split a path or a URL; None if it is not that of a file (``<string>``, ``??``, empty)."""
    if not text or len(text) > 4096 or "\0" in text or text.endswith(("/", "\\")):
        return None
    if (text.startswith("<") and text.endswith(">")) or text == "??":
        return None
    url = served(text)
    if url is not None:
        parts = _resolve_dots(part for part in url.path.split("/") if part)
        is_file = bool(parts) and not url.path.endswith("/") and "\0" not in url.path
        return ForeignPath(text, False, url.origin, parts, url.is_local) if is_file else None
    windows = bool(_DRIVE.match(text)) or ("\\" in text and "/" not in text) or text.startswith("\\\\")
    pure = PureWindowsPath(text) if windows else PurePosixPath(text)
    parts = _resolve_dots(pure.parts[1:] if pure.anchor else pure.parts)
    return ForeignPath(text, windows, pure.anchor, parts) if parts else None


def path_key(path: str) -> str:
    """A key that is equal for local paths that differ only in spelling."""
    return os.path.normcase(os.path.normpath(path))


def check_path(path: str) -> None:
    """Raises BadRequestError for a path that no local file can have."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise BadRequestError(
            phrase("The path {path} can't be written in UTF-8", path=plain_name(path))
        ) from error
    if "\0" in path:
        raise BadRequestError(phrase("The path {path} contains a NUL character", path=plain_name(path)))


def best_matches(foreign: ForeignPath, candidates: Iterable[str | Path]) -> Match:
    """The local files that share the most components with ``foreign``, counted from the end.

    Empty if none shares enough. Several mean a tie.
    """
    best: list[str] = []
    most = 0
    for candidate in candidates:
        shared = common_components(foreign, candidate)
        if shared > most:
            best, most = [str(candidate)], shared
        elif shared == most and shared > 0 and str(candidate) not in best:
            best.append(str(candidate))
    if most < min(foreign.needed_components, len(foreign.parts)):
        return Match([], 0)
    return Match(sorted(best), most)


def common_components(foreign: ForeignPath, local: str | Path) -> int:
    """How many components both paths have in common, counted from the end; 0 if the base names differ."""
    path = Path(local)
    parts = path.parts[1:] if path.anchor else path.parts
    shared = 0
    for ours, theirs in zip(reversed(_fold(parts, foreign.windows)), reversed(foreign.key), strict=False):
        if ours != theirs:
            break
        shared += 1
    return shared


def mapped(foreign: ForeignPath, mappings: Mapping[str, Path]) -> list[Path]:
    """The paths that ``mappings`` (foreign prefix to local folder) give, that of the longest prefix first.

    A prefix ends at the end of a component: ``/home/ann`` is not a prefix of ``/home/anna/train.py``.
    """
    found: list[tuple[int, Path]] = []
    for prefix, folder in mappings.items():
        rest = _below(foreign, prefix)
        if rest is not None:
            joined = below(folder, rest)
            if joined is not None:
                found.append((len(rest), joined))
    return [path for _, path in sorted(found, key=lambda item: item[0])]


def _below(foreign: ForeignPath, prefix: str) -> tuple[str, ...] | None:
    """The components of ``foreign`` below ``prefix``; None if it isn't below it."""
    url = served(prefix)
    if url is not None:
        parts = _resolve_dots(part for part in url.path.split("/") if part)
        is_below = foreign.anchor == url.origin and foreign.parts[: len(parts)] == parts
        return foreign.parts[len(parts) :] if is_below and len(foreign.parts) > len(parts) else None
    pure = PureWindowsPath(prefix) if foreign.windows else PurePosixPath(prefix)
    if pure.anchor.replace("/", "\\").lower() != foreign.anchor.replace("/", "\\").lower():
        return None
    parts = _resolve_dots(pure.parts[1:] if pure.anchor else pure.parts)
    length = len(parts)
    if length >= len(foreign.parts) or _fold(parts, foreign.windows) != foreign.key[:length]:
        return None
    return foreign.parts[length:]


def _fold(parts: Iterable[str], windows: bool) -> tuple[str, ...]:  # noqa: FBT001
    return tuple(part.lower() for part in parts) if windows else tuple(parts)


def _resolve_dots(parts: Iterable[str]) -> tuple[str, ...]:
    """Resolve ``..`` textually, because links of another machine can't be followed."""
    resolved: list[str] = []
    for part in parts:
        if part == "..":
            if resolved:
                resolved.pop()
        elif part != ".":
            resolved.append(part)
    return tuple(resolved)
