"""The columns of a trace that concern all of its devices."""

import numpy as np

from memlens.model.timeline import ANNOTATION_DTYPE, BLOCK_DTYPE, SEGMENT_DTYPE
from memlens.store.columns import Columns, Stored, StoredTable

FX_NODE_DTYPE = np.dtype(
    [("frame", "<u4"), ("op", "<u4"), ("name", "<u4"), ("target", "<u4"), ("info", "<u4")]
)
"""A frame of generated code and its FX node, see :class:`memlens.model.frames.FxNode`; numbers of strings."""


class ModuleColumns(Columns):
    """An item for each module; 0 is "in no module", with an empty name. Modules of one path are one."""

    prefix = "module_"
    parent = Stored(np.uint32, "modules", below="modules")
    name = Stored(np.uint32, "modules", below="strings")
    path = Stored(np.uint32, "modules", below="strings")
    """As ``GPT / forward (model.py:17) / nn.Linear``."""
    frame = Stored(np.uint32, "modules")
    """The frame of its function at one line, NEVER for none."""


class TraceColumns(Columns):
    """A trace's figures of each stack, and the tables of its file."""

    stack_module = Stored(np.uint32, "stacks")
    """The number of the module that a stack ran in, 0 for none."""
    stack_totals = Stored(np.int64, "stacks", width=6)
    """Bytes and count in all, bytes and count live at the peak, bytes live at the end, largest."""
    stack_largest = Stored(np.uint32, "stacks")
    """The largest allocation, NEVER for none."""
    line_totals = Stored(np.int64, "lines", width=6)
    """The sums of the stacks through each source line, with the figures of ``stack_totals``."""
    line_own = Stored(np.int64, "lines", width=2)
    """Bytes and count in all of the stacks whose innermost Python frame is the line."""
    segments = StoredTable(SEGMENT_DTYPE)
    """The final segments, in the order of the file."""
    blocks = StoredTable(BLOCK_DTYPE)
    """Their blocks, segment by segment."""
    annotations = StoredTable(ANNOTATION_DTYPE)
    fx_nodes = StoredTable(FX_NODE_DTYPE)
