"""Files that appear in an archive after it was made: what is worked out once somebody asks, and kept.

Such a file appears whole or not at all: it is written as ``NAME.partial-<process>`` and renamed. An archive without it
is whole, too. The cache counts what they take, and removes what processes left that were ended while they wrote. The
manifest was written before, so such a file has its checksum in itself: its last 16 bytes are a mark and the XXH64 of
all before them. (SQLite goes by the size in its header, and never looks at them.)

:data:`COLUMNS_NAME` holds columns that belong together, so that they appear together: a line of JSON that describes
them, then their bytes, each from a multiple of 64 on.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.store.column_files import mapped
from memlens.store.disk import make_private, room_in
from memlens.store.processes import is_running
from memlens.store.verify import file_checksum

TABLES_NAMES = ("sql.db", "sql_allocations.db", "sql_events.db")
COLUMNS_NAME = "first_flame.columns"

_PARTIAL = re.compile(
    rf"^({'|'.join(map(re.escape, (*TABLES_NAMES, COLUMNS_NAME)))})"
    r"\.partial-(?P<pid>\d{1,9})(-journal)?$",
    re.ASCII,
)
_WHOLE_NUMBERS = re.compile(r"^[<|]u[1248]$", re.ASCII)
_ALIGNED_TO = 64
_MOST_HEADER_BYTES = 1 << 26
_MARK = b"MLXXH64\n"
_SEAL_BYTES = len(_MARK) + 8


class _Header(Struct, frozen=True):
    version: int
    columns: dict[str, tuple[str, int]]
    """Type, as NumPy writes it, and rows of each, in the order in which they are written."""
    texts: list[str]


def partial_file(archive: Path, name: str, pid: int) -> Path:
    """Where process ``pid`` writes what is to become the archive's file ``name``."""
    return archive / f"{name}.partial-{pid}"


@contextlib.contextmanager
def appearing(archive: Path, name: str) -> Iterator[Path]:
    """A file that becomes ``name`` when the block ends well, and is removed otherwise."""
    remove_leftovers(archive)
    partial = partial_file(archive, name, os.getpid())
    partial.unlink(missing_ok=True)
    with room_in(archive, name):
        try:
            yield partial
            make_private(partial)
            with partial.open("ab") as file:
                file.write(_MARK + bytes.fromhex(file_checksum(partial)))
            partial.replace(archive / name)
        finally:
            partial.unlink(missing_ok=True)


def is_whole(path: Path, stop: Callable[[], bool] = lambda: False) -> bool:
    """Whether a file that appeared later holds what was written into it. Raises OSError and ``StoppedError``."""
    size = path.stat().st_size - _SEAL_BYTES
    if size < 0:
        return False
    with path.open("rb") as file:
        file.seek(size)
        seal = file.read()
    return seal == _MARK + bytes.fromhex(file_checksum(path, size, stop))


def remove_damaged_tables(archive: Path, stop: Callable[[], bool] = lambda: False) -> bool:
    """Hold the tables for SQL to their checksums, remove those that are damaged, and say whether some were."""
    damaged = False
    for name in TABLES_NAMES:
        with contextlib.suppress(OSError):
            if not is_whole(archive / name, stop):
                (archive / name).unlink()
                damaged = True
    return damaged


def remove_leftovers(archive: Path) -> None:
    """Remove what processes left that were ended while they wrote."""
    with contextlib.suppress(OSError):
        for entry in list(archive.iterdir()):
            found = _PARTIAL.match(entry.name)
            if found is not None and not is_running(int(found["pid"])):
                entry.unlink(missing_ok=True)


def write_columns(
    archive: Path, version: int, columns: Mapping[str, npt.NDArray[Any]], texts: list[str]
) -> None:
    """Keep columns of numbers, and words, of one version. Raises OSError; nothing is left behind then."""
    little = {
        name: np.ascontiguousarray(column, column.dtype.newbyteorder("<")) for name, column in columns.items()
    }
    header = _Header(
        version, {name: (column.dtype.str, len(column)) for name, column in little.items()}, texts
    )
    with appearing(archive, COLUMNS_NAME) as partial, partial.open("wb") as file:
        file.write(msgspec.json.encode(header) + b"\n")
        for column in little.values():
            file.write(b"\0" * (-file.tell() % _ALIGNED_TO))
            file.write(column.data)


def read_columns(archive: Path, version: int) -> tuple[dict[str, npt.NDArray[Any]], list[str]] | None:
    """The columns, mapped, and the words; None where there are none of that version, or they are damaged."""
    try:
        if not is_whole(archive / COLUMNS_NAME):
            return None
        with (archive / COLUMNS_NAME).open("rb") as file:
            line = file.readline(_MOST_HEADER_BYTES)
            header = msgspec.json.decode(line, type=_Header)
            if header.version != version:
                return None
            data = mapped(file)
        found, at = {}, len(line)
        for name, (kind, rows) in header.columns.items():
            if not _WHOLE_NUMBERS.match(kind) or rows < 0:
                return None
            dtype = np.dtype(kind)
            at += -at % _ALIGNED_TO
            found[name] = np.frombuffer(data, dtype, rows, at) if rows else np.empty(0, dtype)
            at += dtype.itemsize * rows
        return (found, header.texts) if at == len(data) - _SEAL_BYTES else None
    except (OSError, ValueError, OverflowError, msgspec.DecodeError):
        # what can't be read is worked out again
        return None


def remove_columns(archive: Path) -> None:
    """Remove the columns, because they are damaged."""
    with contextlib.suppress(OSError):
        (archive / COLUMNS_NAME).unlink(missing_ok=True)
