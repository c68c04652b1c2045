"""How many elements JavaScript's maps and sets have."""

import numpy as np

from memlens.views.findings.graph.case import GraphCase
from memlens.views.findings.graph.collections import counts
from memlens.views.heap.objects.references import references_of_all
from memlens.views.heap.objects.rows import Numbers

_TABLES = frozenset(("Map", "Set", "WeakMap", "WeakSet"))
"""Collections that have a table even when they are empty."""


def sizes(case: GraphCase) -> tuple[Numbers, Numbers]:
    """Return JavaScript's maps and sets, and the number of their tables' references that aren't the engine's own.

    Small integers aren't objects, so a table of integers has no references either: it counts as empty only at the
    smallest size.
    """
    stored, objects = case.snapshot.references, case.snapshot.objects
    members = case.instances(case.types_where(_TABLES.__contains__))
    table = case.named("table")
    owners = case.sources(table)
    is_member = np.zeros(len(objects.type), np.bool_)
    is_member[members] = True
    own = is_member[owners]
    table, owners = table[own], owners[own]
    targets = stored.target[table].astype(np.int64)
    is_engines = np.zeros(len(case.type_names()), np.bool_)
    is_engines[case.types_of_kind("hidden", "object shape")] = True
    holds = case.kinds(lambda name: name in ("internal", "element", "hidden"))
    # maps may share a table, however long it is
    asked, place = np.unique(targets, return_inverse=True)
    at, of = references_of_all(case.snapshot, asked)
    sizes = counts(of, holds[stored.kind[at]] & ~is_engines[objects.type[stored.target[at]]], len(asked))[
        place
    ]
    owners = owners.astype(np.int64)
    smallest = np.full(len(case.type_names()), np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(smallest, objects.type[owners], objects.shallow[owners])
    is_smallest = objects.shallow[owners] == smallest[objects.type[owners]]
    return owners[(sizes > 0) | is_smallest], sizes[(sizes > 0) | is_smallest]
