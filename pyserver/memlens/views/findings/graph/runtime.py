"""What runtimes keep: class loaders, objects that wait for their finalizers, thread-local variables."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from memlens.kernels.graph.reach import distances
from memlens.model.distinct import counted, distinct
from memlens.model.graph import JAVA_KINDS
from memlens.model.timeline import NEVER
from memlens.store.objects.columns import ObjectColumns
from memlens.store.objects.walks import dominators_of
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
    short_type,
)  # fmt: skip
from memlens.views.findings.graph.collections import counted as counted_types
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.graph.kinds import has_strength, kinds_where
from memlens.views.graph.reach import distances_through, followed, softly_reachable
from memlens.views.graph.rows import Numbers
from memlens.views.graph.thread_locals import entry_of

LEAST_LOADERS = 3
LEAST_FINALIZABLE = 100
_MOST_LISTED = 1_000
_MOST_FIELD = 120
_REFLECTION = ("DelegatingClassLoader", "MethodUtil")
_SOFTLY_SQL = (
    "SELECT retained(o.object) FROM refs AS r JOIN objects AS o ON o.object = r.target WHERE r.strength = 'soft' "
    "AND o.distance IS NOT NULL AND NOT EXISTS (SELECT 1 FROM paths_to(o.object, 1, ''))"
)


def class_loaders(case: GraphCase) -> Iterator[Ranked]:
    """Three or more loaders of one class have each loaded a class of the same name and retain 1% of the reachable heap.

    As after redeploying an application whose former loader is still held. Of dumps of Java; without those loaders
    that reflection makes for a single class.
    """
    types, objects, stored = case.snapshot.types, case.snapshot.objects, case.snapshot.references
    if types.object is None or case.info.kind not in JAVA_KINDS:
        return
    names, counts = counted(types.name)
    repeated = np.flatnonzero(np.isin(types.name, names[counts >= LEAST_LOADERS]) & (types.object != NEVER))
    is_loader = case.kinds(lambda name: name == "class loader")
    rows = np.flatnonzero(is_loader[stored.kind])
    classes, loaders = case.sources(rows).astype(np.int64), stored.target[rows].astype(np.int64)
    members = case.reached(distinct(loaders[np.isin(classes, types.object[repeated])]))
    for kind in distinct(objects.type[members]).tolist():
        own = members[objects.type[members] == kind]
        name = case.type_names()[kind]
        if len(own) < LEAST_LOADERS or name.endswith(_REFLECTION):
            continue
        # what a class's static fields hold is below the class, which its instances hold as well as its loader does
        loaded = case.reached(classes[np.isin(loaders, own)])
        total = case.retained(distinct(np.concatenate((own, loaded))))
        if total < case.least:
            continue
        listed = ", ".join(map(str, own.tolist()))
        shown = figure(
            total,
            f"SELECT retained(object) FROM (SELECT object FROM objects WHERE object IN ({listed}) UNION SELECT source "
            f"FROM refs WHERE kind = 'class loader' AND target IN ({listed}))",
        )
        largest = int(own[np.argmax(objects.retained[own])])
        link = chosen(f"object IN ({listed})")
        sentence = phrase(
            "{loaders} have loaded classes of the same names, and retain {size} ({share} of the reachable "
            "heap); one is {object}{held}.",
            loaders=linked(f"{len(own):,} {short_type(name)}", objects=link), size=measured(shown, link),
            share=percent(total, case.whole), object=object_part(case, largest),
            held=and_held(held_by(case, largest)),
        )  # fmt: skip
        yield Ranked(
            2 * total / case.whole,
            made(
                "class_loaders", phrase("Class loaders"), sentence, shown, None, objects=link, subject=(name,)
            ),
            own,
        )


def finalizers(case: GraphCase) -> Iterator[Ranked]:
    """Objects that only wait for their finalizer keep 1% of the reachable heap, and 32 KiB, or 100 of them wait.

    Those that references of finalizers lead to and no root reaches without these, and those whose root is a
    finalizer's queue.
    """
    stored, objects = case.snapshot.references, case.snapshot.objects
    waits = kinds_where(
        case.snapshot, lambda kind: kind.strength == "finalizer" and kind.name == "finalizer referent"
    )
    # most formats have no such references among the many that would be looked through
    rows = waits[stored.kind] if waits.any() else slice(0)
    referents = distinct(stored.target[rows]).astype(np.int64)
    waiting = referents[objects.distance[referents] == NEVER]
    if len(waiting):
        reached = np.empty(len(objects.type), np.uint32)
        distances(
            stored.start,
            stored.target,
            stored.kind,
            followed(case.snapshot),
            waiting.astype(np.uint32),
            reached,
        )
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
    """What is softly reachable is 1% of the reachable heap, and 32 KiB: caches, as a rule.

    Of dumps of Java and Android.
    """
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


def _softly_held(case: GraphCase, softly: npt.NDArray[np.bool_]) -> Numbers:
    """The objects that soft references hold of those that are reached by these alone."""
    stored = case.snapshot.references
    rows = np.flatnonzero(kinds_where(case.snapshot, lambda kind: kind.strength == "soft")[stored.kind])
    targets = stored.target[rows]
    # what only another softly reachable object's reference leads to is below that
    outer = softly[targets] & ~softly[case.sources(rows)]
    return distinct(targets[outer]).astype(np.int64)


def weak_references(case: GraphCase) -> Iterator[Ranked]:
    """Weak, soft or phantom references keep alive what they refer to, and retain 1% of the reachable heap, and 32 KiB.

    As the entries of a ``WeakHashMap`` whose values refer to their keys, and those of thread locals whose values refer
    to the thread local: they are never cleared, although nothing else refers to these. Such a reference dominates its
    referent. Of dumps of Java and Android.
    """
    if case.info.kind not in JAVA_KINDS:
        return
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
        "{references} keep alive what they refer to themselves, so that they are never cleared, and retain {size} "
        "({share} of the reachable heap); one is {object}{held}. What is kept for a key must not refer to that key.",
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
    """Which objects dominate another one, for each of some pairs."""
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


def thread_locals(case: GraphCase) -> Iterator[Ranked]:
    """Thread-local variables retain 1% of the reachable heap, and 32 KiB. Of dumps whose types say so."""
    names, known = case.type_names(), case.known.thread_locals
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
    entry = entry_of(case.snapshot, largest)
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
