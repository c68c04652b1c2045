"""A set of allocations as a tree: grouped by one thing, each group by the next, down to single allocations."""

from collections.abc import Callable
from typing import Literal, assert_never

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels.tree.grouping import group_sums
from memlens.model.attribution import Attribution
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.model.timeline import NEVER
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.units import format_value
from memlens.views.answers import AllocationSummary, Frame
from memlens.views.selection import filters
from memlens.views.selection.columns import check_page, summaries
from memlens.views.selection.profile_sets import value_of
from memlens.views.selection.sets import AllocationSet, rows_of
from memlens.views.tables.groupings import U32, GroupKind, grouping
from memlens.views.tables.profile_groups import sample_groups

MOST_LEVELS = 6

GroupOrder = Literal["bytes", "count", "largest", "name"]
MemberOrder = Literal["size", "start", "life", "address"]


class Branch(Struct, frozen=True):
    """A part of the tree: ``of`` grouped by the first of ``by``, each group by the next.

    ``path`` leads from the root to a group by the ``key`` of the one on each level; empty for the whole set.
    ``narrow`` is a filter that shows a part of the set without changing what the set is (its peak, say).
    Groups that are places in code are those that stacks are charged to by ``attribution``.
    """

    of: AllocationSet
    by: list[GroupKind]
    path: list[int] = []
    narrow: str = ""
    attribution: Attribution = "mine"


class Group(Struct, frozen=True):
    """A group of a branch; bytes are requested ones. ``filter`` finds its allocations, empty where no term does.

    Of a profile ``bytes`` is the value that is asked about, and ``count`` how many allocations that is where the
    profile tells it (else how many samples). ``largest_bytes`` is of what the answer's ``largest`` says, None where
    that isn't known; ``largest_allocation`` is None in a profile, which tells of no single ones.
    """

    key: int
    name: str
    detail: str
    place: Frame | None
    """The line to open."""
    filter: str
    bytes: int
    count: int | None
    largest_bytes: int | None
    largest_allocation: int | None


class GroupsAnswer(Struct, frozen=True):
    """Groups ``offset … offset + len(rows)`` of the ``groups`` in a branch, whose sums ``bytes`` and ``count`` are.

    ``set_bytes`` and ``set_count`` are those of the whole set, as narrowed. Counts are None where a profile doesn't
    tell how many allocations they were. ``largest`` says what the groups' largest is: a single allocation or block, or
    all that one stack has.
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
    match snapshot.info:
        case TimelineInfo():
            return _groups_of_allocations(snapshot, branch, order, offset, limit, descending=descending)
        case ProfileInfo():
            return _groups_of_samples(snapshot, branch, order, offset, limit, descending=descending)
        case _:
            assert_never(snapshot.info)


def _groups_of_allocations(
    snapshot: Snapshot, branch: Branch, order: GroupOrder, offset: int, limit: int, *, descending: bool
) -> GroupsAnswer:
    device, every, rows = _rows(snapshot, branch)
    if len(branch.path) >= len(branch.by):
        raise BadRequestError("The path leads to allocations, which have no groups")
    found = grouping(snapshot, device, rows, branch.by[len(branch.path)], branch.attribution)
    sums, counts = np.zeros(found.groups, np.int64), np.zeros(found.groups, np.int64)
    largest = np.zeros(found.groups, np.uint32)
    group_sums(found.codes, rows, device.size, sums, counts, largest)
    keys = np.flatnonzero(counts)
    if order == "name":
        ordered = _by_name(
            keys, lambda key: (found.name(key).name, found.name(key).detail), descending=descending
        )
    else:
        # a filter may have left no row at all, so only of groups that hold something
        column = {"bytes": sums[keys], "count": counts[keys], "largest": device.size[largest[keys]]}[order]
        # equal ones keep their order, whichever way
        ordered = keys[np.argsort(-column if descending else column, kind="stable")]
    page = ordered[offset : offset + limit]
    allocations = device.allocations(largest[page]).tolist()
    rows_of_page = [
        Group(
            key, named.name, named.detail, named.place, named.filter,
            int(sums[key]), int(counts[key]), int(device.size[largest[key]]), allocation,
        )
        for key, allocation in zip(page.tolist(), allocations, strict=True)
        for named in (found.name(key),)
    ]  # fmt: skip
    return GroupsAnswer(
        set_bytes=int(device.size[every].sum()),
        set_count=len(every),
        bytes=int(sums.sum()),
        count=len(rows),
        groups=len(keys),
        offset=offset,
        rows=rows_of_page,
        largest="allocation",
    )


def _by_name(
    keys: npt.NDArray[np.int64], name: Callable[[int], tuple[str, str]], *, descending: bool
) -> npt.NDArray[np.int64]:
    """Groups in the order of their names; numbers in them (of lines, streams, stacks) in their own."""
    names = [natural(*name(key)) for key in keys.tolist()]
    places = sorted(range(len(names)), key=names.__getitem__)
    return keys[places[::-1] if descending else places]


def _groups_of_samples(
    snapshot: Snapshot, branch: Branch, order: GroupOrder, offset: int, limit: int, *, descending: bool
) -> GroupsAnswer:
    _check_branch(branch)
    by: list[str] = [*branch.by]
    found = sample_groups(snapshot, branch.of, by, branch.path, branch.narrow, branch.attribution)
    keys, samples = found.keys, found.samples

    def told(count: np.int64) -> int | None:
        return int(count) if samples.counted else None

    if order == "name":
        ordered = _by_name(keys, lambda key: found.name(key)[:2], descending=descending)
    else:
        column = {"bytes": found.amounts, "count": found.counts, "largest": found.largest}[order][keys]
        ordered = keys[np.argsort(-column if descending else column, kind="stable")]
    unit = value_of(snapshot, branch.of).unit
    rows = [
        Group(
            key, name, _with_pools(detail, int(found.pools[key]), unit), place, terms,
            int(found.amounts[key]), told(found.counts[key]),
            None if found.largest_is == "block" and not found.largest[key] else int(found.largest[key]), None,
        )
        for key in ordered[offset : offset + limit].tolist()
        for name, detail, place, terms in (found.name(key),)
    ]  # fmt: skip
    return GroupsAnswer(
        set_bytes=int(found.every.amounts.sum()),
        set_count=told(found.every.counts.sum()),
        bytes=int(samples.amounts.sum()),
        count=told(samples.counts.sum()),
        groups=len(keys),
        offset=offset,
        rows=rows,
        largest=found.largest_is,
    )


def _with_pools(detail: str, amount: int, unit: str) -> str:
    """A group's detail, and what of the group may be pools of Python's allocator."""
    return ", ".join(filter(None, (detail, f"perhaps pools: {format_value(amount, unit)}" if amount else "")))


def members(
    snapshot: Snapshot, branch: Branch, order: MemberOrder, offset: int, limit: int, *, descending: bool
) -> MembersAnswer:
    """The allocations of a branch. Raises :class:`BadRequestError`."""
    check_page(offset, limit)
    timeline_of(snapshot.info, "single allocations")
    device, _, rows = _rows(snapshot, branch)
    key = _ORDERS[order](device, rows)
    # of the same the oldest first, whichever way
    ordered = np.argsort(_backwards(key) if descending else key, kind="stable")
    page = rows[ordered[offset : offset + limit]]
    return MembersAnswer(int(device.size[rows].sum()), len(rows), offset, summaries(snapshot, device, page))


def lit_rows(snapshot: Snapshot, branch: Branch, device: Device) -> npt.NDArray[np.bool_]:
    """Which rows of ``device``, narrowed or not, are in a branch, to be lit up. Raises :class:`BadRequestError`."""
    own, _, rows = _rows(snapshot, branch)
    lit = np.zeros(device.whole.info.allocations, bool)
    if own.whole is device.whole:
        lit[rows if own.rows is None else own.rows[rows]] = True
    return lit if device.rows is None else lit[device.rows]


def _check_branch(branch: Branch) -> None:
    if not len(branch.by) <= MOST_LEVELS:
        raise BadRequestError(f"A tree has at most {MOST_LEVELS} levels")
    if len(branch.path) > len(branch.by):
        raise BadRequestError("The path is longer than the tree is deep")


def _rows(snapshot: Snapshot, branch: Branch) -> tuple[Device, U32, U32]:
    """The set's device, its rows as narrowed, and those of them that are in the branch."""
    _check_branch(branch)
    device, rows = rows_of(snapshot, branch.of)
    terms = filters.parse(branch.narrow)
    if terms:
        rows = rows[filters.matching(snapshot, device, terms)[rows]]
    every = rows
    for kind, key in zip(branch.by, branch.path, strict=False):
        rows = rows[grouping(snapshot, device, rows, kind, branch.attribution).codes == key]
    return device, every, rows


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


def _life(device: Device, rows: U32) -> npt.NDArray[np.int64]:
    """How long each was held, as far as the file tells, in microseconds or without times in events."""
    start = device.start[rows].astype(np.int64)
    end = np.where(device.end[rows] == NEVER, device.info.events, device.end[rows]).astype(np.int64)
    if device.time is None:
        return end - start
    life: npt.NDArray[np.int64] = device.time[np.maximum(end, 1) - 1] - device.time[np.maximum(start, 1) - 1]
    return life


def _backwards(column: npt.NDArray[np.int64] | npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Numbers in the opposite order, whatever their type holds."""
    _, ranks = np.unique(column, return_inverse=True)
    return -ranks.astype(np.int64)


_ORDERS: dict[str, Callable[[Device, U32], npt.NDArray[np.int64] | npt.NDArray[np.uint64]]] = {
    "size": lambda device, rows: device.size[rows],
    # rows stand in the order of their starts
    "start": lambda _device, rows: rows.astype(np.int64),
    "life": _life,
    "address": lambda device, rows: device.address[rows],
}
