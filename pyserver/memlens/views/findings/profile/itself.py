"""Allocations by lines themselves, rather than by a library that they call: advice about allocating applies to
these.
"""

import numpy as np

from memlens.arrays import Mask
from memlens.model.charging import NAMELESS, charged, passed_over
from memlens.model.frames import LIBRARY
from memlens.model.libraries import library_of
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.findings.groups import TopGroup
from memlens.views.findings.profile.case import ProfileCase

LEAST_SHARE = 0.5
_OF_LANGUAGES = frozenset(name for pack in registry.packs() for name in pack.language_libraries)
_PASSED_OVER = 1


def is_made_by_itself(case: ProfileCase, value: int, group: TopGroup) -> bool:
    """Return whether a line itself allocates at least half of its sum of a value, as with ``new`` or a container of the
    language's library.
    """
    line = group.line
    if line is None:
        return False
    frames, stacks = case.snapshot.frames, case.snapshot.samples.stack
    of_line = (frames.file == frames.file[line.frame]) & (frames.line == line.line)
    labels = case.snapshot.stacks.label
    is_charged = np.append(of_line, False)[np.minimum(labels, len(of_line))]
    by_itself = is_charged & _by_itself(case.snapshot)
    amounts = case.snapshot.samples.value[value]
    has, itself = (int(amounts[chosen[stacks]].sum()) for chosen in (is_charged, by_itself))
    return itself >= LEAST_SHARE * has


@kept
def _by_itself(snapshot: Snapshot) -> Mask:
    """A mask of the stacks whose charged line is innermost, apart from allocators and the language's own library."""
    frames, tree, labels = snapshot.frames, snapshot.tree, snapshot.stacks.label
    distinct, places = frames.distinct()
    rows = list(distinct)
    ranked = passed_over(rows, "profile")
    # an address in a library is code of that library
    ranked[ranked == NAMELESS] = 0
    of_language = [
        kind == LIBRARY and library_of(file, function).partition("/")[0] in _OF_LANGUAGES
        for file, function, kind in rows
    ]
    ranked = np.where(of_language, np.maximum(ranked, _PASSED_OVER), ranked).astype(np.uint8)
    innermost = charged(tree.parent, tree.frame, snapshot.stacks.node, ranked[places])
    known = np.flatnonzero((labels != NEVER) & (innermost != NEVER))
    one, other = labels[known], innermost[known]
    found = np.zeros(len(labels), np.bool_)
    found[known] = (frames.file[one] == frames.file[other]) & (frames.line[one] == frames.line[other])
    return found
