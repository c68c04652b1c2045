"""The long tables for SQL: their rows are written from columns to pages in ranges.

Names are those of ``tables.sql``, which describes the columns.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never

import numpy as np

from memlens.arrays import U32, Mask
from memlens.kernels.base import sqlite_trees
from memlens.kernels.base.sqlite_trees import Texts
from memlens.kernels.trace import timeline as kernel
from memlens.model.expansion import Levels, levels_of
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.progress import Report
from memlens.store.charged import charged_by_rule
from memlens.store.frees import freed_stacks
from memlens.store.models import categories_of, devices_of
from memlens.store.snapshot import Column, Snapshot
from memlens.store.tables.database_file import Column as TreeColumn
from memlens.store.tables.database_file import Filler, Rows
from memlens.store.tables.short import STACK_FIGURES, known_figures, pool_names, stream_names
from memlens.store.totals import stack_totals
from memlens.store.trace.device import Device

ROWS_AT_ONCE = 1 << 15


def batches(count: int, rows: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Consecutive slices of some rows each that cover all of them."""
    return (slice(start, min(start + rows, count)) for start in range(0, count, rows))


def fill_base(snapshot: Snapshot, filler: Filler) -> None:
    """Fill the tables of stacks, and of a profile's samples. Raises IndexError and ValueError for damaged columns."""
    _fill_stacks(snapshot, filler)
    match snapshot.info:
        case TimelineInfo():
            pass
        case GraphInfo(allocations=None):
            pass
        case ProfileInfo() | GraphInfo():
            _fill_samples(snapshot, snapshot.profile, filler)
        case _:
            assert_never(snapshot.info)


def _fill_stacks(snapshot: Snapshot, filler: Filler) -> None:
    nodes, parents, frames = snapshot.stacks.node, snapshot.tree.parent, snapshot.tree.frame
    levels = levels_of(parents, nodes)
    if levels is None:
        raise IndexError("a stack is not in the prefix tree")
    frame_ends = np.empty(len(snapshot.frames), np.int64)
    rows = int(levels.kept.sum())
    filler.fill("stacks", _stack_rows(snapshot, levels.depths))
    filler.fill("stack_frames", _level_rows(nodes, parents, frames, levels))
    stack_of, level_of = np.empty(rows, np.uint32), np.empty(rows, np.uint32)
    sqlite_trees.stacks_by_frame(nodes, parents, frames, levels.most, frame_ends, stack_of, level_of)
    filler.fill("stack_frames_by_frame", _frame_rows(frame_ends, stack_of, level_of))


def _stack_rows(snapshot: Snapshot, depths: Column) -> Iterator[Rows]:
    labels, totals = snapshot.stacks.label, stack_totals(snapshot)
    innermost = charged_by_rule(snapshot, "any")
    match snapshot.info:
        case TimelineInfo():
            largest = snapshot.trace.stack_largest
        case ProfileInfo() | GraphInfo():
            largest = np.full(len(labels), kernel.NEVER, np.uint32)
        case _:
            assert_never(snapshot.info)
    known = known_figures(snapshot.info)
    figures = [(number, name) for number, name in enumerate(STACK_FIGURES) if name in known]
    for part in batches(len(labels)):
        columns = {name: number_column(totals[part, number]) for number, name in figures}
        columns["frame"] = number_column(labels[part], labels[part] == kernel.NEVER)
        columns["innermost_frame"] = number_column(innermost[part], innermost[part] == kernel.NEVER)
        columns["depth"] = number_column(depths[part])
        columns["largest_allocation"] = number_column(largest[part], largest[part] == kernel.NEVER)
        yield Rows(part.stop - part.start, columns, part.start)


def _level_rows(nodes: Column, parents: Column, frames: Column, levels: Levels) -> Iterator[Rows]:
    for part in batches(len(nodes), ROWS_AT_ONCE // 8):
        count = int(levels.kept[part].sum())
        stacks, numbers, their_frames = (np.empty(count, np.int64) for _ in range(3))
        sqlite_trees.stack_levels(
            nodes[part], parents, frames, part.start, levels.most, stacks, numbers, their_frames
        )
        columns = {
            "stack": number_column(stacks),
            "level": number_column(numbers),
            "frame": number_column(their_frames),
        }
        yield Rows(count, columns)


def _frame_rows(frame_ends: Column, stacks: Column, levels: Column) -> Iterator[Rows]:
    for part in batches(len(stacks)):
        frames = np.searchsorted(frame_ends, np.arange(part.start, part.stop), "right")
        columns = {
            "frame": number_column(frames),
            "stack": number_column(stacks[part]),
            "level": number_column(levels[part]),
        }
        yield Rows(len(frames), columns)


def _fill_samples(snapshot: Snapshot, info: ProfileInfo, filler: Filler) -> None:
    stacks = snapshot.samples.stack
    sizes = snapshot.samples.size if info.has_sizes else None
    values = [snapshot.samples.value[number] for number in range(len(info.values))]

    def samples() -> Iterator[Rows]:
        for part in batches(len(stacks)):
            known = None if sizes is None else number_column(sizes[part], sizes[part] == 0)
            yield Rows(
                part.stop - part.start,
                {"stack": number_column(stacks[part]), "size_bytes": known},
                part.start,
            )

    def amounts() -> Iterator[Rows]:
        for part in batches(len(stacks), max(ROWS_AT_ONCE // max(len(values), 1), 1)):
            table = np.column_stack([column[part].astype(np.int64) for column in values])
            sample, value = np.nonzero(table)
            amount = table[sample, value]
            columns = {
                "sample": number_column(sample + part.start), "value": number_column(value),
                "amount": number_column(amount),
            }  # fmt: skip
            yield Rows(len(amount), columns)

    filler.fill("samples", samples())
    if values:
        filler.fill("sample_values", amounts())
    order = sorted_rows(np.arange(len(stacks), dtype=np.uint32), stacks)
    filler.fill("samples_by_stack", index_rows(order, {"stack": stacks}))


def fill_events(snapshot: Snapshot, filler: Filler, report: Report) -> None:
    """Fill the table of events. Raises IndexError and ValueError for damaged columns."""
    whole = sum(info.events for info in devices_of(snapshot.info))
    filler.fill("events", watched(_event_rows(snapshot), whole, 0.8, report))
    filler.fill("events_by_action", _action_rows(snapshot))


def fill_allocations(snapshot: Snapshot, filler: Filler, report: Report) -> None:
    """Fill the table of allocations. Raises IndexError and ValueError for damaged columns."""
    whole = sum(info.allocations for info in devices_of(snapshot.info))
    filler.fill("allocations", watched(_allocation_rows(snapshot), whole, 0.7, report))
    _fill_allocation_indexes(snapshot, filler, report)


def watched(batches: Iterable[Rows], whole: int, share: float, report: Report) -> Iterator[Rows]:
    """Yield the ranges of rows, and report their progress as a share of the work."""
    done = 0
    for rows in batches:
        yield rows
        done += rows.length
        report("filling", share * min(done / max(whole, 1), 1.0))


def _event_rows(snapshot: Snapshot) -> Iterator[Rows]:
    actions, streams = Texts(snapshot.manifest.actions), Texts(stream_names(snapshot))
    pools = _optional(pool_names(snapshot))
    first = 0
    for info in devices_of(snapshot.info):
        device = snapshot.device(info.device)
        for part in batches(info.events):
            count = part.stop - part.start
            sizes, owners = device.event_size[part], device.event_owner[part]
            columns = {
                "device": number_column(np.full(count, info.device)),
                "moment": number_column(np.arange(part.start + 1, part.stop + 1)),
                "time_us": None if device.time is None else number_column(device.time[part]),
                "action": _named(actions, device.event_action[part]),
                "size_bytes": number_column(sizes, sizes < 0),
                "live_bytes": number_column(device.live[part.start + 1 : part.stop + 1]),
                "allocation": number_column(device.allocations(owners), owners == kernel.NEVER),
                "stack": number_column(device.event_stack[part]),
                "stream": _named(streams, device.event_stream[part]),
                "pool": _named(pools, device.event_pool[part], optional=True),
                "address_int": number_column(device.event_address[part].view(np.int64)),
            }
            yield Rows(count, columns, first + part.start)
        first += info.events
        del device
        snapshot.forget(info.device)


def _allocation_rows(snapshot: Snapshot) -> Iterator[Rows]:
    categories, streams = _optional(categories_of(snapshot.info)), Texts(stream_names(snapshot))
    # module 0 means no module
    modules = _optional([path for _, _, path in snapshot.modules()[1:]])
    for info in devices_of(snapshot.info):
        device = snapshot.device(info.device)
        freed = freed_stacks(snapshot, device)
        for part in batches(info.allocations):
            count = part.stop - part.start
            starts, ends, rounded, flags = (
                column[part] for column in (device.start, device.end, device.rounded, device.flags)
            )
            columns = {
                "device": number_column(np.full(count, info.device)),
                "size_bytes": number_column(device.size[part]),
                "rounded_bytes": number_column(rounded, rounded == 0),
                "start_moment": number_column(starts),
                "end_moment": number_column(ends, ends == kernel.NEVER),
                "start_time_us": _times(device, starts),
                "end_time_us": _times(device, ends),
                "live_at_peak": number_column(_live_at_peak(device, part)),
                "before_trace": number_column(flags & kernel.BEFORE_TRACE != 0),
                "pending_free": number_column(flags & kernel.PENDING_FREE != 0),
                "category": _named(categories, device.category[part], optional=True),
                "inferred_module": _modules(device, part, modules),
                "stack": number_column(device.stack[part]),
                "freed_stack": number_column(freed[part], freed[part] == 0),
                "stream": _named(streams, device.stream[part]),
                "address_int": number_column(device.address[part].view(np.int64)),
            }
            yield Rows(count, columns, device.first_allocation + part.start)
        del device, freed
        snapshot.forget(info.device)


def _live_at_peak(device: Device, part: slice) -> Mask:
    moment = device.info.peak_moment
    found: Mask = (device.start[part] <= moment) & (device.end[part] > moment)
    return found


def _action_rows(snapshot: Snapshot) -> Iterator[Rows]:
    """The events ordered by action, in SQLite's order of texts, then by number."""
    names = snapshot.manifest.actions
    actions = Texts(names)
    for name in sorted(set(names), key=str.encode):
        numbers = [number for number, each in enumerate(names) if each == name]
        first = 0
        for info in devices_of(snapshot.info):
            column = snapshot.device(info.device).event_action
            for part in batches(info.events, 32 * ROWS_AT_ONCE):
                mine = np.flatnonzero(np.isin(column[part], numbers))
                for some in batches(len(mine)):
                    events = mine[some] + (first + part.start)
                    columns = {
                        "action": _named(actions, np.full(len(events), numbers[0])), "rowid": number_column(events)
                    }  # fmt: skip
                    yield Rows(len(events), columns)
            first += info.events


def _fill_allocation_indexes(snapshot: Snapshot, filler: Filler, report: Report) -> None:
    devices = [snapshot.device(info.device) for info in devices_of(snapshot.info)]
    if not devices:
        return
    columns = {
        "size_bytes": _joined([device.size for device in devices]),
        "stack": _joined([device.stack for device in devices]),
    }
    order = np.arange(len(columns["stack"]), dtype=np.uint32)
    order = sorted_rows(order, columns["size_bytes"], columns["stack"])
    report("filling", 0.85)
    filler.fill("allocations_by_stack", index_rows(order, columns))
    del order, columns["stack"]
    report("filling", 0.95)
    columns["device"] = _joined(
        [np.broadcast_to(np.int32(device.info.device), len(device.size)) for device in devices]
    )
    everything = slice(None)
    for name, chosen in (
        ("allocations_at_peak", [_live_at_peak(device, everything) for device in devices]),
        ("allocations_left", [device.end == kernel.NEVER for device in devices]),
        ("allocations_before_trace", [device.flags & kernel.BEFORE_TRACE != 0 for device in devices]),
    ):
        rows = np.flatnonzero(_joined(chosen)).astype(np.uint32)
        order = sorted_rows(rows, columns["size_bytes"], columns["device"])
        filler.fill(name, index_rows(order, columns))


def _joined(columns: list[Column]) -> Column:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def sorted_rows(rows: U32, *columns: Column) -> U32:
    """The rows sorted by the last of some columns, then by the one before it, and so on."""
    spare = np.empty_like(rows)
    for column in columns:
        # so that negative numbers are first
        keys = column.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
        sqlite_trees.sort_rows(keys, rows, spare)
    return rows


def index_rows(order: U32, columns: dict[str, Column]) -> Iterator[Rows]:
    """The rows of an index over some columns, in its order."""
    for part in batches(len(order)):
        rows = order[part]
        found = {name: number_column(column[rows]) for name, column in columns.items()}
        found["rowid"] = number_column(rows)
        yield Rows(len(rows), found)


def _optional(names: Iterable[str | None]) -> Texts:
    """Texts followed by NULL, for numbers without a name."""
    return Texts([*names, None])


def _named(names: Texts, numbers: Column, *, optional: bool = False) -> TreeColumn:
    values = numbers.astype(np.int64)
    return np.minimum(values, len(names) - 1) if optional else values, None, names


def _modules(device: Device, part: slice, names: Texts) -> TreeColumn:
    if device.inferred_module is None:
        return None
    numbers = device.inferred_module[part].astype(np.int64) - 1
    return _named(names, np.where(numbers < 0, kernel.NEVER, numbers), optional=True)


def number_column(values: Column, missing: Mask | None = None) -> TreeColumn:
    """Numbers as a column, NULL where they are ``missing``."""
    return np.ascontiguousarray(values, np.int64), None if missing is None else missing.view(np.uint8), None


def _times(device: Device, moments: Column) -> TreeColumn:
    """The times at which moments begin; NULL for the one before the trace, for NEVER, and without times."""
    if device.time is None or not len(device.time):
        return None
    missing = (moments == 0) | (moments > device.info.events)
    return number_column(device.time[np.where(missing, 1, moments) - 1], missing)
