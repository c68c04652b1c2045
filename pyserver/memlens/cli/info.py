"""``memlens info``: what a snapshot holds."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.output import json_line, say
from memlens.model.info import DeviceInfo, ProfileInfo, SnapshotInfo
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes, format_time, format_value


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""

    def question(snapshot: Snapshot) -> tuple[SnapshotInfo, list[str]]:
        if options.json or not any(device.ooms for device in snapshot.info.devices):
            return snapshot.info, []
        from memlens.views.trace.oom.report import explained, summary

        return snapshot.info, list(summary(explained(snapshot)))

    info, ooms = ask(options, question)
    if options.json:
        json_line(info)
        return 0
    say(f"{info.path}: {info.kind}, {format_bytes(info.file_bytes)}")
    for device in info.devices:
        if not device.events and not device.allocations:
            say(f"{device.name.lower()}: nothing was recorded")
            continue
        say(
            f"{device.name.lower()}: {counted(device.events, 'event')}, "
            f"{counted(device.allocations, 'allocation')}, "
            f"peak {format_bytes(device.peak_bytes)} ({device.peak_bytes:,} bytes)"
            f"{_after(device)}, live at the end {format_bytes(device.live_at_end_bytes)} "
            f"in {counted(device.live_at_end_count, 'allocation')}"
            f"{_ooms(device)}"
        )
    if info.profile is not None:
        say(
            f"{counted(info.profile.samples, 'sample')} of {counted(info.profile.stacks, 'stack')}{_made(info.profile)}"
        )
        for number, value in enumerate(info.profile.values):
            shown = " (shown first)" if number == info.profile.default_value else ""
            say(f"{value.name}: {value.title}, {format_value(value.total, value.unit)}{shown}")
    for line in ooms:
        say(line)
    for warning in info.warnings:
        say(f"note: {warning.message}")
    return 0


def _made(profile: ProfileInfo) -> str:
    """How many allocations were made in all, where a profile tells it: a sample may stand for many."""
    for value in profile.values:
        if (value.meaning, value.unit) == ("total", "count"):
            return f", {value.title[:1].lower()}{value.title[1:]}: {value.total:,}"
    return ""


def _ooms(device: DeviceInfo) -> str:
    return f", {counted(device.ooms, 'out-of-memory event')}" if device.ooms else ""


def _after(device: DeviceInfo) -> str:
    if device.peak_moment == 0:
        return " before the first event" if device.events else ""
    if device.peak_time_us is None:
        return f" at event {device.peak_moment:,}"
    return f" after {format_time(device.peak_time_us)}"
