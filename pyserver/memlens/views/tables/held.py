"""What lines, functions, files and other groups hold of a part of a snapshot: on one device, at a moment, of a filter.

Lines of a whole snapshot are summed when it is read (:mod:`memlens.views.lines.totals`); all else is summed here.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.tree.calltree import add_by
from memlens.kernels.tree.lines import LineFolder
from memlens.model.attribution import Attribution, FrameKind
from memlens.model.frames import KIND_NAMES, SOURCE_NAMES
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.model.timeline import NEVER
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.answers import FrameSource, MomentAnswer
from memlens.views.lines.charged import BEFORE, KINDS, NO_STACK, ChargedAmount, ChargedTo, by_kind
from memlens.views.lines.places import PlaceKind, places_of
from memlens.views.lines.totals import LineOrder
from memlens.views.naming.attribution import charged_frames
from memlens.views.naming.frame_names import BEFORE_TRACE
from memlens.views.naming.frame_names import NO_STACK as NO_STACK_BARE
from memlens.views.selection.columns import device_of
from memlens.views.selection.items import BARE, every_allocation, items_of, stack_tree
from memlens.views.selection.moments import moment_named, samples_at
from memlens.views.selection.profile_sets import refuse_value, value_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.sets import moment as moment_of
from memlens.views.selection.stacks import AMOUNT, OneSide, ValuedStacks
from memlens.views.tables.groupings import GroupKind, GroupName, NameOf, check_kind, grouping

_PEAK, _END, _TOTAL, _COUNT, _MOMENT = range(5)
"""The figures of a trace; the last only if a moment is asked for."""
_OF_WORDS = {"peak": _PEAK, "end": _END, "all": _TOTAL}
_OF_ORDERS: dict[LineOrder, int] = {"peak": _PEAK, "end": _END, "total": _TOTAL, "count": _COUNT}


class Part(Struct, frozen=True):
    """The allocations or samples in question: those that match a filter, on one device or on all.

    ``at`` is "peak" (as None is, for a trace), "end", "all" or another moment as
    :func:`~memlens.views.selection.moments.moment_named` reads it; ``value`` the name of a profile's value.
    """

    at: str | None = None
    device: int | None = None
    value: str | None = None
    filter: str = ""


class Named(Struct, frozen=True):
    """A group and the place that it stands for: a line, a function or a file, as far as it is one."""

    name: Text
    detail: Text
    file: str | None
    line: int | None
    function: str | None
    kind: FrameKind | None
    source: FrameSource | None


class HeldAllocations(Named, frozen=True):
    """A group of a trace's allocations, in bytes; ``self_*`` is what is charged to a place, without what it calls.

    Each device has its own peak, that of what the filter leaves. The figures at a moment are None unless one is named.
    """

    self_live_at_peak_bytes: int
    self_live_at_end_bytes: int
    self_total_bytes: int
    self_count: int
    live_at_peak_bytes: int
    live_at_end_bytes: int
    total_bytes: int
    count: int
    self_live_at_moment_bytes: int | None = None
    live_at_moment_bytes: int | None = None


class HeldFigures(Struct, frozen=True):
    """Sums over some of a trace's allocations."""

    live_at_peak_bytes: int
    live_at_end_bytes: int
    total_bytes: int
    count: int
    live_at_moment_bytes: int | None


class HeldCharged(HeldFigures, frozen=True):
    """The part of a trace that is charged to places of one kind, or to none for one reason."""

    to: ChargedTo


class HeldOfTrace(Struct, frozen=True):
    """The first rows by some order, and ``groups``, how many there are. ``charged`` is empty unless rows are places."""

    by: GroupKind
    devices: list[int]
    at: str
    moment: MomentAnswer | None
    rows: list[HeldAllocations]
    groups: int
    charged: list[HeldCharged]
    total: HeldFigures


class HeldSamples(Named, frozen=True):
    """A group of a profile's samples: one value, inclusive, and charged to a place itself."""

    total: int
    itself: int


class HeldOfProfile(Struct, frozen=True):
    """The same of one value of a profile; ``value`` and ``title`` are its name and what it is called."""

    by: GroupKind
    value: str
    title: Text
    unit: str
    rows: list[HeldSamples]
    groups: int
    charged: list[ChargedAmount]
    total: int


class _Counted(NamedTuple):
    """The items of a set, and a column of each figure, int64[items]."""

    of: AllocationSet
    items: ValuedStacks[OneSide]
    columns: Iterator[I64]


class _Sums(NamedTuple):
    """Figures of groups, int64[figures, groups], and of all of them; ``charged`` those of each of :data:`KINDS`.

    ``frames`` are those of places in code, ``names`` those of other groups, which have nothing inclusive.
    """

    own: I64
    inclusive: I64
    total: I64
    charged: I64 | None = None
    frames: U32 | None = None
    names: NameOf | None = None


def held(
    snapshot: Snapshot,
    by: GroupKind,
    part: Part,
    attribution: Attribution = "mine",
    order: LineOrder = "self",
    limit: int | None = None,
) -> HeldOfTrace | HeldOfProfile:
    """The groups of a part that hold the most, at most ``limit`` of them.

    Raises :class:`BadRequestError` for what the snapshot doesn't have: a device, a moment, a value, a grouping, an
    order; and for an invalid filter.
    """
    check_kind(snapshot, by)
    match snapshot.info:
        case TimelineInfo():
            return _of_trace(snapshot, by, part, attribution, order, limit)
        case ProfileInfo() | GraphInfo():
            return _of_profile(snapshot, by, part, attribution, order, limit)
        case _:
            assert_never(snapshot.info)


def _of_trace(
    snapshot: Snapshot,
    by: GroupKind,
    part: Part,
    attribution: Attribution,
    order: LineOrder,
    limit: int | None,
) -> HeldOfTrace:
    info = timeline_of(snapshot.info, "events")
    refuse_value(part.value)
    at = part.at or "peak"
    moment = None
    if at in _OF_WORDS:
        numbers = [each.device for each in info.devices] if part.device is None else [part.device]
    else:
        # devices have events of their own
        numbers = [info.default_device if part.device is None else part.device]
        moment = moment_of(snapshot, numbers[0], moment_named(snapshot, numbers[0], at), part.filter)
    figures = _MOMENT if moment is None else _MOMENT + 1
    counted = (_of_device(snapshot, number, part.filter, moment) for number in numbers)
    sums = _summed(snapshot, by, attribution, figures, counted)
    chosen = _OF_WORDS.get(at, _MOMENT)
    key = sums.own[chosen] if order == "self" else sums.inclusive[_OF_ORDERS[order]]
    ranked = _ranked(snapshot, sums, key, sums.inclusive[chosen], sums.inclusive[_COUNT] != 0)
    shown = ranked[:limit]
    own, inclusive = sums.own[:, shown].T.tolist(), sums.inclusive[:, shown].T.tolist()
    rows = [
        HeldAllocations(*named, *mine[:_MOMENT], *every[:_MOMENT], *mine[_MOMENT:], *every[_MOMENT:])
        for named, mine, every in zip(_named(snapshot, sums, by, shown), own, inclusive, strict=True)
    ]
    charged = [] if sums.charged is None else [
        HeldCharged(*_all_five(each), _no_place(kind, by))
        for kind, each in zip(KINDS, sums.charged.T.tolist(), strict=True)
        if each[_COUNT]
    ]  # fmt: skip
    total = HeldFigures(*_all_five(sums.total.tolist()))
    return HeldOfTrace(by, numbers, at, moment, rows, len(ranked), charged, total)


def _all_five(figures: list[int]) -> tuple[int, int, int, int, int | None]:
    """The figures, None for that at a moment if none is asked for."""
    at_peak, at_end, total, count, *at_moment = figures
    return at_peak, at_end, total, count, at_moment[0] if at_moment else None


def _of_device(snapshot: Snapshot, number: int, filter_text: str, moment: MomentAnswer | None) -> _Counted:
    """All allocations of a device that match a filter, with the figures of a trace."""
    device = device_of(snapshot, number, filter_text)
    info, size = device.info, device.size

    def live(at: int) -> I64:
        found: I64 = np.where((device.start <= at) & (device.end > at), size, 0)
        return found

    def columns() -> Iterator[I64]:
        yield live(info.peak_moment)
        yield live(info.events)
        yield size
        yield np.ones(len(size), np.int64)
        if moment is not None:
            yield live(moment.moment)

    of = AllocationSet(number, "live", 0, info.events, filter_text)
    return _Counted(of, every_allocation(snapshot, device), columns())


def _of_profile(
    snapshot: Snapshot,
    by: GroupKind,
    part: Part,
    attribution: Attribution,
    order: LineOrder,
    limit: int | None,
) -> HeldOfProfile:
    if part.device is not None:
        timeline_of(snapshot.info, "devices")
    of = samples_at(snapshot, part.at, part.value, part.filter)
    items, value = items_of(snapshot, of), value_of(snapshot, of)
    counted = _Counted(of, items, iter([np.ascontiguousarray(items.values[AMOUNT])]))
    sums = _summed(snapshot, by, attribution, 1, [counted])
    own, inclusive = sums.own[0], sums.inclusive[0]
    first, second = (own, inclusive) if order_of_profile(order) == "self" else (inclusive, own)
    ranked = _ranked(snapshot, sums, first, second, (own != 0) | (inclusive != 0))
    shown = ranked[:limit]
    figures = zip(inclusive[shown].tolist(), own[shown].tolist(), strict=True)
    rows = [
        HeldSamples(*named, *each)
        for named, each in zip(_named(snapshot, sums, by, shown), figures, strict=True)
    ]
    charged = [] if sums.charged is None else [
        ChargedAmount(_no_place(kind, by), amount)
        for kind, amount in zip(KINDS, sums.charged[0].tolist(), strict=True)
        if amount
    ]  # fmt: skip
    name, title = value.name, value.title
    if of.from_moment is not None:
        name, title = "live", phrase("Live at {moment}", moment=part.at or "")
    return HeldOfProfile(
        by, name, title, items.meaning.types[AMOUNT].unit, rows, len(ranked), charged, int(sums.total[0])
    )


def order_of_profile(order: LineOrder) -> Literal["self", "total"]:
    """The order if lines of a profile have it. Raises :class:`BadRequestError` if only those of a trace do."""
    if order not in ("self", "total"):
        raise BadRequestError(
            phrase("Lines of a profile are sorted by self or total, not by {order}", order=order)
        )
    return order


def _summed(
    snapshot: Snapshot, by: GroupKind, attribution: Attribution, figures: int, counted: Iterable[_Counted]
) -> _Sums:
    match by:
        case "line" | "function" | "file":
            return _of_places(snapshot, by, attribution, _by_stack(snapshot, figures, counted))
    sums = np.zeros((figures, 0), np.int64)
    names: NameOf | None = None
    for of, items, columns in counted:
        found = grouping(snapshot, of, items, by, attribution)
        if names is None:
            # groups have the same numbers on each device
            sums, names = np.zeros((figures, found.groups), np.int64), found.name
        for row, column in enumerate(columns):
            add_by(found.codes, column[np.newaxis], sums[row : row + 1])
    return _Sums(sums, sums, sums.sum(axis=1), names=names)


def _by_stack(snapshot: Snapshot, figures: int, counted: Iterable[_Counted]) -> I64:
    """Figures of each stack, the last of which are those for missing stacks."""
    sums = np.zeros((figures, len(stack_tree(snapshot).ends)), np.int64)
    for _, items, columns in counted:
        # figure by figure, since there may be millions of allocations
        for row, column in enumerate(columns):
            add_by(items.stacks, column[np.newaxis], sums[row : row + 1])
    return sums


def _of_places(snapshot: Snapshot, kind: PlaceKind, attribution: Attribution, of_stacks: I64) -> _Sums:
    """Sum up stacks by place; a place that a stack has several times counts once."""
    places, tree = places_of(snapshot, kind), snapshot.tree
    archived = np.ascontiguousarray(of_stacks[:, : -len(BARE)])
    count = len(places.frame)
    charged = charged_frames(snapshot, attribution)
    to = np.append(places.of_frame, np.uint32(NEVER))[np.minimum(charged, len(places.of_frame))]
    own = np.zeros((len(of_stacks), count + 1), np.int64)
    add_by(np.minimum(to, np.uint32(count)), archived, own)
    of_nodes = np.zeros((len(of_stacks), len(tree.parent)), np.int64)
    add_by(snapshot.stacks.node, archived, of_nodes)
    # the root, which is the first node, has no frame
    of_node = np.full(len(tree.frame), NEVER, np.uint32)
    of_node[1:] = places.of_frame[tree.frame[1:]]
    folder = LineFolder(tree.parent, of_node, count)
    inclusive = np.zeros((len(of_stacks), count), np.int64)
    for values, sums in zip(of_nodes, inclusive, strict=True):
        folder.fold(values, sums, np.zeros(count, np.int64))
    by_kinds = by_kind(snapshot, attribution, archived, kind)
    for why, code in ((NO_STACK_BARE, NO_STACK), (BEFORE_TRACE, BEFORE)):
        by_kinds[:, code] += of_stacks[:, why - len(BARE)]
    return _Sums(own[:, :-1], inclusive, of_stacks.sum(axis=1), by_kinds, places.frame)


def _no_place(kind: ChargedTo, by: GroupKind) -> ChargedTo:
    """``no_line`` as it is called in groups by function or file; other kinds are unchanged."""
    if kind != "no_line":
        return kind
    return "no_function" if by == "function" else "no_file" if by == "file" else kind


def _ranked(snapshot: Snapshot, sums: _Sums, first: I64, second: I64, present: Mask) -> npt.NDArray[np.intp]:
    """The groups with the most first; among equal ones user code is first, then libraries."""
    kinds = np.zeros(len(first), np.uint8) if sums.frames is None else snapshot.frames.kind[sums.frames]
    order = np.lexsort((-sums.inclusive.sum(axis=0), -second, kinds, -first))
    return order[present[order]]


def _named(
    snapshot: Snapshot, sums: _Sums, by: GroupKind, groups: npt.NDArray[np.intp]
) -> Iterator[tuple[Text, Text, str | None, int | None, str | None, FrameKind | None, FrameSource | None]]:
    """The fields of :class:`Named` of some groups."""
    if sums.frames is None:
        for group in groups.tolist():
            group_name = GroupName(Text("")) if sums.names is None else sums.names(group)
            yield group_name.name, group_name.detail, None, None, None, None, None
        return
    numbers = sums.frames[groups].tolist()
    rows, sources = snapshot.frames.rows(numbers), snapshot.frames.source[sums.frames[groups]].tolist()
    for number, source in zip(numbers, sources, strict=True):
        file, line, function, kind = rows[number]
        name = {"line": f"{file}:{line}", "function": function}.get(by, file)
        detail = {"line": function, "function": file}.get(by, "")
        yield (
            *(Text(name), Text(detail), file),
            *(line if by == "line" else None, None if by == "file" else function),
            *(KIND_NAMES[kind], SOURCE_NAMES[source]),
        )
