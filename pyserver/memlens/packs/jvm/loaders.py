"""Class loaders that are kept after others have replaced them."""

from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import counted, distinct
from memlens.model.timeline import NEVER
from memlens.texts import phrase
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    object_part,
    short_type,
)  # fmt: skip
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.writing import Ranked, linked, made, percent

LEAST_LOADERS = 3
_REFLECTION = ("DelegatingClassLoader", "MethodUtil")


def class_loaders(case: GraphCase) -> Iterator[Ranked]:
    """Three or more loaders of one class have each loaded a class of the same name and retain 1% of the reachable heap.

    As after redeploying an application whose former loader is still held. Without those loaders that reflection makes
    for a single class.
    """
    types, objects, stored = case.snapshot.types, case.snapshot.objects, case.snapshot.references
    if types.object is None:
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
