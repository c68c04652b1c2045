"""Which frame each stack of an open archive is charged to, by :mod:`memlens.model.attribution`."""

import numpy as np
import numpy.typing as npt

from memlens.model.attribution import Attribution
from memlens.model.charging import charged, passed_over, ranks
from memlens.store.snapshot import Snapshot


def charged_by_rule(snapshot: Snapshot, attribution: Attribution) -> npt.NDArray[np.uint32]:
    """The frame of each stack; NEVER for a stack without frames."""
    return charged_by_kinds(snapshot, attribution, *snapshot.frames.distinct())


def charged_by_kinds(
    snapshot: Snapshot,
    attribution: Attribution,
    distinct: list[tuple[str, str, int]],
    places: npt.NDArray[np.intp],
) -> npt.NDArray[np.uint32]:
    """The same where frames have other kinds: ``distinct`` and ``places`` as :meth:`FrameColumns.distinct` has them."""
    tree, model = snapshot.tree, snapshot.info.model
    kinds = np.array([kind for _, _, kind in distinct], np.uint8)
    ranked = ranks(kinds, passed_over(distinct, model), attribution, model)[places]
    return charged(tree.parent, tree.frame, snapshot.stacks.node, ranked)
