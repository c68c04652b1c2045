"""Weak references that are never cleared, as what they refer to is held by them alone."""

from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.store.objects.columns import ObjectColumns
from memlens.store.objects.walks import dominators_of
from memlens.texts import phrase
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    object_part,
    retained_sql,
)  # fmt: skip
from memlens.views.findings.graph.collections import counted as counted_types
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.writing import Ranked, made, percent
from memlens.views.heap.objects.reference_kinds import kinds_where
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.reachable.from_roots import distances_through

_MOST_LISTED = 1_000


def weak_references(case: GraphCase) -> Iterator[Ranked]:
    """Weak, soft or phantom references keep alive what they refer to, and retain 1% of the reachable heap, and 32 KiB.

    As the entries of a ``WeakHashMap`` whose values refer to their keys, and those of thread locals whose values refer
    to the thread local: they are never cleared, although nothing else refers to these. Such a reference dominates its
    referent.
    """
    stored, objects = case.snapshot.references, case.snapshot.objects
    weak = kinds_where(case.snapshot, lambda kind: kind.strength in ("weak", "soft", "phantom"))
    rows = np.flatnonzero(weak[stored.kind])
    sources, targets = case.sources(rows).astype(np.int64), stored.target[rows].astype(np.int64)
    # of a soft reference what it alone holds is no leak: it is cleared
    strongly = distances_through(case.snapshot, ())
    reached = (objects.distance[sources] != NEVER) & (strongly[targets] != NEVER)
    members = distinct(sources[reached][_dominate(objects, sources[reached], targets[reached])])
    if not len(members) or case.at_most(members) < case.least:
        return
    total = case.retained(members)
    if total < case.least:
        return
    listed = ", ".join(map(str, members.tolist())) if len(members) <= _MOST_LISTED else ""
    shown = figure(total, retained_sql(f"object IN ({listed})") if listed else "")
    largest = int(members[np.argmax(objects.retained[members])])
    sentence = phrase(
        "{references} keep alive what they refer to themselves, so that they are never cleared, and "
        "retain {size} ({share} of the reachable heap); one is {object}{held}. A value must not "
        "refer to its own key.",
        references=counted_types(case, members), size=measured(shown), share=percent(total, case.whole),
        object=object_part(case, largest), held=and_held(held_by(case, largest)),
    )  # fmt: skip
    link = chosen(case.of_their_types(members))
    title = phrase("Weak references that hold their referents")
    yield Ranked(
        1.5 * total / case.whole,
        made("weak_references", title, sentence, shown, None, objects=link),
        members,
    )


def _dominate(objects: ObjectColumns, above: Numbers, below: Numbers) -> Numbers:
    """For each pair, whether the first object dominates the second."""
    found = np.zeros(len(above), np.bool_)
    left, here = np.arange(len(above)), dominators_of(objects, below)
    while len(left):
        found[left] = here == above[left]
        # what is above an object retains at least as much
        on = (here != NEVER) & ~found[left]
        left, here = left[on], here[on]
        near = objects.retained[here] <= objects.retained[above[left]]
        left, here = left[near], dominators_of(objects, here[near])
    return found
