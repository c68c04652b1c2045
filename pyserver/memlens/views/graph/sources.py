"""Where the source of an object or a type of a heap dump is, as far as the dump says it."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.graph.rows import Numbers, check_object
from memlens.views.graph.types import instances_of
from memlens.views.lines.stack import stack_frames

Relation = Literal["definition", "allocation", "type", "none"]
"""What a line is to an object: it defines the object or its class, it allocated the object, or only the name of the
type is known, which files here can be searched for."""

_MOST_INSTANCES = 1_000
"""Instances of a type that are asked where their class is defined."""

Place = tuple[str, int, str]
"""File, line and function, as the dump has them."""


class DumpSource(Struct, frozen=True):
    """What a dump says of the source of an object or a type. ``file`` is empty and ``line`` 0 if it says no line."""

    relation: Relation
    file: str
    line: int
    function: str
    type: str
    """The name of the type, without its module."""


def source_of_object(snapshot: Snapshot, number: int) -> DumpSource:
    """Where an object is defined, else where it was allocated, else the name of its type.

    The line that allocated an object is that of the innermost frame of the stack that has one, and is of the user's
    own code where the stack has such a frame. Raises :class:`BadRequestError`.
    """
    check_object(snapshot, number)
    name = _type_name(snapshot, int(snapshot.objects.type[number]))
    place = _places(snapshot, np.array([number])).get(number)
    if place is not None:
        return DumpSource("definition", *place, name)
    stacks = snapshot.objects.stack
    if stacks is not None:
        frames = [frame for frame in stack_frames(snapshot, int(stacks[number])) if frame.line]
        own = [frame for frame in frames if frame.kind == "user"]
        for frame in (own or frames)[:1]:
            return DumpSource("allocation", frame.file, frame.line, frame.function, name)
    return source_of_type(snapshot, int(snapshot.objects.type[number]))


def source_of_type(snapshot: Snapshot, number: int) -> DumpSource:
    """Where a type is defined, else its name. Raises :class:`BadRequestError`."""
    if not 0 <= number < graph_of(snapshot.info).types:
        raise BadRequestError(f"The heap dump has no type number {number:,}")
    name, place = _type_name(snapshot, number), places_of_types(snapshot, [number])[0]
    if place is not None:
        return DumpSource("definition", *place, name)
    return DumpSource("type" if name else "none", "", 0, "", name)


def places_of_types(snapshot: Snapshot, numbers: Sequence[int]) -> list[Place | None]:
    """Where some types are defined: as their class objects say, else as all their instances say alike."""
    types, found = snapshot.types, list[Place | None]()
    for number in numbers:
        own = -1 if types.object is None else int(types.object[number])
        classes = [own] if 0 <= own < len(snapshot.objects.type) else []
        known = set(_places(snapshot, np.array(classes, np.int64)).values())
        if not known:
            known = set(_places(snapshot, instances_of(snapshot, number)[:_MOST_INSTANCES]).values())
        found.append(known.pop() if len(known) == 1 else None)
    return found


def _type_name(snapshot: Snapshot, number: int) -> str:
    return snapshot.strings.texts(snapshot.types.name[number : number + 1])[0]


def _places(snapshot: Snapshot, chosen: Numbers) -> dict[int, Place]:
    """The definitions of some objects that have a line, by object."""
    rows = snapshot.objects.places
    if not len(rows) or not len(chosen):
        return {}
    at = np.minimum(np.searchsorted(rows["object"], chosen), len(rows) - 1)
    at = at[rows["object"][at] == chosen]
    frames = snapshot.frames.rows(rows["frame"][at].tolist())
    return {
        item: frames[frame][:3]
        for item, frame in rows[at].tolist()
        if frames[frame][0] and frames[frame][1] > 0
    }
