"""The allocations or samples of a set as stacks with values: one by one, or summed by stack."""

from dataclasses import replace
from typing import assert_never

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.kernels.trace.timeline import BEFORE_TRACE as BEFORE_FLAG
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.naming.frame_names import BEFORE_TRACE, NO_STACK
from memlens.views.naming.places import bare_place
from memlens.views.selection import filters
from memlens.views.selection.columns import check_moment, device_of
from memlens.views.selection.profile_filters import matching, narrowed_columns
from memlens.views.selection.profile_sets import (
    is_signed,
    order_of_samples,
    sample_values,
    value_of,
)
from memlens.views.selection.sets import AllocationSet, rows_of
from memlens.views.selection.stacks import (
    AMOUNT,
    COUNT,
    OneSide,
    PrefixTree,
    TwoSides,
    ValuedStacks,
    ValueName,
    by_sign,
    taken,
)

BARE = (NO_STACK, BEFORE_TRACE)
FEW_PART = 4
"""If allocations are fewer than this share of all stacks, grouping them is faster than summing by stack."""


@kept
def stack_tree(snapshot: Snapshot) -> PrefixTree:
    """All stacks of a snapshot, and after them two for missing stacks, with the reasons in :data:`BARE`."""
    tree, ends = snapshot.tree, snapshot.stacks.node
    bare = np.arange(len(BARE), dtype=np.uint32)
    return PrefixTree(
        np.concatenate((tree.parent, np.zeros_like(bare))),
        np.concatenate((tree.frame, bare + np.uint32(bare_place(snapshot, 0)))),
        np.concatenate((ends, bare + np.uint32(len(tree.parent)))),
        np.concatenate((np.arange(len(ends), dtype=np.uint32), np.zeros_like(bare))),
    )


def items_of(snapshot: Snapshot, of: AllocationSet, narrow: str = "") -> ValuedStacks[OneSide]:
    """An item for each allocation or sample of a set, in the order of their rows.

    ``narrow`` is a filter that doesn't change the set itself (for instance its peak). Values are an amount (bytes for
    allocations) and a count. Raises :class:`BadRequestError` for a device, a moment, a value or an edge that the
    snapshot doesn't have, and for an invalid filter.
    """
    match snapshot.info:
        case TimelineInfo():
            return _allocations(snapshot, of, narrow)
        case ProfileInfo() | GraphInfo():
            items = _samples(snapshot, of)
            return items.where(matching(snapshot, narrow)[items.rows]) if narrow else items
        case _:
            assert_never(snapshot.info)


@kept
def stacks_of(snapshot: Snapshot, of: AllocationSet, narrow: str = "") -> ValuedStacks[OneSide]:
    """The same summed by stack; what is inferred to come from a line is separate. Negative values are summed, too."""
    return items_of(snapshot, of, narrow).summed(sizes_of(snapshot, of))


def items_by_stack(snapshot: Snapshot, of: AllocationSet, narrow: str = "") -> ValuedStacks[OneSide]:
    """Items for groups that contain whole stacks: the same sums, or the single items if there are few."""
    match snapshot.info:
        case TimelineInfo() if not narrow and of.to_moment is None:
            device = device_of(snapshot, of.device, of.filter)
            peak = device.info.peak_moment
            live = device.live_count[check_moment(device, peak if of.from_moment is None else of.from_moment)]
            few = int(live) * FEW_PART < len(snapshot.stacks.node)
            return (items_of if few else stacks_of)(snapshot, of)
        case TimelineInfo() | ProfileInfo() | GraphInfo():
            return stacks_of(snapshot, of, narrow)
        case _:
            assert_never(snapshot.info)


@kept
def drawn_stacks(snapshot: Snapshot, of: AllocationSet) -> ValuedStacks[OneSide] | ValuedStacks[TwoSides]:
    """The same for trees, in which widths can't be negative: if values are negative, there are two sides.

    These are the decreases and the increases.
    """
    if not is_signed(snapshot, of):
        stacks = stacks_of(snapshot, of)
        if stacks.values.min(initial=0) < 0:
            stacks = replace(stacks, values=np.maximum(stacks.values, 0))
        return stacks.present()
    items = items_of(snapshot, of)
    counts = items.values[COUNT]
    if value_of(snapshot, of).count is None:
        # a sample counts once, on its own side
        counts = np.where(items.values[AMOUNT] < 0, -counts, counts)
    return by_sign(items, counts).summed().present()


def meaning_of(snapshot: Snapshot, of: AllocationSet) -> OneSide:
    """The types of the values of a set's items."""
    match snapshot.info:
        case TimelineInfo():
            # names that users of other profilers know
            kind = "inuse" if of.to_moment is None else "alloc"
            return OneSide((ValueName(f"{kind}_space", "bytes"), ValueName(f"{kind}_objects", "count")))
        case ProfileInfo() | GraphInfo():
            return sample_values(snapshot, of)
        case _:
            assert_never(snapshot.info)


def sizes_of(snapshot: Snapshot, of: AllocationSet) -> I64 | None:
    """The size of each allocation of a set's device, or of a block of each sample; None if it isn't known."""
    match snapshot.info:
        case TimelineInfo():
            return device_of(snapshot, of.device, of.filter).size
        case ProfileInfo() | GraphInfo():
            return snapshot.samples.size if snapshot.profile.has_sizes else None
        case _:
            assert_never(snapshot.info)


def _allocations(snapshot: Snapshot, of: AllocationSet, narrow: str) -> ValuedStacks[OneSide]:
    device, rows = rows_of(snapshot, of)
    terms = filters.parse(narrow)
    if terms:
        rows = rows[filters.matching(snapshot, device, terms)[rows]]
    values = np.empty((2, len(rows)), np.int64)
    values[AMOUNT], values[COUNT] = taken(device.size, rows), 1
    # rows are in the order of time
    return _of_rows(snapshot, device, rows, values, meaning_of(snapshot, of))


def every_allocation(snapshot: Snapshot, device: Device) -> ValuedStacks[OneSide]:
    """An item for each allocation of a device, narrowed or not, at any time. They have no values."""
    rows = np.arange(device.info.allocations, dtype=np.uint32)
    return _of_rows(snapshot, device, rows, np.empty((0, len(rows)), np.int64), OneSide(()))


def _of_rows(
    snapshot: Snapshot, device: Device, rows: U32, values: I64, meaning: OneSide
) -> ValuedStacks[OneSide]:
    """An item for each of some ascending rows of a device."""
    tree = stack_tree(snapshot)
    stacks = taken(device.stack, rows)
    # by the stack's number, which is far cheaper than looking each up
    bare = np.flatnonzero(_without_frames(snapshot)[stacks])
    if len(bare):
        early = (device.flags[rows[bare]] & BEFORE_FLAG) != 0
        stacks = stacks.copy()
        stacks[bare] = np.uint32(len(tree.ends) - len(BARE)) + early
    inferred = None if device.inferred is None else taken(device.inferred, rows)
    return ValuedStacks(tree, stacks, values, meaning, rows, rows, inferred)


@kept
def _without_frames(snapshot: Snapshot) -> Mask:
    found: Mask = stack_tree(snapshot).ends == 0
    return found


@kept
def _samples(snapshot: Snapshot, of: AllocationSet) -> ValuedStacks[OneSide]:
    tree, columns = stack_tree(snapshot), narrowed_columns(snapshot, of)
    rows = np.flatnonzero(columns.present).astype(np.uint32)
    stacks = snapshot.samples.stack[rows]
    stacks[tree.ends[stacks] == 0] = len(tree.ends) - len(BARE) + NO_STACK
    return ValuedStacks(
        tree,
        stacks,
        np.stack((columns.amounts[rows], columns.counts[rows])),
        meaning_of(snapshot, of),
        rows,
        lambda: order_of_samples(snapshot)[rows],
    )
