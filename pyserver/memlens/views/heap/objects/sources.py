"""Source locations of objects and types, as far as the dump has them."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.frames import INFERRED
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.definitions import frames_of_types
from memlens.views.heap.objects.rows import check_object
from memlens.views.heap.objects.types import instances_of
from memlens.views.lines.stack import stack_frames

Relation = Literal["definition", "allocation", "type", "none"]
"""How a line relates to an object: it defines the object or its class, it allocated the object, or only the name of the
type is known, and source files must be searched for it."""


class DumpSource(Struct, frozen=True):
    """What a dump says about the source of an object or a type.

    ``file`` is empty and ``line`` 0 if it gives no line. With the relation "type" file and line are inferred from the
    name; a search for the name is better.
    """

    relation: Relation
    file: str
    line: int
    function: str
    type: str
    """The name of the type, without its module."""


def source_of_object(snapshot: Snapshot, number: int) -> DumpSource:
    """Return where an object is defined, else where it was allocated, else the name of its type.

    The allocating line is that of the stack's innermost frame of the user's own code, else of the innermost frame with
    a line. Raises :class:`BadRequestError`.
    """
    check_object(snapshot, number)
    name = _type_name(snapshot, int(snapshot.objects.type[number]))
    places = snapshot.objects.places
    at = int(np.searchsorted(places["object"], number))
    if at < len(places) and int(places["object"][at]) == number:
        place = _place(snapshot, int(places["frame"][at]), name)
        if place is not None:
            return place
    return _allocation(snapshot, number, name) or source_of_type(snapshot, int(snapshot.objects.type[number]))


def allocation_of_type(snapshot: Snapshot, number: int) -> DumpSource | None:
    """Return where the instance that retains most was allocated; None if the dump doesn't record it.

    Raises :class:`BadRequestError`.
    """
    members = instances_of(snapshot, number)[:1].tolist()
    return _allocation(snapshot, members[0], _type_name(snapshot, number)) if members else None


def _allocation(snapshot: Snapshot, number: int, name: str) -> DumpSource | None:
    """Return the line that allocated an object: of the user's own code if its stack has any."""
    stacks = snapshot.objects.stack
    if stacks is None:
        return None
    frames = [frame for frame in stack_frames(snapshot, int(stacks[number])) if frame.line]
    own = [frame for frame in frames if frame.kind == "user"]
    for frame in (own or frames)[:1]:
        return DumpSource("allocation", frame.file, frame.line, frame.function, name)
    return None


def source_of_type(snapshot: Snapshot, number: int) -> DumpSource:
    """Return where a type is defined, else its name. Raises :class:`BadRequestError`."""
    if not 0 <= number < graph_of(snapshot.info).types:
        raise BadRequestError(phrase("The heap dump has no type number {number}", number=number))
    name, frame = _type_name(snapshot, number), frames_of_types(snapshot).get(number)
    place = None if frame is None else _place(snapshot, frame, name)
    return place or DumpSource("type" if name else "none", "", 0, "", name)


def _type_name(snapshot: Snapshot, number: int) -> str:
    return snapshot.strings.texts(snapshot.types.name[number : number + 1])[0]


def _place(snapshot: Snapshot, frame: int, name: str) -> DumpSource | None:
    """Return the definition in a frame; None without a line. An inferred line is no better than the type's name."""
    file, line, function, _ = snapshot.frames.rows([frame])[frame]
    if not file or line <= 0:
        return None
    inferred = int(snapshot.frames.source[frame]) == INFERRED
    return DumpSource("type" if inferred else "definition", file, line, function, name)
