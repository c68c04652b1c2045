"""A set of allocations as a tree: grouped by one thing, each group by the next, down to single allocations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U32, U64, Mask
from memlens.errors import BadRequestError
from memlens.kernels.tree.calltree import add_by
from memlens.kernels.tree.grouping import group_sums
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.units import format_value
from memlens.views.answers import AllocationSummary, Frame
from memlens.views.selection.arenas import pool_stacks
from memlens.views.selection.columns import check_page, device_of, summaries
from memlens.views.selection.items import items_by_stack, items_of, sizes_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import (
    AMOUNT,
    COUNT,
    OneSide,
    ValuedStacks,
)
from memlens.views.tables.groupings import (
    Grouping,
    GroupKind,
    GroupName,
    NameOf,
    check_kind,
    goes_by_stack,
    grouping,
    inferred_part,
    listed,
)

MOST_LEVELS = 6

GroupOrder = Literal["bytes", "count", "largest", "name"]
MemberOrder = Literal["size", "start", "life", "address"]


class Branch(Struct, frozen=True):
    """A part of the tree: ``of`` grouped by the first of ``by``, each group by the next.

    ``path`` leads from the root to a group by the ``key`` of the one on each level; empty for the whole set.
    ``narrow`` is a filter that shows a part of the set without changing what the set is (its peak, say).
    By ``attribution`` stacks are charged to the groups that are places in code.
    """

    of: AllocationSet
    by: list[GroupKind]
    path: list[int] = []
    narrow: str = ""
    attribution: Attribution = "mine"


class Group(Struct, frozen=True):
    """A group of a branch; bytes are requested ones. ``filter`` finds its allocations, empty if no term does.

    For a profile ``bytes`` is the requested value, and ``count`` the number of allocations if the profile has it (else
    of samples). ``largest_bytes`` is the size of what the answer's ``largest`` says, None if that isn't known;
    ``largest_allocation`` is None for a profile, which has no single ones. ``inferred_bytes`` is the part of ``bytes``
    whose line is inferred.
    """

    key: int
    name: Text
    detail: Text
    place: Frame | None
    """The line to open."""
    filter: str
    bytes: int
    count: int | None
    largest_bytes: int | None
    largest_allocation: int | None
    inferred_bytes: int = 0
    declared: str = ""
    """The type or field that the group's frame without a line stands for, which source may declare."""


class GroupsAnswer(Struct, frozen=True):
    """Groups ``offset … offset + len(rows)`` of the ``groups`` in a branch, whose sums ``bytes`` and ``count`` are.

    ``set_bytes`` and ``set_count`` are those of the whole narrowed set. Counts are None if a profile doesn't have
    numbers of allocations. ``largest`` says what the groups' largest is: a single allocation or block, or a whole
    stack.
    """

    set_bytes: int
    set_count: int | None
    bytes: int
    count: int | None
    groups: int
    offset: int
    rows: list[Group]
    largest: Literal["allocation", "block", "stack"]


class MembersAnswer(Struct, frozen=True):
    """Allocations ``offset … offset + len(rows)`` of the ``count`` in a branch."""

    bytes: int
    count: int
    offset: int
    rows: list[AllocationSummary]


def groups(
    snapshot: Snapshot, branch: Branch, order: GroupOrder, offset: int, limit: int, *, descending: bool
) -> GroupsAnswer:
    """The groups of a branch, one level below its path. Raises :class:`BadRequestError`."""
    check_page(offset, limit)
    _check_branch(snapshot, branch)
    if len(branch.path) >= len(branch.by):
        timeline_of(snapshot.info, "individual allocations")
        raise BadRequestError(phrase("The path leads to allocations, which have no groups"))
    by_stack = all(goes_by_stack(snapshot, branch.of, kind) for kind in branch.by[: len(branch.path) + 1])
    every = (items_by_stack if by_stack else items_of)(snapshot, branch.of, branch.narrow)
    items = _followed(snapshot, branch, every)
    kind = branch.by[len(branch.path)]
    found = grouping(snapshot, branch.of, items, kind, branch.attribution)
    figures = _figures(snapshot, branch.of, items, found)
    ordered = _ordered(figures, found.name, order, descending=descending)
    counted = items.meaning.counted
    return GroupsAnswer(
        set_bytes=int(every.values[AMOUNT].sum()),
        set_count=int(every.values[COUNT].sum()) if counted else None,
        bytes=int(items.values[AMOUNT].sum()),
        count=int(items.values[COUNT].sum()) if counted else None,
        groups=len(ordered),
        offset=offset,
        rows=list(_rows_of(ordered[offset : offset + limit], found.name, figures, counted=counted)),
        largest=figures.largest_is,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Figures:
    """The figures of groups, by their numbers. ``keys`` are the numbers of groups with items.

    ``sums`` are int64[groups, values]. ``largest`` is the size of the largest allocation or "block", 0 unless all
    sizes are known, or the sum of the largest "stack", if the sizes of blocks aren't known or the amounts aren't bytes.
    ``pools`` is the part of the amounts that may be pools of Python's allocator. ``inferred``, int64[values, groups],
    is the part of the sums that is in a group by an inferred line, None if there is no such item. ``allocations`` has
    the numbers of the largest allocations of some groups, if there are single ones.
    """

    keys: I64
    sums: I64
    largest: I64
    largest_is: Literal["allocation", "block", "stack"]
    unit: str
    pools: I64 | None = None
    allocations: Callable[[npt.NDArray[np.integer]], list[int]] | None = None
    inferred: I64 | None = None


def _figures(
    snapshot: Snapshot, of: AllocationSet, items: ValuedStacks[OneSide], found: Grouping
) -> _Figures:
    sums = np.zeros((found.groups, len(items.values)), np.int64)
    first, rows = (np.empty(found.groups, np.uint32) for _ in range(2))
    sizes, unit = sizes_of(snapshot, of), items.meaning.types[AMOUNT].unit
    by_size = np.empty(0, np.int64) if sizes is None else sizes
    group_sums(found.codes, items.rows, items.rows, items.values, by_size, sums, first, rows)
    keys = np.flatnonzero(rows != NEVER)
    largest = np.zeros(found.groups, np.int64)
    if sizes is not None:
        largest[keys] = sizes[rows[keys]]
    match snapshot.info:
        case TimelineInfo():
            device = device_of(snapshot, of.device, of.filter)
            inferred = None
            if found.inferred is not None and found.inferred.any():
                inferred = np.zeros((len(items.values), found.groups), np.int64)
                add_by(
                    found.codes[found.inferred], np.compress(found.inferred, items.values, axis=1), inferred
                )
            return _Figures(
                keys, sums, largest, "allocation", unit,
                allocations=lambda some: device.allocations(rows[some]).tolist(), inferred=inferred,
            )  # fmt: skip
        case ProfileInfo() | GraphInfo():
            pools, pooled = np.zeros(found.groups, np.int64), pool_stacks(snapshot)[items.stacks]
            np.add.at(pools, found.codes[pooled], items.values[AMOUNT, pooled])
            if sizes is not None and unit == "bytes":
                value = snapshot.profile.default_value if of.value is None else of.value
                largest[found.codes[_has_unknown_sizes(snapshot, value)[items.stacks]]] = 0
                return _Figures(keys, sums, largest, "block", unit, pools)
            return _Figures(keys, sums, _largest_stacks(items, found), "stack", unit, pools)
        case _:
            assert_never(snapshot.info)


@kept
def _has_unknown_sizes(snapshot: Snapshot, value: int) -> Mask:
    """Stacks with blocks of unknown size, whose largest block may not be the largest known one."""
    samples, found = snapshot.samples, np.zeros(len(pool_stacks(snapshot)), np.bool_)
    found[samples.stack[(samples.size == 0) & (samples.value[value] != 0)]] = True
    return found


def _largest_stacks(items: ValuedStacks[OneSide], found: Grouping) -> I64:
    """The sum of the largest stack of each group, in which a stack may have several items."""
    pairs, of_pair = np.unique(
        found.codes.astype(np.uint64) << np.uint64(32) | items.stacks, return_inverse=True
    )
    sums = np.zeros(len(pairs), np.int64)
    np.add.at(sums, of_pair, items.values[AMOUNT])
    largest = np.full(found.groups, np.iinfo(np.int64).min)
    np.maximum.at(largest, (pairs >> np.uint64(32)).astype(np.int64), sums)
    return largest


def _ordered(figures: _Figures, name: NameOf, order: GroupOrder, *, descending: bool) -> I64:
    """The numbers of groups in order. Numbers in names (of lines, streams, stacks) are compared as numbers."""
    keys = figures.keys
    if order == "name":
        names = [natural(found.name.text, found.detail.text) for found in map(name, keys.tolist())]
        places = sorted(range(len(names)), key=names.__getitem__)
        return keys[places[::-1] if descending else places]
    column = {"bytes": figures.sums[:, AMOUNT], "count": figures.sums[:, COUNT], "largest": figures.largest}[
        order
    ][keys]
    # equal ones keep their order in both directions
    return keys[np.argsort(-column if descending else column, kind="stable")]


def _rows_of(
    page: npt.NDArray[np.integer], name: Callable[[int], GroupName], figures: _Figures, *, counted: bool
) -> Iterator[Group]:
    nothing = [0] * len(page)
    columns = (
        page.tolist(),
        figures.sums[page, AMOUNT].tolist(),
        figures.sums[page, COUNT].tolist(),
        figures.largest[page].tolist(),
        nothing if figures.pools is None else figures.pools[page].tolist(),
        nothing if figures.inferred is None else figures.inferred[AMOUNT, page].tolist(),
        nothing if figures.inferred is None else figures.inferred[COUNT, page].tolist(),
        [None] * len(page) if figures.allocations is None else figures.allocations(page),
    )
    for key, amount, count, largest, pools, guessed, guesses, allocations in zip(*columns, strict=True):
        known = name(key)
        if guesses:
            known = inferred_part(known, guessed, amount, all_of_it=guesses == count)
        detail = known.detail
        if pools:
            detail = listed(detail, phrase("perhaps pools: {size}", size=format_value(pools, figures.unit)))
        yield Group(
            key, known.name, detail, known.place, known.filter, amount, count if counted else None,
            None if figures.largest_is == "block" and not largest else largest, allocations, guessed,
            known.declared,
        )  # fmt: skip


def members(
    snapshot: Snapshot, branch: Branch, order: MemberOrder, offset: int, limit: int, *, descending: bool
) -> MembersAnswer:
    """The allocations of a branch. Raises :class:`BadRequestError`."""
    check_page(offset, limit)
    timeline_of(snapshot.info, "individual allocations")
    device = device_of(snapshot, branch.of.device, branch.of.filter)
    rows = _rows(snapshot, branch)
    key = _ORDERS[order](device, rows)
    # among equals the oldest first in both directions
    ordered = np.argsort(_backwards(key) if descending else key, kind="stable")
    page = rows[ordered[offset : offset + limit]]
    return MembersAnswer(int(device.size[rows].sum()), len(rows), offset, summaries(snapshot, device, page))


def highlighted_rows(snapshot: Snapshot, branch: Branch, device: Device) -> Mask:
    """Flags of the rows of ``device``, narrowed or not, that are in a branch. Raises :class:`BadRequestError`."""
    own, rows = device_of(snapshot, branch.of.device, branch.of.filter), _rows(snapshot, branch)
    highlighted = np.zeros(device.whole.info.allocations, bool)
    if own.whole is device.whole:
        highlighted[rows if own.rows is None else own.rows[rows]] = True
    return highlighted if device.rows is None else highlighted[device.rows]


def _check_branch(snapshot: Snapshot, branch: Branch) -> None:
    if not len(branch.by) <= MOST_LEVELS:
        raise BadRequestError(phrase("A tree can have at most {most} levels", most=MOST_LEVELS))
    if len(branch.path) > len(branch.by):
        raise BadRequestError(phrase("The path is longer than the tree is deep"))
    for kind in branch.by:
        check_kind(snapshot, kind)


def _rows(snapshot: Snapshot, branch: Branch) -> U32:
    """The rows of a branch's allocations on its set's device."""
    _check_branch(snapshot, branch)
    return _followed(snapshot, branch, items_of(snapshot, branch.of, branch.narrow)).rows


def _followed(snapshot: Snapshot, branch: Branch, items: ValuedStacks[OneSide]) -> ValuedStacks[OneSide]:
    """The items of the group at the end of a branch's path."""
    for kind, key in zip(branch.by, branch.path, strict=False):
        items = items.where(grouping(snapshot, branch.of, items, kind, branch.attribution).codes == key)
    return items


def natural(*texts: str) -> list[tuple[str, int]]:
    """A key by which ``model.py:9`` comes before ``model.py:10``."""
    parts: list[tuple[str, int]] = []
    for text in texts:
        head, number = "", ""
        for letter in text.casefold():
            if letter in "0123456789":
                number += letter
                continue
            if number:
                parts.append((head, int(number[:18])))
                head, number = "", ""
            head += letter
        parts.append((head, int(number[:18] or -1)))
    return parts


def _life(device: Device, rows: U32) -> I64:
    """How long each was held, as far as the file says, in microseconds, or in events if there are no times."""
    start = device.start[rows].astype(np.int64)
    end = np.where(device.end[rows] == NEVER, device.info.events, device.end[rows]).astype(np.int64)
    if device.time is None:
        return end - start
    life: I64 = device.time[np.maximum(end, 1) - 1] - device.time[np.maximum(start, 1) - 1]
    return life


def _backwards(column: I64 | U64) -> I64:
    """Keys that sort numbers of any type in the opposite order."""
    _, ranks = np.unique(column, return_inverse=True)
    return -ranks.astype(np.int64)


_ORDERS: dict[str, Callable[[Device, U32], I64 | U64]] = {
    "size": lambda device, rows: device.size[rows],
    # rows are in the order of their starts
    "start": lambda _device, rows: rows.astype(np.int64),
    "life": _life,
    "address": lambda device, rows: device.address[rows],
}
