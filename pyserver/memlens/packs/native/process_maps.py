"""The address ranges of libraries in a process: lines of ``/proc/PID/maps``, which recorders copy into their files."""

import re
from mmap import mmap

import numpy as np

from memlens.arrays import U64
from memlens.formats.symbols.lookup import Region

_MOST_BYTES = 32 << 20
_MOST_ROWS = 200_000
# START-END PERMISSIONS OFFSET DEVICE INODE PATH, and the short START-END: PATH of old recorders
_ROW = re.compile(
    rb"^[ \t]*(?P<start>[0-9a-fA-F]{1,16})-(?P<end>[0-9a-fA-F]{1,16})"
    rb"(?::|[ \t]+(?P<flags>[-rwxps]{4,5})[ \t]+(?P<offset>[0-9a-fA-F]{1,16})[ \t]+[^ \t\n]+[ \t]+\d+)"
    rb"[ \t]*(?P<path>[^\n]*)$",
    re.MULTILINE,
)


class Maps:
    """The rows of a process's memory map that have a file, by address."""

    def __init__(self, data: mmap | bytes, start: int) -> None:
        """Parse the map in ``data`` from ``start`` on; other lines are skipped."""
        rows: list[Region] = []
        for row in _ROW.finditer(data[start : start + _MOST_BYTES]):
            path = row["path"].decode("utf-8", "replace").strip()
            if path and len(rows) < _MOST_ROWS:
                known = row["offset"] is not None
                offset = int(row["offset"], 16) if known else 0
                rows.append(Region(path, int(row["start"], 16), int(row["end"], 16), offset, is_whole=known))
        rows.sort(key=lambda row: (row.start, row.end))
        self._starts = np.array([row.start for row in rows], np.uint64)
        self._ends = np.array([row.end for row in rows], np.uint64)
        self._rows = rows

    def __bool__(self) -> bool:
        return bool(self._rows)

    def regions(self, addresses: U64) -> list[Region | None]:
        """Return what is mapped at each address, None if there is no file."""
        if not self._rows:
            return [None] * len(addresses)
        rows = np.searchsorted(self._starts, addresses, side="right") - 1
        inside = (rows >= 0) & (addresses < self._ends[np.maximum(rows, 0)])
        return [
            self._rows[row] if within else None
            for row, within in zip(rows.tolist(), inside.tolist(), strict=True)
        ]
