"""Fills ``sql.db``, the archive's tables for people: written beside the columns when SQL is first wanted.

The file appears as :mod:`memlens.store.artefacts` says. Rows go from columns to SQLite in stretches, so memory does not
grow with the snapshot. What the columns mean is said in ``tables.sql``.
"""

from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, assert_never

import apsw
import numpy as np
import numpy.typing as npt

from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import KIND_NAMES
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.model.profile import standing_for
from memlens.model.timeline import NOTE_KINDS
from memlens.progress import Report
from memlens.store import artefacts as behind
from memlens.store.frees import freed_stacks
from memlens.store.manifest import InconsistentError
from memlens.store.models import devices_of, timeline_of
from memlens.store.snapshot import Column, Device, Snapshot
from memlens.store.totals import stack_totals

FILE_NAME = behind.TABLES_NAME
TABLES_VERSION = 3
"""Kept in the database's ``user_version``; tables of another version are made anew."""

_STRETCH_ROWS = 1 << 15


def are_filled(archive: Path, relabelled: int = 0) -> bool:
    """Whether the archive has its tables, of this version, and with the kinds of :attr:`Snapshot.relabelled`."""
    try:
        with (archive / FILE_NAME).open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    # "The Database File Format" of SQLite: big-endian numbers, the user version at byte 60, the application's at 68
    return (
        header[:16] == b"SQLite format 3\0"
        and int.from_bytes(header[60:64]) == TABLES_VERSION
        and int.from_bytes(header[68:72]) == relabelled
    )


def fill(snapshot: Snapshot, report: Report) -> None:
    """Make the tables, unless they are there; ``report`` gets ``("filling", fraction)``.

    Raises apsw.Error and OSError; nothing is left behind then.
    """
    archive = snapshot.archive
    if are_filled(archive, snapshot.relabelled):
        return
    with behind.appearing(archive, FILE_NAME) as partial:
        database = apsw.Connection(str(partial))
        try:
            _fill(snapshot, database, report)
        finally:
            database.close()


def _fill(snapshot: Snapshot, database: apsw.Connection, report: Report) -> None:
    # the file is renamed into place only when all of it is written, so it needs no journal
    for name, value in (("journal_mode", "off"), ("synchronous", "off"), ("locking_mode", "exclusive")):
        database.pragma(name, value)
    database.pragma("cache_size", -16_384)
    schema = files("memlens.store")
    whole = max(sum(info.events + 2 * info.allocations for info in devices_of(snapshot.info)), 1)
    done = 0

    def progress(rows: int) -> None:
        nonlocal done
        done += rows
        # the rest is for stacks and indexes
        report("filling", 0.7 * min(done / whole, 1.0))

    report("filling", 0.0)
    with database:
        database.execute(schema.joinpath("tables.sql").read_text("utf-8"))
        first_event = 0
        for info in devices_of(snapshot.info):
            device = snapshot.device(info.device)
            _insert(database, "devices", [_device_row(device)])
            _events(snapshot, database, device, first_event, progress)
            _notes(snapshot, database, device, first_event)
            _allocations(snapshot, database, device, progress)
            first_event += info.events
            snapshot.forget(info.device)
        _frames_and_lines(snapshot, database)
        report("filling", 0.72)
        _stacks(snapshot, database)
        report("filling", 0.8)
        _memory(snapshot, database)
        _annotations(snapshot, database)
        match snapshot.info:
            case TimelineInfo():
                pass
            case ProfileInfo():
                _samples(snapshot, snapshot.info, database)
            case _:
                assert_never(snapshot.info)
        indexes = schema.joinpath("tables_indexes.sql").read_text("utf-8")
        statements = [statement for statement in indexes.split(";") if statement.strip()]
        for number, statement in enumerate(statements):
            report("filling", 0.8 + 0.2 * number / len(statements))
            database.execute(statement)
        # the planner then knows which actions are rare; a sample is enough for that
        database.pragma("analysis_limit", 1_000)
        database.execute("ANALYZE")
        database.pragma("application_id", snapshot.relabelled)
        database.pragma("user_version", TABLES_VERSION)


def _insert(database: apsw.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows that hold the table's own columns, without those that are computed."""
    columns = [
        # name and kind; 2 and 3 are computed
        row[1]
        for row in database.execute(f"PRAGMA table_xinfo({table})")
        if row[6] == 0
    ]
    marks = ", ".join("?" * len(columns))
    # the names are those of our own schema
    database.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608


def _device_row(device: Device) -> tuple[Any, ...]:
    info = device.info
    return (
        info.device, info.events, info.allocations, info.peak_bytes, info.peak_moment, info.peak_time_us,
        info.live_at_start_bytes, info.live_at_end_bytes, info.reserved_at_end_bytes, info.ooms, info.time_origin_us,
    )  # fmt: skip


def _events(
    snapshot: Snapshot, database: apsw.Connection, device: Device, first: int, progress: Callable[[int], None]
) -> None:
    prefix, number = f"{device.info.device}.", device.info.device
    address, size, stream, pool, owner = (
        snapshot.column(f"{prefix}event_{name}") for name in ("address", "size", "stream", "pool", "owner")
    )
    actions, streams, pools = _names(snapshot.manifest.actions), _streams(snapshot), _pools(snapshot)
    for start in range(0, device.info.events, _STRETCH_ROWS):
        stop = min(start + _STRETCH_ROWS, device.info.events)
        part = slice(start, stop)
        count = stop - start
        owners = owner[part]
        times = [None] * count if device.time is None else device.time[part].tolist()
        rows = zip(
            range(first + start, first + stop),
            [number] * count,
            range(start + 1, stop + 1),
            times,
            _named(actions, device.event_action[part]),
            _unless(size[part] < 0, size[part]),
            device.live[start + 1 : stop + 1].tolist(),
            _unless(owners == kernel.NEVER, device.allocations(owners)),
            device.event_stack[part].tolist(),
            _named(streams, stream[part]),
            _named(pools, pool[part]),
            address[part].view(np.int64).tolist(),
            strict=True,
        )
        _insert(database, "events", rows)
        progress(count)


def _notes(snapshot: Snapshot, database: apsw.Connection, device: Device, first: int) -> None:
    name = f"{device.info.device}.notes"
    if name not in snapshot.manifest.columns:
        return
    notes, strings = snapshot.column(name), _strings(snapshot)
    number = NOTE_KINDS.index("device_free")
    rows = zip(
        (notes["event"].astype(np.int64) + first).tolist(),
        _named(_names(NOTE_KINDS), notes["kind"]),
        [
            value if kind == number else strings.get(value, "")
            for kind, value in zip(notes["kind"].tolist(), notes["value"].tolist(), strict=True)
        ],
        strict=True,
    )
    _insert(database, "notes", rows)


def _allocations(
    snapshot: Snapshot, database: apsw.Connection, device: Device, progress: Callable[[int], None]
) -> None:
    info = device.info
    categories = _names(timeline_of(snapshot.info, "allocations").categories)
    streams = _streams(snapshot)
    freed = freed_stacks(snapshot, device)
    for start in range(0, info.allocations, _STRETCH_ROWS):
        stop = min(start + _STRETCH_ROWS, info.allocations)
        part = slice(start, stop)
        count = stop - start
        starts, ends, rounded, flags = (
            column[part] for column in (device.start, device.end, device.rounded, device.flags)
        )
        live_at_peak = (starts <= info.peak_moment) & (ends > info.peak_moment)
        rows = zip(
            device.allocations(np.arange(start, stop)).tolist(),
            [info.device] * count,
            device.size[part].tolist(),
            _unless(rounded == 0, rounded),
            starts.tolist(),
            _unless(ends == kernel.NEVER, ends),
            _times(device, starts),
            _times(device, ends),
            live_at_peak.astype(np.uint8).tolist(),
            (flags & kernel.BEFORE_TRACE != 0).astype(np.uint8).tolist(),
            (flags & kernel.PENDING_FREE != 0).astype(np.uint8).tolist(),
            _named(categories, device.category[part]),
            device.stack[part].tolist(),
            _unless(freed[part] == 0, freed[part]),
            _named(streams, device.stream[part]),
            device.address[part].view(np.int64).tolist(),
            strict=True,
        )
        _insert(database, "allocations", rows)
        progress(2 * count)


def _frames_and_lines(snapshot: Snapshot, database: apsw.Connection) -> None:
    frames = snapshot.text.execute("SELECT id, file, line, function, kind FROM frames")
    _insert(database, "frames", ((*row[:4], KIND_NAMES[row[4]]) for row in frames))
    lines = snapshot.text.execute(
        "SELECT file, line, function, kind, live_at_peak_bytes, live_at_peak_count, total_bytes, count, "
        "live_at_end_bytes, largest_bytes, self_total_bytes, self_count FROM source_lines"
    )
    known = _known_figures(snapshot)
    kept = [known[name] for name in _LINE_FIGURES]
    rows = (
        (
            *row[:3],
            KIND_NAMES[row[3]],
            *(figure if keep else None for figure, keep in zip(row[4:], kept, strict=True)),
        )
        for row in lines
    )
    _insert(database, "lines", rows)


_LINE_FIGURES = (
    "live_at_peak_bytes", "live_at_peak_count", "total_bytes", "count", "live_at_end_bytes", "largest_bytes_of_line",
    "total_bytes", "count",
)  # fmt: skip
_STACK_FIGURES = (
    "total_bytes", "count", "live_at_peak_bytes", "live_at_peak_count", "live_at_end_bytes", "largest_bytes",
)  # fmt: skip


def _known_figures(snapshot: Snapshot) -> dict[str, bool]:
    """Which figures of lines and stacks are known: all of a trace's, and of a profile those that a value stands for."""
    match snapshot.info:
        case TimelineInfo():
            return dict.fromkeys((*_LINE_FIGURES, *_STACK_FIGURES), True)
        case ProfileInfo():
            return _known_values(snapshot.info)
        case _:
            assert_never(snapshot.info)


def _known_values(info: ProfileInfo) -> dict[str, bool]:
    def known(figure: str, unit: str) -> bool:
        return standing_for(info.values, figure, unit) is not None

    return {
        "total_bytes": known("total", "bytes"),
        "count": known("total", "count"),
        "live_at_peak_bytes": known("peak", "bytes"),
        "live_at_peak_count": known("peak", "count"),
        "live_at_end_bytes": known("end", "bytes"),
        "largest_bytes": info.has_sizes,
        "largest_bytes_of_line": False,
    }


def _stacks(snapshot: Snapshot, database: apsw.Connection) -> None:
    nodes, labels = snapshot.column("stack_node"), snapshot.column("stack_label")
    totals, known = stack_totals(snapshot), _known_figures(snapshot)
    match snapshot.info:
        case TimelineInfo():
            largest = snapshot.column("stack_largest")
        case ProfileInfo():
            largest = np.full(len(nodes), kernel.NEVER, np.uint32)
        case _:
            assert_never(snapshot.info)
    step = _STRETCH_ROWS // 8
    for start in range(0, len(nodes), step):
        part = slice(start, min(start + step, len(nodes)))
        levels = _levels(snapshot, np.arange(part.start, part.stop))
        rows = zip(
            range(part.start, part.stop),
            _unless(labels[part] == kernel.NEVER, labels[part]),
            np.bincount(levels[:, 0] - start, minlength=part.stop - start).tolist(),
            *(
                totals[part, column].tolist() if known[name] else [None] * (part.stop - part.start)
                for column, name in enumerate(_STACK_FIGURES)
            ),
            _unless(largest[part] == kernel.NEVER, largest[part]),
            strict=True,
        )
        _insert(database, "stacks", rows)
        _insert(database, "stack_frames", zip(*levels.T.tolist(), strict=True))


def _levels(snapshot: Snapshot, stacks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Rows of stack, level and frame: every frame of some stacks, in their order, innermost first."""
    parents, frames = snapshot.column("node_parent"), snapshot.column("node_frame")
    node = snapshot.column("stack_node")[stacks].astype(np.int64)
    found = [np.empty((0, 3), np.int64)]
    level = 0
    while len(going := np.flatnonzero(node)):
        stacks, node = stacks[going], node[going]
        found.append(np.column_stack((stacks, np.full(len(stacks), level), frames[node])))
        above = parents[node].astype(np.int64)
        if bool((above >= node).any()):
            raise InconsistentError("A stack's frame has no lower number than the frame that it called")
        node = above
        level += 1
    rows = np.concatenate(found)
    ordered: npt.NDArray[np.int64] = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return ordered


def _samples(snapshot: Snapshot, info: ProfileInfo, database: apsw.Connection) -> None:
    """A profile's samples with their values and labels."""
    kinds = ((n, v.name, v.unit, v.meaning, v.title, v.total) for n, v in enumerate(info.values))
    _insert(database, "value_types", kinds)
    stacks = snapshot.column("sample_stack")
    values = [snapshot.column(f"sample_value.{number}") for number in range(len(info.values))]
    sizes = snapshot.column("sample_size") if info.has_sizes else None
    for start in range(0, len(stacks), _STRETCH_ROWS):
        part = slice(start, min(start + _STRETCH_ROWS, len(stacks)))
        numbers = range(part.start, part.stop)
        known = [None] * len(numbers) if sizes is None else _unless(sizes[part] == 0, sizes[part])
        _insert(database, "samples", zip(numbers, stacks[part].tolist(), known, strict=True))
        for number, column in enumerate(values):
            told = column[part]
            some = np.flatnonzero(told)
            rows = zip((some + start).tolist(), [number] * len(some), told[some].tolist(), strict=True)
            _insert(database, "sample_values", rows)
    strings = _strings(snapshot)
    rows = snapshot.column("labels").tolist()
    _insert(
        database,
        "labels",
        (
            (
                sample,
                strings.get(key, ""),
                strings.get(text, "") if text else number,
                strings.get(unit) if unit else None,
            )
            for sample, key, text, number, unit in rows
        ),
    )


def _memory(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Segments and blocks, where the format has them."""
    if "segments" not in snapshot.manifest.columns or "blocks" not in snapshot.manifest.columns:
        return
    segments, blocks = snapshot.column("segments"), snapshot.column("blocks")
    strings = _strings(snapshot)
    rows = zip(
        range(len(segments)),
        segments["device"].tolist(),
        [strings.get(row, "") for row in segments["type"].tolist()],
        *(
            _unless(segments[name] < 0, segments[name])
            for name in ("total", "allocated", "active", "requested")
        ),
        (segments["expandable"] != 0).astype(np.uint8).tolist(),
        _named(_streams(snapshot), segments["stream"]),
        _named(_pools(snapshot), segments["pool"]),
        segments["stack"].tolist(),
        segments["address"].view(np.int64).tolist(),
        strict=True,
    )
    _insert(database, "segments", rows)
    owner = _segments_of(segments, blocks)
    missing = owner < 0
    device = segments["device"][owner] if len(segments) else np.zeros(len(blocks), np.int32)
    rows = zip(
        range(len(blocks)),
        _unless(missing, owner),
        _unless(missing, device),
        [strings.get(row, "") for row in blocks["state"].tolist()],
        *(blocks[name].tolist() for name in ("size", "requested", "stack")),
        blocks["address"].view(np.int64).tolist(),
        strict=True,
    )
    _insert(database, "blocks", rows)


def _segments_of(segments: Column, blocks: Column) -> npt.NDArray[np.int64]:
    """The segment that each block is a part of; -1 where that can't be told.

    Segments stand in the order of the file and so do their blocks, which tile them. Where sizes don't add up the
    address has to tell, which it can't when segments of two devices share one.
    """
    if not len(segments) or not len(blocks):
        return np.full(len(blocks), -1, np.int64)
    before = np.cumsum(blocks["size"]) - blocks["size"]
    tiled = np.searchsorted(np.cumsum(segments["total"]), before, "right").clip(0, len(segments) - 1)
    order = np.argsort(segments["address"], kind="stable")
    by_address = order[(np.searchsorted(segments["address"][order], blocks["address"], "right") - 1).clip(0)]
    found: npt.NDArray[np.int64] = np.where(_holds(segments[tiled], blocks), tiled, by_address).astype(
        np.int64
    )
    found[~_holds(segments[found], blocks)] = -1
    return found


def _holds(segments: Column, blocks: Column) -> npt.NDArray[np.bool_]:
    """Where a block lies in the segment of the same row."""
    inside: npt.NDArray[np.bool_]
    inside = (blocks["address"] >= segments["address"]) & (
        blocks["address"] - segments["address"] < segments["total"].astype(np.uint64)
    )
    return inside


def _annotations(snapshot: Snapshot, database: apsw.Connection) -> None:
    if "annotations" not in snapshot.manifest.columns:
        return
    rows, strings = snapshot.column("annotations"), _strings(snapshot)
    numbers = {info.device for info in devices_of(snapshot.info)}
    times, moments = rows["time_us"].astype(np.int64), np.full(len(rows), -1, np.int64)
    for number in np.unique(rows["device"]).tolist():
        if number not in numbers:
            continue
        device = snapshot.device(number)
        mine = rows["device"] == number
        if device.time is not None and device.info.time_origin_us is not None:
            times[mine] -= device.info.time_origin_us
            moments[mine] = np.searchsorted(device.time, times[mine], "right")
    _insert(
        database,
        "annotations",
        zip(
            range(len(rows)),
            rows["device"].tolist(),
            times.tolist(),
            _unless(moments < 0, moments),
            [strings.get(row, "") for row in rows["stage"].tolist()],
            [strings.get(row, "") for row in rows["name"].tolist()],
            strict=True,
        ),
    )


def _strings(snapshot: Snapshot) -> dict[int, str]:
    rows: list[Any] = snapshot.text.execute("SELECT id, text FROM strings").fetchall()
    return dict(rows)


def _streams(snapshot: Snapshot) -> npt.NDArray[np.object_]:
    return _names([str(stream) for stream in snapshot.manifest.streams])


def _pools(snapshot: Snapshot) -> npt.NDArray[np.object_]:
    # a pool that the file does not tell is (-1, -1) to the reader
    return _names([None if min(pool) < 0 else f"{pool[0]}:{pool[1]}" for pool in snapshot.manifest.pools])


def _names(names: Iterable[str | None]) -> npt.NDArray[np.object_]:
    """Names by number, with None behind the last for numbers that have none."""
    return np.array([*names, None], object)


def _named(names: npt.NDArray[np.object_], numbers: Column) -> list[Any]:
    named: list[Any] = names[np.minimum(numbers, len(names) - 1)].tolist()
    return named


def _unless(missing: npt.NDArray[np.bool_], values: Column) -> list[Any]:
    """The values as a list, None where they are missing."""
    if not missing.any():
        return list(values.tolist())
    told = values.astype(object)
    told[missing] = None
    return list(told.tolist())


def _times(device: Device, moments: Column) -> list[Any]:
    """When moments begin, None for the one before the trace, for NEVER and without times."""
    if device.time is None:
        return [None] * len(moments)
    missing = (moments == 0) | (moments > device.info.events)
    return _unless(missing, device.time[np.where(missing, 1, moments) - 1])
