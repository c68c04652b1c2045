"""``thread:`` and ``function:`` in the filter over a heap dump: what threads hold, by their names and functions."""

import numpy as np

from memlens.arrays import Mask
from memlens.model.graph import NONE
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.thread_table import table
from memlens.views.selection.terms import Term
from memlens.views.selection.texts import Pattern


@kept
def threads_named(snapshot: Snapshot, values: tuple[str, ...]) -> Mask:
    """The threads whose names match one of a term's values."""
    patterns = [Pattern(value) for value in values]
    texts = snapshot.strings.texts(table(snapshot).name)
    return np.array([any(each.matches(text) for each in patterns) for text in texts], bool)


@kept
def frames_named(snapshot: Snapshot, values: tuple[str, ...]) -> Mask:
    """A mask of the frames of all threads whose functions match one of a term's values."""
    patterns = [Pattern(value) for value in values]
    fits = snapshot.frames.in_function(lambda text: any(each.matches(text) for each in patterns))
    frames = table(snapshot).frames
    found = np.zeros(len(frames), np.bool_)
    found[frames != NONE] = fits[frames[frames != NONE]]
    return found


def on_stacks(snapshot: Snapshot, term: Term) -> Mask:
    """The objects that variables of the named threads or functions refer to, and the threads' own objects."""
    known = table(snapshot)
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    rows = known.variables
    if term.field == "thread":
        fits = threads_named(snapshot, term.values)
        theirs = fits[rows["thread"]]
        found[rows["object"][theirs]] = True
        own = known.object[fits]
        found[own[own != NONE]] = True
    else:
        rows = rows[rows["depth"] != NONE]
        found[rows["object"][frames_named(snapshot, term.values)[known.frame_rows(rows)]]] = True
    return found
