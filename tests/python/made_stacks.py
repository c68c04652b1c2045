"""Stacks with values that no snapshot has."""

from collections.abc import Sequence

import numpy as np

from memlens.model.frames import NATIVE
from memlens.model.info import ProfileInfo
from memlens.store.stacks.frames import FrameRow
from memlens.views.compare.sides import Side
from memlens.views.flame.calltree import CallTree, FlameOptions, build, merged
from memlens.views.naming.frame_names import FrameNames
from memlens.views.naming.places import BEFORE_RECORDING, NO_STACK_ROW
from memlens.views.selection.stacks import OneSide, PrefixTree, ValuedStacks, ValueName

TYPES = (ValueName("inuse_space", "bytes"), ValueName("inuse_objects", "count"))
_INFO = ProfileInfo(
    kind="pprof", path="made.pb.gz", file_bytes=0, warnings=[], values=[], default_value=0, samples=0, stacks=0,
    mixed_stacks=False, has_sizes=False, labels=[], bins=0, end=0.0, time_unit="microseconds", series=[],
    has_flow=False,
)  # fmt: skip


def stacks_of_nodes(
    parents: Sequence[int], frames: Sequence[int], values: Sequence[Sequence[int]]
) -> ValuedStacks[OneSide]:
    """A stack ends at every node but the root; ``values`` are amount and count of each, in the order of time."""
    nodes = np.arange(len(parents), dtype=np.uint32)
    return ValuedStacks(
        PrefixTree(np.array(parents, np.uint32), np.array(frames, np.uint32), nodes, nodes),
        nodes[1:],
        np.array(values, np.int64).reshape(-1, 2).T.copy(),
        OneSide(TYPES),
        nodes[1:],
        nodes[1:],
    )


def tree_of_stacks(
    stacks: ValuedStacks[OneSide], names: FrameNames, options: FlameOptions, by: int = 0
) -> CallTree:
    """The call tree of some stacks."""
    return build(stacks, merged(stacks.tree, names, options), names.by(options.merge), options, by)


def side_of_stacks(stacks: ValuedStacks[OneSide], rows: list[FrameRow]) -> Side:
    """A side of a comparison in which each stack is charged to its innermost frame; ``rows`` are the frames."""
    places = [*rows, NO_STACK_ROW, BEFORE_RECORDING]
    charged = stacks.tree.frames[stacks.nodes]
    sources = np.zeros(len(rows), np.uint8)
    native = np.array([kind == NATIVE for *_, kind in rows] + [True, True], bool)
    return Side(stacks, places, native, len(rows), sources, charged, np.zeros(len(stacks), bool), _INFO)
