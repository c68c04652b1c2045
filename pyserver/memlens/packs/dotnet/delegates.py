"""Delegates: events with many listeners, and objects that only an event keeps alive, which they subscribed to."""

import re
from collections.abc import Iterator

import numpy as np

from memlens.model.timeline import NEVER
from memlens.texts import phrase
from memlens.views.findings.graph.case import (
    GraphCase,
    chosen,
    figure,
    measured,
    object_part,
    retained_sql,
)  # fmt: skip
from memlens.views.findings.graph.listeners import LEAST_LISTENERS, longest, of_listeners
from memlens.views.findings.graph.listeners import MOST_FOUND as MOST_LISTENERS
from memlens.views.findings.writing import Ranked, linked, made, percent
from memlens.views.heap.objects.packages import packages_of
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.paths.to_object import paths

LEAST_SUBSCRIBERS = 2
LEAST_SUBSCRIBED_SHARE, LEAST_SUBSCRIBED_BYTES = 0.01, 16 << 10
MOST_FOUND = 3
DELEGATES = re.compile(
    r"EventHandler|(?:Handler|Callback|Delegate)(?:<.*>)?$|(?:^|!)System\.(?:Action|Func|Predicate)(?:<.*>)?$"
)
"""Usual names of .NET's delegate types; a delegate with many targets has these in an array."""
_LISTS = ("System.Delegate[]", "System.Object[]")
_CAPTURED = "c__DisplayClass"
"""Part of the names of the classes that C#'s compiler generates for captured variables."""
_MOST_LISTED, _MOST_PUBLISHERS = 1_000, 20


def subscribers(case: GraphCase) -> Iterator[Ranked]:
    """Two objects or more of one type of the program's own that nothing but delegates of .NET keeps alive retain 1% of
    the reachable heap, and 16 KiB. Three types at most.

    An object is kept by a delegate that dominates it immediately or through a lambda's captured variables: it is freed
    as soon as the delegate is unsubscribed.
    """
    found: list[Ranked] = []
    kept = _only_subscribed(case)
    kinds = case.snapshot.objects.type[kept]
    several = np.flatnonzero(np.bincount(kinds, minlength=1) >= LEAST_SUBSCRIBERS)
    sums = np.bincount(kinds, weights=case.snapshot.objects.retained[kept], minlength=1)
    # by an upper bound of what each retains
    several = several[np.argsort(-sums[several], kind="stable")]
    for kind in several[: case.most(len(several))].tolist():
        members = kept[kinds == kind]
        total = case.retained(members)
        if total >= case.at_least(LEAST_SUBSCRIBED_SHARE, LEAST_SUBSCRIBED_BYTES):
            found.append(_of_type(case, members, total))
    yield from sorted(found, key=lambda each: -each.weight)[: case.most(MOST_FOUND)]


def _only_subscribed(case: GraphCase) -> Numbers:
    """The objects of the program's own types that a delegate dominates."""
    objects = case.snapshot.objects
    delegates, is_captured = (np.zeros(len(case.type_names()), np.bool_) for _ in range(2))
    delegates[case.types_where(is_delegate)] = True
    is_captured[case.types_where(lambda name: _CAPTURED in name)] = True
    own = np.flatnonzero(~packages_of(case.snapshot).is_platform & ~delegates & ~is_captured)
    members = case.instances(own.tolist()).astype(np.int64)
    members = members[objects.dominator[members] != NEVER]
    above = objects.dominator[members].astype(np.int64)
    captured = is_captured[objects.type[above]] & (objects.dominator[above] != NEVER)
    above[captured] = objects.dominator[above[captured]]
    kept: Numbers = members[delegates[objects.type[above]]]
    return kept


def is_delegate(name: str) -> bool:
    """Whether a type is a delegate, by its name."""
    return not name.endswith("]") and DELEGATES.search(name) is not None


def _of_type(case: GraphCase, members: Numbers, total: int) -> Ranked:
    objects = case.snapshot.objects
    where = f"object IN ({', '.join(map(str, members.tolist()))})" if len(members) <= _MOST_LISTED else ""
    shown = figure(total, retained_sql(where) if where else "")
    largest = int(members[np.argmax(objects.retained[members])])
    kind = int(objects.type[largest])
    link = chosen(where or f"type = (SELECT type FROM objects WHERE object = {largest})")
    publishers = {_publisher(case, number) for number in members[:_MOST_PUBLISHERS].tolist()}
    publisher = publishers.pop() if len(publishers) == 1 else None
    sentence = phrase(
        "{objects} retain {size} ({share} of the reachable heap), and only event handlers{publisher} keep them alive. "
        "Unsubscribe them when they are done.",
        objects=linked(f"{len(members):,} {case.type_name(kind)}", objects=link),
        size=measured(shown, link), share=percent(total, case.whole),
        publisher="" if publisher is None else phrase(" of {object}", object=object_part(case, publisher)),
    )  # fmt: skip
    title = phrase("Kept by events")
    return Ranked(
        2 * total / case.whole + 0.1,
        made(
            "subscribers",
            title,
            sentence,
            shown,
            None,
            case.line(largest),
            objects=link,
            subject=(case.type_names()[kind],),
        ),
        members,
    )


def _publisher(case: GraphCase, number: int) -> int | None:
    """The publisher of the event, on the shortest path to a subscriber."""
    for path in paths(case.snapshot, number, 1).paths:
        for row in reversed([path.root, *(step.object for step in path.steps[:-1])]):
            name = case.type_names()[int(case.snapshot.objects.type[row.object])]
            if not (is_delegate(name) or name.startswith(_LISTS) or _CAPTURED in name):
                return None if row.type.startswith("[") else row.object
    return None


def delegate_listeners(case: GraphCase) -> Iterator[Ranked]:
    """A delegate has 50 or more listeners, which are in an array of its own."""
    found = sorted(_of_delegates(case), key=lambda each: -each.weight)
    yield from found[: case.most(MOST_LISTENERS)]


def _of_delegates(case: GraphCase) -> Iterator[Ranked]:
    stored, objects = case.snapshot.references, case.snapshot.objects
    names = case.type_names()
    arrays = np.zeros(len(names), np.bool_)
    # Mono has the latter
    arrays[case.types_where(lambda name: name.startswith(("System.Object[]", "System.Delegate[]")))] = True
    kinds = case.types_where(is_delegate)
    members = case.instances(kinds).astype(np.int64)
    found: list[tuple[Numbers, int, int]] = []
    seen = set[int]()
    for delegate in members.tolist():
        part = slice(int(stored.start[delegate]), int(stored.start[delegate + 1]))
        lists = stored.target[part][arrays[objects.type[stored.target[part]]]]
        for each in lists[:1].tolist():
            # later versions of an event may share the array of an earlier one
            if each in seen:
                continue
            seen.add(each)
            own = stored.target[int(stored.start[each]) : int(stored.start[each + 1])]
            own = own[objects.type[own] == objects.type[delegate]]
            if len(own) >= LEAST_LISTENERS:
                found.append((own, delegate, each))
    for own, delegate, each in longest(found):
        kind = f"(SELECT type FROM objects WHERE object = {delegate})"
        query = (
            f"SELECT retained(r.target) FROM refs AS r JOIN objects AS o ON o.object = r.target "
            f"WHERE r.source = {each} AND o.type = {kind}"
        )
        yield of_listeners(case, delegate, each, own, query)
