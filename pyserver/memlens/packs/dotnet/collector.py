"""Objects that .NET's collector can't move, and the free blocks between objects."""

from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import distinct
from memlens.texts import phrase, plural
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured, object_part, of_types
from memlens.views.findings.writing import Ranked, made, percent, text_in_sql

LEAST_PINNED = 100
LEAST_FREE_SHARE, LEAST_FREE_BYTES = 0.1, 1 << 20
_FREE = "Free"
_STATICS = "System.Object[]"
"""Arrays in which the runtime itself keeps static variables, pinned."""


def pinned(case: GraphCase) -> Iterator[Ranked]:
    """Objects that are pinned retain 1% of the reachable heap, and 32 KiB, or there are 100 of them.

    Of .gcdump files, whose groups of roots say what is pinned ("Pinned handles", "pinning Handles", "Pinned local
    vars"); without the runtime's own arrays of static variables. Objects pinned by other means during a call aren't in
    the file.
    """
    stored, objects = case.snapshot.objects.roots, case.snapshot.objects
    names = case.snapshot.graph_names.root_kinds
    kinds = [number for number, name in enumerate(names) if "pinn" in name.lower()]
    members = distinct(stored["object"][np.isin(stored["kind"], kinds)]).astype(np.int64)
    statics = case.types_where(lambda name: name.startswith(_STATICS))
    members = case.reached(members[~np.isin(objects.type[members], np.asarray(statics, np.uint32))])
    total = case.retained(members)
    if not len(members) or (total < case.least and len(members) < LEAST_PINNED):
        return
    listed = ", ".join(text_in_sql(names[number]) for number in kinds)
    shown = figure(
        total,
        "SELECT retained(object) FROM (SELECT DISTINCT r.object FROM roots AS r JOIN objects AS o USING (object) "
        f"WHERE r.kind IN ({listed}) AND o.type NOT LIKE '{_STATICS}%')",
    )
    largest = int(members[np.argmax(objects.retained[members])])
    link = ObjectsLink("object", largest)
    sentence = phrase(
        plural(
            len(members),
            "{n} object is pinned and retains {size} ({share} of the reachable heap); the largest is "
            "{object}. {advice}",
            "{n} objects are pinned and retain {size} ({share} of the reachable heap); the largest is "
            "{object}. {advice}",
        ),
        n=len(members), size=measured(shown, link), share=percent(total, case.whole),
        object=object_part(case, largest),
        advice=phrase(
            "The collector can't move them, and leaves holes around them: pin for the length of a call, or "
            "pin buffers that live as long as the process."
        ),
    )  # fmt: skip
    yield Ranked(
        total / case.whole + 0.02,
        made("pinned", phrase("Pinned objects"), sentence, shown, None, objects=link),
        members,
    )


def free_blocks(case: GraphCase) -> Iterator[Ranked]:
    """Free blocks between objects take a tenth of the bytes in the file, and 1 MiB.

    Of .gcdump files that have them as objects of type "Free", as PerfView's of a process or of its core dump;
    dotnet-gcdump's have none.
    """
    kinds = case.types_where(_FREE.__eq__)
    is_free = np.isin(case.snapshot.objects.type, kinds)
    total = int(case.snapshot.objects.shallow[is_free].sum()) if kinds else 0
    whole = case.info.shallow_bytes
    if total < case.at_least(LEAST_FREE_SHARE, LEAST_FREE_BYTES, whole):
        return
    where = of_types([_FREE])
    shown = figure(total, f"SELECT sum(shallow_bytes) FROM objects WHERE {where}", "shallow")
    link = ObjectsLink("query", 0, f"SELECT * FROM objects WHERE {where} ORDER BY shallow_bytes DESC")
    sentence = phrase(
        "{n} free blocks between objects take {size} ({share} of the objects' bytes in the file). A collection that "
        "compacts gives them back, but for those that pinned objects split; large objects are compacted only on "
        "request.",
        n=int(is_free.sum()), size=measured(shown, link), share=percent(total, whole),
    )  # fmt: skip
    yield Ranked(
        0.6 * total / whole,
        made("free_blocks", phrase("Fragmented heap"), sentence, shown, None, objects=link),
        np.flatnonzero(is_free),
    )
