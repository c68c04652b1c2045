"""massif's profiles: the text of valgrind's ``--tool=massif``, its peak and its detailed snapshots over time.

Source of the format: ``massif/ms_main.c`` of valgrind and ``ms_print``, which reads it.

The bytes live at the peak are the largest ``mem_heap_B`` of any snapshot: what the program requested.
``mem_heap_extra_B`` (the allocator's overhead) and ``mem_stacks_B`` are separate lines over time, never added to it.
Most snapshots have no tree, and massif marks as its peak one that has a tree and whose heap, extra and stacks together
are within ``--peak-inaccuracy`` of the maximum, so the highest snapshot often has none. Then the stacks are those of
the highest snapshot with a tree, and the difference is a separate sample, whose only frame is :data:`NO_TREE`.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, U64, Mask, rows_of
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.stacks import cut_stacks, distinct_frames, with_inlined
from memlens.model.frames import NATIVE, Frames, SourceFrame
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import (
    CHANGE_DTYPE,
    EXTRA_BYTES,
    LIVE_BYTES,
    Column,
    Profile,
    ProfileTimes,
    sums_fit,
)
from memlens.packs.native.kernels import massif_text as kernel
from memlens.packs.native.valgrind_frames import valgrind_frames, without_words_of_the_stack
from memlens.progress import Report
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes

KIND = "massif"
BELOW = SourceFrame("", 0, "(below massif's threshold)", NATIVE)
"""The frame of callers that massif adds up because each is below its ``--threshold``."""
NO_TREE = SourceFrame("", 0, "(no stack: the snapshot has no tree)", NATIVE)
"""The frame of the highest snapshot's bytes beyond those of the tree that is shown for it."""

_HEAD_BYTES = 1 << 16
_LINE_BYTES = 1 << 16
_MOST_TIME = 2**50
_DEFAULT_DEPTH, _DEFAULT_THRESHOLD = 30, "1.0"
_UNITS = {"i": ("instructions", 1), "ms": ("microseconds", 1000), "B": ("bytes", 1)}
"""The model's unit for each unit of the file, and the factor between them."""

_OUTERMOST = frozenset(("(below main)", "main", "_start", "clone", "clone3", "start_thread"))

_WHOLE_ENDS = (b")", b"???", b"=empty")

_ERRORS = {
    kernel.TRUNCATED: phrase("The file ends in the middle of its first snapshot"),
    kernel.SYNTAX: phrase("A line doesn't belong in a massif profile"),
    kernel.BAD_NUMBER: phrase("A number is missing or larger than any that massif writes"),
    kernel.BAD_TREE: phrase("A snapshot's tree doesn't add up"),
    kernel.TOO_DEEP: phrase("A tree is far deeper than any that massif writes"),
}


def sniff(head: bytes) -> bool:
    """Whether the first bytes are massif's lines of options and command."""
    return head.startswith(b"desc:") and b"\ncmd:" in head


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile: see :class:`memlens.formats.Reader`."""
    scanner, truncated = _scan(source, report)
    head = _head(source.head(_HEAD_BYTES))
    snapshots = rows_of(scanner.take("snapshots"))
    if not len(snapshots):
        if truncated:
            raise DamagedSnapshotError(_ERRORS[kernel.TRUNCATED], offset=source.length)
        raise DamagedSnapshotError(
            phrase("The file has no snapshots: massif writes them when the program ends")
        )
    leaves = rows_of(scanner.take("leaves"))
    if not sums_fit(
        [leaves["bytes"], *(snapshots[name] for name in ("heap_bytes", "extra_bytes", "stacks_bytes"))]
    ):
        raise DamagedSnapshotError(phrase("The sum of the sizes is too large"))
    detailed = np.flatnonzero(snapshots["tree"] != kernel.EMPTY)
    peak = _peak(snapshots, detailed, leaves)
    texts = scanner.frames()
    named, sizes, unnamed = valgrind_frames(texts, source)
    for number in np.flatnonzero([not text for text in texts]).tolist():
        named[int(sizes[:number].sum())] = BELOW
    frames, numbers = distinct_frames([*named, NO_TREE] if peak.missing_bytes else named)
    starts, places = with_inlined(
        np.asarray(scanner.take("stack_starts")), np.asarray(scanner.take("stack_frames")), sizes
    )
    whole = without_words_of_the_stack(Frames(frames, starts, numbers[places]))
    depth = int(float(_option(head["desc"], "depth", str(_DEFAULT_DEPTH))))
    whole, leaves["stack"] = cut_stacks(whole, leaves["stack"], _cut(whole, leaves, depth))
    # a sample per stack in any snapshot
    stacks, samples = _used(leaves["stack"], len(whole.starts) - 1)
    types, values = _values(peak, detailed, leaves, samples, len(stacks))
    below = _below(whole, stacks, values[0])
    if peak.missing_bytes:
        whole, stacks, values = _with_missing(whole, stacks, values, peak)
    times = _times(head["time_unit"], snapshots, detailed, leaves, samples, len(stacks))
    unnamed += _impossible_times(snapshots["time"])
    settings: dict[str, str | int] = {
        "command": head["cmd"],
        "options": head["desc"],
        "time_unit": head["time_unit"],
    }
    settings["snapshots"], settings["detailed_snapshots"] = len(snapshots), len(detailed)
    highest = snapshots[peak.snapshot]
    settings["peak_snapshot"] = peak.snapshot
    settings["peak_heap_extra_bytes"] = int(highest["extra_bytes"])
    settings["peak_stacks_bytes"] = int(highest["stacks_bytes"])
    return Profile(
        KIND, whole, types, 0, stacks.astype(np.uint32), values, times=times, settings=settings,
        warnings=[
            *_truncated(len(snapshots), truncated=truncated),
            *unnamed,
            *_warnings(head["desc"], snapshots, detailed, peak, below, pages=scanner.pages),
        ],
    )  # fmt: skip


def _scan(source: Source, report: Report) -> tuple[kernel.Scanner, bool]:
    """Scan the file; return the scanner and whether the file is truncated, in a snapshot that is then dropped."""
    scanner = kernel.Scanner(source.data)
    status = run_through(scanner, source, report)
    if status == kernel.NO_MEMORY:
        raise MemoryError
    data = source.data
    last = bytes(data[data.rfind(b"\n") + 1 :][:_LINE_BYTES])
    if status == kernel.OK:
        # the last line may be complete without its line break
        if not last or last.endswith(_WHOLE_ENDS):
            return scanner, False
    elif status != kernel.TRUNCATED and data.find(b"\n", scanner.error_offset) >= 0:
        raise DamagedSnapshotError(_ERRORS[status], offset=scanner.error_offset)
    if scanner.unfinished or last.startswith((b" ", b"n")):
        scanner.drop_last()
    return scanner, True


def _head(head: bytes) -> dict[str, str]:
    """Return the fields before the first snapshot."""
    fields = {"desc": "", "cmd": "", "time_unit": "i"}
    for line in head.decode("utf-8", "replace").splitlines():
        name, colon, text = line.partition(":")
        if line.startswith("#") or not colon:
            break
        if name in fields:
            fields[name] = text.strip()
    if fields["time_unit"] not in _UNITS:
        raise NotASnapshotError(
            phrase(
                "The file's unit of time is '{unit}'; massif writes i, ms or B",
                unit=fields["time_unit"][:20],
            ),
            advice=phrase("Open it with the ms_print of the valgrind that wrote it."),
        )
    return fields


def _option(options: str, name: str, default: str) -> str:
    """Return the last value of a numeric option in massif's command line."""
    values = re.findall(rf"--{name}=(\d{{1,9}}(?:\.\d{{1,9}})?)(?![^\s])", options)
    return values[-1] if values else default


def _cut(frames: Frames, leaves: Column, depth: int) -> Mask:
    """Which leaves have as many callers as massif keeps, and don't end in a program's entry function."""
    starts = frames.starts.astype(np.int64)
    filled = leaves["addresses"] >= depth
    outermost = (
        frames.sequence[np.maximum(starts[1:][leaves["stack"]] - 1, 0)] if len(frames.sequence) else None
    )
    if outermost is None or not filled.any():
        return np.zeros(len(leaves), np.bool_)
    ends = np.fromiter((frame.function in _OUTERMOST or frame == BELOW for frame in frames.frames), np.bool_)
    cut: Mask = filled & ~ends[outermost]
    return cut


def _used(stacks: U32, count: int) -> tuple[I64, I64]:
    """Return which of ``count`` stacks occur, and the number of each item's stack among them."""
    occurs = np.zeros(count, np.bool_)
    occurs[stacks] = True
    numbers = np.cumsum(occurs, dtype=np.int64) - 1
    return np.flatnonzero(occurs), numbers[stacks]


class _Peak(NamedTuple):
    """The highest snapshot, and the one whose tree is shown for it."""

    snapshot: int
    tree: int | None
    """None if no snapshot has a tree."""
    missing_bytes: int
    """The highest snapshot's bytes beyond those of that tree; 0 if it is the snapshot's tree."""


def _peak(snapshots: Column, detailed: I64, leaves: Column) -> _Peak:
    """Return the snapshot with the largest heap; of equals, the one marked as the peak, else one with a tree."""
    order = np.lexsort(
        (snapshots["tree"] == kernel.PEAK, snapshots["tree"] != kernel.EMPTY, snapshots["heap_bytes"])
    )
    highest = int(order[-1])
    if not len(detailed):
        return _Peak(highest, None, int(snapshots["heap_bytes"][highest]))
    tree = int(order[snapshots["tree"][order] != kernel.EMPTY][-1])
    tree_bytes = int(leaves["bytes"][leaves["snapshot"] == tree].sum())
    return _Peak(
        highest, tree, 0 if tree == highest else max(0, int(snapshots["heap_bytes"][highest]) - tree_bytes)
    )


def _values(
    peak: _Peak,
    detailed: I64,
    leaves: Column,
    samples: I64,
    count: int,
) -> tuple[list[ValueType], list[I64]]:
    """Return each stack's bytes in the tree that is shown for the peak, and in the last snapshot with a tree."""

    def at(snapshot: int | None) -> I64:
        held = np.zeros(count, np.int64)
        if snapshot is not None:
            chosen = leaves["snapshot"] == snapshot
            np.add.at(held, samples[chosen], leaves["bytes"][chosen])
        return held

    types = [ValueType("peak_bytes", "bytes", "peak", phrase("Live at the peak"))]
    values = [at(peak.tree)]
    if len(detailed) and int(detailed[-1]) != peak.tree:
        types.append(ValueType("last_bytes", "bytes", "live", phrase("Live at the last detailed snapshot")))
        values.append(at(int(detailed[-1])))
    return types, values


def _with_missing(
    frames: Frames, stacks: I64, values: list[I64], peak: _Peak
) -> tuple[Frames, I64, list[I64]]:
    """Append a sample and its stack for the highest snapshot's bytes beyond the tree that is shown."""
    whole = Frames(
        frames.frames,
        np.append(frames.starts, frames.starts[-1] + np.uint64(1)),
        np.append(frames.sequence, np.uint32(frames.frames.index(NO_TREE))),
    )
    held = [np.append(column, 0) for column in values]
    held[0][-1] = peak.missing_bytes
    return whole, np.append(stacks, len(frames.starts) - 1), held


def _impossible_times(time: I64) -> list[FileWarning]:
    """FileWarning of snapshots whose time is before an earlier one's, or beyond what a program can run."""
    back = int(np.count_nonzero((time < np.maximum.accumulate(time)) | (time > _MOST_TIME)))
    if not back:
        return []
    said = phrase(
        "Snapshots with an impossible time: {n}. One that is before an earlier snapshot's is drawn at that one's.",
        n=back,
    )
    return [FileWarning("impossible-times", said)]


def _times(
    time_unit: str,
    snapshots: Column,
    detailed: I64,
    leaves: Column,
    samples: I64,
    count: int,
) -> ProfileTimes:
    """Return the times, with an edge per snapshot; the bytes of stacks are known at the detailed ones."""
    unit, scale = _UNITS[time_unit]
    series = {LIVE_BYTES: snapshots["heap_bytes"].copy(), EXTRA_BYTES: snapshots["extra_bytes"].copy()}
    if snapshots["stacks_bytes"].any():
        series["stacks_bytes"] = snapshots["stacks_bytes"].copy()
    known = np.zeros(len(snapshots), np.bool_)
    known[detailed] = True
    offsets, changes = _changes(snapshots, detailed, leaves, samples, count)
    # massif may take a snapshot late, but the axis must not run backwards
    time = np.maximum.accumulate(np.minimum(snapshots["time"], _MOST_TIME) * scale)
    peaks = snapshots["heap_bytes"].copy()
    return ProfileTimes(time, series, peaks, offsets, changes, has_flow=False, unit=unit, known=known)


def _changes(
    snapshots: Column,
    detailed: I64,
    leaves: Column,
    samples: I64,
    count: int,
) -> tuple[U64, Column]:
    """Return the changes of each stack's bytes between detailed snapshots, and their offsets per snapshot."""
    # leaves are in the order of their snapshots, and only detailed ones have any
    ends = np.append(snapshots["leaves"], np.uint64(len(leaves)))[detailed + 1].astype(np.int64)
    changes = np.empty(2 * len(leaves), CHANGE_DTYPE)
    counts = np.zeros(len(detailed), np.uint64)
    held = np.ascontiguousarray(leaves["bytes"])
    kernel.differences(ends, samples, held, np.zeros(count, np.int64), changes, counts)
    offsets = np.zeros(len(snapshots) + 1, np.uint64)
    offsets[detailed + 1] = counts
    offsets = np.maximum.accumulate(offsets)
    return offsets, changes[: int(offsets[-1])]


def _below(frames: Frames, stacks: I64, held: I64) -> int:
    """Return the bytes of stacks that end below massif's threshold."""
    if BELOW not in frames.frames:
        return 0
    starts = frames.starts.astype(np.int64)
    last = starts[1:][stacks] - 1
    whole = np.diff(starts)[stacks] > 0
    number = frames.frames.index(BELOW)
    return int(held[whole & (np.append(frames.sequence, 0)[last] == number)].sum())


def _truncated(snapshots: int, *, truncated: bool) -> list[FileWarning]:
    if not truncated:
        return []
    said = phrase(
        "The file ends in the middle of a snapshot: it was not copied completely, or the disk was full. The {n} "
        "complete snapshots are shown; the peak may be among those that are missing.",
        n=snapshots,
    )
    return [FileWarning("breaks-off", said)]


def _not_counted(snapshot: Column) -> Text | str:
    """Return a clause about bytes outside the heap: ``(not counted: 2 KiB of allocator overhead, 1 KiB of stacks)``."""
    extra, stacks = int(snapshot["extra_bytes"]), int(snapshot["stacks_bytes"])
    parts = [phrase("{size} of allocator overhead", size=format_bytes(extra))] * (extra > 0)
    parts += [phrase("{size} of stacks", size=format_bytes(stacks))] * (stacks > 0)
    return phrase(" (not counted: {parts})", parts=in_a_row(parts, ", ")) if parts else ""


def _warnings(
    options: str, snapshots: Column, detailed: I64, peak: _Peak, below: int, *, pages: bool
) -> list[FileWarning]:
    warnings = []
    if pages:
        said = phrase(
            "Recorded with --pages-as-heap=yes: all pages that the program mapped are counted, including its code and "
            "malloc's reserves, not what it requested from malloc."
        )
        warnings.append(FileWarning("pages", said))
    highest = snapshots[peak.snapshot]
    held, not_counted = phrase("{n} bytes", n=int(highest["heap_bytes"])), _not_counted(highest)
    if not highest["heap_bytes"] and snapshots["stacks_bytes"].any():
        said = phrase(
            "No heap was recorded (--heap=no), only the stacks of threads over time: {size} at most.",
            size=format_bytes(int(snapshots["stacks_bytes"].max())),
        )
        return [*warnings, FileWarning("no-heap", said)]
    if peak.tree is None:
        said = phrase(
            "No snapshot has a tree, so no stacks are known, only how much was live over time: {held} at most, in "
            "snapshot {number}{not_counted}. By default massif writes a tree for every tenth snapshot "
            "(--detailed-freq), and for the peak if the program frees memory after it.",
            held=held,
            number=str(peak.snapshot),
            not_counted=not_counted,
        )
        return [*warnings, FileWarning("no-samples", said)]
    if peak.tree != peak.snapshot:
        said = phrase(
            "The highest snapshot, {highest} with {held}, has no tree{not_counted}. The stacks are those of snapshot "
            "{tree} at {tree_held}; the remaining {missing} are shown as '{function}'.",
            highest=str(peak.snapshot),
            held=held,
            not_counted=not_counted,
            tree=str(peak.tree),
            tree_held=phrase("{n} bytes", n=int(snapshots["heap_bytes"][peak.tree])),
            missing=peak.missing_bytes,
            function=NO_TREE.function,
        )
        warnings.append(FileWarning("peak-without-tree", said))
    marked = np.flatnonzero(snapshots["tree"] == kernel.PEAK)
    if len(marked) and int(marked[-1]) != peak.tree:
        said = phrase(
            "massif marked snapshot {marked} as the peak, counting the allocator's overhead and the stacks of threads. "
            "In Memlens the peak is the snapshot with the largest heap, {peak}.",
            marked=str(int(marked[-1])),
            peak=str(peak.snapshot),
        )
        warnings.append(FileWarning("other-peak", said))
    if below:
        threshold = _option(options, "threshold", _DEFAULT_THRESHOLD)
        said = phrase(
            "{size} at the peak are of stacks with less than {threshold}% each, which massif adds up as '{function}'; "
            "--threshold=0 records them separately.",
            size=format_bytes(below),
            threshold=f"{threshold}",
            function=BELOW.function,
        )
        warnings.append(FileWarning("below-threshold", said))
    said = phrase(
        "massif records stacks at {n} of {all} snapshots, not what was allocated or freed between them: differences "
        "over time are those of live memory, and of stacks above the threshold.",
        n=len(detailed),
        all=len(snapshots),
    )
    warnings.append(FileWarning("detailed-only", said))
    return warnings
