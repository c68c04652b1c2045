"""The columns of a trace that are about all of its devices."""

import numpy as np

from memlens.model.timeline import ANNOTATION_DTYPE, BLOCK_DTYPE, SEGMENT_DTYPE
from memlens.store.columns import Columns, Stored, StoredTable


class TraceColumns(Columns):
    """What a trace knows of each stack, and the tables of its file."""

    stack_module = Stored(np.uint32, "stacks")
    """The number of the ``torch.nn`` module that a stack ran in, 0 for none."""
    stack_totals = Stored(np.int64, "stacks", width=6)
    """Bytes and count in all, bytes and count live at the peak, bytes live at the end, largest."""
    stack_largest = Stored(np.uint32, "stacks")
    """The largest allocation, NEVER for none."""
    segments = StoredTable(SEGMENT_DTYPE)
    """The final segments, in the order of the file."""
    blocks = StoredTable(BLOCK_DTYPE)
    """Their blocks, segment by segment."""
    annotations = StoredTable(ANNOTATION_DTYPE)
