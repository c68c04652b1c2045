"""The address ranges of libraries in a process: lines of ``/proc/PID/maps``, which recorders copy into their files."""

import re
from mmap import mmap

import numpy as np
import numpy.typing as npt

_MOST_BYTES = 32 << 20
_MOST_ROWS = 200_000
# START-END PERMISSIONS OFFSET DEVICE INODE PATH, and the short START-END: PATH of old recorders
_ROW = re.compile(
    rb"^[ \t]*([0-9a-fA-F]{1,16})-([0-9a-fA-F]{1,16})"
    rb"(?::|[ \t]+[-rwxps]{4,5}[ \t]+[0-9a-fA-F]+[ \t]+[^ \t\n]+[ \t]+\d+)[ \t]*([^\n]*)$",
    re.MULTILINE,
)


class Maps:
    """The rows of a process's memory map that have a file, by address."""

    def __init__(self, data: mmap | bytes, start: int) -> None:
        """Parse the map in ``data`` from ``start`` on; other lines are skipped."""
        rows: list[tuple[int, int, str]] = []
        for row in _ROW.finditer(data[start : start + _MOST_BYTES]):
            path = row[3].decode("utf-8", "replace").strip()
            if path and len(rows) < _MOST_ROWS:
                rows.append((int(row[1], 16), int(row[2], 16), path))
        rows.sort()
        self._starts = np.array([row[0] for row in rows], np.uint64)
        self._ends = np.array([row[1] for row in rows], np.uint64)
        self._paths = [row[2] for row in rows]

    def __bool__(self) -> bool:
        return bool(self._paths)

    def modules(self, addresses: npt.NDArray[np.uint64]) -> list[str]:
        """Return the path of the file that is mapped at each address, empty if there is none."""
        if not self._paths:
            return [""] * len(addresses)
        rows = np.searchsorted(self._starts, addresses, side="right") - 1
        inside = (rows >= 0) & (addresses < self._ends[np.maximum(rows, 0)])
        return [
            self._paths[row] if within else ""
            for row, within in zip(rows.tolist(), inside.tolist(), strict=True)
        ]
