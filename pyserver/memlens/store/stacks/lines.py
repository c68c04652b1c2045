"""The source lines of an archive; what each allocated, itself or in calls, is in columns of its model."""

import numpy as np

from memlens.arrays import U32
from memlens.model.frames import Frames
from memlens.model.timeline import NEVER
from memlens.store.columns import Columns, Stored


class LineColumns(Columns):
    """An item for each source line that allocated anything, sorted by file and line."""

    prefix = "line_"
    frame = Stored(np.uint32, "lines", below="frames")
    """The first frame on the line, a recorded one if there is any; it has the line's file, number, a function, its kind
    and how it is known.
    """


def lines_of_frames(frames: Frames) -> tuple[U32, U32]:
    """The frame that represents each source line, sorted by file and line; and each frame's line, NEVER for none."""
    firsts: dict[tuple[str, int], int] = {}
    # RECORDED is the lowest source
    in_order = np.argsort(frames.sources, kind="stable").tolist()
    with_lines = [
        (number, firsts.setdefault((frame.file, frame.line), number))
        for number, frame in ((number, frames.frames[number]) for number in in_order)
        if frame.file and frame.line > 0
    ]
    ordered = np.array([firsts[place] for place in sorted(firsts)], np.uint32)
    line_of_first = np.full(len(frames.frames), NEVER, np.uint32)
    line_of_first[ordered] = np.arange(len(ordered), dtype=np.uint32)
    lines = np.full(len(frames.frames), NEVER, np.uint32)
    if with_lines:
        numbers, first = np.array(with_lines, np.uint32).T
        lines[numbers] = line_of_first[first]
    return ordered, lines
