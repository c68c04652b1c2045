"""What is kept of one snapshot of a fleet, from its archive."""

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple, assert_never

import numpy as np

from memlens.fleet.tables import (
    CurveRow,
    FigureRow,
    FindingRow,
    LineRow,
    OomRow,
    PeakRow,
    StepRow,
    Summary,
    TypeRow,
)  # fmt: skip
from memlens.model.info import DeviceInfo, GraphInfo, ProfileInfo, TimelineInfo
from memlens.model.profile import LIVE_BYTES, value_for
from memlens.store.models import devices_of, has_stacks, heap_dump_of, profile_of
from memlens.store.snapshot import Snapshot
from memlens.units import plain, shortened
from memlens.views.findings.ahead import findings
from memlens.views.findings.answers import SnapshotFinding
from memlens.views.heap.objects.types import types
from memlens.views.lines.charged import charged_lines
from memlens.views.trace.oom.report import explained
from memlens.views.trace.picture.overview import extremes
from memlens.views.trace.steps.finding import steps

MOST_LINES = 500
MOST_TYPES = 500
MOST_STEPS = 2_000
MOST_FINDINGS = 50
COLUMNS = 128
"""The number of columns into which the whole time of a device is divided."""

_LONGEST_TEXT = 1_000
_NUMBER = re.compile(r"(?<![0-9A-Za-z])\d+(?![0-9A-Za-z])")
_RANK = re.compile(r"rank[^0-9a-z]{0,3}(\d{1,9})", re.IGNORECASE)


class _Heights(NamedTuple):
    """The main figures of a snapshot."""

    peak_bytes: int | None
    peak_unix_us: int | None
    end_bytes: int | None


def rank_of(name: str) -> int | None:
    """The rank in a file's name: the number after "rank", else the last separate number; None if there is none."""
    ranked = _RANK.findall(name)
    numbers = ranked or _NUMBER.findall(name.rpartition("/")[2].partition(".")[0])
    return int(numbers[-1]) if numbers and len(numbers[-1]) < 10 else None


def summary_of(snapshot: Snapshot) -> Summary:
    """The summary of an open archive. Raises :class:`memlens.store.manifest.ArchiveError`."""
    heights = _heights(snapshot)
    lines, lines_left_out = _lines(snapshot)
    rows, types_left_out = _types(snapshot)
    return Summary(
        model=snapshot.info.model,
        kind=snapshot.info.kind,
        peak_bytes=heights.peak_bytes,
        peak_unix_us=heights.peak_unix_us,
        end_bytes=heights.end_bytes,
        lines_left_out=lines_left_out,
        types_left_out=types_left_out,
        memory_bytes=_peak_memory(),
        figures=list(_figures(snapshot)),
        peaks=[_peak(device) for device in devices_of(snapshot.info)],
        curves=list(_curves(snapshot)),
        lines=lines,
        steps=list(_steps(snapshot)),
        findings=_findings(snapshot),
        types=rows,
        ooms=list(_ooms(snapshot)),
    )


def _heights(snapshot: Snapshot) -> _Heights:
    info = snapshot.info
    match info:
        case TimelineInfo():
            shown = [device for device in info.devices if device.device == info.default_device]
            if not shown:
                return _Heights(None, None, None)
            return _Heights(
                shown[0].peak_bytes, _unix(shown[0], shown[0].peak_time_us), shown[0].live_at_end_bytes
            )
        case ProfileInfo():
            peak, end = (value_for(info.values, figure, "bytes") for figure in ("peak", "end"))
            return _Heights(
                None if peak is None else info.values[peak].total,
                None,
                None if end is None else info.values[end].total,
            )
        case GraphInfo():
            return _Heights(info.reachable_bytes, None, info.reachable_bytes)
        case _:
            assert_never(info)


def _unix(device: DeviceInfo, time_us: float | None) -> int | None:
    if device.time_origin_us is None or time_us is None:
        return None
    return device.time_origin_us + round(time_us)


def _peak(device: DeviceInfo) -> PeakRow:
    return PeakRow(
        device.device, device.peak_bytes, device.peak_moment, device.peak_time_us,
        _unix(device, device.peak_time_us), device.time_origin_us, device.live_at_end_bytes,
        device.live_at_end_count, device.reserved_at_end_bytes, device.ooms,
    )  # fmt: skip


def _figures(snapshot: Snapshot) -> Iterator[FigureRow]:
    info = snapshot.info
    match info:
        case TimelineInfo():
            for device in info.devices:
                yield FigureRow(device.device, "events", "count", device.events)
                yield FigureRow(device.device, "allocations", "count", device.allocations)
                yield FigureRow(device.device, "live_at_start_bytes", "bytes", device.live_at_start_bytes)
        case ProfileInfo():
            yield from (FigureRow(None, value.name, value.unit, value.total) for value in info.values)
        case GraphInfo():
            for name in ("objects", "references", "types", "roots", "reachable_objects"):
                yield FigureRow(None, name, "count", getattr(info, name))
            yield FigureRow(None, "shallow_bytes", "bytes", info.shallow_bytes)
            yield FigureRow(None, "reachable_bytes", "bytes", info.reachable_bytes)
        case _:
            assert_never(info)


def _curves(snapshot: Snapshot) -> Iterator[CurveRow]:
    info = snapshot.info
    match info:
        case TimelineInfo():
            for device in info.devices:
                if device.events:
                    yield from _device_curve(snapshot, device)
        case ProfileInfo():
            yield from _profile_curve(snapshot)
        case GraphInfo():
            pass
        case _:
            assert_never(info)


def _device_curve(snapshot: Snapshot, device: DeviceInfo) -> Iterator[CurveRow]:
    columns, has_times = snapshot.device(device.device), device.time_axis is not None
    extent, highest, lowest = extremes(columns, "time" if has_times else "event", COLUMNS)
    unit = "microseconds" if has_times else "events"
    edges = np.linspace(extent.x0, extent.x1, COLUMNS + 1).tolist()
    for number, (high, low) in enumerate(zip(highest.tolist(), lowest.tolist(), strict=True)):
        yield CurveRow(device.device, number, unit, edges[number], edges[number + 1], int(high), int(low))


def _profile_curve(snapshot: Snapshot) -> Iterator[CurveRow]:
    info, times = profile_of(snapshot.info), snapshot.times
    if times is None or LIVE_BYTES not in info.series:
        return
    edges, live = times.edges.astype(np.float64), times.series[LIVE_BYTES]
    # the bin that ends at an edge has its peak there; a column has the bins that overlap it
    borders = np.linspace(0, float(edges[-1]), min(COLUMNS, len(edges) - 1) + 1)
    first = np.clip(np.searchsorted(edges, borders[:-1], "right"), 1, len(edges) - 1)
    last = np.clip(np.searchsorted(edges, borders[1:], "left"), first, len(edges) - 1)
    for number, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        high = max(int(times.peaks[begin : end + 1].max()), int(live[begin : end + 1].max()))
        low = int(live[begin : end + 1].min())
        yield CurveRow(
            0, number, info.time_unit, float(borders[number]), float(borders[number + 1]), high, low
        )


def _lines(snapshot: Snapshot) -> tuple[list[LineRow], int]:
    if not has_stacks(snapshot.info):
        return [], 0
    lines, rest, left_out = charged_lines(snapshot, "mine", MOST_LINES)
    rows = [
        LineRow(
            line.file, line.line, line.function, line.code, line.live_at_peak_bytes, line.live_at_end_bytes,
            line.total_bytes, line.count,
        )
        for line in lines
    ]  # fmt: skip
    rows.append(
        LineRow("", 0, "", "", rest.live_at_peak_bytes, rest.live_at_end_bytes, rest.total_bytes, rest.count)
    )
    return rows, left_out


def _steps(snapshot: Snapshot) -> Iterator[StepRow]:
    for device in devices_of(snapshot.info):
        if not device.events:
            continue
        answer = steps(snapshot, device.device, 0, MOST_STEPS)
        for number, row in enumerate(answer.rows):
            yield StepRow(
                device.device, number, shortened(row.name.text, _LONGEST_TEXT), answer.inferred, row.start_us,
                row.end_us, row.peak_bytes, row.live_at_end_bytes, row.allocated_bytes, row.kept_bytes,
            )  # fmt: skip


def _findings(snapshot: Snapshot) -> list[FindingRow]:
    # a dump's findings quote strings and names of keys, which are data
    quotes = heap_dump_of(snapshot.info) is not None
    return [_finding(each, quotes=quotes) for each in findings(snapshot, None, MOST_FINDINGS).findings]


def _finding(each: SnapshotFinding, *, quotes: bool) -> FindingRow:
    text = f"{each.title}: {each.figure}" if quotes else each.text
    file, line, function = (each.line.file, each.line.line, each.line.function) if each.line else ("", 0, "")
    return FindingRow(
        each.rule, each.title, shortened(text, _LONGEST_TEXT), each.figure.amount, each.figure.unit,
        each.figure.kind, file, line, function, each.inferred,
    )  # fmt: skip


def _types(snapshot: Snapshot) -> tuple[list[TypeRow], int]:
    if heap_dump_of(snapshot.info) is None:
        return [], 0
    answer = types(snapshot, limit=MOST_TYPES)
    rows = [
        TypeRow(
            shortened(row.type, _LONGEST_TEXT), row.kind, row.count, row.shallow_bytes, row.retained_bytes,
            row.file or "", row.line or 0,
        )
        for row in answer.types
    ]  # fmt: skip
    return rows, answer.total - len(rows)


def _ooms(snapshot: Snapshot) -> Iterator[OomRow]:
    origins = {device.device: device for device in devices_of(snapshot.info)}
    if not any(device.ooms for device in origins.values()):
        return
    for answer in explained(snapshot):
        at = answer.asked_at
        file, line, function = (at.file, at.line, at.function) if at is not None else ("", 0, "")
        yield OomRow(
            answer.device, answer.event, answer.time_us, _unix(origins[answer.device], answer.time_us),
            answer.requested_bytes, answer.device_free_bytes, answer.gap.requested_bytes,
            plain(shortened(str(answer.headline), _LONGEST_TEXT)), file, line, function,
        )  # fmt: skip


def _peak_memory() -> int | None:
    """The peak resident set of this process, in bytes."""
    if sys.platform == "win32":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
