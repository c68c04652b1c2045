"""Collections with few elements, whose memory is mostly room for more."""

import re
from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.graph import is_array
from memlens.model.timeline import NEVER
from memlens.packs.jvm.collection_sizes import USUAL
from memlens.texts import phrase
from memlens.views.findings.graph.case import GraphCase, chosen, figure, measured, mostly_through
from memlens.views.findings.graph.collections import counted, sized
from memlens.views.findings.writing import Ranked, made, percent
from memlens.views.heap.objects.references import references_of_all
from memlens.views.heap.objects.rows import Numbers

_MAP = re.compile(r"(Map|Hashtable|Properties|SparseArray)$")
"""Those with a key for each element."""
_FEW = 4
_DEEPEST = 8
"""How many references lead from a collection of so few elements to the last of its parts, at most."""


def tiny_collections(case: GraphCase) -> Iterator[Ranked]:
    """Collections of one to four elements take 1% of the reachable heap, and 32 KiB, more than arrays of them.

    Their parts are their arrays, and entries of their own.
    """
    known = sized(case)
    is_few = (known.sizes > 0) & (known.sizes <= _FEW)
    members, sizes = known.objects[is_few], known.sizes[is_few]
    if not len(members):
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
    """The collection that each object is, or is a part of, as an index into ``collections``; -1 for none.

    Parts are arrays that a collection refers to itself and objects of nested classes of theirs, as HashMap$Node, as
    far as it alone holds them.
    """
    stored, objects = case.snapshot.references, case.snapshot.objects
    names = case.type_names()
    is_entry = np.array([name.partition("$")[0] in USUAL and "$" in name for name in names])
    are_arrays = np.array([is_array(name) for name in names])
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
        is_part = is_entry[kinds] | (are_arrays[kinds] & (depth == 0))
        new = is_field[stored.kind[at]] & is_held & is_part & (owner[targets] < 0)
        if not bool(new.any()):
            break
        owner[targets[new]] = owner[sources[new]]
        front = distinct(targets[new])
    return owner
