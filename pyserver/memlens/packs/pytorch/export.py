"""Writes snapshots as SnapViewer's archives."""

import heapq
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import apsw
import msgspec
import numpy as np
from msgspec import Struct

from memlens.arrays import I64, Mask
from memlens.errors import BadRequestError, MemlensError
from memlens.formats.stacks import CUT
from memlens.model.expansion import levels_of, most_items
from memlens.packs.pytorch.snapviewer import ALLOCATIONS, ELEMENTS, SCHEMA, STEPS_TO_COME_DOWN
from memlens.progress import Report
from memlens.store.files.output import Output
from memlens.store.manifest import InconsistentError
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.selection.columns import NEVER, device_of

MOST_POINTS = 100_000_000
"""The maximum number of points of all polygons together.

The format moves everything above a free, so their number grows with allocations times live allocations.
"""

_LEAST_POINTS = 4_000_000
"""How many points the polygons of the smallest file may have."""
_KEPT_STACKS = 4_096


class TooLargeError(MemlensError):
    """The snapshot is too large for the other tool's format."""

    code = "too-large"
    retry = False


class _Polygon(Struct):
    """An allocation as SnapViewer reads it. It ignores the last four fields; its own files have two of them."""

    timesteps: list[int]
    offsets: list[int]
    size: int
    elem: int
    color: int
    before_trace: bool
    live_at_end: bool


def snapviewer(snapshot: Snapshot, device: int | None, output: Output, report: Report) -> None:
    """Write a device's trace (None: the one shown first) as SnapViewer's archive.

    Polygon and stack of an allocation have the same number in both parts. Raises :class:`TooLargeError`,
    BadRequestError, FullDiskError and OSError; nothing is left then.
    """
    info = timeline_of(snapshot.info, "events", phrase("a SnapViewer archive"))
    found = device_of(snapshot, info.default_device if device is None else device)
    if not found.info.events or not found.info.allocations:
        raise BadRequestError(
            phrase("{device} has no trace, and SnapViewer shows nothing else", device=found.info.name)
        )
    with (
        output.writing() as whole,
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive,
        tempfile.TemporaryDirectory(dir=output.path.parent) as folder,
    ):
        steps = _Steps(found)
        with archive.open(ALLOCATIONS, "w", force_zip64=True) as file:
            most = min(MOST_POINTS, max(_LEAST_POINTS, most_items(snapshot.info.file_bytes)))
            _write_polygons(found, steps, file, most, report)
        database = Path(folder) / ELEMENTS
        _write_elements(snapshot, found, steps, database)
        archive.write(database, ELEMENTS)


class _Steps:
    """The device's allocations and frees in SnapViewer's time, see :mod:`memlens.packs.pytorch.snapviewer`."""

    def __init__(self, device: Device) -> None:
        starts, ends = device.start.astype(np.int64), device.end.astype(np.int64)
        begun, freed = np.flatnonzero(starts), np.flatnonzero(ends != NEVER)
        row = np.concatenate((begun, freed))
        moment = np.concatenate((starts[begun], ends[freed]))
        is_free = np.arange(len(row)) >= len(begun)
        # an allocation may end the one at its address: that one goes first
        turn = np.where(is_free, np.where(starts[row] == moment, 2, 0), 1)
        order = np.lexsort((row, turn, moment))
        row, is_free = row[order], is_free[order]
        step = np.zeros(len(row) + 1, np.int64)
        np.cumsum(
            1 + STEPS_TO_COME_DOWN * _moves(row, is_free, int(np.searchsorted(starts, 1))), out=step[1:]
        )
        self.final = int(step[-1])
        self.first = np.zeros(len(starts), np.int64)
        self.last = np.full(len(starts), self.final, np.int64)
        self.first[row[~is_free]] = step[:-1][~is_free]
        self.last[row[is_free]] = step[:-1][is_free]
        self.free_row: I64 = row[is_free]
        self.free_step: I64 = step[:-1][is_free]


def _moves(row: I64, is_free: Mask, before: int) -> I64:
    """1 for each free of something that has anything above it. The first ``before`` rows are live at the start."""
    moves = np.zeros(len(row), np.int64)
    # a heap with the youngest at the front; freed allocations are removed when they get there
    live = list(range(-before + 1, 1))
    gone = set()
    for action, (number, free) in enumerate(zip(row.tolist(), is_free.tolist(), strict=True)):
        if not free:
            heapq.heappush(live, -number)
            continue
        gone.add(number)
        while live and -live[0] in gone:
            gone.discard(-heapq.heappop(live))
        moves[action] = bool(live) and -live[0] > number
    return moves


def _write_polygons(device: Device, steps: _Steps, file: IO[bytes], most: int, report: Report) -> None:
    sizes = device.size.astype(np.int64)
    free_sizes = sizes[steps.free_row]
    encoder = msgspec.json.Encoder()
    points = 0
    below_first = 0
    file.write(b"[")
    for number in range(len(sizes)):
        first, last = int(steps.first[number]), int(steps.last[number])
        start = int(device.start[number])
        if start:
            # everything that is live is older
            offset = int(device.live[start]) - int(sizes[number])
        else:
            offset, below_first = below_first, below_first + int(sizes[number])
        # frees below it during its life; its own free is at `last`
        low = int(np.searchsorted(steps.free_step, first, "left"))
        high = int(np.searchsorted(steps.free_step, last, "left"))
        below = np.flatnonzero(steps.free_row[low:high] < number) + low
        times = np.empty(2 * len(below) + 2, np.int64)
        offsets = np.empty(len(times), np.int64)
        times[0], times[-1] = first, last
        times[1:-1:2] = steps.free_step[below]
        times[2:-1:2] = steps.free_step[below] + STEPS_TO_COME_DOWN
        offsets[0::2] = offset - np.concatenate(([0], np.cumsum(free_sizes[below])))
        offsets[1::2] = offsets[0::2]
        points += len(times)
        if points > most:
            raise TooLargeError(
                phrase(
                    "{device} is too large for SnapViewer: its polygons would have more than {most} points",
                    device=device.info.name,
                    most=most,
                ),
                advice=phrase("Record fewer events (max_entries), or look at it in Memlens."),
            )
        polygon = _Polygon(
            times.tolist(), offsets.tolist(), int(sizes[number]), number, number, start == 0,
            int(device.end[number]) == NEVER,
        )  # fmt: skip
        file.write((b",\n" if number else b"\n") + encoder.encode(polygon))
        if number % 256 == 0:
            report("writing", number / len(sizes))
    file.write(b"\n]\n")


def _write_elements(snapshot: Snapshot, device: Device, steps: _Steps, path: Path) -> None:
    database = apsw.Connection(str(path))
    try:
        database.pragma("journal_mode", "off")
        database.pragma("synchronous", "off")
        # without a journal nothing can be rolled back: what is unfinished is removed with its folder
        database.execute("BEGIN")
        database.execute(SCHEMA)
        database.executemany(
            "INSERT INTO allocs VALUES (?, ?, ?, ?, ?)",
            zip(
                range(len(device.size)),
                device.size.tolist(),
                steps.first.tolist(),
                steps.last.tolist(),
                _call_stacks(snapshot, device),
                strict=True,
            ),
        )
        database.execute("COMMIT")
    finally:
        database.close()


def _call_stacks(snapshot: Snapshot, device: Device) -> Iterator[str]:
    """The stack of each allocation as SnapViewer writes it, innermost frame first.

    The format has a stack for each allocation, even where a million share one: as a whole they have no more frames than
    the file can stand for, and those that are cut end in a line that says so.
    """
    nodes = snapshot.stacks.node[device.stack]
    levels = levels_of(snapshot.tree.parent, nodes, most_items(snapshot.info.file_bytes))
    if levels is None:
        raise InconsistentError("The stacks contain a cycle")
    known: dict[int, str] = {}
    for stack in device.stack.tolist():
        text = known.get(stack)
        if text is None:
            if len(known) == _KEPT_STACKS:
                known.clear()
            whole = snapshot.stack_frame_ids(stack)
            ids = whole[: levels.most]
            frames = snapshot.frames.rows(ids)
            lines = [
                f"({level}) {_line(frames[number][0]) or '??'}:{frames[number][1]}:{_line(frames[number][2])}"
                for level, number in enumerate(ids)
            ]
            if len(whole) > len(ids):
                lines.append(f"({len(ids)}) ??:0:{CUT.function}")
            text = known[stack] = "\n".join(lines)
        yield text


def _line(name: str) -> str:
    """A name in one line, because the format has a line for each frame."""
    return name.replace("\n", " ").replace("\r", " ")
