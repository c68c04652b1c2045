"""Collections with few elements or none, and numbers in objects of their own."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
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
from memlens.views.graph import collection_sizes
from memlens.views.graph.collection_sizes import USUAL, Sized
from memlens.views.graph.rows import Numbers, references_of_all

_MAP = re.compile(r"(Map|Hashtable|Properties|SparseArray)$")
"""Those with a key for each element."""


def sized(case: GraphCase) -> Sized:
    """All collections of known types with their sizes."""
    known = case.snapshot.keep("findings.collections", lambda: _sized(replace(case, component=None)))
    counts = case.counts(known.objects)
    return Sized(known.objects[counts], known.sizes[counts])


def _sized(case: GraphCase) -> Sized:
    of_pack = case.known.collection_sizes
    return collection_sizes.sized(case.snapshot) if of_pack is None else Sized(*of_pack.load()(case))


def empty_collections(case: GraphCase) -> Iterator[Ranked]:
    """Collections without an element retain 1% of the reachable heap, and 32 KiB.

    Of the usual classes of Java and Android, whose fields say how many elements each has, and where packs find them.
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
        unseen=case.known.unseen_elements,
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


_FEW = 4
_DEEPEST = 8
"""How many references lead from a collection of so few elements to the last of its parts, at most."""
_ARRAY = re.compile(r"\[\]$")


def tiny_collections(case: GraphCase) -> Iterator[Ranked]:
    """Collections of one to four elements take 1% of the reachable heap, and 32 KiB, more than arrays of them.

    Of the usual classes of Java and Android. Their parts are their arrays, and entries of their own.
    """
    known = sized(case)
    is_few = (known.sizes > 0) & (known.sizes <= _FEW)
    members, sizes = known.objects[is_few], known.sizes[is_few]
    if case.info.kind != "hprof" or not len(members):
        return
    objects, names = case.snapshot.objects, case.type_names()
    owner = _owners(case, members)
    parts = np.flatnonzero(owner >= 0)
    taken = np.bincount(owner[parts], weights=objects.shallow[parts], minlength=len(members)).astype(np.int64)
    slot = int(case.snapshot.manifest.settings.get("reference_bytes") or case.info.id_bytes)
    is_map = np.array([bool(_MAP.search(name)) for name in names])[objects.type[members]]
    needed = 2 * case.info.id_bytes + slot * sizes * np.where(is_map, 2, 1)
    more = np.maximum(taken - needed, 0)
    total = int(more.sum())
    if total < case.least:
        return
    link = chosen(case.of_their_types(members))
    shown = figure(total, "", "shallow")
    sentence = phrase(
        "{objects} have one to four elements, and take {size} ({share} of the reachable heap) more than "
        "arrays of these elements would{through}. {advice}",
        objects=counted(case, members), size=measured(shown, link), share=percent(total, case.whole),
        through=mostly_through(case, members),
        advice=phrase("Make them as large as they need to be, or keep so few elements in fields instead."),
    )  # fmt: skip
    yield Ranked(
        total / case.whole,
        made(
            "tiny_collections", phrase("Tiny collections"), sentence, shown, None, objects=link, inferred=True
        ),
        parts[more[owner[parts]] > 0],
    )


def _owners(case: GraphCase, collections: Numbers) -> Numbers:
    """By object which of some collections it is or is a part of, as an index of theirs; -1 for none.

    Parts are arrays that a collection refers to itself and objects of nested classes of theirs, as HashMap$Node, as far
    as it alone holds them.
    """
    stored, objects = case.snapshot.references, case.snapshot.objects
    names = case.type_names()
    is_entry = np.array([name.partition("$")[0] in USUAL and "$" in name for name in names])
    is_array = np.array([bool(_ARRAY.search(name)) for name in names])
    is_field = case.kinds(lambda name: name in ("field", "element"))
    owner = np.full(len(objects.type), -1, np.int32)
    owner[collections] = np.arange(len(collections))
    front = collections
    for depth in range(_DEEPEST):
        at, of = references_of_all(case.snapshot, front)
        targets, sources = stored.target[at].astype(np.int64), front[of]
        kinds = objects.type[targets]
        above = objects.dominator[targets]
        is_held = (above != NEVER) & (owner[np.where(above == NEVER, 0, above)] == owner[sources])
        is_part = is_entry[kinds] | (is_array[kinds] & (depth == 0))
        new = is_field[stored.kind[at]] & is_held & is_part & (owner[targets] < 0)
        if not bool(new.any()):
            break
        owner[targets[new]] = owner[sources[new]]
        front = distinct(targets[new])
    return owner


def counted(case: GraphCase, members: Numbers) -> Text:
    """How many objects of which types, the most frequent first: ``20,000 ArrayList, 300 HashMap``."""
    counts = np.bincount(case.snapshot.objects.type[members])
    order = np.argsort(-counts, kind="stable")
    named = [f"{int(counts[kind]):,} {case.type_name(kind)}" for kind in order[:3].tolist() if counts[kind]]
    rest = int(counts[order[3:]].sum())
    listed = in_a_row(named, ", ")
    if not rest:
        return listed
    return phrase(plural(rest, "{objects} and {n} other", "{objects} and {n} others"), objects=listed, n=rest)


def counts(of: Numbers, chosen: Numbers, count: int) -> Numbers:
    """How many are chosen of what each of ``count`` objects has."""
    found: Numbers = np.bincount(of[chosen], minlength=count)
    return found


def boxed_numbers(case: GraphCase) -> Iterator[Ranked]:
    """Numbers that are objects of their own take 1% of the reachable heap, and 32 KiB.

    Boxes of managed runtimes, and numbers of engines in which small integers are no objects.
    """
    boxes = case.known.boxes
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
