"""The owner of an object: the program, the engine, or the library collection that an array belongs to."""

import re

import numpy as np

from memlens.model.packages import package_of
from memlens.model.timeline import NEVER
from memlens.store.objects.walks import dominator_of
from memlens.views.findings.graph.case import RUNTIME_KINDS, GraphCase, is_class, is_internal
from memlens.views.heap.objects.packages import is_platform, packages_of
from memlens.views.heap.objects.rows import Numbers

POINT_SHARE = 0.7
"""Memory accumulates at an object whose largest child in the dominator tree retains a smaller share of it."""
OWN_SHARE = 0.5
_MOST_ABOVE, _MOST_PARTS = 50, 3
_NOTHING = re.compile(r"(?!)")
_PART = re.compile(r"(?<=\w)\$(\w*(Node|Entry|Link|Item))$")


def type_of(case: GraphCase, number: int) -> str:
    """The whole name of an object's type."""
    return case.type_names()[int(case.snapshot.objects.type[number])]


def is_made_up(case: GraphCase, numbers: Numbers) -> Numbers:
    """A mask of the objects that aren't the program's: the engine's own, and those that group the dump's roots."""
    beginnings = ("[", *case.known.platform.engine_types)
    own = case.types_where(lambda name: name.startswith(beginnings))
    chosen = np.zeros(len(case.type_names()), np.bool_)
    chosen[[*own, *case.types_of_kind(*RUNTIME_KINDS)]] = True
    return chosen[case.snapshot.objects.type[numbers]]


def program_object(case: GraphCase, holder: int) -> int | None:
    """Return an object of the program, or for the engine's own the nearest of the program's above it; None if there is
    none.

    Such objects are the collection with a table, or the holder of a buffer.
    """
    objects, name = case.snapshot.objects, type_of(case, holder)
    collections = case.known.collections.types or _NOTHING
    of_dump = bool(is_made_up(case, np.array([holder]))[0])
    least = int(objects.retained[holder])
    if of_dump and int(objects.shallow[holder]) < OWN_SHARE * least:
        return None
    of_engine = of_dump or (case.known.has_internal_parts and is_internal(name))
    if not of_engine and not _is_part(case, holder):
        return holder
    above = dominator_of(objects, holder)
    while above != NEVER and int(objects.retained[above]) * POINT_SHARE <= least:
        owner = type_of(case, above)
        if not of_engine and collections.match(owner):
            return above
        if of_engine and not is_internal(owner) and not is_made_up(case, np.array([above]))[0]:
            return above
        above = dominator_of(objects, above)
    return None if of_dump else holder


def is_entry(name: str) -> bool:
    """Whether a type is a class within its collection's, as ``HashMap$Node``."""
    return _PART.search(name) is not None


def owner_of(case: GraphCase, number: int) -> int:
    """The collection that an array or an entry is a part of, or the program's object that has an engine's table."""
    objects, at = case.snapshot.objects, number
    collections = case.known.collections.types or _NOTHING
    for _ in range(_MOST_PARTS):
        of_engine = case.known.has_internal_parts and is_internal(type_of(case, at))
        above = dominator_of(objects, at)
        if above == NEVER or not (of_engine or _is_part(case, at)):
            return at
        if collections.match(type_of(case, above)):
            return above
        at = above
    return number


def _is_part(case: GraphCase, number: int) -> bool:
    """Whether an object is of a type that collections consist of: an array, or a class within theirs."""
    name = type_of(case, number)
    return name.split(" (", 1)[0].endswith("[]") or is_entry(name)


def is_of_the_platform(case: GraphCase, holder: int, types: list[int]) -> bool:
    """Whether the elements of a managed platform's object, and all objects above it, are of the platform's types."""
    if not case.is_managed:
        return False
    packages, objects = packages_of(case.snapshot), case.snapshot.objects
    if not packages.is_platform[types].all():
        return False
    at, passed = holder, 0
    while at != NEVER and passed < _MOST_ABOVE:
        row = case.row(at)
        name = row.name if is_class(row) else row.type
        if not is_platform(name, package_of(name, case.info.kind), case.info.kind, ""):
            return False
        at, passed = int(objects.dominator[at]), passed + 1
    return True
