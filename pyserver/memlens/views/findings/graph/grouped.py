"""Groups of objects of one type: their contents, and their names in sentences."""

from typing import NamedTuple

import numpy as np

from memlens.model.frames import USER
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.objects.walks import dominated_by, dominator_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes
from memlens.views.findings.answers import LineLink, ObjectsLink, TextPart
from memlens.views.findings.graph.case import GraphCase, short_type
from memlens.views.findings.graph.owners import OWN_SHARE, is_entry, is_made_up, owner_of
from memlens.views.findings.writing import base_line, linked, text_in_sql
from memlens.views.heap.dominators.trees import DOMINATORS, group_of, grouped_tree, located
from memlens.views.heap.objects.rows import Numbers

MOST_FOUND = 5
_WITHIN_SHARE = 0.7
_MOST_PARTS, _PART_SHARE = 3, 0.1
_MOST_OF_CHAIN = 200_000
_MOST_DEEP = 100
"""A balanced tree this deep would have more entries than a dump has objects."""
_DEEPEST = 32
"""The maximum length of a bucket's chain."""


class Group(NamedTuple):
    """Objects of one type that one holder immediately dominates, none of them large itself."""

    type: int
    members: Numbers
    retained: int
    """The sum of what each of them retains. Together they may retain more: what only several of them hold."""


def is_mostly(groups: list[Group], total: int) -> bool:
    """Whether half of what an object retains is in a group of its children."""
    return bool(groups) and groups[0].retained >= OWN_SHARE * total and len(groups[0].members) > 1


def by_type(case: GraphCase, members: Numbers) -> list[Group]:
    """Groups some objects by type, the type that retains most first.

    Types with the same name count as one, as when several loaders loaded a class.
    """
    if not len(members):
        return []
    objects = case.snapshot.objects
    kinds = _by_name(case.snapshot)[objects.type[members]]
    sums = np.bincount(kinds, weights=objects.retained[members].astype(np.float64))
    # sums of floats are only used for choosing; figures are exact
    found = []
    for kind in np.argsort(-sums, kind="stable")[:MOST_FOUND].tolist():
        own = members[kinds == kind]
        if len(own):
            found.append(Group(kind, own, int(objects.retained[own].sum())))
    return found


@kept
def _by_name(snapshot: Snapshot) -> Numbers:
    """For each type the first one that has its name."""
    names = snapshot.types.name
    _, first, place = np.unique(names, return_index=True, return_inverse=True)
    found: Numbers = first[place.ravel()]
    return found


def _members(case: GraphCase, group: Group) -> Numbers:
    """A group of entries with those below them that are in the same bucket of the table."""
    if not is_entry(case.type_names()[group.type]):
        return group.members
    found = [group.members]
    for _ in range(_DEEPEST):
        below = dominated_by(case.snapshot.objects, found[-1])
        below = below[case.snapshot.objects.type[below] == group.type]
        if not len(below):
            return np.concatenate(found)
        found.append(below)
    # longer than any bucket
    return group.members


def type_name(case: GraphCase, group: Group) -> str:
    """The name of a group's type for a sentence, with its module where the group is of one of several that have it."""
    kinds = case.snapshot.objects.type[group.members]
    is_one = bool((kinds == kinds[0]).all())
    return case.type_name(int(kinds[0])) if is_one else short_type(case.type_names()[group.type])


def contents_of(case: GraphCase, holder: int | None, group: Group) -> Text:
    """A group, its line, the types within it that have most of it: ``9 Session (app.js:8, with 9 Array)``."""
    link = link_of(case, holder, group)
    objects = linked(f"{len(_members(case, group)):,} {type_name(case, group)}", objects=link)
    place = _own_place(case, group)
    inner = [_inner(case, each) for each in within(case, group) if not is_made_up(case, each.members[:1])[0]]
    about = [
        *([place] if place else []),
        *([phrase("with {inner}", inner=in_a_row(inner, ", "))] if inner else []),
    ]
    return phrase("{objects} ({about})", objects=objects, about=in_a_row(about, ", ")) if about else objects


def parts_of(case: GraphCase, groups: list[Group], total: int) -> Text | None:
    """The large parts of an object where no group has most of it: ``1.71 MiB in 5,000 ArrayList``."""
    parts = [
        phrase(
            "{size} in {objects}",
            size=format_bytes(each.retained),
            objects=f"{len(_members(case, each)):,} {type_name(case, each)}",
        )
        for each in groups[:_MOST_PARTS]
        if each.retained >= _PART_SHARE * total
    ]
    return in_a_row(parts, ", ") if parts else None


def chain_of(case: GraphCase, first: int) -> Numbers:
    """The objects of a chain of one type, each dominated by the one before; at most 200,000."""
    objects = case.snapshot.objects
    found, at, kind = [first], first, objects.type[first]
    while len(found) < _MOST_OF_CHAIN:
        begin, end = int(objects.dominated_start[at]), int(objects.dominated_start[at + 1])
        # the child that retains most stands first
        at = int(objects.dominated[begin]) if begin < end else -1
        if at < 0 or objects.type[at] != kind:
            break
        found.append(at)
    return np.array(found, np.int64)


def tree_around(case: GraphCase, entry: int) -> tuple[int, int] | None:
    """The collection that an entry within other entries is in, and the topmost of these: a ``TreeMap``, its root."""
    objects = case.snapshot.objects
    kind = objects.type[entry]
    if not is_entry(case.type_names()[int(kind)]):
        return None
    top, below = entry, dominated_by(objects, np.array([entry]))
    for _ in range(_MOST_DEEP):
        above = dominator_of(objects, top)
        if above == NEVER or objects.type[above] != kind:
            break
        top = above
    if top == entry and not bool((objects.type[below] == kind).any()):
        return None
    around = owner_of(case, top)
    return (around, top) if around != top and objects.type[around] != kind else None


def tree_of(case: GraphCase, top: int) -> Numbers:
    """The entries below one, and itself first."""
    objects = case.snapshot.objects
    found = [np.array([top], np.int64)]
    for _ in range(_MOST_DEEP):
        below = dominated_by(objects, found[-1])
        below = below[objects.type[below] == objects.type[top]]
        if not len(below):
            break
        found.append(below)
    return np.concatenate(found)


def chain_groups(case: GraphCase, chain: Numbers) -> list[Group]:
    """The nested groups that have most of the bytes of a chain or a tree."""
    objects = case.snapshot.objects
    below = dominated_by(objects, chain)
    groups = by_type(case, below[objects.type[below] != objects.type[chain[0]]])[:1]
    if not groups or 2 * groups[0].retained < int(objects.retained[chain[0]]):
        return []
    return [groups[0], *within(case, groups[0])]


def chain_words(case: GraphCase, chain: Numbers) -> Text:
    """A chain and its contents: ``5,000 LinkedList$Node (with 5,000 Order)``."""
    count = phrase("over {n}", n=len(chain)) if len(chain) == _MOST_OF_CHAIN else f"{len(chain):,}"
    kind = int(case.snapshot.objects.type[chain[0]])
    named = phrase("{n} {type}", n=count, type=case.type_name(kind))
    inner = [_inner(case, each) for each in chain_groups(case, chain)]
    return phrase("{objects} (with {inner})", objects=named, inner=in_a_row(inner, ", ")) if inner else named


def _inner(case: GraphCase, group: Group) -> Text | TextPart:
    """A group within another, and its line where it has one: those of a map are within its nodes."""
    named, line = Text(f"{len(_members(case, group)):,} {type_name(case, group)}"), definition(case, group)
    return (
        phrase("{objects} in {place}", objects=named, place=linked(base_line(line), line=line))
        if line
        else named
    )


def _own_place(case: GraphCase, group: Group) -> Text | TextPart | None:
    """The line of a group for a sentence."""
    if line := definition(case, group):
        return linked(base_line(line), line=line)
    if line := case.allocated_at(group.members):
        return phrase("allocated at {line}", line=linked(base_line(line), line=line))
    return None


def own_line(case: GraphCase, group: Group) -> LineLink | None:
    """Where a group's type is defined in the user's own code, else where most of its objects were allocated."""
    return definition(case, group) or case.allocated_at(group.members)


def definition(case: GraphCase, group: Group) -> LineLink | None:
    """Where a group's type is defined in the user's own code."""
    return user_line(case, int(group.members[0]))


def user_line(case: GraphCase, number: int) -> LineLink | None:
    """Where an object or its class is defined in the user's own code."""
    line = case.line(number)
    return line if line and int(case.snapshot.frames.kind[line.frame]) == USER else None


def within(case: GraphCase, group: Group) -> list[Group]:
    """The nested groups that have most of a group."""
    objects, inner = case.snapshot.objects, list[Group]()
    while len(inner) < 3:
        members = _members(case, group)
        below = dominated_by(objects, members)
        if len(members) > len(group.members):
            below = below[objects.type[below] != group.type]
        largest = by_type(case, below)[:1]
        # the compact tree merges groups with the same name, so it would also count objects of other holders
        if not largest or largest[0].retained < _WITHIN_SHARE * int(objects.retained[group.members].sum()):
            break
        group = largest[0]
        inner.append(group)
    return inner


def link_of(case: GraphCase, holder: int | None, group: Group) -> ObjectsLink:
    """The link to a group: its node in the dominator tree, or else a query."""
    number = group_of(case.snapshot, int(group.members[0]), DOMINATORS)
    _, node = located(case.snapshot, number)
    if int(grouped_tree(case.snapshot, DOMINATORS).objects[node]) == len(group.members):
        return ObjectsLink("group", number)
    least = int(case.snapshot.objects.retained[group.members].max())
    return ObjectsLink(
        "query",
        0,
        f"SELECT * FROM objects WHERE {where_of(case, holder, group, least)} ORDER BY retained_bytes DESC",
    )


def where_of(case: GraphCase, holder: int | None, group: Group, most: int) -> str:
    """A condition for a group's objects, of which none retains more than ``most`` bytes."""
    above = "dominator IS NULL" if holder is None else f"dominator = {holder}"
    kind = text_in_sql(case.type_names()[group.type])
    return f"{above} AND type = {kind} AND retained_bytes <= {most} AND distance IS NOT NULL"
