"""Hash tables whose keys collide: buckets of Java's maps with many entries."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import counted, distinct
from memlens.texts import phrase
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured
from memlens.views.findings.graph.held import held_by
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.heap.objects.rows import Numbers

LONG_BUCKET = 9
"""More entries than a bucket of ``java.util.HashMap`` has as a list: with keys that hash well, 6 buckets in 100 million
have that many (see the class's comment on TREEIFY_THRESHOLD)."""
LEAST_COLLIDING = 100
_MOST_LISTED = 1_000

_ENTRIES = frozenset(
    (
        "java.util.HashMap$Node", "java.util.HashMap$TreeNode", "java.util.HashMap$Entry",
        "java.util.HashMap$HashMapEntry", "java.util.LinkedHashMap$Entry",
        "java.util.LinkedHashMap$LinkedHashMapEntry", "java.util.Hashtable$Entry",
        "java.util.Hashtable$HashtableEntry", "java.util.concurrent.ConcurrentHashMap$Node",
        "java.util.concurrent.ConcurrentHashMap$TreeNode", "java.util.concurrent.ConcurrentHashMap$HashEntry",
    )
)  # fmt: skip
"""Classes of entries that refer to the next of their bucket by a field ``next``, those in a tree as well."""


class _Buckets(NamedTuple):
    """Entries in buckets that have :data:`LONG_BUCKET` or more."""

    entries: Numbers
    first: Numbers
    """Of each entry, the first of its bucket."""


def hash_collisions(case: GraphCase) -> Iterator[Ranked]:
    """A hundred entries of maps are in buckets of nine or more.

    The amount is the bytes of these entries without keys and values; what collisions cost is mostly time. Other
    formats don't say which bucket an entry is in.
    """
    found = _long_buckets(case)
    if len(found.entries) < LEAST_COLLIDING:
        return
    objects = case.snapshot.objects
    total = int(objects.shallow[found.entries].sum())
    heads, lengths = counted(found.first)
    longest = int(heads[np.argmax(lengths)])
    listed = ", ".join(map(str, found.entries.tolist())) if len(found.entries) <= _MOST_LISTED else ""
    query = f"SELECT sum(shallow_bytes) FROM objects WHERE object IN ({listed})" if listed else ""
    shown = figure(total, query, "shallow")
    link = ObjectsLink("object", longest)
    keys = _keys(case, found.entries)
    held = held_by(case, longest)
    several = len(heads) > 1
    sentence = phrase(
        "{entries} are {buckets}; they take {size} ({share} of the reachable heap){keys}{holder}.",
        entries=linked(phrase("{n} entries of maps", n=len(found.entries)), objects=link),
        buckets=phrase(
            "in {n} buckets of {least} or more, {longest} in the longest",
            n=len(heads), least=LONG_BUCKET, longest=int(lengths.max()),
        ) if several else phrase("in one bucket"),
        size=measured(shown, link), share=percent(total, case.whole),
        keys=phrase(", and most of their keys are {type}, whose hashCode has few values", type=keys) if keys else "",
        holder="" if held is None else phrase("; the longest is held by {holder}", holder=held) if several
        else phrase("; held by {holder}", holder=held),
    )  # fmt: skip
    yield Ranked(
        total / case.whole + 0.02,
        made(
            "hash_collisions", phrase("Hash collisions"), sentence, shown, None, objects=link, inferred=True
        ),
        found.entries,
    )


def _long_buckets(case: GraphCase) -> _Buckets:
    stored, objects = case.snapshot.references, case.snapshot.objects
    is_entry = np.zeros(len(case.type_names()), np.bool_)
    is_entry[case.types_where(_ENTRIES.__contains__)] = True
    links = case.named("next") if is_entry.any() else np.zeros(0, np.int64)
    sources = case.sources(links).astype(np.int64)
    targets = stored.target[links].astype(np.int64)
    own = is_entry[objects.type[sources]] & is_entry[objects.type[targets]]
    own &= case.counts(sources) & case.counts(targets)
    sources, targets = sources[own], targets[own]
    entries = distinct(np.concatenate((sources, targets)))
    first = np.arange(len(entries))
    # what stands before each entry; then, in each round, what stands twice as far before it
    first[np.searchsorted(entries, targets)] = np.searchsorted(entries, sources)
    is_head = first == np.arange(len(entries))
    for _ in range(max(1, len(entries)).bit_length() + 1):
        first = first[first]
    # entries of a circle, which only a damaged dump has, lead to no head
    known = is_head[first] if len(entries) else np.zeros(0, np.bool_)
    lengths = np.bincount(first[known], minlength=len(entries))
    long = known & (lengths[first] >= LONG_BUCKET)
    return _Buckets(entries[long], entries[first[long]])


def _keys(case: GraphCase, entries: Numbers) -> str:
    """The type of most keys; empty where they vary."""
    stored, objects = case.snapshot.references, case.snapshot.objects
    keys = case.named("key")
    targets = stored.target[keys[np.isin(case.sources(keys), entries)]]
    counts = np.bincount(objects.type[targets]) if len(targets) else np.zeros(1, np.int64)
    kind = int(np.argmax(counts))
    return case.type_name(kind) if 2 * int(counts[kind]) > len(entries) else ""
