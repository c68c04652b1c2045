"""The tables for SQL that are short or consist of texts, whose rows are inserted by statements."""

from collections.abc import Iterable, Iterator
from typing import Any, assert_never

import apsw
import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, Mask
from memlens.model.distinct import distinct
from memlens.model.frames import KIND_NAMES, SOURCE_NAMES
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.model.profile import value_for
from memlens.model.timeline import NOTE_KINDS
from memlens.store.models import devices_of, profile_of
from memlens.store.snapshot import Column, Snapshot
from memlens.store.tables.database_file import insert
from memlens.store.tables.texts import fitting_rows, fitting_texts
from memlens.store.totals import line_totals
from memlens.store.trace.device import Device


def fill_short(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Fill all short tables."""
    insert(
        database, "devices", [_device_row(snapshot.device(info.device)) for info in devices_of(snapshot.info)]
    )
    insert(database, "frame_texts", _frame_texts(snapshot))
    insert(database, "frame_rows", _frames(snapshot))
    insert(database, "line_rows", _lines(snapshot))
    match snapshot.info:
        case TimelineInfo():
            _all_notes(snapshot, database)
            _memory(snapshot, database)
            _annotations(snapshot, database)
        case GraphInfo(allocations=None):
            pass
        case ProfileInfo() | GraphInfo():
            _labels(snapshot, snapshot.profile, database)
        case _:
            assert_never(snapshot.info)


STACK_FIGURES = (
    "total_bytes", "count", "live_at_peak_bytes", "live_at_peak_count", "live_at_end_bytes", "largest_bytes",
)  # fmt: skip
"""The figures of a stack, in the order of :func:`stack_totals`."""
_LINE_FIGURES = (
    ("live_at_peak_bytes", 2), ("live_at_peak_count", 3), ("total_bytes", 0), ("count", 1),
    ("live_at_end_bytes", 4), ("largest_bytes_of_line", 5), ("total_bytes", 6), ("count", 7),
)  # fmt: skip
"""The names in :func:`known_figures` of the figures of a line, in the order of its table, and their indexes in
:func:`line_totals`.
"""


def _frame_texts(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    yield from fitting_texts(snapshot, snapshot.frames.file, snapshot.frames.function).items()


def _frames(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    return zip(range(len(snapshot.frames)), *_places(snapshot, slice(None)), strict=True)


def _lines(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    totals, known = line_totals(snapshot), known_figures(snapshot.info)
    figures = [
        totals[:, place].tolist() if name in known else [None] * len(totals) for name, place in _LINE_FIGURES
    ]
    return zip(*_places(snapshot, snapshot.lines.frame), *figures, strict=True)


def _places(snapshot: Snapshot, chosen: Column | slice) -> list[list[Any]]:
    """The columns that frames and lines share, of some frames."""
    frames = snapshot.frames
    numbers = [column[chosen].tolist() for column in (frames.file, frames.line, frames.function)]
    return [
        *numbers,
        [KIND_NAMES[kind] for kind in frames.kind[chosen].tolist()],
        [SOURCE_NAMES[source] for source in frames.source[chosen].tolist()],
    ]


def known_figures(info: SnapshotInfo) -> set[str]:
    """The known figures of lines and stacks: all for a trace; for a profile, those that a value represents."""
    match info:
        case TimelineInfo():
            return {*STACK_FIGURES, "largest_bytes_of_line"}
        case GraphInfo(allocations=None):
            return set()
        case ProfileInfo() | GraphInfo():
            return _known_of_values(profile_of(info))
        case _:
            assert_never(info)


def _known_of_values(info: ProfileInfo) -> set[str]:
    figures = {
        "total_bytes": ("total", "bytes"), "count": ("total", "count"), "live_at_peak_bytes": ("peak", "bytes"),
        "live_at_peak_count": ("peak", "count"), "live_at_end_bytes": ("end", "bytes"),
    }  # fmt: skip
    known = {name for name, value in figures.items() if value_for(info.values, *value) is not None}
    return known | {"largest_bytes"} if info.has_sizes else known


def _device_row(device: Device) -> tuple[Any, ...]:
    info = device.info
    return (
        info.device, info.events, info.allocations, info.peak_bytes, info.peak_moment, info.peak_time_us,
        info.live_at_start_bytes, info.live_at_end_bytes, info.reserved_at_end_bytes, info.ooms, info.time_origin_us,
    )  # fmt: skip


def _all_notes(snapshot: Snapshot, database: apsw.Connection) -> None:
    first_event = 0
    for info in devices_of(snapshot.info):
        _notes(snapshot, database, info.device, first_event)
        first_event += info.events


def _notes(snapshot: Snapshot, database: apsw.Connection, device: int, first: int) -> None:
    notes = snapshot.device(device).notes
    number = NOTE_KINDS.index("device_free")
    strings = fitting_texts(snapshot, notes["value"][notes["kind"] != number])
    rows = zip(
        (notes["event"].astype(np.int64) + first).tolist(),
        _named(_names(NOTE_KINDS), notes["kind"]),
        [
            value if kind == number else strings[value]
            for kind, value in zip(notes["kind"].tolist(), notes["value"].tolist(), strict=True)
        ],
        strict=True,
    )
    insert(database, "notes", rows)


def _labels(snapshot: Snapshot, info: ProfileInfo, database: apsw.Connection) -> None:
    """Fill the tables of a profile's values and of its samples' labels."""
    kinds = ((n, v.name, v.unit, v.meaning, v.title.text, v.total) for n, v in enumerate(info.values))
    insert(database, "value_types", kinds)
    rows = snapshot.samples.labels
    columns = [rows[field] for field in ("key", "text", "unit")]
    strings = fitting_texts(snapshot, *columns)
    insert(
        database,
        "labels",
        (
            (sample, strings[key], strings[text] if text else number, strings[unit] if unit else None)
            for sample, key, text, number, unit in rows.tolist()
        ),
    )


def _memory(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Fill the tables of segments and blocks, if the format has them."""
    segments, blocks = snapshot.trace.segments, snapshot.trace.blocks
    rows = zip(
        range(len(segments)),
        segments["device"].tolist(),
        fitting_rows(snapshot, segments["type"]),
        *(
            _unless(segments[name] < 0, segments[name])
            for name in ("total", "allocated", "active", "requested")
        ),
        (segments["expandable"] != 0).astype(np.uint8).tolist(),
        _named(_names(stream_names(snapshot)), segments["stream"]),
        _named(_names(pool_names(snapshot)), segments["pool"]),
        segments["stack"].tolist(),
        segments["address"].view(np.int64).tolist(),
        strict=True,
    )
    insert(database, "segments", rows)
    owner = _segments_of(segments, blocks)
    missing = owner < 0
    device = segments["device"][owner] if len(segments) else np.zeros(len(blocks), np.int32)
    rows = zip(
        range(len(blocks)),
        _unless(missing, owner),
        _unless(missing, device),
        fitting_rows(snapshot, blocks["state"]),
        *(blocks[name].tolist() for name in ("size", "requested", "stack")),
        blocks["address"].view(np.int64).tolist(),
        strict=True,
    )
    insert(database, "blocks", rows)


def _segments_of(segments: Column, blocks: Column) -> I64:
    """The segment of each block; -1 if it isn't known.

    Segments are in the order of the file, and so are their blocks, which tile them. If sizes don't add up, the address
    decides, unless segments of two devices have the same one.
    """
    if not len(segments) or not len(blocks):
        return np.full(len(blocks), -1, np.int64)
    before = np.cumsum(blocks["size"]) - blocks["size"]
    tiled = np.searchsorted(np.cumsum(segments["total"]), before, "right").clip(0, len(segments) - 1)
    order = np.argsort(segments["address"], kind="stable")
    by_address = order[(np.searchsorted(segments["address"][order], blocks["address"], "right") - 1).clip(0)]
    found: I64 = np.where(_holds(segments[tiled], blocks), tiled, by_address).astype(np.int64)
    found[~_holds(segments[found], blocks)] = -1
    return found


def _holds(segments: Column, blocks: Column) -> Mask:
    """The offset of a block in the segment of the same row."""
    inside: Mask
    inside = (blocks["address"] >= segments["address"]) & (
        blocks["address"] - segments["address"] < segments["total"].astype(np.uint64)
    )
    return inside


def _annotations(snapshot: Snapshot, database: apsw.Connection) -> None:
    rows = snapshot.trace.annotations
    numbers = {info.device for info in devices_of(snapshot.info)}
    times, moments = rows["time_us"].astype(np.int64), np.full(len(rows), -1, np.int64)
    for number in distinct(rows["device"]).tolist():
        if number not in numbers:
            continue
        device = snapshot.device(number)
        mine = rows["device"] == number
        if device.time is not None and device.info.time_origin_us is not None:
            times[mine] -= device.info.time_origin_us
            moments[mine] = np.searchsorted(device.time, times[mine], "right")
    insert(
        database,
        "annotations",
        zip(
            range(len(rows)),
            rows["device"].tolist(),
            times.tolist(),
            _unless(moments < 0, moments),
            fitting_rows(snapshot, rows["stage"]),
            fitting_rows(snapshot, rows["name"]),
            strict=True,
        ),
    )


def stream_names(snapshot: Snapshot) -> list[str]:
    """The names of the streams, by number."""
    return [str(stream) for stream in snapshot.manifest.streams]


def pool_names(snapshot: Snapshot) -> list[str | None]:
    """The names of the pools, by number; None for a pool that the file does not name, (-1, -1) from the reader."""
    return [None if min(pool) < 0 else f"{pool[0]}:{pool[1]}" for pool in snapshot.manifest.pools]


def _names(names: Iterable[str | None]) -> npt.NDArray[np.object_]:
    """Names by number, followed by None for numbers without a name."""
    return np.array([*names, None], object)


def _named(names: npt.NDArray[np.object_], numbers: Column) -> list[Any]:
    named: list[Any] = names[np.minimum(numbers, len(names) - 1)].tolist()
    return named


def _unless(missing: Mask, values: Column) -> list[Any]:
    """The values as a list, with None for missing ones."""
    if not missing.any():
        return list(values.tolist())
    objects = values.astype(object)
    objects[missing] = None
    return list(objects.tolist())
