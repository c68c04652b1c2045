"""Profiles in text: a first line, then for each stack its live bytes, its live blocks, and its frames.

``4096 1 load src/cache.x:31;main src/main.x:7`` has the innermost frame first.
"""

from pathlib import Path

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.stacks import distinct_frames
from memlens.model.frames import Frames, SourceFrame, profiled_frame
from memlens.model.info import ValueType
from memlens.model.profile import Profile, sums_fit
from memlens.progress import Report
from memlens.texts import Text

KIND = "newpack"
FIRST_LINE = b"newpack 1\n"
VALUES = [
    ValueType("size", "bytes", "live", Text("Live memory")),
    ValueType("count", "count", "live", Text("Live blocks")),
]


def sniff(head: bytes) -> bool:
    """Whether the first bytes of a file can only be of this format."""
    return head.startswith(FIRST_LINE)


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile; ``report`` gets ``("reading", fraction)``. Raises :class:`DamagedSnapshotError`."""
    rows: list[tuple[int, int]] = []
    # stack 0 is the empty one
    starts, places = [0, 0], list[SourceFrame]()
    offset = len(FIRST_LINE)
    for line in bytes(source.data[offset:]).splitlines(keepends=True):
        try:
            size, count, stack = line.decode().split(maxsplit=2)
            rows.append((int(size), int(count)))
            places.extend(map(_frame, stack.strip().split(";")))
        except ValueError as error:
            raise DamagedSnapshotError(Text("A stack can't be read"), offset=offset) from error
        starts.append(len(places))
        offset += len(line)
    report("reading", 1.0)
    frames, numbers = distinct_frames(places)
    try:
        values = list(np.array(rows, np.int64).reshape(-1, len(VALUES)).T)
    except OverflowError as error:
        raise DamagedSnapshotError(Text("A value is too large")) from error
    if not sums_fit(values):
        raise DamagedSnapshotError(Text("The sum of the values is too large"))
    return Profile(
        KIND,
        Frames(frames, np.array(starts, np.uint64), numbers),
        VALUES,
        0,
        np.arange(1, len(rows) + 1, dtype=np.uint32),
        values,
    )


def _frame(text: str) -> SourceFrame:
    """A frame, ``function file:line``. Raises ValueError."""
    function, place = text.rsplit(maxsplit=1)
    file, line = place.rsplit(":", 1)
    return profiled_frame(file, int(line), function)
