"""What retains most: objects at which memory accumulates, and groups of one type with their last common holder."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.frames import USER
from memlens.model.graph import JAVA_KINDS
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.store.objects.walks import dominated_by
from memlens.texts import Text, in_a_row, phrase
from memlens.views.findings.answers import LineLink, ObjectsLink, TextPart
from memlens.views.findings.graph.case import (
    JAVASCRIPT_GLOBAL,
    GraphCase,
    figure,
    measured,
    mostly_through,
    object_part,
)  # fmt: skip
from memlens.views.findings.graph.held import and_held, held_by, keeper_of
from memlens.views.findings.graph.owners import (
    OWN_SHARE,
    POINT_SHARE,
    is_made_up,
    is_of_the_platform,
    program_object,
    type_of,
)  # fmt: skip
from memlens.views.findings.graph.tables_of_runtime import MOST_OF_RUNTIME
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent, text_in_sql
from memlens.views.graph.groupings import DOMINATORS, group_of, grouped_tree, located
from memlens.views.graph.packages import packages_of
from memlens.views.graph.rows import Numbers
from memlens.views.graph.thread_table import table
from memlens.views.graph.threads import thread_name

BIG_SHARE = 0.1
"""Of what roots reach: what an object or a group retains at least to be named."""


_ALONE_SHARE = 0.9
"""One object of a group that retains as much of what the group does is named in its place."""

_WITHIN_SHARE = 0.7
_PROGRAM_SHARE = 0.8
"""What has more of everything and no group that has most of it is the program itself, as JavaScript's global object is
with whatever share."""

MOST_FOUND = 5
LEAST_COLLECTED = 100
"""So many objects of one type that one object holds are a collection, of whatever type that is."""
_PYTHON = ("type", "module", "function")
_CODE = {
    **dict.fromkeys(JAVA_KINDS, ("java.lang.Class",)),
    "python": _PYTHON, "pyheap": _PYTHON,
}  # fmt: skip
_SHARED = ("zygote", "image", "boot image")
"""Heaps of Android that no process has for itself."""
_CACHE = "functools._lru_cache_wrapper"
_PLAIN = ("Object", "Array", "Function", "Map", "Set", "Promise")
"""Types of JavaScript's that Node.js has many objects of for itself."""
_MOST_POINTS = 2_000


class _Group(NamedTuple):
    """Objects of one type that one holder immediately dominates, none of them large itself."""

    type: int
    members: Numbers
    retained: int
    """What each of them retains, added up. Together they may retain more: what only several of them hold."""


def accumulates(case: GraphCase) -> Iterator[Ranked]:
    """Objects and groups of objects that retain a tenth of the reachable heap; five at most.

    An object is named where what it dominates spreads: its largest child in the dominator tree retains less than 70% of
    it, and at least half of what it retains isn't below a child that retains a tenth itself. Otherwise its groups are:
    children of one type that retain a tenth together, and none of them alone, or that of them which retains nine tenths
    of that. Where the bytes are the engine's own, as those of a WebAssembly memory's buffer, the program's object that
    holds them is named. JavaScript's global object, and what retains 80% of everything, is named only if half of it is
    in one group or in itself.
    """
    least = max(1, int(BIG_SHARE * case.shared))
    objects = case.snapshot.objects
    # what is retained, the object that is named or a group's, what immediately dominates the groups, and these
    found: list[tuple[int, int | None, int | None, list[_Group], _Group | None]] = []
    for holder in [None, *_points(case, least)]:
        small = _small_children(case, holder, least)
        groups = _by_type(case, small)
        own = int(objects.retained[small].sum())
        named = None if holder is None else program_object(case, holder)
        if holder is not None and named is not None and _is_named(case, holder, own, groups, least):
            found.append((int(objects.retained[named]), named, holder, groups, None))
            continue
        for each in groups:
            if each.retained < least or len(each.members) < 2 or not _is_a_group(case, each):
                continue
            one = _nearly_all(case, each)
            if one is None:
                found.append((each.retained, None, holder, groups, each))
            else:
                own_groups = _by_type(case, _small_children(case, one, least))
                found.append((int(objects.retained[one]), one, one, own_groups, None))
    for _, named, holder, groups, group in sorted(found, key=lambda each: -each[0])[: case.most(MOST_FOUND)]:
        if group is not None:
            if not _is_of_no_one(case, holder, group):
                yield _of_group(case, holder, group)
        elif named is not None and holder is not None:
            total = int(objects.retained[named])
            if total >= MOST_OF_RUNTIME or not (
                _is_mostly(groups, total) and _is_of_the_engine(case, groups[0])
            ):
                yield _of_object(case, named, holder, groups)


def _is_of_no_one(case: GraphCase, holder: int | None, group: _Group) -> bool:
    """Whether objects of the platform are few bytes and held by nothing in common, or by JavaScript's global object.

    Java's threads, constants and modules, or what Node.js made for itself before the program began.
    """
    if group.retained >= MOST_OF_RUNTIME or not packages_of(case.snapshot).is_platform[group.type]:
        return _is_plain_below_global(case, holder, group)
    if not case.is_managed:
        return _is_plain_below_global(case, holder, group)
    return holder is None or bool(is_made_up(case, np.array([holder]))[0])


def _is_plain_below_global(case: GraphCase, holder: int | None, group: _Group) -> bool:
    """Whether plain objects of JavaScript's are below the global object, and are fewer than a collection has."""
    if case.info.kind != "v8" or holder is None or not _is_global(case, holder):
        return False
    is_plain = case.type_names()[group.type] in _PLAIN
    return is_plain and len(group.members) < LEAST_COLLECTED and group.retained < MOST_OF_RUNTIME


def has_large_object(case: GraphCase) -> bool:
    """Whether an object of the program's retains a tenth of the reachable heap, named by a finding or not."""
    objects = case.snapshot.objects
    large = np.flatnonzero(
        (objects.retained >= max(1, int(BIG_SHARE * case.shared))) & (objects.distance != NEVER)
    )
    return not bool(is_made_up(case, large).all())


def _nearly_all(case: GraphCase, group: _Group) -> int | None:
    """Where what one object of a group retains spreads, if that is nearly all of what the group retains."""
    objects = case.snapshot.objects
    one = int(group.members[np.argmax(objects.retained[group.members])])
    if int(objects.retained[one]) < _ALONE_SHARE * group.retained:
        return None
    while True:
        first = dominated_by(objects, np.array([one]))[:1]
        if not len(first) or int(objects.retained[first[0]]) < POINT_SHARE * int(objects.retained[one]):
            return one
        one = int(first[0])


def _is_named(case: GraphCase, holder: int, own: int, groups: list[_Group], least: int) -> bool:
    if _begins_a_chain(case, holder):
        return True
    total = int(case.snapshot.objects.retained[holder])
    shallow = int(case.snapshot.objects.shallow[holder])
    not_of_the_program = registry.objects_of(case.info.kind).not_of_the_program
    if shallow >= OWN_SHARE * total and type_of(case, holder) in not_of_the_program:
        return False
    is_program = total >= _PROGRAM_SHARE * case.whole or _is_global(case, holder)
    if is_program and not _is_mostly(groups, total) and shallow < OWN_SHARE * total:
        return False
    return own + shallow >= least and own + shallow >= OWN_SHARE * total


def _is_global(case: GraphCase, number: int) -> bool:
    """Whether an object is JavaScript's global object, which holds what the engine and Node.js have for themselves."""
    return case.info.kind == "v8" and JAVASCRIPT_GLOBAL.fullmatch(type_of(case, number)) is not None


def _is_mostly(groups: list[_Group], total: int) -> bool:
    """Whether half of what an object retains is in a group of its children."""
    return bool(groups) and groups[0].retained >= OWN_SHARE * total and len(groups[0].members) > 1


def _is_a_group(case: GraphCase, group: _Group) -> bool:
    return not (_is_code(case, group) or is_made_up(case, group.members[:1])[0])


def _is_code(case: GraphCase, group: _Group) -> bool:
    """Whether objects are code, classes or modules, or what these have their names in: a program has many anyway."""
    name = case.type_names()[group.type]
    code = _CODE.get(case.info.kind) or registry.objects_of(case.info.kind).classes
    if name in code or group.type in case.types_of_kind("closure"):
        return True
    return name == "dict" and case.info.kind in _CODE and _are_namespaces(case, group.members)


def _are_namespaces(case: GraphCase, members: Numbers) -> bool:
    """Whether half of what some dictionaries of Python's retain is in those that have a module's or a class's names."""
    stored, objects, strings = case.snapshot.references, case.snapshot.objects, case.snapshot.strings
    code = np.zeros(len(case.type_names()), np.bool_)
    code[case.types_where(lambda name: name in _PYTHON)] = True
    is_named = case.kinds(lambda name: name == "attribute")
    rows = np.flatnonzero(is_named[stored.kind])
    rows = rows[code[objects.type[case.sources(rows)]]]
    names = distinct(stored.name[rows])
    rows = rows[np.isin(stored.name[rows], names[strings.where(names, lambda text: text == "__dict__")])]
    retained = objects.retained[members]
    own = np.isin(members, stored.target[rows])
    return bool(2 * int(retained[own].sum()) >= int(retained.sum()))


def _points(case: GraphCase, least: int) -> list[int]:
    """Objects at which what they dominate spreads, and the first ones of long chains."""
    objects = case.snapshot.objects
    big = np.flatnonzero((objects.retained >= least) & (objects.distance != NEVER))
    starts, ends = objects.dominated_start[big].astype(np.int64), objects.dominated_start[big + 1]
    largest = np.zeros(len(big), np.int64)
    has = starts < ends
    largest[has] = objects.retained[objects.dominated[starts[has]]].astype(np.int64)
    spreads = largest < POINT_SHARE * objects.retained[big]
    points = big[spreads]
    # a chain of equals, such as a linked list, spreads nowhere: its first object stands for it
    lasts = big[~spreads & (largest < least)]
    if len(lasts):
        same = big[np.isin(objects.type[big], objects.type[lasts])]
        above = objects.dominator[same]
        is_first = above == NEVER
        is_first[~is_first] = objects.type[above[~is_first]] != objects.type[same[~is_first]]
        points = np.append(points, same[is_first])
    found: list[int] = distinct(points)[:_MOST_POINTS].tolist()
    return found


def _small_children(case: GraphCase, holder: int | None, least: int) -> Numbers:
    """What an object immediately dominates and isn't large itself; with None, what only several roots hold."""
    objects = case.snapshot.objects
    at = len(objects.type) if holder is None else holder
    children = objects.dominated[int(objects.dominated_start[at]) : int(objects.dominated_start[at + 1])]
    # the ones that retain most stand first
    retained = objects.retained[children]
    small = case.reached(children[int(np.count_nonzero(retained >= least)) :])
    return small if holder is not None else small[~_is_shared(case, small)]


def _is_shared(case: GraphCase, numbers: Numbers) -> Numbers:
    """Which objects every process of Android has from its start, and never frees."""
    shared = np.array([name in _SHARED for name in case.snapshot.graph_names.spaces], np.bool_)
    space = case.snapshot.objects.space
    return shared[space[numbers]] if space is not None else np.zeros(len(numbers), np.bool_)


def _by_type(case: GraphCase, members: Numbers) -> list[_Group]:
    """Some objects by their types, the type first that retains most."""
    if not len(members):
        return []
    objects = case.snapshot.objects
    kinds = objects.type[members]
    sums = np.bincount(kinds, weights=objects.retained[members].astype(np.float64))
    # sums of floats only choose; figures are exact
    found = []
    for kind in np.argsort(-sums, kind="stable")[:MOST_FOUND].tolist():
        own = members[kinds == kind]
        if len(own):
            found.append(_Group(kind, own, int(objects.retained[own].sum())))
    return found


def _of_object(case: GraphCase, holder: int, above: int, groups: list[_Group]) -> Ranked:
    """The finding about an object; ``above`` immediately dominates the groups: itself, or the table of a collection."""
    objects = case.snapshot.objects
    total = int(objects.retained[holder])
    shown = figure(total, f"SELECT retained_bytes FROM objects WHERE object = {holder}")
    link = ObjectsLink("object", holder)
    contents: Text | str = ""
    line = case.line(holder)
    if _begins_a_chain(case, holder):
        contents = phrase(", a chain of {type}", type=case.type_name(int(objects.type[holder])))
    elif _is_mostly(groups, total):
        contents = phrase(", most of it in {objects}", objects=_contents(case, above, groups[0]))
        groups_within = (groups[0], *_within(case, groups[0]))
        line = line or next(filter(None, (_own_line(case, each) for each in groups_within)), None)
    line = line or case.allocated_at(np.array([holder]))
    thread = _thread(case, holder)
    # a thread that runs is alive by itself
    held = held_by(case, holder) if thread is None else None
    sentence = phrase(
        "{object} retains {size}, {share} of the reachable heap{contents}.{holder}{advice}",
        object=thread or object_part(case, holder, begins=True), size=measured(shown, link),
        share=percent(total, case.whole), contents=contents,
        holder=phrase(" Held by {holder}.", holder=held) if held else "",
        advice=_advice(case, holder, groups) if _is_mostly(groups, total) else "",
    )  # fmt: skip
    title = phrase("Large retained size")
    subject = (type_of(case, holder), held.text if held else "")
    finding = made("retains_most", title, sentence, shown, None, line, objects=link, subject=subject)
    return Ranked(total / max(case.whole, 1), finding, np.array([holder]))


def _thread(case: GraphCase, holder: int) -> TextPart | None:
    """The name of the thread whose object this is, if the thread was running or waiting and has a name."""
    known = table(case.snapshot)
    found = np.flatnonzero(known.object == holder)
    name = thread_name(case.snapshot, int(found[0])) if len(found) else ""
    if not name:
        return None
    return linked(phrase("Thread {name}", name=name), objects=ObjectsLink("thread", int(found[0])))


def _advice(case: GraphCase, holder: int, groups: list[_Group]) -> Text | str:
    """What would help where the program collects objects of one type in one place: a hundred of them or more."""
    if _is_of_the_engine(case, groups[0]):
        return phrase(" It is Node.js's own.")
    if len(groups[0].members) < LEAST_COLLECTED or is_of_the_platform(
        case, holder, [each.type for each in (groups[0], *_within(case, groups[0]))]
    ):
        return ""
    above = int(case.snapshot.objects.dominator[holder])
    if above != NEVER and type_of(case, above) == _CACHE:
        return phrase(" Give lru_cache a maxsize, or call cache_clear.")
    return phrase(" Remove what is no longer needed from it, or limit its size.")


def _is_of_the_engine(case: GraphCase, group: _Group) -> bool:
    """Whether Node.js itself keeps a group."""
    lines = (case.line(int(each.members[0])) for each in (group, *_within(case, group)))
    return any(line is not None and line.file.startswith("node:") for line in lines)


def _begins_a_chain(case: GraphCase, holder: int) -> bool:
    """Whether nearly all of what an object retains is in one child of its own type, as in a linked list."""
    objects = case.snapshot.objects
    children = slice(int(objects.dominated_start[holder]), int(objects.dominated_start[holder + 1]))
    first = objects.dominated[children][:1]
    if not len(first) or int(objects.retained[first[0]]) < POINT_SHARE * int(objects.retained[holder]):
        return False
    return int(objects.type[first[0]]) == int(objects.type[holder])


def _contents(case: GraphCase, holder: int | None, group: _Group) -> Text:
    """A group, its line, the types within it that have most of it: ``9 Session (app.js:8, with 9 Array)``."""
    link = _link(case, holder, group)
    objects = linked(f"{len(group.members):,} {case.type_name(group.type)}", objects=link)
    place, inner = _own_place(case, group), [_inner(case, each) for each in _within(case, group)]
    about = [
        *([place] if place else []),
        *([phrase("with {inner}", inner=in_a_row(inner, ", "))] if inner else []),
    ]
    return phrase("{objects} ({about})", objects=objects, about=in_a_row(about, ", ")) if about else objects


def _inner(case: GraphCase, group: _Group) -> Text | TextPart:
    """A group within another, and its line where it has one: those of a map are within its nodes."""
    named, line = Text(f"{len(group.members):,} {case.type_name(group.type)}"), _definition(case, group)
    return (
        phrase("{objects} in {place}", objects=named, place=linked(base_line(line), line=line))
        if line
        else named
    )


def _own_place(case: GraphCase, group: _Group) -> Text | TextPart | None:
    """The line of a group for a sentence."""
    if line := _definition(case, group):
        return linked(base_line(line), line=line)
    if line := case.allocated_at(group.members):
        return phrase("allocated at {line}", line=linked(base_line(line), line=line))
    return None


def _own_line(case: GraphCase, group: _Group) -> LineLink | None:
    """Where a group's type is defined in the user's own code, else where most of its objects were allocated."""
    return _definition(case, group) or case.allocated_at(group.members)


def _definition(case: GraphCase, group: _Group) -> LineLink | None:
    """Where a group's type is defined in the user's own code."""
    line = case.line(int(group.members[0]))
    return line if line and int(case.snapshot.frames.kind[line.frame]) == USER else None


def _within(case: GraphCase, group: _Group) -> list[_Group]:
    """The groups within a group that have most of it, each within the one before."""
    objects, inner = case.snapshot.objects, list[_Group]()
    while len(inner) < 3:
        largest = _by_type(case, _children(case, group.members))[:1]
        # by the compact tree, in which groups of one name are one, objects of other holders would count as well
        if not largest or largest[0].retained < _WITHIN_SHARE * int(objects.retained[group.members].sum()):
            break
        group = largest[0]
        inner.append(group)
    return inner


def _children(case: GraphCase, members: Numbers) -> Numbers:
    """What some objects immediately dominate."""
    return dominated_by(case.snapshot.objects, members)


def _link(case: GraphCase, holder: int | None, group: _Group) -> ObjectsLink:
    number = group_of(case.snapshot, int(group.members[0]), DOMINATORS)
    _, node = located(case.snapshot, number)
    if int(grouped_tree(case.snapshot, DOMINATORS).objects[node]) == len(group.members):
        return ObjectsLink("group", number)
    least = int(case.snapshot.objects.retained[group.members].max())
    return ObjectsLink(
        "query",
        0,
        f"SELECT * FROM objects WHERE {_where(case, holder, group, least)} ORDER BY retained_bytes DESC",
    )


def _where(case: GraphCase, holder: int | None, group: _Group, most: int) -> str:
    above = "dominator IS NULL" if holder is None else f"dominator = {holder}"
    kind = text_in_sql(case.type_names()[group.type])
    return f"{above} AND type = {kind} AND retained_bytes <= {most} AND distance IS NOT NULL"


def _of_group(case: GraphCase, holder: int | None, group: _Group) -> Ranked:
    objects = case.snapshot.objects
    where = _where(case, holder, group, int(objects.retained[group.members].max()))
    names = [number for number, name in enumerate(case.type_names()) if name == case.type_names()[group.type]]
    query = f"SELECT retained(object) FROM objects WHERE {where}"
    total = case.retained(group.members)
    shown = figure(total, query if len(names) == 1 else "")
    link = _link(case, holder, group)
    held = None if holder is None or is_made_up(case, np.array([holder]))[0] else holder
    how = held_by(case, held) if held is not None else None
    keeper = None if held is not None or holder is None else keeper_of(case, holder)
    if held is not None:
        common: Text = phrase(
            ". Their nearest common holder is {object}{held}.",
            object=object_part(case, held), held=and_held(how),
        )  # fmt: skip
    elif keeper is not None:
        common = phrase(". Variables of the function around {closure} hold them all.", closure=keeper)
    else:
        common = phrase("; no single object holds them all.")
    sentence = phrase(
        "{objects} retain {size}, {share} of the reachable heap{through}{holder}",
        objects=_contents(case, holder, group), size=measured(shown, link),
        share=percent(total, case.whole), through=mostly_through(case, group.members),
        holder=common,
    )  # fmt: skip
    member = int(group.members[0])
    finding = made(
        "group_retains_most",
        phrase("Large group"),
        sentence,
        shown,
        None,
        case.line(member) or case.allocated_at(group.members),
        objects=link,
        subject=(
            case.type_names()[group.type],
            "" if held is None else type_of(case, held),
            how.text if how else "",
        ),
    )
    return Ranked(total / max(case.whole, 1), finding, group.members)
