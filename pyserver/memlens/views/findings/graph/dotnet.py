"""What .NET's events keep, what its collector can't move, and the free blocks that lie between objects."""

import re
from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import counted, distinct
from memlens.model.timeline import NEVER
from memlens.texts import Text, phrase, plural
from memlens.views.findings.answers import ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured, object_part, of_types
from memlens.views.findings.writing import Ranked, made, percent, text_in_sql
from memlens.views.graph.packages import packages_of
from memlens.views.graph.rows import Numbers

LEAST_PINNED = 100
LEAST_FREE_SHARE, LEAST_FREE_BYTES = 0.1, 1 << 20
LEAST_SUBSCRIBERS, LEAST_SUBSCRIBED_BYTES = 2, 16 << 10
MOST_SUBSCRIBED = 3
_EVENTS = re.compile(r"EventHandler|(?:Handler|Callback|Delegate)(?:<.*>)?$")
"""Types of events' delegates, by the names that they usually have."""
_CLOSURE = re.compile(r"DisplayClass|(?:<>|\[\])c\b")
"""What the compiler makes of lambda expressions."""
_FREE = "Free"
_LISTS = ("System.Object[]", "System.Delegate[]")
"""Arrays in which a delegate has several others."""
_STATICS = "System.Object[]"
"""Arrays in which the runtime itself keeps static variables, pinned."""


def subscribers(case: GraphCase) -> Iterator[Ranked]:
    """Objects of one of the program's own types, two or more, that delegates dominate, as of events, retain 16 KiB.

    Nothing else holds them than that they once subscribed to something that lives longer. Three types at most.
    """
    if case.info.kind != "gcdump":
        return
    objects, names = case.snapshot.objects, case.type_names()
    of_events = np.zeros(len(names), np.bool_)
    of_events[case.types_where(lambda name: not name.endswith("]") and _EVENTS.search(name))] = True
    own = ~packages_of(case.snapshot).is_platform & ~of_events
    own[case.types_where(_CLOSURE.search)] = False
    members = np.flatnonzero(own[objects.type] & (objects.distance != NEVER) & (objects.dominator != NEVER))
    members = members[of_events[objects.type[objects.dominator[members]]]]
    found = [_subscribed(case, members, kind) for kind in distinct(objects.type[members]).tolist()]
    listed = sorted(filter(None, found), key=lambda each: -each.weight)
    yield from listed[:MOST_SUBSCRIBED]


def _subscribed(case: GraphCase, members: Numbers, kind: int) -> Ranked | None:
    objects, names = case.snapshot.objects, case.type_names()
    members = members[objects.type[members] == kind]
    total = case.retained(members) if len(members) >= LEAST_SUBSCRIBERS else 0
    if total < LEAST_SUBSCRIBED_BYTES:
        return None
    delegates = objects.dominator[members]
    kinds = [names[number] for number in distinct(objects.type[delegates]).tolist()]
    shown = figure(
        total,
        "SELECT retained(o.object) FROM objects AS o JOIN objects AS d ON d.object = o.dominator WHERE o.type = "
        f"{text_in_sql(names[kind])} AND d.type IN ({', '.join(map(text_in_sql, kinds))})",
    )
    largest = int(members[np.argmax(objects.retained[members])])
    link = ObjectsLink("object", largest)
    publisher = _publisher(case, delegates)
    sentence = phrase(
        "{n} {type} are held by nothing but delegates, as of events ({delegate}){publisher}, and retain {size} "
        "({share} of the reachable heap); the largest is {object}. Unsubscribe them when they are done.",
        n=len(members), type=case.type_name(kind), delegate=case.type_name(int(objects.type[delegates[0]])),
        publisher=phrase(", most of them of {object}", object=object_part(case, publisher))
        if publisher is not None
        else Text(""),
        size=measured(shown, link), share=percent(total, case.whole), object=object_part(case, largest),
    )  # fmt: skip
    finding = made(
        "subscribers", phrase("Kept by events"), sentence, shown, None, case.line(largest), objects=link, inferred=True
    )  # fmt: skip
    return Ranked(1.2 * total / case.whole + 0.03, finding, members)


def _publisher(case: GraphCase, delegates: Numbers) -> int | None:
    """What most of some delegates are of: their nearest dominator that is neither a delegate nor an array of them."""
    objects, names = case.snapshot.objects, case.type_names()
    above = objects.dominator[delegates]
    between = np.zeros(len(names), np.bool_)
    between[case.types_where(lambda name: _EVENTS.search(name) or name.startswith(_LISTS))] = True
    while True:
        known = above != NEVER
        further = np.zeros(len(above), np.bool_)
        further[known] = between[objects.type[above[known]]]
        if not further.any():
            break
        above = above.copy()
        above[further] = objects.dominator[above[further]]
    found, counts = counted(above[above != NEVER])
    return int(found[np.argmax(counts)]) if len(found) and 2 * int(counts.max()) > len(delegates) else None


def pinned(case: GraphCase) -> Iterator[Ranked]:
    """Objects that are pinned retain 1% of the reachable heap, and 32 KiB, or there are 100 of them.

    Of .gcdump files, whose groups of roots say what is pinned ("Pinned handles", "pinning Handles", "Pinned local
    vars"); without the runtime's own arrays of static variables. What is pinned for the length of a call by other means
    isn't in the file.
    """
    if case.info.kind != "gcdump":
        return
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
    if case.info.kind != "gcdump":
        return
    kinds = case.types_where(_FREE.__eq__)
    is_free = np.isin(case.snapshot.objects.type, kinds)
    total = int(case.snapshot.objects.shallow[is_free].sum()) if kinds else 0
    whole = case.info.shallow_bytes
    if total < max(LEAST_FREE_BYTES, LEAST_FREE_SHARE * whole):
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
