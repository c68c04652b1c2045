"""What calls a function or a line, and what it calls, with what is allocated on the way."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.model.distinct import distinct
from memlens.model.frames import RECORDED
from memlens.store.snapshot import Snapshot
from memlens.texts import in_a_row, phrase
from memlens.views.flame.calltree import CallTree, FlameOptions
from memlens.views.flame.graph import tree_of
from memlens.views.flame.tables import by_name
from memlens.views.naming.frame_names import FlameName, Merge, frame_names
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT, COUNT
from memlens.views.selection.texts import Pattern

CallsOf = Literal["callers", "callees"]
MOST_LEVELS = 8
_MOST_NAMED = 12


class CalledPlace(Struct, frozen=True):
    """A function, or a line of one (``line`` 0 if several lines are merged): its names by text, file and number."""

    function: str
    file: str
    line: int


class CallRow(Struct, frozen=True):
    """A caller or a callee, with what was allocated through it, and its own callers or callees, the largest first.

    ``ends_bytes`` of them have no further row: allocated by a callee itself, or by a caller that nothing calls.
    """

    function: str
    file: str
    line: int
    bytes: int
    count: int
    ends_bytes: int
    rows: list["CallRow"]
    rows_left_out: int


class CallsAnswer(Struct, frozen=True):
    """A place's callers or callees in a set of ``total_bytes``. A place that calls itself counts once, where it begins.

    ``bytes`` and ``count`` are allocated by the place, including what it called; ``self_*`` by itself.
    """

    place: CalledPlace
    total_bytes: int
    total_count: int
    bytes: int
    count: int
    self_bytes: int
    self_count: int
    ends_bytes: int
    rows: list[CallRow]
    rows_left_out: int


def calls(
    snapshot: Snapshot, of: AllocationSet, side: CallsOf, place: CalledPlace, levels: int, limit: int
) -> CallsAnswer:
    """The callers or callees of a place in a set, ``levels`` deep, with ``limit`` rows for each.

    What ``place`` leaves empty is any. Raises :class:`BadRequestError` for a place that the set doesn't have, with
    those that are spelled alike, and for one that is several, with these.
    """
    merge: Merge = "line" if place.line else "function"
    whole = tree_of(snapshot, of, "bytes", FlameOptions(merge=merge))
    name = _name_of(snapshot, whole, place, merge)
    direction: Literal["top_down", "bottom_up"] = "top_down" if side == "callees" else "bottom_up"
    tree = tree_of(snapshot, of, "bytes", FlameOptions(direction=direction, merge=merge, focus=name))
    top = next(node for node in tree.children(0).tolist() if int(tree.name[node]) == name)
    selves, inclusive = by_name(whole, "any")
    (named,) = whole.names.names([name])
    rows, left_out = _rows(tree, top, levels, limit)
    return CallsAnswer(
        _place(named),
        int(whole.inclusive[AMOUNT, 0]),
        int(whole.inclusive[COUNT, 0]),
        int(inclusive[AMOUNT, name]),
        int(inclusive[COUNT, name]),
        int(selves[AMOUNT, name]),
        int(selves[COUNT, name]),
        int(tree.ends[AMOUNT, top]),
        rows,
        left_out,
    )


def _rows(tree: CallTree, above: int, levels: int, limit: int) -> tuple[list[CallRow], int]:
    found = tree.children(above).tolist()
    shown = found[:limit]
    names = tree.names.names([int(tree.name[node]) for node in shown])
    rows = []
    for node, named in zip(shown, names, strict=True):
        below, left_out = (
            _rows(tree, node, levels - 1, limit) if levels > 1 else ([], len(tree.children(node)))
        )
        rows.append(
            CallRow(
                named.text,
                named.file,
                named.line,
                int(tree.inclusive[AMOUNT, node]),
                int(tree.inclusive[COUNT, node]),
                int(tree.ends[AMOUNT, node]),
                below,
                left_out,
            )
        )
    return rows, len(found) - len(shown)


def _name_of(snapshot: Snapshot, whole: CallTree, place: CalledPlace, merge: Merge) -> int:
    """The number of the one name in the set that matches."""
    frames, names = snapshot.frames, frame_names(snapshot)
    present = by_name(whole, "any")[1][whole.by, : len(frames)] > 0
    chosen = np.ones(len(frames), np.bool_)
    if place.function:
        chosen &= _exactly_or_in_part(frames.in_function, place.function, is_path=False)
    if place.file:
        chosen &= _exactly_or_in_part(frames.in_file, place.file, is_path=True)
    if place.line:
        chosen &= frames.line == place.line
    numbers = distinct(names.merged(merge)[: len(frames)][chosen])
    numbers = numbers[present[numbers]]
    recorded = numbers[frames.source[numbers] == RECORDED]
    numbers = recorded if len(recorded) else numbers
    if len(numbers) == 1:
        return int(numbers[0])
    known = np.flatnonzero(present) if not len(numbers) else numbers
    by_size = known[np.argsort(-by_name(whole, "any")[1][whole.by, known], kind="stable")].tolist()
    if len(numbers):
        several = whole.names.names(by_size[:_MOST_NAMED])
        more = len(by_size) - len(several)
        raise BadRequestError(
            phrase("{place} may be {count} places", place=_called(place), count=len(by_size)),
            advice=phrase(
                "Name one of them: {places}{more}.",
                places=in_a_row([_called(_place(each)) for each in several], "; "),
                more=phrase(" and {count} more", count=more) if more else "",
            ),
        )
    raise BadRequestError(
        phrase("Nothing was allocated through {place}", place=_called(place)),
        advice=phrase(
            "It may be one of these: {places}.",
            places=in_a_row([_called(each) for each in _alike(whole, by_size, place)] or ["-"], "; "),
        ),
    )


def _exactly_or_in_part(find: Callable[[Callable[[str], bool]], Mask], wanted: str, *, is_path: bool) -> Mask:
    """Frames whose text is the wanted one, or ends in it after a slash; else those that contain it."""
    plain = wanted.replace("\\", "/") if is_path else wanted

    def is_exact(text: str) -> bool:
        text = text.replace("\\", "/") if is_path else text
        return text == plain or (is_path and text.endswith(f"/{plain}"))

    found = find(is_exact)
    return found if found.any() else find(Pattern(wanted, path=is_path).matches)


def _alike(whole: CallTree, by_size: list[int], place: CalledPlace) -> list[CalledPlace]:
    """The places with names that are spelled alike, else the largest."""
    named = [_place(each) for each in whole.names.names(by_size[:2_000])]
    wanted = place.function or place.file.replace("\\", "/").rsplit("/", 1)[-1]
    texts = [
        each.function if place.function else each.file.replace("\\", "/").rsplit("/", 1)[-1] for each in named
    ]
    close = set(get_close_matches(wanted, texts, _MOST_NAMED, 0.6))
    alike = [each for each, text in zip(named, texts, strict=True) if text in close]
    return (alike or named)[:_MOST_NAMED]


def _place(name: FlameName) -> CalledPlace:
    return CalledPlace(name.function, name.file, name.line)


def _called(place: CalledPlace) -> str:
    where = f"{place.file}{f':{place.line}' if place.line else ''}" if place.file else ""
    if not place.function:
        return where or f"line {place.line}"
    return f"{place.function} ({where})" if where else place.function
