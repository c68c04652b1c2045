"""massif's profiles: the text of valgrind's ``--tool=massif``, its peak and its detailed snapshots over time.

Source of the format: ``massif/ms_main.c`` of valgrind and ``ms_print``, which reads it.
"""

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.stacks import cut_stacks, distinct_frames
from memlens.formats.valgrind_frames import valgrind_frame
from memlens.kernels import massif_text as kernel
from memlens.model.frames import NATIVE, Frames, SourceFrame
from memlens.model.info import Notice, ValueType
from memlens.model.profile import CHANGE_DTYPE, EXTRA_BYTES, LIVE_BYTES, Column, Profile, ProfileTimes, fits
from memlens.progress import Report
from memlens.units import format_bytes

KIND = "massif"
BELOW = SourceFrame("", 0, "(below massif's threshold)", NATIVE)
"""Stands for the callers that massif added up because each had less than its ``--threshold``."""


_HEAD_BYTES = 1 << 16
_LINE_BYTES = 1 << 16
_DEFAULT_DEPTH, _DEFAULT_THRESHOLD = 30, "1.0"
_UNITS = {"i": ("instructions", 1), "ms": ("microseconds", 1000), "B": ("bytes", 1)}
"""The unit of the file's times, and what one of it is in the model's."""

_OUTERMOST = frozenset(("(below main)", "main", "_start", "clone", "clone3", "start_thread"))

_WHOLE_ENDS = (b")", b"???", b"=empty")

_ERRORS = {
    kernel.TRUNCATED: "The file breaks off in the middle of its first snapshot",
    kernel.SYNTAX: "A line is none of massif's",
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
    frames, numbers = distinct_frames(valgrind_frame(text) if text else BELOW for text in scanner.frames())
    whole = Frames(
        frames, np.asarray(scanner.take("stack_starts")), numbers[np.asarray(scanner.take("stack_frames"))]
    )
    depth = int(_option(head["desc"], "depth", str(_DEFAULT_DEPTH)))
    whole, leaves["stack"] = cut_stacks(whole, leaves["stack"], _cut(whole, leaves, depth))
    # a sample a stack that any snapshot has
    stacks, samples = _used(leaves["stack"], len(whole.starts) - 1)
    detailed = np.flatnonzero(snapshots["tree"] != kernel.EMPTY)
    types, values = _values(snapshots, detailed, leaves, samples, len(stacks))
    times = _times(head["time_unit"], snapshots, detailed, leaves, samples, len(stacks))
    settings: dict[str, str | int] = {
        "command": head["cmd"],
        "options": head["desc"],
        "time_unit": head["time_unit"],
    }
    settings["snapshots"], settings["detailed_snapshots"] = len(snapshots), len(detailed)
    below = _below(whole, stacks, values[0])
    return Profile(
        KIND, whole, types, 0, stacks.astype(np.uint32), values, times=times, settings=settings,
        notices=[
            *_breaks_off(len(snapshots), broken_off=broken_off),
            *_notices(head["desc"], snapshots, detailed, below, pages=scanner.pages),
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


def _values(
    snapshots: Column,
    detailed: npt.NDArray[np.int64],
    leaves: Column,
    samples: npt.NDArray[np.int64],
    count: int,
) -> tuple[list[ValueType], list[npt.NDArray[np.int64]]]:
    """What each stack held at the peak, and at the last snapshot that tells it."""

    def at(snapshot: int) -> npt.NDArray[np.int64]:
        chosen = leaves["snapshot"] == snapshot
        held = np.zeros(count, np.int64)
        np.add.at(held, samples[chosen], leaves["bytes"][chosen])
        return held

    if not len(detailed):
        return [ValueType("peak_bytes", "bytes", "peak", "Live at the peak")], [np.zeros(count, np.int64)]
    peak = _peak(snapshots, detailed)
    types, values = [ValueType("peak_bytes", "bytes", "peak", "Live at the peak")], [at(peak)]
    if int(detailed[-1]) != peak:
        types.append(ValueType("last_bytes", "bytes", "live", "Live at the last detailed snapshot"))
        values.append(at(int(detailed[-1])))
    return types, values


def _peak(snapshots: Column, detailed: npt.NDArray[np.int64]) -> int:
    """The snapshot that massif calls the peak, else the detailed one with the most."""
    told = np.flatnonzero(snapshots["tree"] == kernel.PEAK)
    return int(told[-1]) if len(told) else int(detailed[np.argmax(snapshots["heap_bytes"][detailed])])


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


def _notices(
    options: str, snapshots: Column, detailed: npt.NDArray[np.int64], below: int, *, pages: bool
) -> list[Notice]:
    """What the file could not tell."""
    found = []
    if pages:
        message = (
            "Recorded with --pages-as-heap=yes: these are pages that the program mapped, its code and what malloc "
            "keeps in reserve among them, not what it asked malloc for."
        )
        found.append(Notice("pages", message))
    if not len(detailed):
        message = "No snapshot is detailed, so no stacks are known: only how much was live over time."
        return [*found, Notice("no-samples", message)]
    if not (snapshots["tree"] == kernel.PEAK).any():
        message = "massif marked no peak; the detailed snapshot with the most stands for it."
        found.append(Notice("no-peak", message))
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
