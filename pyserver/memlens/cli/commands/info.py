"""Print a summary of a snapshot: devices, peaks, warnings.

It has each device's events, allocations and peak, and says what isn't in the file.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

from msgspec.structs import replace

from memlens.cli.ask import ask
from memlens.cli.each_file import answer_each, shown_name
from memlens.cli.options import add_files, add_json, add_libraries
from memlens.model.info import DeviceInfo, GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo, device_phrase
from memlens.store.models import devices_of, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes, format_date, format_time, format_value

EXAMPLES = ("memlens info samples/train.pickle",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_files(command)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    def question(snapshot: Snapshot) -> tuple[SnapshotInfo, list[str]]:
        return snapshot.info, [] if options.json else list(_more(snapshot))

    more: list[str] = []

    def answer(path: Path) -> SnapshotInfo:
        info, more[:] = ask(options, question, path)
        return replace(info, path=shown_name(options, info.path))

    def lines(info: SnapshotInfo) -> Iterator[str]:
        yield f"{info.path}: {info.kind}, {format_bytes(info.file_bytes)}"
        yield from _figures(info)
        yield from more
        yield from (f"note: {warning.message}" for warning in info.warnings)

    return answer_each(options, answer, lines)


def _more(snapshot: Snapshot) -> Iterator[str]:
    """Yield what needs more than the summary: out-of-memory events, the heaps of a dump, and its realms."""
    if any(device.ooms for device in devices_of(snapshot.info)):
        from memlens.views.trace.oom.report import explained, summary

        yield from summary(explained(snapshot))
    if heap_dump_of(snapshot.info) is not None:
        from memlens.views.heap.listing.overview import spaces
        from memlens.views.heap.objects.realms import realms

        for space in spaces(snapshot):
            if space.objects:
                yield f"heap {space.name}: {format_bytes(space.shallow_bytes)} in {counted(space.objects, 'object')}"
        for realm in realms(snapshot):
            yield f"realm {realm.name}: {format_bytes(realm.shallow_bytes)} in {counted(realm.objects, 'object')}"


def _figures(info: SnapshotInfo) -> Iterator[str]:
    match info:
        case TimelineInfo():
            yield from map(_device, info.devices)
        case ProfileInfo():
            yield from _samples(info)
            if info.written_ms is not None:
                yield f"taken {format_date(info.written_ms)}"
        case GraphInfo():
            yield from _graph(info)
        case _:
            assert_never(info)


def _samples(info: ProfileInfo, of: str = "") -> Iterator[str]:
    yield f"{counted(info.samples, 'sample')}{of} of {counted(info.stacks, 'stack')}{_total_count(info)}"
    for number, value in enumerate(info.values):
        shown = " (shown first)" if number == info.default_value else ""
        yield f"{value.name}: {value.title}, {format_value(value.total, value.unit)}{shown}"


def _graph(info: GraphInfo) -> Iterator[str]:
    threads = f", {counted(info.threads, 'thread')}" if info.threads else ""
    yield (
        f"{counted(info.objects, 'object')} of {counted(info.types, 'type')}, "
        f"{counted(info.references, 'reference')}, {counted(info.roots, 'root')}{threads}"
    )
    yield f"shallow size of all objects: {format_bytes(info.shallow_bytes)} ({info.shallow_bytes:,} bytes)"
    yield (
        f"reachable from roots: {format_bytes(info.reachable_bytes)} in "
        f"{counted(info.reachable_objects, 'object')}"
    )
    if info.written_ms is not None:
        yield f"taken {format_date(info.written_ms)}"
    if info.native_bytes:
        yield f"owned outside of the heap: {format_bytes(info.native_bytes)} ({info.native_bytes:,} bytes)"
    if info.outside and info.allocations is not None:
        yield from _samples(info.allocations, " of memory outside of the heap")
    if info.count_multiplier != 1 or info.size_multiplier != 1:
        yield (
            f"sampled: an object of the file stands for {info.count_multiplier:.4g} of the program on average, "
            f"a byte for {info.size_multiplier:.4g}"
        )


def _device(device: DeviceInfo) -> str:
    if not device.events and not device.allocations:
        return f"{device_phrase(device.device)}: nothing was recorded"
    return (
        f"{device_phrase(device.device)}: {counted(device.events, 'event')}, "
        f"{counted(device.allocations, 'allocation')}, "
        f"peak {format_bytes(device.peak_bytes)} ({device.peak_bytes:,} bytes)"
        f"{_peak_time(device)}, live at the end {format_bytes(device.live_at_end_bytes)} "
        f"in {counted(device.live_at_end_count, 'allocation')}"
        f"{_ooms(device)}"
    )


def _total_count(profile: ProfileInfo) -> str:
    """Return the total number of allocations, if the profile has it: one sample may represent many."""
    for value in profile.values:
        if (value.meaning, value.unit) == ("total", "count"):
            return f", {value.title.text[:1].lower()}{value.title.text[1:]}: {value.total:,}"
    return ""


def _ooms(device: DeviceInfo) -> str:
    return f", {counted(device.ooms, 'out-of-memory event')}" if device.ooms else ""


def _peak_time(device: DeviceInfo) -> str:
    if device.peak_moment == 0:
        return " before the first event" if device.events else ""
    if device.peak_time_us is None:
        return f" at event {device.peak_moment:,}"
    return f" after {format_time(device.peak_time_us)}"
