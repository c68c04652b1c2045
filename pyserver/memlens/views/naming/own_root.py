"""Frames that are the program's own only probably; see :mod:`memlens.model.own_root`."""

import numpy as np
import numpy.typing as npt

from memlens.model.info import ProfileInfo
from memlens.model.own_root import OwnFrames
from memlens.model.profile import StackTree
from memlens.store.snapshot import Snapshot


def is_doubtful(snapshot: Snapshot, frame: int) -> bool:
    """Return whether no rule names a frame, and it is of another project than those in which stacks begin."""

    def find() -> npt.NDArray[np.bool_]:
        info, tree, nodes = snapshot.info, snapshot.tree, snapshot.stacks.node
        weights: npt.NDArray[np.float64] = np.ones(len(nodes))
        if isinstance(info, ProfileInfo):
            amounts = np.abs(snapshot.samples.value[info.default_value].astype(np.float64))
            weights = np.bincount(snapshot.samples.stack, amounts, len(nodes)).astype(np.float64)
        distinct, places = snapshot.frames.distinct()
        rows = list(distinct)
        own = OwnFrames(
            StackTree(tree.parent, tree.frame), nodes, weights, (rows[place] for place in places.tolist())
        )
        return own.doubtful()

    return bool(snapshot.keep("doubtful frames", find)[frame])
