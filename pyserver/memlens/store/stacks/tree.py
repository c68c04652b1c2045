"""The columns of stacks, and of the prefix tree of their frames."""

import numpy as np

from memlens.store.columns import Columns, Stored


class Tree(Columns):
    """An item for each node of the prefix tree of all stacks. Node 0 is the root, which has no frame.

    A stack's frames, innermost first, are those of its node and of all nodes above it.
    """

    prefix = "node_"
    parent = Stored(np.uint32, "nodes", below="itself", first=1)
    frame = Stored(np.uint32, "nodes", below="frames", first=1)


class Stacks(Columns):
    """One item per stack."""

    prefix = "stack_"
    node = Stored(np.uint32, "stacks", below="nodes")
    """The stack's innermost node."""
    label = Stored(np.uint32, "stacks", below="frames", or_never=True)
    """The frame that is shown first and charged as the user's own; NEVER for a stack without frames."""
