"""Files of an archive that are computed from the rest of it, ahead of a question or at the first one.

Each is declared as an :class:`Artefact` beside its maker: its name, its version, whether it depends on the kinds of
frames, and the maker. ``views/ahead.py`` lists them all.

Such a file appears completely or not at all: it is written as ``NAME.partial-<process>`` and renamed. An archive is
complete without them. The cache counts their sizes, and removes what interrupted processes left.

The manifest was written before them, so such a file ends with its own seal: a mark, then what it was made from (see
:meth:`Artefact.stamp`), then the XXH64 of everything before that. (SQLite goes by the size in its header, and never
reads what follows.) An artefact of another version, archive or set of kinds is made again.
"""

import contextlib
import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.progress import Report
from memlens.store.files.column_files import write_column
from memlens.store.files.disk import FullDiskError, make_private, room_in
from memlens.store.files.packed import PackedColumn, finished, mapped
from memlens.store.files.processes import remove_leftovers
from memlens.store.files.verify import file_checksum
from memlens.store.manifest import ColumnEntry, Origin, checksum_of
from memlens.store.snapshot import Snapshot

T = TypeVar("T")
logger = logging.getLogger(__name__)

_WHOLE_NUMBERS = re.compile(r"^[<|]u[1248]$", re.ASCII)
_ALIGNED_TO = 64
_MOST_HEADER_BYTES = 1 << 26
_LENGTH_BYTES = 8
_MARK = b"MLSEAL1\n"
_CHECKSUM_BYTES = 8
SEAL_BYTES = len(_MARK) + 2 * _CHECKSUM_BYTES


def _quiet(_stage: str, _fraction: float) -> None:
    pass


class Artefact(NamedTuple):
    """A file that can be computed from an archive."""

    name: str
    version: int
    """Raised whenever the maker would write something else for the same archive."""
    make: Callable[[Snapshot, Path, Report], None]
    """Writes the whole file to the given path."""
    by_kinds: bool = True
    """Whether it depends on the kinds of frames, which the user's rules for libraries decide."""

    def path(self, archive: Path) -> Path:
        """The file's path if it exists."""
        return archive / self.name

    def partial(self, archive: Path, pid: int) -> Path:
        """The temporary path to which process ``pid`` writes."""
        return archive / f"{self.name}.partial-{pid}"

    def stamp(self, origin: Origin) -> bytes:
        """A hash of what the file is made of, in 8 bytes: the archive and its format, the maker's version, the kinds of
        frames.
        """
        kinds = origin.kinds if self.by_kinds else 0
        text = f"{origin.checksum} {self.name} {self.version} {kinds}"
        return bytes.fromhex(checksum_of(text.encode()))

    def is_current(self, origin: Origin) -> bool:
        """Whether the file exists and was made from this. Its content is not read."""
        return _seal(self.path(origin.archive))[:-_CHECKSUM_BYTES] == _MARK + self.stamp(origin)

    def find(self, origin: Origin) -> Path | None:
        """The file, if it is current and its checksum is right. A damaged one is removed."""
        if not self.is_current(origin) or self.drop_damaged(origin.archive):
            return None
        return self.path(origin.archive)

    def write(self, snapshot: Snapshot, report: Report = _quiet) -> None:
        """Make the file unless it is current. Raises what the maker does, OSError and FullDiskError."""
        origin = snapshot.origin
        if self.is_current(origin):
            return
        archive = origin.archive
        remove_leftovers(archive)
        partial = self.partial(archive, os.getpid())
        partial.unlink(missing_ok=True)
        with room_in(archive, self.name):
            try:
                self.make(snapshot, partial, report)
                make_private(partial)
                with partial.open("ab") as file:
                    file.write(_MARK + self.stamp(origin))
                with partial.open("ab") as file:
                    file.write(bytes.fromhex(file_checksum(partial)))
                partial.replace(self.path(archive))
            finally:
                partial.unlink(missing_ok=True)

    def try_to_write(self, snapshot: Snapshot) -> None:
        """The same in the background: an archive that can't be written is left unchanged."""
        try:
            self.write(snapshot)
        except (OSError, FullDiskError) as error:
            logger.warning("%s of %s is not kept: %s", self.name, snapshot.archive.name, error)

    def columns(self, path: Path, kind: Callable[..., T]) -> T | None:
        """The columns of the file, as arguments of ``kind``; None, and it is removed, if it has others."""
        try:
            return kind(**read_columns(path)[0])
        except (OSError, ValueError, TypeError, msgspec.DecodeError):
            logger.warning("%s of %s is made again", self.name, path.parent.name, exc_info=True)
            self.drop(path.parent)
            return None

    def drop(self, archive: Path) -> None:
        """Remove the file, because it is damaged."""
        with contextlib.suppress(OSError):
            self.path(archive).unlink(missing_ok=True)

    def drop_damaged(self, archive: Path, stop: Callable[[], bool] = lambda: False) -> bool:
        """Verify the file's checksum. Returns whether it was damaged and so removed. Raises ``StoppedError``."""
        path = self.path(archive)
        try:
            size = path.stat().st_size - _CHECKSUM_BYTES
            is_whole = _seal(path)[-_CHECKSUM_BYTES:] == bytes.fromhex(file_checksum(path, size, stop))
        except OSError:
            return False
        if not is_whole:
            self.drop(archive)
        return not is_whole


def _seal(path: Path) -> bytes:
    """The last bytes of a file: its seal, if it has one."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - SEAL_BYTES, 0))
            return file.read(SEAL_BYTES)
    except OSError:
        return b""


def content(path: Path) -> bytes:
    """The bytes that an artefact's maker has written. Raises OSError."""
    return path.read_bytes()[:-SEAL_BYTES]


class _Header(Struct, frozen=True):
    columns: dict[str, tuple[int, ColumnEntry]]
    """Where each column begins, and what it is."""
    texts: list[str]


def write_columns(path: Path, columns: Mapping[str, npt.NDArray[Any]], texts: list[str]) -> None:
    """Write columns of numbers that belong together, and texts.

    The file is the columns, each aligned to 64 bytes and compressed as those of archives are, then JSON that describes
    them, then the length of that in 8 bytes.
    """
    entries = {}
    with path.open("wb") as file:
        for name, column in columns.items():
            file.write(b"\0" * (-file.tell() % _ALIGNED_TO))
            entries[name] = (file.tell(), write_column(file, column))
        header = msgspec.json.encode(_Header(entries, texts))
        file.write(header + len(header).to_bytes(_LENGTH_BYTES, "little"))


def read_columns(path: Path) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """The columns of an artefact, and the texts. Raises OSError, and ValueError for another kind of file."""
    columns = {}
    with path.open("rb") as file:
        data = mapped(file)
        end = max(len(data) - SEAL_BYTES - _LENGTH_BYTES, 0)
        length = int.from_bytes(data[end : end + _LENGTH_BYTES], "little")
        if length > min(end, _MOST_HEADER_BYTES):
            raise ValueError("its description is longer than the file")
        header = msgspec.json.decode(data[end - length : end], type=_Header)
        for name, (begin, entry) in header.columns.items():
            if not isinstance(entry.dtype, str) or not _WHOLE_NUMBERS.match(entry.dtype):
                raise ValueError(f"column {name} is not of whole numbers")
            if begin < 0 or entry.count < 0 or begin + entry.bytes > end - length:
                raise ValueError(f"column {name} is longer than the file")
            dtype = np.dtype(entry.dtype)
            if not entry.count:
                columns[name] = np.empty(0, dtype)
            elif entry.packing is None:
                columns[name] = np.frombuffer(data, dtype, entry.count, begin)
            else:
                packed = PackedColumn(name, entry, entry.packing, dtype, begin)
                columns[name] = finished(packed.unpack(file, path.parent))
    return columns, header.texts
