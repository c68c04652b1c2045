"""Source maps: from a line and column of a bundled script to the line of the source that was written.

Source of the format: ECMA-426, including maps in sections, which bundles of bundles have. A script's map is the file
beside it that its last ``//# sourceMappingURL=`` names, a ``data:`` URL there, or else the script's own name with
``.map``. Scripts are looked for where they ran, and by the end of their path in the user's folders of sources; so are
those that a page has from a server of this machine. No server is ever contacted, and a map that is too large or
violates the standard is ignored.
"""

import base64
import binascii
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urljoin

import msgspec
import numpy as np
from msgspec import Meta, Struct

from memlens.arrays import U32
from memlens.local_paths import below, file_below, is_local
from memlens.model.served import served
from memlens.packs.v8.kernels.source_map import segments
from memlens.regular_files import content, opened

MOST_BYTES = 32 << 20
"""The most bytes of a map, and of a script that is searched for one."""
_MOST_SOURCES = 100_000
_MOST_MAPS = 1_000
_VERSION = 3
_MOST_SECTIONS = 10_000
_MOST_OFFSET = 2**31 - 1
_TAIL_BYTES = 4 << 10
_MOST_PARTS = 12

_SAYS = b"//# sourceMappingURL="
_COMMENT = re.compile(rb"//[#@] sourceMappingURL=(\S+)\s*\Z")
_ENCODED = re.compile(rb"[A-Za-z0-9+/=\s]+")
_INLINE = re.compile(rb"data:application/json[^,]{0,100};base64,")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")

Original = tuple[str, int]
"""A file and a line, counted from 1."""


class _Map(Struct):
    """A map; within a section it may lack its version."""

    sources: list[str | None]
    mappings: str
    version: int = _VERSION
    source_root: str | None = msgspec.field(name="sourceRoot", default=None)


class _Offset(Struct):
    """The position in the script where a section begins, counted from 0."""

    line: Annotated[int, Meta(ge=0, le=_MOST_OFFSET)]
    column: Annotated[int, Meta(ge=0, le=_MOST_OFFSET)]


class _Section(Struct):
    offset: _Offset
    map: _Map


class _File(Struct):
    """A file: a map, or sections with a map each."""

    version: int
    sections: list[_Section] | None = None


class SourceMap:
    """One script's map."""

    def __init__(self, sources: list[str], rows: U32) -> None:
        order = np.lexsort((rows[:, 1], rows[:, 0]))
        self._rows = rows[order]
        self._keys = self._rows[:, 0].astype(np.uint64) << np.uint64(32) | self._rows[:, 1]
        self._sources = sources

    def original(self, line: int, column: int) -> Original | None:
        """The source position of a line and a column, both counted from 0; None if they are not from a source."""
        at = int(np.searchsorted(self._keys, np.uint64(line << 32 | column), side="right")) - 1
        if at < 0 or int(self._rows[at, 0]) != line or not int(self._rows[at, 2]):
            return None
        source = self._sources[int(self._rows[at, 2]) - 1]
        return (source, int(self._rows[at, 3]) + 1) if source else None


class SourceMaps:
    """The maps of scripts, each read on first use."""

    def __init__(self, folders: Sequence[Path] = (), *, only_folders: bool = False) -> None:
        """``folders`` are those of sources; with ``only_folders`` scripts are looked for nowhere else."""
        self._folders = folders
        self._only_folders = only_folders
        self._known: dict[str, SourceMap | None] = {}
        self.used: set[str] = set()
        """The scripts whose maps were used."""

    def of(self, script: str) -> SourceMap | None:
        """The map of a script, by the path in the dump; None if it has none."""
        if script not in self._known:
            found = None
            if len(self.used) < _MOST_MAPS:
                found = next(filter(None, (_beside(path, script) for path in self._places(script))), None)
            self._known[script] = found
            if found is not None:
                self.used.add(script)
        return self._known[script]

    def _places(self, script: str) -> list[Path]:
        """Possible local paths of a script: its own, and in folders of sources by the longest end of its path."""
        if not script or script.startswith(("//", "\\\\", "node:")) or "\0" in script:
            return []
        url = served(script)
        if url is not None and url.is_local:
            script = url.path
        windows = _WINDOWS.match(script) is not None
        if _SCHEME.match(script) and not windows:
            return []
        parts = [part for part in re.split(r"[\\/]" if windows else "/", script) if part not in ("", ".")]
        if not parts or ".." in parts:
            return []
        is_own = not self._only_folders and is_local(Path(script), self._folders)
        own = [Path(script)] if is_own else []
        ends = [parts[-count:] for count in range(min(len(parts), _MOST_PARTS), 0, -1)]
        joined = (below(folder, end) for folder in self._folders for end in ends)
        return own + [path for path in joined if path is not None]


def _beside(path: Path, script: str) -> SourceMap | None:
    """The map of the script at ``path``."""
    url = _url(path)
    if url.startswith(b"data:"):
        head = _INLINE.match(url)
        if head is None:
            return None
        try:
            return _parsed(base64.b64decode(url[head.end() :], validate=True), script)
        except (binascii.Error, ValueError):
            return None
    name = unquote(url.decode("utf-8", "replace")) or path.name + ".map"
    place = file_below(path.parent, name.removeprefix("./"))
    data = None if place is None or _SCHEME.match(name) else content(place, MOST_BYTES)
    return None if data is None else _parsed(data, script)


def _tail(path: Path, count: int) -> bytes:
    """The last bytes of a regular file; empty for anything else."""
    try:
        with opened(path) as file:
            file.seek(max(file.seek(0, os.SEEK_END) - count, 0))
            return file.read(count)
    except (OSError, ValueError):
        return b""


def _url(path: Path) -> bytes:
    """The map that a script's last line names; empty if it names none."""
    tail = _tail(path, _TAIL_BYTES)
    if _ENCODED.fullmatch(tail):
        # this is the end of a map within the script itself
        whole = content(path, MOST_BYTES) or b""
        tail = whole[max(whole.rfind(_SAYS), 0) :]
    found = _COMMENT.search(tail)
    return found[1] if found else b""


def _parsed(data: bytes, script: str) -> SourceMap | None:
    text = data.removeprefix(b")]}'\n")
    try:
        file = msgspec.json.decode(text, type=_File)
        parts = file.sections or [_Section(_Offset(0, 0), msgspec.json.decode(text, type=_Map))]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    sizes = [len(part.map.sources) for part in parts]
    if file.version != _VERSION or len(sizes) > _MOST_SECTIONS or sum(sizes) > _MOST_SOURCES:
        return None
    sources: list[str] = []
    tables = [_table(part, sources, script) for part in parts]
    known = [table for table in tables if table is not None]
    if len(known) < len(parts) or sum(map(len, known)) == len(parts):
        return None
    return SourceMap(sources, np.concatenate(known))


def _table(part: _Section, sources: list[str], script: str) -> U32 | None:
    """The rows of a section, whose sources are added to ``sources``; None if its mappings are wrong."""
    found, first = part.map, len(sources)
    root = found.source_root or ""
    sources += [_source(script, root, source or "") for source in found.sources]
    rows: Any = segments(found.mappings.encode(), len(found.sources))
    if rows is None or found.version != _VERSION:
        return None
    # the last mapping before the section ends where the section begins
    table = np.append(np.zeros(4, np.int64), np.asarray(rows)).reshape(-1, 4)
    table[table[:, 0] == 0, 1] += part.offset.column
    table[:, 0] += part.offset.line
    table[table[:, 2] != 0, 2] += first
    return None if int(table[:, :2].max()) > _MOST_OFFSET else table.astype(np.uint32)


def _source(script: str, root: str, source: str) -> str:
    """A source's path on the machine of the dump; relative ones are beside the script."""
    if not source:
        return ""
    path = root.rstrip("/") + "/" + source if root else source
    if path.startswith("file://"):
        return unquote(path.removeprefix("file://"))
    if _SCHEME.match(path) and not _WINDOWS.match(path):
        # webpack://name/./src/a.ts: a bundler's own scheme, relative to the project
        return "/".join(part for part in path.split("://")[-1].split("/")[1:] if part not in ("", ".", ".."))
    if served(script) is not None:
        try:
            return urljoin(script, path)
        except ValueError:
            return ""
    if path.startswith("/") or _WINDOWS.match(path):
        return path
    windows = _WINDOWS.match(script) is not None
    folder = script.replace("\\", "/").rpartition("/")[0] if windows else script.rpartition("/")[0]
    joined = os.path.normpath(f"{folder}/{path}" if folder else path)
    return joined.replace(os.sep, "/")
