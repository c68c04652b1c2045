"""The largest retained sizes: objects at which memory accumulates, and groups of one type with their last common
holder.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.store.objects.walks import dominated_by
from memlens.views.findings.graph.case import GraphCase, is_internal
from memlens.views.findings.graph.grouped import MOST_FOUND, Group, by_type, is_mostly, tree_around, within
from memlens.views.findings.graph.holding import (
    LEAST_COLLECTED,
    begins_a_chain,
    is_global,
    is_held_by_the_program,
    is_of_the_engine,
    of_group,
    of_object,
)  # fmt: skip
from memlens.views.findings.graph.owners import (
    OWN_SHARE,
    POINT_SHARE,
    is_made_up,
    program_object,
    type_of,
)  # fmt: skip
from memlens.views.findings.graph.tables_of_runtime import MOST_OF_RUNTIME, is_reached_by_the_runtime
from memlens.views.findings.writing import Ranked
from memlens.views.heap.objects.packages import packages_of
from memlens.views.heap.objects.rows import Numbers

BIG_SHARE = 0.1
"""The least share of the reachable heap that an object or a group retains to be named."""

_ALONE_SHARE = 0.9
"""If one object retains this share of what its group retains, it is named instead."""

_PROGRAM_SHARE = 0.8
"""An object with a larger share and no dominant group is the program itself, as a global object always is."""
_MOST_POINTS, _MOST_LOOKED_AT = 2_000, 20


class _Found(NamedTuple):
    """An accumulation: the named object or group, and the immediate dominator of the groups."""

    retained: int
    named: int | None
    holder: int | None
    groups: list[Group]
    group: Group | None


def accumulates(case: GraphCase) -> Iterator[Ranked]:
    """Objects and groups of objects that retain a tenth of the reachable heap; five at most.

    An object is named where what it dominates spreads: its largest child in the dominator tree retains less than 70% of
    it, and at least half of what it retains isn't below a child that retains a tenth itself. Otherwise its groups are:
    children of one type that retain a tenth together, and none of them alone, or that of them which retains nine tenths
    of that. Where the bytes are the engine's own, as those of a WebAssembly memory's buffer, the program's object that
    holds them is named. A global object, and what retains 80% of everything, is named only if half of it is in one
    group or in itself.
    """
    least = max(1, int(BIG_SHARE * case.shared))
    objects = case.snapshot.objects
    found: list[_Found] = []
    trees: set[int] = set()
    for holder in [None, *_points(case, least)]:
        tree = None if holder is None else tree_around(case, holder)
        if tree is None:
            found += _found(case, holder, least)
        elif tree[0] not in trees:
            trees.add(tree[0])
            found.append(_Found(int(objects.retained[tree[0]]), *tree, [], None))
    for _, named, holder, groups, group in sorted(found, key=lambda each: -each.retained)[
        : case.most(MOST_FOUND)
    ]:
        if group is not None:
            if not _is_of_no_one(case, holder, group):
                yield of_group(case, holder, group)
        elif named is not None and holder is not None:
            total = int(objects.retained[named])
            if total >= MOST_OF_RUNTIME or not (
                is_mostly(groups, total) and is_of_the_engine(case, named, groups[0])
            ):
                yield of_object(case, named, holder, groups)


def _found(case: GraphCase, holder: int | None, least: int) -> Iterator[_Found]:
    """The accumulations directly below an object, or below no single one."""
    objects = case.snapshot.objects
    small = _small_children(case, holder, least)
    groups = by_type(case, small)
    own = int(objects.retained[small].sum())
    named = None if holder is None else program_object(case, holder)
    if holder is not None and named is not None and _is_named(case, holder, own, groups, least):
        yield _Found(int(objects.retained[named]), named, holder, groups, None)
        return
    for each in groups:
        if each.retained < least or len(each.members) < 2 or not _is_a_group(case, each):
            continue
        one = _nearly_all(case, each)
        if one is None:
            yield _Found(each.retained, None, holder, groups, each)
        else:
            own_groups = by_type(case, _small_children(case, one, least))
            yield _Found(int(objects.retained[one]), one, one, own_groups, None)


def _is_of_no_one(case: GraphCase, holder: int | None, group: Group) -> bool:
    """Whether objects of the platform are few bytes and held by nothing in common, or by a global object.

    Threads, constants and modules, or what the platform made for itself before the program began.
    """
    is_platform = packages_of(case.snapshot).is_platform
    # the stack of a virtual thread holds what the program's methods work on
    if group.retained >= MOST_OF_RUNTIME or not is_platform[[group.type, *_types_within(case, group)]].all():
        return _is_plain_below_global(case, holder, group)
    if not case.is_managed:
        return _is_plain_below_global(case, holder, group)
    return holder is None or bool(is_made_up(case, np.array([holder]))[0])


def _types_within(case: GraphCase, group: Group) -> list[int]:
    return [each.type for each in within(case, group)] if case.is_managed else []


def _is_plain_below_global(case: GraphCase, holder: int | None, group: Group) -> bool:
    """Whether plain objects are below a global object, and are fewer than a collection has."""
    if holder is None or not is_global(case, holder):
        return False
    is_plain = case.type_names()[group.type] in case.known.platform.plain
    return is_plain and len(group.members) < LEAST_COLLECTED and group.retained < MOST_OF_RUNTIME


def large_object(case: GraphCase) -> int | None:
    """The program's object that retains a tenth of the reachable heap, and the least of those that do."""
    objects = case.snapshot.objects
    large = np.flatnonzero(
        (objects.retained >= max(1, int(BIG_SHARE * case.shared))) & (objects.distance != NEVER)
    )
    large = large[~is_made_up(case, large)]
    least_first = large[np.argsort(objects.retained[large], kind="stable")][:_MOST_LOOKED_AT]
    return next((number for number in least_first.tolist() if _is_of_the_program(case, number)), None)


def _is_of_the_program(case: GraphCase, number: int) -> bool:
    if case.known.scopes.global_object is not None:
        is_own = not is_global(case, number) and not is_internal(type_of(case, number))
        return is_own and is_held_by_the_program(case, number)
    if type_of(case, number) in case.known.not_of_the_program:
        return False
    return not (case.is_managed and is_reached_by_the_runtime(case, number))


def _nearly_all(case: GraphCase, group: Group) -> int | None:
    """The accumulation point within an object of a group that retains nearly all of the group's bytes."""
    objects = case.snapshot.objects
    one = int(group.members[np.argmax(objects.retained[group.members])])
    if int(objects.retained[one]) < _ALONE_SHARE * group.retained:
        return None
    while True:
        first = dominated_by(objects, np.array([one]))[:1]
        if not len(first) or int(objects.retained[first[0]]) < POINT_SHARE * int(objects.retained[one]):
            return one
        one = int(first[0])


def _is_named(case: GraphCase, holder: int, own: int, groups: list[Group], least: int) -> bool:
    if begins_a_chain(case, holder):
        return True
    total = int(case.snapshot.objects.retained[holder])
    shallow = int(case.snapshot.objects.shallow[holder])
    not_of_the_program = case.known.not_of_the_program
    if shallow >= OWN_SHARE * total and type_of(case, holder) in not_of_the_program:
        return False
    if is_global(case, holder) and not (groups and _refers_to(case, holder, groups[0].members)):
        return False
    is_program = is_global(case, holder) or (
        total >= _PROGRAM_SHARE * case.whole and _is_root_like(case, holder)
    )
    if is_program and not is_mostly(groups, total) and shallow < OWN_SHARE * total:
        return False
    return own + shallow >= least and own + shallow >= OWN_SHARE * total


def _is_root_like(case: GraphCase, holder: int) -> bool:
    """Whether an object is a class, a module, a thread, or code, rather than an instance."""
    if type_of(case, holder) in _code_of(case):
        return True
    packages = packages_of(case.snapshot)
    return bool(packages.is_platform[int(case.snapshot.objects.type[holder])])


def _refers_to(case: GraphCase, holder: int, members: Numbers) -> bool:
    """Whether an object refers to most of some others itself."""
    stored = case.snapshot.references
    part = slice(int(stored.start[holder]), int(stored.start[holder + 1]))
    return 2 * int(np.isin(members, stored.target[part]).sum()) >= len(members)


def _is_a_group(case: GraphCase, group: Group) -> bool:
    return not (_is_code(case, group) or is_made_up(case, group.members[:1])[0])


def _is_code(case: GraphCase, group: Group) -> bool:
    """Whether objects are code, classes or modules, or what these have their names in: a program has many anyway."""
    name = case.type_names()[group.type]
    if name in _code_of(case) or group.type in case.types_of_kind("closure"):
        return True
    known = case.known.scopes.namespaces
    return known is not None and name == known.type and _are_namespaces(case, group.members, known.attribute)


def _code_of(case: GraphCase) -> Collection[str]:
    """The types of classes and of other code."""
    return case.known.classes.code or case.known.classes.types


def _are_namespaces(case: GraphCase, members: Numbers, attribute: str) -> bool:
    """Whether half of what some objects with attributes retain is in those that have a module's or a class's."""
    stored, objects, strings = case.snapshot.references, case.snapshot.objects, case.snapshot.strings
    code = np.zeros(len(case.type_names()), np.bool_)
    code[case.types_where(case.known.classes.code.__contains__)] = True
    is_named = case.kinds(lambda name: name == "attribute")
    rows = np.flatnonzero(is_named[stored.kind])
    rows = rows[code[objects.type[case.sources(rows)]]]
    names = distinct(stored.name[rows])
    rows = rows[np.isin(stored.name[rows], names[strings.where(names, attribute.__eq__)])]
    retained = objects.retained[members]
    own = np.isin(members, stored.target[rows])
    return bool(2 * int(retained[own].sum()) >= int(retained.sum()))


def _points(case: GraphCase, least: int) -> list[int]:
    """Objects whose dominated bytes spread over many children, and the heads of long chains."""
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
    """The small objects that an object immediately dominates; with None, those that only several roots hold."""
    objects = case.snapshot.objects
    at = len(objects.type) if holder is None else holder
    children = objects.dominated[int(objects.dominated_start[at]) : int(objects.dominated_start[at + 1])]
    # the ones that retain most stand first
    retained = objects.retained[children]
    small = case.reached(children[int(np.count_nonzero(retained >= least)) :])
    return small if holder is not None else small[~_is_shared(case, small)]


def _is_shared(case: GraphCase, numbers: Numbers) -> Numbers:
    """A mask of the objects that every process has from its start and never frees."""
    shared = np.array(
        [name in case.known.platform.shared_spaces for name in case.snapshot.graph_names.spaces], np.bool_
    )
    space = case.snapshot.objects.space
    return shared[space[numbers]] if space is not None else np.zeros(len(numbers), np.bool_)
