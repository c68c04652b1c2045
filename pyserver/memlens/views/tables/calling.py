"""Who called the line that a stack is charged to."""

import numpy as np

from memlens.arrays import U32
from memlens.model.attribution import Attribution
from memlens.model.charging import passed_over
from memlens.model.frames import NATIVE, RECORDED, USER
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.naming.attribution import charged_frames
from memlens.views.selection.stacks import PrefixTree
from memlens.views.selection.walking import line_keys, up_to_another, up_to_line


def calling_frames(snapshot: Snapshot, attribution: Attribution) -> U32:
    """For each stack the nearest frame of another line that called the one it is charged to; NEVER where none did.

    Of a line of the program's own the program's own callers count, so that libraries between the two are passed over;
    of others all with a name, in a trace those of Python.
    """
    frames, tree, labels = snapshot.frames, snapshot.tree, charged_frames(snapshot, attribution)
    found: U32 = np.full(len(labels), NEVER, np.uint32)
    if not len(frames):
        return found
    distinct, places = frames.distinct()
    model = snapshot.info.model
    able = (passed_over(distinct, model)[places] == 0) & (frames.source == RECORDED)
    if model == "timeline":
        able &= frames.kind != NATIVE
    # the root of the tree has no frame
    frame_of = np.minimum(tree.frame, len(frames) - 1)
    keys = line_keys(snapshot)
    key_of, is_able, is_users = keys[frame_of], able[frame_of], (able & (frames.kind == USER))[frame_of]
    stacks = np.flatnonzero(labels != NEVER)
    line, of_user = keys[labels[stacks]], frames.kind[labels[stacks]] == USER
    nodes = snapshot.stacks.node
    prefix = PrefixTree(tree.parent, tree.frame, nodes, nodes)
    charged = up_to_line(prefix, nodes[stacks], key_of, line)
    above = np.where(charged == 0, 0, tree.parent[charged]).astype(np.uint32)
    callers = np.where(
        of_user,
        up_to_another(prefix, above, is_users, key_of, line),
        up_to_another(prefix, above, is_able, key_of, line),
    )
    found[stacks] = np.where(callers == 0, NEVER, tree.frame[callers])
    return found
