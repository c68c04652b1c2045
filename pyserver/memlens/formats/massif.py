"""massif's profiles: the text of valgrind's ``--tool=massif``, its peak and its detailed snapshots over time.

Source of the format: ``massif/ms_main.c`` of valgrind and ``ms_print``, which reads it.

What was live at the peak is the ``mem_heap_B`` of the snapshot that has the most of it: what the program asked for.
``mem_heap_extra_B`` (the allocator's own) and ``mem_stacks_B`` are lines over time and never added to it. massif gives
most snapshots no tree, and marks as its peak one that has a tree and whose heap, extra and stacks together are within
``--peak-inaccuracy`` of the most, so the highest snapshot often has none. Then the stacks are those of the highest
snapshot that has a tree, and what is between the two is a sample of its own, whose only frame is :data:`NO_TREE`.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.stacks import cut_stacks, distinct_frames
from memlens.formats.valgrind_frames import valgrind_frame
from memlens.kernels.readers import massif_text as kernel
from memlens.model.frames import NATIVE, Frames, SourceFrame
from memlens.model.info import Notice, ValueType
from memlens.model.profile import CHANGE_DTYPE, EXTRA_BYTES, LIVE_BYTES, Column, Profile, ProfileTimes, fits
from memlens.progress import Report
from memlens.units import format_bytes

KIND = "massif"
BELOW = SourceFrame("", 0, "(below massif's threshold)", NATIVE)
"""Stands for the callers that massif added up because each had less than its ``--threshold``."""
NO_TREE = SourceFrame("", 0, "(no stack: the snapshot has no tree)", NATIVE)
"""Stands for the stacks of what the highest snapshot held beyond the tree that is shown for it."""

_HEAD_BYTES = 1 << 16
_LINE_BYTES = 1 << 16
_DEFAULT_DEPTH, _DEFAULT_THRESHOLD = 30, "1.0"
_UNITS = {"i": ("instructions", 1), "ms": ("microseconds", 1000), "B": ("bytes", 1)}
"""The unit of the file's times, and what one of it is in the model's."""

_OUTERMOST = frozenset(("(below main)", "main", "_start", "clone", "clone3", "start_thread"))

_WHOLE_ENDS = (b")", b"???", b"=empty")

_ERRORS = {
    kernel.TRUNCATED: "The file breaks off in the middle of its first snapshot",
    kernel.SYNTAX: "A line doesn't belong in a massif profile",
    kernel.BAD_NUMBER: "A number is missing or larger than any that massif writes",
    kernel.BAD_TREE: "A snapshot's tree doesn't add up",
    kernel.TOO_DEEP: "A tree is far deeper than any of massif's",
}


def sniff(head: bytes) -> bool:
    """Whether the first bytes are massif's: it begins with the options and the command."""
    return head.startswith(b"desc:") and b"\ncmd:" in head


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile; ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, or MemoryError.
    """
    scanner, broken_off = _scan(source, report)
    head = _head(source.head(_HEAD_BYTES))
    snapshots = np.asarray(scanner.take("snapshots"))
    if not len(snapshots):
        if broken_off:
            raise DamagedSnapshotError(_ERRORS[kernel.TRUNCATED], offset=source.length)
        raise DamagedSnapshotError("The file has no snapshots: massif writes them when the program ends")
    leaves = np.asarray(scanner.take("leaves"))
    if not fits(
        [leaves["bytes"], *(snapshots[name] for name in ("heap_bytes", "extra_bytes", "stacks_bytes"))]
    ):
        raise DamagedSnapshotError("The sizes add up to more bytes than can be counted")
    detailed = np.flatnonzero(snapshots["tree"] != kernel.EMPTY)
    peak = _peak(snapshots, detailed, leaves)
    named = [valgrind_frame(text) if text else BELOW for text in scanner.frames()]
    frames, numbers = distinct_frames([*named, NO_TREE] if peak.untold_bytes else named)
    whole = Frames(
        frames, np.asarray(scanner.take("stack_starts")), numbers[np.asarray(scanner.take("stack_frames"))]
    )
    depth = int(_option(head["desc"], "depth", str(_DEFAULT_DEPTH)))
    whole, leaves["stack"] = cut_stacks(whole, leaves["stack"], _cut(whole, leaves, depth))
    # a sample a stack that any snapshot has
    stacks, samples = _used(leaves["stack"], len(whole.starts) - 1)
    types, values = _values(peak, detailed, leaves, samples, len(stacks))
    below = _below(whole, stacks, values[0])
    if peak.untold_bytes:
        whole, stacks, values = _with_untold(whole, stacks, values, peak)
    times = _times(head["time_unit"], snapshots, detailed, leaves, samples, len(stacks))
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
        notices=[
            *_breaks_off(len(snapshots), broken_off=broken_off),
            *_notices(head["desc"], snapshots, detailed, peak, below, pages=scanner.pages),
        ],
    )  # fmt: skip


def _scan(source: Source, report: Report) -> tuple[kernel.Scanner, bool]:
    """The scanner at the file's end, and whether the file breaks off, in a snapshot that is left out then."""
    scanner = kernel.Scanner(source.data)
    status = run_through(scanner, source, report)
    if status == kernel.NO_MEMORY:
        raise MemoryError
    data = source.data
    last = bytes(data[data.rfind(b"\n") + 1 :][:_LINE_BYTES])
    if status == kernel.OK:
        # a line that isn't ended may be whole for all that
        if not last or last.endswith(_WHOLE_ENDS):
            return scanner, False
    elif status != kernel.TRUNCATED and data.find(b"\n", scanner.error_offset) >= 0:
        raise DamagedSnapshotError(_ERRORS[status], offset=scanner.error_offset)
    if scanner.unfinished or last.startswith((b" ", b"n")):
        scanner.drop_last()
    return scanner, True


def _head(head: bytes) -> dict[str, str]:
    """The lines before the first snapshot."""
    found = {"desc": "", "cmd": "", "time_unit": "i"}
    for line in head.decode("utf-8", "replace").splitlines():
        name, colon, text = line.partition(":")
        if line.startswith("#") or not colon:
            break
        if name in found:
            found[name] = text.strip()
    if found["time_unit"] not in _UNITS:
        raise NotASnapshotError(
            f"The file's unit of time is '{found['time_unit'][:20]}'; massif writes i, ms or B",
            advice="Open it with the ms_print of the valgrind that wrote it.",
        )
    return found


def _option(options: str, name: str, default: str) -> str:
    """The last value of a numeric option among massif's."""
    found = re.findall(rf"--{name}=(\d{{1,9}}(?:\.\d{{1,9}})?)", options)
    return found[-1] if found else default


def _cut(frames: Frames, leaves: Column, depth: int) -> npt.NDArray[np.bool_]:
    """Which leaves have as many callers as massif kept, and don't end where a program begins."""
    starts = frames.starts.astype(np.int64)
    filled = leaves["addresses"] >= depth
    outermost = (
        frames.sequence[np.maximum(starts[1:][leaves["stack"]] - 1, 0)] if len(frames.sequence) else None
    )
    if outermost is None or not filled.any():
        return np.zeros(len(leaves), np.bool_)
    ends = np.fromiter((frame.function in _OUTERMOST or frame == BELOW for frame in frames.frames), np.bool_)
    cut: npt.NDArray[np.bool_] = filled & ~ends[outermost]
    return cut


def _used(stacks: npt.NDArray[np.uint32], count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which of ``count`` stacks occur, and the number among them of each item."""
    occurs = np.zeros(count, np.bool_)
    occurs[stacks] = True
    numbers = np.cumsum(occurs, dtype=np.int64) - 1
    return np.flatnonzero(occurs), numbers[stacks]


class _Peak(NamedTuple):
    """The highest snapshot, and the one whose tree is shown for it."""

    snapshot: int
    tree: int | None
    """None where no snapshot has a tree."""
    untold_bytes: int
    """What the highest snapshot held beyond that tree; 0 where the tree is its own."""


def _peak(snapshots: Column, detailed: npt.NDArray[np.int64], leaves: Column) -> _Peak:
    """The snapshot with the largest heap. Among equals it is one with a tree, above all the one marked as the peak."""
    order = np.lexsort(
        (snapshots["tree"] == kernel.PEAK, snapshots["tree"] != kernel.EMPTY, snapshots["heap_bytes"])
    )
    highest = int(order[-1])
    if not len(detailed):
        return _Peak(highest, None, int(snapshots["heap_bytes"][highest]))
    tree = int(order[snapshots["tree"][order] != kernel.EMPTY][-1])
    told = int(leaves["bytes"][leaves["snapshot"] == tree].sum())
    return _Peak(
        highest, tree, 0 if tree == highest else max(0, int(snapshots["heap_bytes"][highest]) - told)
    )


def _values(
    peak: _Peak,
    detailed: npt.NDArray[np.int64],
    leaves: Column,
    samples: npt.NDArray[np.int64],
    count: int,
) -> tuple[list[ValueType], list[npt.NDArray[np.int64]]]:
    """What each stack held in the tree that is shown for the peak, and in the last snapshot that has one."""

    def at(snapshot: int | None) -> npt.NDArray[np.int64]:
        held = np.zeros(count, np.int64)
        if snapshot is not None:
            chosen = leaves["snapshot"] == snapshot
            np.add.at(held, samples[chosen], leaves["bytes"][chosen])
        return held

    types = [ValueType("peak_bytes", "bytes", "peak", "Live at the peak")]
    values = [at(peak.tree)]
    if len(detailed) and int(detailed[-1]) != peak.tree:
        types.append(ValueType("last_bytes", "bytes", "live", "Live at the last detailed snapshot"))
        values.append(at(int(detailed[-1])))
    return types, values


def _with_untold(
    frames: Frames, stacks: npt.NDArray[np.int64], values: list[npt.NDArray[np.int64]], peak: _Peak
) -> tuple[Frames, npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """A last sample, of a last stack, for what the highest snapshot held beyond the tree that is shown."""
    whole = Frames(
        frames.frames,
        np.append(frames.starts, frames.starts[-1] + np.uint64(1)),
        np.append(frames.sequence, np.uint32(frames.frames.index(NO_TREE))),
    )
    held = [np.append(column, 0) for column in values]
    held[0][-1] = peak.untold_bytes
    return whole, np.append(stacks, len(frames.starts) - 1), held


def _times(
    time_unit: str,
    snapshots: Column,
    detailed: npt.NDArray[np.int64],
    leaves: Column,
    samples: npt.NDArray[np.int64],
    count: int,
) -> ProfileTimes:
    """An edge a snapshot; what stacks hold is told at the detailed ones."""
    unit, scale = _UNITS[time_unit]
    series = {LIVE_BYTES: snapshots["heap_bytes"].copy(), EXTRA_BYTES: snapshots["extra_bytes"].copy()}
    if snapshots["stacks_bytes"].any():
        series["stacks_bytes"] = snapshots["stacks_bytes"].copy()
    told = np.zeros(len(snapshots), np.bool_)
    told[detailed] = True
    offsets, changes = _changes(snapshots, detailed, leaves, samples, count)
    # massif may take a snapshot late; the axis must not run back
    time = np.maximum.accumulate(np.minimum(snapshots["time"], 2**50) * scale)
    return ProfileTimes(
        time, series, snapshots["heap_bytes"].copy(), offsets, changes, tells_flow=False, unit=unit, told=told
    )


def _changes(
    snapshots: Column,
    detailed: npt.NDArray[np.int64],
    leaves: Column,
    samples: npt.NDArray[np.int64],
    count: int,
) -> tuple[npt.NDArray[np.uint64], Column]:
    """How much more or less each stack held at each detailed snapshot than at the one before, with offsets."""
    # leaves stand in the order of their snapshots, and only detailed ones have any
    ends = np.append(snapshots["leaves"], np.uint64(len(leaves)))[detailed + 1].astype(np.int64)
    changes = np.empty(2 * len(leaves), CHANGE_DTYPE)
    made = np.zeros(len(detailed), np.uint64)
    held = np.ascontiguousarray(leaves["bytes"])
    kernel.differences(ends, samples, held, np.zeros(count, np.int64), changes, made)
    offsets = np.zeros(len(snapshots) + 1, np.uint64)
    offsets[detailed + 1] = made
    offsets = np.maximum.accumulate(offsets)
    return offsets, changes[: int(offsets[-1])]


def _below(frames: Frames, stacks: npt.NDArray[np.int64], held: npt.NDArray[np.int64]) -> int:
    """How many of the bytes stand below the threshold."""
    if BELOW not in frames.frames:
        return 0
    starts = frames.starts.astype(np.int64)
    last = starts[1:][stacks] - 1
    whole = np.diff(starts)[stacks] > 0
    number = frames.frames.index(BELOW)
    return int(held[whole & (np.append(frames.sequence, 0)[last] == number)].sum())


def _breaks_off(snapshots: int, *, broken_off: bool) -> list[Notice]:
    if not broken_off:
        return []
    message = (
        f"The file breaks off in a snapshot: it was copied in the middle, or the disk was full. What is shown are the "
        f"{snapshots:,} that are whole; the peak may be among those that are missing."
    )
    return [Notice("breaks-off", message)]


def _apart(snapshot: Column) -> str:
    """What is not in the heap's figure: ``(with 2 KiB of the allocator's own and 1 KiB of stacks beside it)``."""
    extra, stacks = int(snapshot["extra_bytes"]), int(snapshot["stacks_bytes"])
    parts = [f"{format_bytes(extra)} of the allocator's own"] * (extra > 0)
    parts += [f"{format_bytes(stacks)} of stacks"] * (stacks > 0)
    return f" (beside it, and not counted, {' and '.join(parts)})" if parts else ""


def _notices(
    options: str, snapshots: Column, detailed: npt.NDArray[np.int64], peak: _Peak, below: int, *, pages: bool
) -> list[Notice]:
    """What the file could not tell."""
    found = []
    if pages:
        message = (
            "Recorded with --pages-as-heap=yes: these are pages that the program mapped, its code and what malloc "
            "keeps in reserve among them, not what it asked malloc for."
        )
        found.append(Notice("pages", message))
    highest = snapshots[peak.snapshot]
    held, apart = f"{int(highest['heap_bytes']):,} bytes", _apart(highest)
    if not highest["heap_bytes"] and snapshots["stacks_bytes"].any():
        message = (
            f"No heap was recorded (--heap=no), only the program's own stacks: "
            f"{format_bytes(int(snapshots['stacks_bytes'].max()))} at most, a line over time."
        )
        return [*found, Notice("no-heap", message)]
    if peak.tree is None:
        message = (
            f"No snapshot has a tree, so no stacks are known: only how much was live over time, {held} at most, in "
            f"snapshot {peak.snapshot}{apart}. massif gives every tenth snapshot a tree unless --detailed-freq says "
            "otherwise, and the peak where the program frees something after it."
        )
        return [*found, Notice("no-samples", message)]
    if peak.tree != peak.snapshot:
        tree = f"{int(snapshots['heap_bytes'][peak.tree]):,} bytes"
        message = (
            f"The highest snapshot, {peak.snapshot} with {held}, has no tree{apart}. The stacks are those of snapshot "
            f"{peak.tree} at {tree}; the remaining {peak.untold_bytes:,} are shown as '{NO_TREE.function}'."
        )
        found.append(Notice("peak-without-tree", message))
    marked = np.flatnonzero(snapshots["tree"] == kernel.PEAK)
    if len(marked) and int(marked[-1]) != peak.tree:
        message = (
            f"massif marked snapshot {int(marked[-1])} as its peak, which counts the allocator's overhead and the "
            f"program's stacks too. Memlens takes the most heap for the peak: snapshot {peak.snapshot}."
        )
        found.append(Notice("other-peak", message))
    if below:
        threshold = _option(options, "threshold", _DEFAULT_THRESHOLD)
        message = (
            f"{format_bytes(below)} at the peak are of stacks with less than {threshold}% each, which massif adds up "
            f"as '{BELOW.function}'; --threshold=0 tells them apart."
        )
        found.append(Notice("below-threshold", message))
    message = (
        f"massif tells stacks at {len(detailed):,} of {len(snapshots):,} snapshots and not what was allocated or freed "
        "between them: differences over time are those of what was live, and of what was above the threshold."
    )
    found.append(Notice("detailed-only", message))
    return found
