"""Threads: what their stacks hold, in which frame and by which variable, and which of them ran out of memory.

A thread retains what would be freed if it ended. A frame retains what would be freed without the objects that its
variables refer to, counted once: these often hold each other, and neighbouring frames the same ones. So a frame may
retain more than its thread, where others hold the same objects.
"""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.distinct import distinct
from memlens.model.frames import USER
from memlens.model.graph import NONE
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Frame
from memlens.views.graph import filters
from memlens.views.graph.on_stacks import Mask, frames_named, threads_named
from memlens.views.graph.rows import MOST_NAME, Numbers, ObjectRow, object_rows, page
from memlens.views.graph.thread_locals import ThreadLocals, thread_locals
from memlens.views.graph.thread_sizes import freed_by_thread, retained_together
from memlens.views.graph.thread_table import table
from memlens.views.selection.columns import frame as frame_of
from memlens.views.selection.filters import Term

StackPart = Literal["object", "thread locals", "no frame", "frame"]
PARTS: tuple[StackPart, ...] = get_args(StackPart)
_FRAME = PARTS.index("frame")

_HELD = np.dtype([("part", "<u4"), ("depth", "<u4"), ("object", "<u4"), ("row", "<u4")])
"""An object that a thread holds: an index of PARTS, the depth of the frame or NONE, and the place in the part."""


class ThreadRow(Struct, frozen=True):
    """A thread, and what its object and all that its stack holds come to.

    ``retained_bytes`` would be freed if it ended; with a filter, without those of the objects that fit it.
    """

    thread: int
    name: str
    """Empty if it isn't known."""
    state: str
    out_of_memory: bool
    object: ObjectRow | None
    """None if the file doesn't have the thread's object."""
    frames: int
    variables: int
    """Objects that its variables refer to, each counted once."""
    shallow_bytes: int
    retained_bytes: int
    failed_at: Frame | None
    """Where it ran out of memory: the innermost frame of the program's own, else of any code."""


class ThreadsAnswer(Struct, frozen=True):
    """Threads ``offset`` and on of ``total``, those first that retain most."""

    rows: list[ThreadRow]
    offset: int
    total: int


class StackRow(Struct, frozen=True):
    """A part of what a thread has: its object, its thread locals, what no frame holds, or a frame of its stack."""

    part: StackPart
    depth: int | None
    """0 for the innermost frame; None for what is no frame."""
    frame: Frame | None
    """None for what is no frame, and for a frame that isn't known."""
    object: ObjectRow | None
    variables: int
    shallow_bytes: int
    retained_bytes: int


class StackAnswer(Struct, frozen=True):
    """Parts ``offset`` and on of ``total``: the innermost frame first, after what no frame holds."""

    rows: list[StackRow]
    offset: int
    total: int


class VariableRow(Struct, frozen=True):
    """What a variable refers to. ``name`` is empty if the file doesn't have it; ``kind`` is the kind of root."""

    name: str
    kind: str
    object: ObjectRow


class VariablesAnswer(Struct, frozen=True):
    """Variables ``offset`` and on of ``total``, those first whose objects retain most."""

    rows: list[VariableRow]
    offset: int
    total: int


def threads(snapshot: Snapshot, filter_text: str = "", offset: int = 0, limit: int = 100) -> ThreadsAnswer:
    """The threads; with a filter those that hold objects which fit it. Raises :class:`BadRequestError`."""
    rows = page(offset, limit)
    ranked = snapshot.keep(("threads ranked", filter_text), lambda: _ranked(snapshot, filter_text))
    return ThreadsAnswer(
        [thread_row(snapshot, thread, -size, filter_text) for size, thread in ranked[rows]],
        offset,
        len(ranked),
    )


def _ranked(snapshot: Snapshot, filter_text: str) -> list[tuple[int, int]]:
    """What each thread retains, turned round, and its number; the most first."""
    if not filter_text.strip():
        return sorted((-size, thread) for thread, size in enumerate(freed_by_thread(snapshot).tolist()))
    found = []
    for thread in range(len(table(snapshot).object)):
        own = distinct(held_by(snapshot, thread, filter_text)["object"])
        if len(own) or fitting_frames(snapshot, thread, filter_text).any():
            found.append((-retained_together(snapshot, own), thread))
    return sorted(found)


def thread_row(snapshot: Snapshot, thread: int, retained: int, filter_text: str = "") -> ThreadRow:
    """A thread in words; ``retained`` is what it retains."""
    known = table(snapshot)
    held = held_by(snapshot, thread, filter_text)
    # the thread's object refers to them
    held = distinct(held["object"][held["part"] != PARTS.index("thread locals")])
    own = int(known.object[thread])
    failed = failed_in(snapshot, thread) if known.out_of_memory[thread] else None
    return ThreadRow(
        thread=thread,
        name=thread_name(snapshot, thread),
        state=snapshot.strings.head(int(known.state[thread]), MOST_NAME),
        out_of_memory=bool(known.out_of_memory[thread]),
        object=None if own == NONE else object_rows(snapshot, [own])[0],
        frames=len(known.frames_of(thread)),
        variables=len(held) - int(own in held),
        shallow_bytes=int(snapshot.objects.shallow[held].sum()),
        retained_bytes=retained,
        failed_at=None if failed is None else frame_of(snapshot.frames.rows([failed])[failed]),
    )


def thread_name(snapshot: Snapshot, thread: int) -> str:
    """A thread's name, empty if it has none."""
    return snapshot.strings.head(int(table(snapshot).name[thread]), MOST_NAME)


def failed_in(snapshot: Snapshot, thread: int) -> int | None:
    """The innermost frame of the program's own in a thread's stack, else the innermost one after the error's own."""
    numbers = [number for number in table(snapshot).frames_of(thread).tolist() if number != NONE]
    rows = snapshot.frames.rows(numbers)
    own = (number for number in numbers if rows[number][3] == USER and rows[number][1] > 0)
    return next(own, next(iter(numbers[1:]), None))


def check_thread(snapshot: Snapshot, thread: int) -> int:
    """The number of a thread. Raises :class:`BadRequestError` where there is none of that number."""
    if not 0 <= thread < len(table(snapshot).object):
        raise BadRequestError(phrase("The heap dump has no thread number {thread}", thread=thread))
    return thread


def stack(
    snapshot: Snapshot, thread: int, filter_text: str = "", offset: int = 0, limit: int = 100
) -> StackAnswer:
    """What a thread has; with a filter the parts that hold objects which fit it. Raises :class:`BadRequestError`."""
    rows = page(offset, limit)
    held = held_by(snapshot, check_thread(snapshot, thread), filter_text)
    frames = table(snapshot).frames_of(thread)
    parts: list[tuple[StackPart, int | None]] = [
        (part, None) for place, part in enumerate(PARTS[:_FRAME]) if bool((held["part"] == place).any())
    ]
    depths = list(range(len(frames)))
    if filter_text.strip():
        fits = fitting_frames(snapshot, thread, filter_text)
        fits[held["depth"][held["part"] == _FRAME]] = True
        depths = np.flatnonzero(fits).tolist()
    parts += [("frame", depth) for depth in depths]
    shown = parts[rows]
    known = snapshot.frames.rows(number for number in frames.tolist() if number != NONE)
    found = []
    for part, depth in shown:
        objects = distinct(_of_part(held, part, depth)["object"])
        own = object_rows(snapshot, objects)[0] if part == "object" else None
        number = NONE if depth is None else int(frames[depth])
        frame = frame_of(known[number]) if number != NONE else None
        shallow = int(snapshot.objects.shallow[objects].sum())
        total = retained_together(snapshot, objects)
        found.append(StackRow(part, depth, frame, own, len(objects), shallow, total))
    return StackAnswer(found, offset, len(parts))


def variables(
    snapshot: Snapshot,
    thread: int,
    part: StackPart,
    depth: int | None,
    filter_text: str = "",
    offset: int = 0,
    limit: int = 100,
) -> VariablesAnswer:
    """The variables of a part of what a thread has. Raises :class:`BadRequestError`."""
    shown = page(offset, limit)
    held = _of_part(held_by(snapshot, check_thread(snapshot, thread), filter_text), part, depth)
    if part == "object":
        held = held[:0]
    retained = snapshot.objects.retained[held["object"]].astype(np.int64)
    rows = held[np.argsort(-retained, kind="stable")][shown]
    objects = object_rows(snapshot, rows["object"])
    names = [_variable(snapshot, thread, part, int(row)) for row in rows["row"]]
    found = [VariableRow(name, kind, row) for (name, kind), row in zip(names, objects, strict=True)]
    return VariablesAnswer(found, offset, len(held))


def _variable(snapshot: Snapshot, thread: int, part: StackPart, row: int) -> tuple[str, str]:
    """What a variable is called, and its kind."""
    if part == "thread locals":
        return _locals(snapshot, thread)[row][0], "thread local"
    own = table(snapshot).variables_of(thread)[row]
    kind = snapshot.graph_names.root_kinds[int(own["kind"])]
    return snapshot.strings.head(int(own["name"]), MOST_NAME), kind


def held_by(snapshot: Snapshot, thread: int, filter_text: str) -> Numbers:
    """What a thread's object, its thread locals and its variables are, as far as they fit a filter: rows of _HELD."""
    return snapshot.keep(
        ("held by thread", thread, filter_text), lambda: _held_by(snapshot, thread, filter_text)
    )


def _held_by(snapshot: Snapshot, thread: int, filter_text: str) -> Numbers:
    own, variables = int(table(snapshot).object[thread]), table(snapshot).variables_of(thread)
    no_frame = variables["depth"] == NONE
    parts = [
        (0, NONE, np.array([] if own == NONE else [own], np.int64)),
        (1, NONE, np.array([value for _, value in _locals(snapshot, thread)], np.int64)),
        (np.where(no_frame, _FRAME - 1, _FRAME), variables["depth"], variables["object"]),
    ]
    found = np.zeros(sum(len(objects) for _, _, objects in parts), _HELD)
    begin = 0
    for part, depth, objects in parts:
        rows = found[begin : begin + len(objects)]
        rows["part"], rows["depth"], rows["object"] = part, depth, objects
        rows["row"] = np.arange(len(objects))
        begin += len(objects)
    fits = np.ones(len(found), np.bool_)
    for term in filters.checked_terms(snapshot, filter_text):
        own_fits = _fits(snapshot, thread, replace(term, negated=False), found)
        fits &= ~own_fits if term.negated else own_fits
    kept: Numbers = found[fits]
    return kept


def _fits(snapshot: Snapshot, thread: int, term: Term, rows: Numbers) -> Mask:
    """Which rows of _HELD fit a term; a word may be in the thread's name or the function's, too."""
    of_thread = bool(threads_named(snapshot, term)[thread])
    of_frame = np.zeros(len(rows), np.bool_)
    framed = rows["part"] == _FRAME
    start = int(table(snapshot).frame_start[thread])
    of_frame[framed] = frames_named(snapshot, term)[start + rows["depth"][framed].astype(np.int64)]
    match term.field:
        case "thread":
            return np.full(len(rows), of_thread)
        case "function":
            return of_frame
    chosen = filters.chosen(snapshot, str(term))
    of_objects: Mask = (
        np.ones(len(rows), np.bool_) if chosen is None else chosen.among(snapshot, rows["object"])
    )
    return of_objects | of_frame | of_thread if term.field == "" else of_objects


def fitting_frames(snapshot: Snapshot, thread: int, filter_text: str) -> Mask:
    """Which frames of a thread fit a filter that is about threads and functions alone, whatever they hold."""
    known = table(snapshot)
    part = slice(int(known.frame_start[thread]), int(known.frame_start[thread + 1]))
    fits = np.ones(part.stop - part.start, np.bool_)
    for term in filters.checked_terms(snapshot, filter_text):
        of_frame = frames_named(snapshot, term)[part] if term.field in ("function", "") else False
        of_thread = bool(threads_named(snapshot, term)[thread]) if term.field in ("thread", "") else False
        fits &= (of_frame | of_thread) != term.negated
        if term.field not in ("thread", "function", ""):
            fits[:] = False
    return fits


def _of_part(held: Numbers, part: StackPart, depth: int | None) -> Numbers:
    chosen: Numbers = held[
        (held["part"] == PARTS.index(part)) & (held["depth"] == (NONE if depth is None else depth))
    ]
    return chosen


def _locals(snapshot: Snapshot, thread: int) -> ThreadLocals:
    own = int(table(snapshot).object[thread])
    return [] if own == NONE else snapshot.keep(("thread locals", own), lambda: thread_locals(snapshot, own))
