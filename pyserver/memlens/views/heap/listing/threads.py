"""Threads: what their stacks hold, in which frame and by which variable, and which of them ran out of memory.

A thread retains what would be freed if it ended. A frame retains what would be freed if the objects that its variables
refer to were removed, whoever else refers to them. So a frame may retain more than its thread, if others hold the same
objects.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.distinct import distinct
from memlens.model.frames import USER
from memlens.model.graph import NONE
from memlens.packs import registry
from memlens.packs.api import ThreadValues
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Frame
from memlens.views.heap.filters import filters
from memlens.views.heap.filters.threads import frames_named, threads_named
from memlens.views.heap.objects.rows import MOST_NAME, Numbers, ObjectRow, object_rows, page, plain_type_names
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.retained.by_threads import freed_by_thread, retained_together
from memlens.views.selection.columns import frame as frame_of
from memlens.views.selection.terms import Term

StackPart = Literal["object", "thread locals", "no frame", "frame"]
PARTS: tuple[StackPart, ...] = get_args(StackPart)
_FRAME = PARTS.index("frame")

_HELD = np.dtype([("thread", "<u4"), ("part", "<u4"), ("depth", "<u4"), ("object", "<u4"), ("row", "<u4")])
"""An object that a thread holds: an index of PARTS, the depth of the frame or NONE, and the position in the part."""
_WORDS = ("", "plain-word")
"""Terms that may match the names of threads and functions as well."""


class ThreadRow(Struct, frozen=True):
    """A thread: ``shallow_bytes`` are its object's own, and ``retained_bytes`` what would be freed if it ended."""

    thread: int
    name: str
    """Empty if it isn't known."""
    state: str
    out_of_memory: bool
    object: ObjectRow | None
    """None if the thread's object is not in the file."""
    frames: int
    variables: int
    """The distinct objects that its variables refer to."""
    shallow_bytes: int
    retained_bytes: int
    request: str
    """The HTTP request among its variables, "GET /shop?item=7"; empty if there is none."""
    failed_at: Frame | None
    """Where it ran out of memory: the innermost frame of the user's own code, else of any code."""


class ThreadsAnswer(Struct, frozen=True):
    """The threads from ``offset`` on, of ``total``; those that retain most first."""

    rows: list[ThreadRow]
    offset: int
    total: int


class StackRow(Struct, frozen=True):
    """A part of a thread: its object, its thread locals, objects held outside of frames, or a frame of its stack."""

    part: StackPart
    depth: int | None
    """0 for the innermost frame; None if the part is not a frame."""
    frame: Frame | None
    """None if the part is not a frame, and for unknown frames."""
    object: ObjectRow | None
    variables: int
    shallow_bytes: int
    retained_bytes: int


class ThreadStackAnswer(Struct, frozen=True):
    """The parts from ``offset`` on, of ``total``: what no frame holds, then frames, innermost first."""

    rows: list[StackRow]
    offset: int
    total: int


class VariableRow(Struct, frozen=True):
    """A variable and its object. ``name`` is empty if it is not in the file; ``kind`` is the kind of root."""

    name: str
    kind: str
    object: ObjectRow


class VariablesAnswer(Struct, frozen=True):
    """The variables from ``offset`` on, of ``total``; those whose objects retain most first."""

    rows: list[VariableRow]
    offset: int
    total: int


def threads(snapshot: Snapshot, filter_text: str = "", offset: int = 0, limit: int = 100) -> ThreadsAnswer:
    """Return the threads; with a filter, those that hold matching objects. Raises :class:`BadRequestError`."""
    rows = page(offset, limit)
    ranked = _ranked(snapshot, filter_text)
    return ThreadsAnswer([thread_row(snapshot, thread) for thread in ranked[rows]], offset, len(ranked))


@kept
def _ranked(snapshot: Snapshot, filter_text: str) -> list[int]:
    """Return the numbers of the threads that hold matching objects, those that retain most first."""
    freed = freed_by_thread(snapshot)
    fits = _fitting_threads(snapshot, filter_text) if filter_text.strip() else np.ones(len(freed), bool)
    return sorted(np.flatnonzero(fits).tolist(), key=lambda thread: (-int(freed[thread]), thread))


def _fitting_threads(snapshot: Snapshot, filter_text: str) -> Mask:
    known, terms = table(snapshot), filters.checked_terms(snapshot, filter_text)
    found = np.zeros(len(known.object), np.bool_)
    own = np.flatnonzero(known.object != NONE)
    rows = np.zeros(len(own) + len(known.variables), _HELD)
    rows["part"][: len(own)], rows["thread"][: len(own)] = 0, own
    rows["object"][: len(own)] = known.object[own]
    _fill_variables(rows[len(own) :], known.variables)
    found[rows["thread"][_fitting(snapshot, terms, rows)]] = True
    of_frames = np.repeat(np.arange(len(found)), np.diff(known.frame_start))
    found[of_frames[fitting_frames(snapshot, filter_text)]] = True
    if any(term.field not in ("thread", "function") for term in terms):
        rows = _all_locals(snapshot, own[~found[own]])
        found[rows["thread"][_fitting(snapshot, terms, rows)]] = True
    return found


def _all_locals(snapshot: Snapshot, threads: Numbers) -> Numbers:
    """Return the thread locals of threads that have an object, as rows of _HELD. Raises :class:`CancelledError`."""
    known = _thread_values(snapshot)
    if known is None:
        return np.zeros(0, _HELD)
    having = threads[known.may_have_locals(snapshot, table(snapshot).object[threads])]
    held: list[tuple[int, int]] = []
    for thread in having.tolist():
        snapshot.go_on()
        held += [(thread, value) for _, value in _locals(snapshot, thread)]
    rows = np.zeros(len(held), _HELD)
    rows["thread"], rows["object"] = np.array(held, np.int64).reshape(-1, 2).T
    rows["part"], rows["depth"] = PARTS.index("thread locals"), NONE
    return rows


def thread_row(snapshot: Snapshot, thread: int) -> ThreadRow:
    """Return the row of a thread."""
    known = table(snapshot)
    held = distinct(np.append(known.variables_of(thread)["object"].astype(np.int64), known.object[thread]))
    held = held[held != NONE]
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
        shallow_bytes=0 if own == NONE else int(snapshot.objects.shallow[own]),
        retained_bytes=int(freed_by_thread(snapshot)[thread]),
        request=request_of(snapshot, held),
        failed_at=None if failed is None else frame_of(snapshot.frames.rows([failed])[failed]),
    )


@kept
def _are_requests(snapshot: Snapshot) -> Mask:
    requests = registry.objects_of(snapshot.info.kind).requests
    return np.array([name in requests for name in plain_type_names(snapshot)], np.bool_)


def request_of(snapshot: Snapshot, objects: Numbers) -> str:
    """Return the name of the first HTTP request among some objects; empty if there is none."""
    names = snapshot.objects.name[objects]
    found = np.flatnonzero(_are_requests(snapshot)[snapshot.objects.type[objects]] & (names != 0))
    return snapshot.strings.head(int(names[found[0]]), MOST_NAME) if len(found) else ""


def thread_name(snapshot: Snapshot, thread: int) -> str:
    """Return a thread's name; empty if it has none."""
    return snapshot.strings.head(int(table(snapshot).name[thread]), MOST_NAME)


def failed_in(snapshot: Snapshot, thread: int) -> int | None:
    """Return a thread's innermost frame of the user's own code, else the caller of its innermost frame."""
    numbers = [number for number in table(snapshot).frames_of(thread).tolist() if number != NONE]
    rows = snapshot.frames.rows(numbers)
    own = (number for number in numbers if rows[number][3] == USER and rows[number][1] > 0)
    return next(own, next(iter(numbers[1:]), None))


def check_thread(snapshot: Snapshot, thread: int) -> int:
    """Return the number of a thread. Raises :class:`BadRequestError` if there is no such thread."""
    if not 0 <= thread < len(table(snapshot).object):
        raise BadRequestError(phrase("The heap dump has no thread number {thread}", thread=thread))
    return thread


def stack(
    snapshot: Snapshot, thread: int, filter_text: str = "", offset: int = 0, limit: int = 100
) -> ThreadStackAnswer:
    """Return a thread's parts; with a filter, those that hold matching objects. Raises :class:`BadRequestError`."""
    rows = page(offset, limit)
    held = held_by(snapshot, check_thread(snapshot, thread), filter_text)
    frames = table(snapshot).frames_of(thread)
    parts: list[tuple[StackPart, int | None]] = [
        (part, None) for place, part in enumerate(PARTS[:_FRAME]) if bool((held["part"] == place).any())
    ]
    depths = list(range(len(frames)))
    if filter_text.strip():
        start = int(table(snapshot).frame_start[thread])
        fits = fitting_frames(snapshot, filter_text)[start : start + len(frames)]
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
    return ThreadStackAnswer(found, offset, len(parts))


def variables(
    snapshot: Snapshot,
    thread: int,
    part: StackPart,
    depth: int | None,
    filter_text: str = "",
    offset: int = 0,
    limit: int = 100,
) -> VariablesAnswer:
    """Return the variables of a part of a thread. Raises :class:`BadRequestError`."""
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
    """Return a variable's name and kind."""
    if part == "thread locals":
        return _locals(snapshot, thread)[row][0], "thread local"
    own = table(snapshot).variables_of(thread)[row]
    kind = snapshot.graph_names.root_kinds[int(own["kind"])]
    return snapshot.strings.head(int(own["name"]), MOST_NAME), kind


@kept
def held_by(snapshot: Snapshot, thread: int, filter_text: str) -> Numbers:
    """Return a thread's object, thread locals and variables that match a filter, as rows of _HELD."""
    own, variables = int(table(snapshot).object[thread]), table(snapshot).variables_of(thread)
    values = np.array([value for _, value in _locals(snapshot, thread)], np.int64)
    found = np.zeros(int(own != NONE) + len(values) + len(variables), _HELD)
    if own != NONE:
        found["object"][0] = own
    locals_end = len(found) - len(variables)
    of_locals = found[locals_end - len(values) : locals_end]
    of_locals["part"], of_locals["object"] = PARTS.index("thread locals"), values
    of_locals["row"] = np.arange(len(values))
    found["depth"][:locals_end] = NONE
    _fill_variables(found[locals_end:], variables)
    found["thread"] = thread
    kept: Numbers = found[_fitting(snapshot, filters.checked_terms(snapshot, filter_text), found)]
    return kept


def _fill_variables(rows: Numbers, variables: Numbers) -> None:
    rows["part"] = np.where(variables["depth"] == NONE, PARTS.index("no frame"), _FRAME)
    for name in ("thread", "depth", "object"):
        rows[name] = variables[name]
    rows["row"] = np.arange(len(variables))


def _fitting(snapshot: Snapshot, terms: Sequence[Term], rows: Numbers) -> Mask:
    """Return a mask of the rows of _HELD that match all terms; words may also match the thread's or function's name."""
    fits = np.ones(len(rows), np.bool_)
    framed = rows["part"] == _FRAME
    frames = table(snapshot).frame_rows(rows[framed])
    for term in terms:
        found = np.zeros(len(rows), np.bool_)
        if term.field in ("thread", *_WORDS):
            found |= threads_named(snapshot, term.values)[rows["thread"]]
        if term.field in ("function", *_WORDS):
            found[framed] |= frames_named(snapshot, term.values)[frames]
        if term.field not in ("thread", "function"):
            chosen = filters.chosen(snapshot, str(replace(term, negated=False)))
            if chosen is not None:
                found |= chosen.among(snapshot, rows["object"])
        fits &= found != term.negated
    return fits


def fitting_frames(snapshot: Snapshot, filter_text: str) -> Mask:
    """Return a mask of all threads' frames that match a filter; none if a term is about anything but these."""
    known = table(snapshot)
    thread_of = np.repeat(np.arange(len(known.object)), np.diff(known.frame_start))
    fits = np.ones(len(known.frames), np.bool_)
    for term in filters.checked_terms(snapshot, filter_text):
        found = np.zeros(len(fits), np.bool_)
        if term.field in ("thread", *_WORDS):
            found |= threads_named(snapshot, term.values)[thread_of]
        if term.field in ("function", *_WORDS):
            found |= frames_named(snapshot, term.values)
        fits &= found != term.negated if term.field in ("thread", "function", *_WORDS) else False
    return fits


def _of_part(held: Numbers, part: StackPart, depth: int | None) -> Numbers:
    chosen: Numbers = held[
        (held["part"] == PARTS.index(part)) & (held["depth"] == (NONE if depth is None else depth))
    ]
    return chosen


@kept
def _locals(snapshot: Snapshot, thread: int) -> list[tuple[str, int]]:
    own = int(table(snapshot).object[thread])
    known = _thread_values(snapshot)
    return [] if known is None or own == NONE else known.thread_locals(snapshot, own)


def _thread_values(snapshot: Snapshot) -> ThreadValues | None:
    part = registry.objects_of(snapshot.info.kind).thread_values
    return None if part is None else part.load()
