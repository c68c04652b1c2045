"""Which frame each stack of an open archive is charged to, by :mod:`memlens.model.attribution`."""

from memlens.arrays import U32
from memlens.model.attribution import Attribution
from memlens.model.charging import charged, passed_over, ranks
from memlens.store.snapshot import Snapshot


def charged_by_rule(snapshot: Snapshot, attribution: Attribution) -> U32:
    """The charged frame of each stack, by the current kinds of frames; NEVER for a stack without frames."""
    tree, model = snapshot.tree, snapshot.info.model
    distinct, places = snapshot.frames.distinct()
    passed = passed_over(distinct, model)[places]
    ranked = ranks(snapshot.frames.kind, passed, attribution, model)
    return charged(tree.parent, tree.frame, snapshot.stacks.node, ranked)
