"""Memory kept by runtimes: class loaders, objects waiting for finalizers, thread-local variables."""

from collections.abc import Iterator

import numpy as np

from memlens.arrays import Mask
from memlens.kernels.graph.reach import distances
from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.texts import Text, in_a_row, phrase
from memlens.units import plain_name, shortened
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    object_part,
    of_types,
    retained_sql,
)  # fmt: skip
from memlens.views.findings.graph.collections import counted as counted_types
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.writing import Ranked, made, percent
from memlens.views.heap.objects.reference_kinds import has_strength, kinds_where
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.reachable.from_roots import followed, outgoing, softly_reachable

LEAST_FINALIZABLE = 100
_MOST_FIELD = 120
_SOFTLY_SQL = (
    "SELECT retained(o.object) FROM refs AS r JOIN objects AS o ON o.object = r.target WHERE r.strength = 'soft' "
    "AND o.distance IS NOT NULL AND NOT EXISTS (SELECT 1 FROM paths_to(o.object, 1, ''))"
)


def finalizers(case: GraphCase) -> Iterator[Ranked]:
    """Objects that only wait for their finalizer keep 1% of the reachable heap, and 32 KiB, or 100 of them wait.

    These are reachable only through references of finalizers, or have a finalizer queue as their root.
    """
    stored, objects = case.snapshot.references, case.snapshot.objects
    waits = kinds_where(
        case.snapshot, lambda kind: kind.strength == "finalizer" and kind.name == "finalizer referent"
    )
    # most formats have no such references, and searching all of them takes time
    rows = waits[stored.kind] if waits.any() else slice(0)
    referents = distinct(stored.target[rows]).astype(np.int64)
    waiting = referents[objects.distance[referents] == NEVER]
    if len(waiting):
        reached = np.empty(len(objects.type), np.uint32)
        distances(outgoing(case.snapshot, followed(case.snapshot)), waiting.astype(np.uint32), reached)
        only = (reached != NEVER) & (objects.distance == NEVER)
        total = int(objects.shallow[only].sum())
        if total >= case.least or len(waiting) >= LEAST_FINALIZABLE:
            yield _waiting(case, waiting, total, "")
    roots, names = objects.roots, case.snapshot.graph_names.root_kinds
    queues = [number for number, name in enumerate(names) if "finaliz" in name.lower()]
    queued = distinct(roots["object"][np.isin(roots["kind"], queues)]).astype(np.int64)
    if len(queued):
        total = case.retained(queued)
        if total >= case.least or len(queued) >= LEAST_FINALIZABLE:
            listed = ", ".join(f"'{names[number]}'" for number in queues)
            yield _waiting(
                case, queued, total, f"SELECT retained(object) FROM roots WHERE kind IN ({listed})"
            )


def _waiting(case: GraphCase, members: Numbers, total: int, sql: str) -> Ranked:
    objects = case.snapshot.objects
    counts = np.bincount(objects.type[members])
    order = np.argsort(-counts, kind="stable")[:3].tolist()
    what = ", ".join(f"{int(counts[kind]):,} {case.type_name(kind)}" for kind in order if counts[kind])
    shown = figure(total, sql)
    largest = int(members[np.argmax(objects.retained[members])])
    link = ObjectsLink("object", largest)
    sentence = phrase(
        "{n} objects wait for their finalizers ({types}) and keep {size} ({share} of the reachable heap). "
        "Close them where they are used.",
        n=len(members), types=what, size=measured(shown, link), share=percent(total, case.whole),
    )  # fmt: skip
    return Ranked(
        1.5 * total / case.whole + 0.02,
        made("finalizers", phrase("Waiting for finalizers"), sentence, shown, None, objects=link),
        members,
    )


def soft_references(case: GraphCase) -> Iterator[Ranked]:
    """Softly reachable objects are 1% of the reachable heap, and 32 KiB: usually caches."""
    if not has_strength(case.snapshot, "soft"):
        return
    softly = softly_reachable(case.snapshot)
    members = np.flatnonzero(softly)
    total = int(case.snapshot.objects.shallow[members].sum())
    if total < case.least:
        return
    firsts = _softly_held(case, softly)
    shown = figure(total, _SOFTLY_SQL)
    largest = int(firsts[np.argmax(case.snapshot.objects.retained[firsts])])
    sentence = phrase(
        "{size} ({share} of the reachable heap) in {n} objects is held by soft references only, which refer to "
        "{types}; one is {object}{held}. The virtual machine clears such references when memory runs short. Limit the "
        "size of a cache that is too large.",
        size=measured(shown), share=percent(total, case.whole), n=len(members), types=counted_types(case, firsts),
        object=object_part(case, largest), held=and_held(held_by(case, largest)),
    )  # fmt: skip
    link = chosen(case.of_their_types(firsts))
    yield Ranked(
        0.8 * total / case.whole,
        made("soft_references", phrase("Held by soft references"), sentence, shown, None, objects=link),
        firsts,
    )


def _softly_held(case: GraphCase, softly: Mask) -> Numbers:
    """The softly reachable objects to which soft references lead directly."""
    stored = case.snapshot.references
    rows = np.flatnonzero(kinds_where(case.snapshot, lambda kind: kind.strength == "soft")[stored.kind])
    targets = stored.target[rows]
    # objects behind another softly reachable object are below it
    outer = softly[targets] & ~softly[case.sources(rows)]
    return distinct(targets[outer]).astype(np.int64)


def thread_locals(case: GraphCase) -> Iterator[Ranked]:
    """Thread-local variables retain 1% of the reachable heap, and 32 KiB, in dumps whose types identify them."""
    names, known = case.type_names(), case.known.scopes.thread_locals
    kinds = case.types_where(known.fullmatch) if known is not None else []
    members = case.instances(kinds)
    if not len(members) or case.at_most(members) < case.least:
        return
    total = case.retained(members)
    if total < case.least:
        return
    where = of_types([names[kind] for kind in kinds])
    shown = figure(total, retained_sql(where))
    objects = case.snapshot.objects
    largest = int(members[np.argmax(objects.retained[members])])
    link = ObjectsLink("object", largest)
    values = case.known.thread_values
    entry = None if values is None else values.load().entry_of(case.snapshot, largest)
    sentence = phrase(
        "Thread-local variables retain {size} ({share} of the reachable heap); the largest is {object}{held}. "
        "Remove them when the thread's work is done.",
        size=measured(shown, chosen(where)), share=percent(total, case.whole),
        object=object_part(case, largest) if entry is None else _named_local(case, *entry),
        held=and_held(held_by(case, largest)),
    )  # fmt: skip
    yield Ranked(
        total / case.whole,
        made("thread_locals", phrase("Thread locals"), sentence, shown, None, objects=link),
        members,
    )


def _named_local(case: GraphCase, field: str, value: int) -> Text:
    """The value of a thread local, with the static field that holds its key: ``Main.BUFFER = byte[] @0x7f3a``."""
    own = shortened(plain_name(".".join(field.rsplit(".", 2)[-2:])), _MOST_FIELD)
    return in_a_row([own, object_part(case, value)], " = ")
