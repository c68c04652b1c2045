"""Empty and small collections, and boxed numbers."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import distinct
from memlens.store.kept import kept
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    mostly_through,
    of_types,
    retained_sql,
    short_type,
)  # fmt: skip
from memlens.views.findings.writing import Ranked, made, percent
from memlens.views.heap.objects.rows import Numbers


class Sized(NamedTuple):
    """Collections whose sizes are known."""

    objects: Numbers
    sizes: Numbers


_NONE = Sized(np.zeros(0, np.int64), np.zeros(0, np.int64))


def sized(case: GraphCase) -> Sized:
    """All collections of known types with their sizes."""
    known = _sized(case.snapshot)
    counts = case.counts(known.objects)
    return Sized(known.objects[counts], known.sizes[counts])


@kept
def _sized(snapshot: Snapshot) -> Sized:
    case = GraphCase(snapshot, graph_of(snapshot.info))
    of_pack = case.known.collections.sizes
    return _NONE if of_pack is None else Sized(*of_pack.load()(case))


def empty_collections(case: GraphCase) -> Iterator[Ranked]:
    """Collections without an element retain 1% of the reachable heap, and 32 KiB.

    Of those whose sizes the pack of the dump's format finds.
    """
    known = sized(case)
    members = known.objects[known.sizes == 0]
    if not len(members) or case.at_most(members) < case.least:
        return
    total = case.retained(members)
    if total < case.least:
        return
    listed = ", ".join(map(str, members.tolist())) if len(members) <= 1_000 else ""
    shown = figure(total, retained_sql(f"object IN ({listed})") if listed else "")
    sentence = phrase(
        "{objects} are empty{unseen} and retain {size} ({share} of the reachable heap){through}. {advice}",
        unseen=case.known.collections.unseen_elements,
        objects=counted(case, members), size=measured(shown), share=percent(total, case.whole),
        through=mostly_through(case, members), advice=phrase("Create them when the first element is added."),
    )  # fmt: skip
    link = chosen(case.of_their_types(members))
    title = phrase("Empty collections")
    yield Ranked(
        total / case.whole,
        made("empty_collections", title, sentence, shown, None, objects=link),
        members,
    )


def counted(case: GraphCase, members: Numbers) -> Text:
    """The number of objects of each type, the most frequent first: ``20,000 ArrayList, 300 HashMap``."""
    counts = np.bincount(case.snapshot.objects.type[members])
    order = np.argsort(-counts, kind="stable")
    named = [f"{int(counts[kind]):,} {case.type_name(kind)}" for kind in order[:3].tolist() if counts[kind]]
    rest = int(counts[order[3:]].sum())
    listed = in_a_row(named, ", ")
    if not rest:
        return listed
    return phrase(plural(rest, "{objects} and {n} other", "{objects} and {n} others"), objects=listed, n=rest)


def counts(of: Numbers, chosen: Numbers, count: int) -> Numbers:
    """How many of the items of each of ``count`` objects are chosen."""
    found: Numbers = np.bincount(of[chosen], minlength=count)
    return found


def boxed_numbers(case: GraphCase) -> Iterator[Ranked]:
    """Numbers that are objects of their own take 1% of the reachable heap, and 32 KiB.

    Boxes of managed runtimes, and numbers of engines in which small integers are no objects.
    """
    boxes = case.known.texts.boxes
    kinds = sorted({*case.types_where(boxes.__contains__), *case.types_of_kind("number", "heap number")})
    members = case.instances(kinds)
    objects = case.snapshot.objects
    total = int(objects.shallow[members].sum()) if len(members) else 0
    if total < case.least:
        return
    names = [case.type_names()[kind] for kind in distinct(objects.type[members]).tolist()]
    where = of_types(names)
    shown = figure(
        total, f"SELECT sum(shallow_bytes) FROM objects WHERE {where} AND distance IS NOT NULL", "shallow"
    )
    link = chosen(where)
    what = ", ".join(short_type(name) for name in names[:3])
    sentence = phrase(
        "{n} numbers are objects of their own ({types}), {size} ({share} of the reachable heap){through}. "
        "Arrays of numbers, or collections made for them, need no such objects.",
        n=len(members), types=what, size=measured(shown, link), share=percent(total, case.whole),
        through=mostly_through(case, members),
    )  # fmt: skip
    yield Ranked(
        0.7 * total / case.whole,
        made("boxed_numbers", phrase("Boxed numbers"), sentence, shown, None, objects=link),
        members,
    )
