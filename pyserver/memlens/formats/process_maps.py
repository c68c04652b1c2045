"""Which library lies where in a process: the lines of ``/proc/PID/maps`` that recorders put into their files."""

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
    """The rows of a process's map that have a file, by address."""

    def __init__(self, data: mmap | bytes, start: int) -> None:
        """The map in ``data`` from ``start`` on; lines that are none of a map's are passed over."""
        rows: list[tuple[int, int, str]] = []
        for found in _ROW.finditer(data[start : start + _MOST_BYTES]):
            path = found[3].decode("utf-8", "replace").strip()
            if path and len(rows) < _MOST_ROWS:
                rows.append((int(found[1], 16), int(found[2], 16), path))
        rows.sort()
        self._starts = np.array([row[0] for row in rows], np.uint64)
        self._ends = np.array([row[1] for row in rows], np.uint64)
        self._paths = [row[2] for row in rows]

    def __bool__(self) -> bool:
        return bool(self._paths)

    def modules(self, addresses: npt.NDArray[np.uint64]) -> list[str]:
        """The path of the file that lies at each address, empty where none does."""
        if not self._paths:
            return [""] * len(addresses)
        rows = np.searchsorted(self._starts, addresses, side="right") - 1
        inside = (rows >= 0) & (addresses < self._ends[np.maximum(rows, 0)])
        return [
            self._paths[row] if within else ""
            for row, within in zip(rows.tolist(), inside.tolist(), strict=True)
        ]
