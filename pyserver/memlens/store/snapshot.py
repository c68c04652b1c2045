"""An archive opened for reading: mapped columns and the text database, released at once by :meth:`close`."""

import bisect
import contextlib
import copy
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import apsw
import msgspec
import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError, MemlensError
from memlens.kernels.base import mapped_faults
from memlens.kernels.trace import timeline as kernel
from memlens.model.info import DeviceInfo, ProfileInfo, SnapshotInfo, TimelineInfo, device_name
from memlens.model.own_libraries import NO_LIBRARIES, Libraries
from memlens.store.column_files import mapped
from memlens.store.columns import BLOCK, SUPER_BLOCK, block_peaks
from memlens.store.manifest import (
    TEXT_NAME,
    ArchiveError,
    ColumnEntry,
    InconsistentError,
    Manifest,
    hold,
    read_manifest,
)
from memlens.store.models import profile_of, timeline_of
from memlens.store.relabel import relabel
from memlens.store.verify import StoppedError, verify

T = TypeVar("T")
Column = npt.NDArray[Any]

mapped_faults.install()
FrameRow = tuple[str, int, str, int]
"""File, line, function, kind."""

MOST_KEPT = 12
"""Answers of views that are kept with the snapshot because more questions about them will come."""


_PER_ALLOCATION = ("address", "size", "rounded", "start", "end", "stack", "stream", "category", "flags")

_MOST_NARROWED = 4
"""Narrowed devices that a snapshot keeps: one for each filter that is in use, and the last few."""


class Device:
    """One device's columns; the names are those of the files, see ``store/writer.py``.

    A *narrowed* device holds some of a device's allocations only: fewer rows, and what was live is their sum. Its
    ``info`` tells of them; events, times and axes stay the whole device's. So a row is not an allocation's number
    less the first one's: ask :meth:`allocations` and :meth:`row_of`.
    """

    def __init__(self, snapshot: "Snapshot", info: DeviceInfo, first_allocation: int) -> None:
        def column(name: str) -> Column:
            return snapshot.column(f"{info.device}.{name}")

        self.info = info
        self.first_allocation = first_allocation
        self._whole: Device | None = None
        self.rows: npt.NDArray[np.uint32] | None = None
        """The rows of the whole device that this narrowed one holds, ascending; None when it holds all."""
        self.time: npt.NDArray[np.int64] | None = None if info.time_origin_us is None else column("time")
        self.event_stack: npt.NDArray[np.uint32] = column("event_stack")
        self.event_action: npt.NDArray[np.uint8] = column("event_action")
        self.live: npt.NDArray[np.int64] = column("live")
        self.live_64: npt.NDArray[np.int64] = column("live_64")
        self.live_4096: npt.NDArray[np.int64] = column("live_4096")
        self.low_64: npt.NDArray[np.int64] = column("low_64")
        self.live_count: npt.NDArray[np.uint32] = column("live_count")
        self.address: npt.NDArray[np.uint64] = column("address")
        self.size: npt.NDArray[np.int64] = column("size")
        self.rounded: npt.NDArray[np.int64] = column("rounded")
        self.start: npt.NDArray[np.uint32] = column("start")
        self.end: npt.NDArray[np.uint32] = column("end")
        self.end_64: npt.NDArray[np.uint32] = column("end_64")
        self.end_4096: npt.NDArray[np.uint32] = column("end_4096")
        self.stack: npt.NDArray[np.uint32] = column("stack")
        self.stream: npt.NDArray[np.uint16] = column("stream")
        self.category: npt.NDArray[np.uint8] = column("category")
        self.flags: npt.NDArray[np.uint8] = column("flags")
        self.inferred: npt.NDArray[np.uint32] | None = (
            column("inferred") if f"{info.device}.inferred" in snapshot.manifest.columns else None
        )
        """The frame of each allocation's inferred line, NEVER for none; None where nothing was inferred at all."""
        self.inferred_module: npt.NDArray[np.uint32] | None = (
            column("inferred_module")
            if f"{info.device}.inferred_module" in snapshot.manifest.columns
            else None
        )
        """The number of each allocation's inferred module, 0 for none; None where nothing was inferred at all."""
        self._check()

    @property
    def whole(self) -> "Device":
        """The device with all of its allocations. Event columns that name rows name those of it."""
        return self if self._whole is None else self._whole

    def allocations(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        """The allocations' numbers in the snapshot, of some rows here."""
        own = rows if self.rows is None else self.rows[rows]
        return own.astype(np.uint32) + np.uint32(self.first_allocation)

    def row_of(self, allocation: int) -> int | None:
        """The row of an allocation; None where it is not of this device or its filter leaves it out."""
        row = allocation - self.first_allocation
        if not 0 <= row < self.whole.info.allocations:
            return None
        if self.rows is None:
            return row
        place = int(np.searchsorted(self.rows, np.uint32(row)))
        return place if place < len(self.rows) and int(self.rows[place]) == row else None

    def narrowed(self, rows: npt.NDArray[np.uint32]) -> "Device":
        """The device with some of its rows only, ascending. Its columns are copies, about 12 bytes an event."""
        found = copy.copy(self)
        found._whole = self.whole
        found.rows = rows if self.rows is None else self.rows[rows]
        for name in _PER_ALLOCATION:
            setattr(found, name, getattr(self, name)[rows])
        found.inferred = None if self.inferred is None else self.inferred[rows]
        found.inferred_module = None if self.inferred_module is None else self.inferred_module[rows]
        found.end_64 = block_peaks(found.end, BLOCK)
        found.end_4096 = block_peaks(found.end_64, SUPER_BLOCK // BLOCK)
        moments = self.info.events + 1
        found.live, found.live_count = np.empty(moments, np.int64), np.empty(moments, np.uint32)
        if len(rows) and int(found.start.max()) >= moments:
            raise InconsistentError("An allocation starts behind the last event")
        kernel.live_over_time(found.size, found.start, found.end, found.live, found.live_count)
        found.live_64 = block_peaks(found.live, BLOCK)
        found.live_4096 = block_peaks(found.live_64, SUPER_BLOCK // BLOCK)
        found.low_64 = -block_peaks(-found.live, BLOCK)
        peak = int(np.argmax(found.live))
        peak_time = None
        if self.time is not None:
            peak_time = int(self.time[peak - 1]) if peak else 0
        found.info = msgspec.structs.replace(
            self.info,
            allocations=len(rows),
            peak_bytes=int(found.live[peak]),
            peak_moment=peak,
            peak_time_us=peak_time,
            live_at_start_bytes=int(found.live[0]),
            live_at_end_bytes=int(found.live[-1]),
            live_at_end_count=int(found.live_count[-1]),
        )
        return found

    def _check(self) -> None:
        """Kernels trust the columns to be as long as each other, so that is made sure of once."""
        rows, moments = self.info.allocations, self.info.events + 1
        own = (
            self.address,
            self.size,
            self.rounded,
            self.start,
            self.end,
            self.stack,
            self.stream,
            self.category,
        )
        whole = all(len(column) == rows for column in (*own, self.flags))
        whole = whole and (self.inferred is None or len(self.inferred) == rows)
        whole = whole and (self.inferred_module is None or len(self.inferred_module) == rows)
        whole = whole and len(self.live) == len(self.live_count) == moments
        whole = whole and all(
            len(fine) == max(-(-count // 64), 1) and len(coarse) == max(-(-len(fine) // 64), 1)
            for count, fine, coarse in (
                (rows, self.end_64, self.end_4096),
                (moments, self.live_64, self.live_4096),
                (moments, self.low_64, self.live_4096),
            )
        )
        events: list[Column] = [
            self.event_stack,
            self.event_action,
            *([] if self.time is None else [self.time]),
        ]
        if not whole or any(len(column) != self.info.events for column in events):
            raise InconsistentError("A device's columns don't fit each other")


class Snapshot:
    """An open archive; columns are mapped when they are first asked for. Not for two threads at once."""

    def __init__(self, archive: Path, manifest: Manifest, text: apsw.Connection, held: BinaryIO) -> None:
        self.archive = archive
        self._held = held
        self.manifest = manifest
        self.info: SnapshotInfo = manifest.info
        self.text = text
        self._columns: dict[str, Column] = {}
        self._instead: dict[str, Column] = {}
        """Columns that stand for those of the archive."""
        self.relabelled = 0
        """What tells apart what is worked out and kept in the archive with frames of other kinds; 0 without such."""
        self._devices: dict[int, Device] = {}
        self._narrowed: OrderedDict[tuple[int, str], Device] = OrderedDict()
        self._derived: dict[str, Any] = {}
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self.verified = False
        """Whether all files were held to their checksums since the archive was opened."""
        self.behind: list[Callable[[], None]] = []
        """What can be done once an answer is out, so that the next one comes sooner; see :meth:`work_behind`."""

    @classmethod
    def open(cls, archive: Path, libraries: Libraries = NO_LIBRARIES) -> "Snapshot":
        """Open an archive folder. Raises :class:`ArchiveError` when it is damaged or of another version.

        ``libraries`` are the user's: the kinds of frames follow them, and what follows from kinds.
        """
        try:
            held = hold(archive)
        except OSError as error:
            raise ArchiveError(f"The archive {archive.name} can't be read: {error.strerror}") from error
        try:
            snapshot = cls._open(archive, held)
        except BaseException:
            held.close()
            raise
        if libraries:
            try:
                snapshot._instead = dict(relabel(snapshot, libraries))
            except BaseException:
                snapshot.close()
                raise
            snapshot.relabelled = libraries.key if snapshot._instead else 0
        return snapshot

    @classmethod
    def _open(cls, archive: Path, held: BinaryIO) -> "Snapshot":
        manifest = read_manifest(archive)
        try:
            text = apsw.Connection(
                f"{(archive / TEXT_NAME).resolve().as_uri()}?immutable=1",
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            )
            text.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except apsw.Error as error:
            raise ArchiveError(f"The archive {archive.name} is damaged: {error}") from error
        return cls(archive, manifest, text, held)

    def close(self) -> None:
        """Release maps and database. The snapshot is of no use afterwards."""
        self._narrowed.clear()
        self._devices.clear()
        self._columns.clear()
        self._instead.clear()
        self._derived.clear()
        self._kept.clear()
        self.behind.clear()
        self.text.close()
        self._held.close()

    def forget(self, number: int) -> None:
        """Unmap a device's columns; they are mapped again when asked for."""
        for key in [key for key in self._narrowed if key[0] == number]:
            del self._narrowed[key]
        self._devices.pop(number, None)
        kept: list[dict[str, Any]] = [self._columns, self._derived]
        for names in kept:
            for name in [name for name in names if name.startswith(f"{number}.")]:
                del names[name]

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returned when the key was last new; what was not asked for lately is let go."""
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            self._kept[key] = make()
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        found: T = self._kept[key]
        return found

    def ask(self, question: Callable[["Snapshot"], T]) -> T:
        """Answer a question. Raises :class:`ArchiveError` where the archive fails one of its own checks.

        Anything that nobody expected is a bug and goes on as it is; but values that were damaged on disk can cause it
        as well, so the checksums decide, unless they have already.
        """
        gone = mapped_faults.seen()
        try:
            answer = question(self)
        except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
            raise ArchiveError(f"The archive {self.archive.name} is damaged: {error}") from error
        except (MemlensError, MemoryError):
            raise
        except Exception:
            with contextlib.suppress(StoppedError):
                self.verify()
            raise
        finally:
            # a column file that became shorter reads as zeros, and anything may have come of them
            if mapped_faults.seen() != gone:
                raise ArchiveError(f"The archive {self.archive.name} is damaged: a column became shorter")
        return answer

    def verify(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Hold all files to their checksums, in any thread. Raises :class:`ArchiveError` and :class:`StoppedError`."""
        if not self.verified:
            verify(self.archive, self.manifest, self._held, stop)
            self.verified = True

    def verify_used(self) -> None:
        """The same for the columns that were mapped, and the texts: for a process that ends with its answer."""
        if not self.verified:
            with contextlib.suppress(StoppedError):
                verify(self.archive, self.manifest, self._held, names=list(self._columns))

    def work_behind(self) -> None:
        """Do what answers have left to be done."""
        while self.behind:
            self.behind.pop()()

    @property
    def timeline(self) -> TimelineInfo:
        """What is known of a timeline. Raises :class:`LackingError` for another model."""
        return timeline_of(self.info, "devices")

    @property
    def profile(self) -> ProfileInfo:
        """What is known of a profile. Raises :class:`LackingError` for another model."""
        return profile_of(self.info, "samples")

    def column(self, name: str) -> Column:
        """A column, mapped. Raises :class:`ArchiveError` when its file is missing or has another size.

        And :class:`LackingError` when another model is asked for what only the trace of a timeline has.
        """
        found = self._instead.get(name)
        if found is not None:
            return found
        found = self._columns.get(name)
        if found is None:
            if name not in self.manifest.columns:
                timeline_of(self.info, "events")
            entry = self.manifest.columns[name]
            try:
                found = _map_column(self.archive / name, entry)
            except OSError as error:
                raise ArchiveError(f"The archive {self.archive.name} is damaged: {error}") from error
            self._columns[name] = found
        return found

    def derived(self, name: str, make: Callable[[], T]) -> T:
        """What views compute of the columns once and keep as long as the snapshot is open.

        Names are like those of columns: what belongs to a device begins with its number and a point.
        """
        if name not in self._derived:
            self._derived[name] = make()
        found: T = self._derived[name]
        return found

    def device(self, number: int) -> Device:
        """A device's columns. Raises :class:`BadRequestError` for a device that the snapshot has not."""
        found = self._devices.get(number)
        if found is None:
            devices = self.timeline.devices
            index = (
                [info.device for info in devices].index(number)
                if number in {d.device for d in devices}
                else -1
            )
            if index < 0:
                raise BadRequestError(f"The snapshot has no {device_name(number).lower()}")
            found = Device(self, devices[index], self.manifest.first_allocations[index])
            self._devices[number] = found
        return found

    def narrowed(self, number: int, name: str, rows: Callable[[Device], npt.NDArray[np.uint32]]) -> Device:
        """A device narrowed to some of its rows, kept by ``name`` as long as it is among the last few asked for.

        Raises :class:`BadRequestError` for a device that the snapshot has not.
        """
        found = self._narrowed.get((number, name))
        if found is None:
            whole = self.device(number)
            found = whole.narrowed(rows(whole))
            self._narrowed[number, name] = found
            if len(self._narrowed) > _MOST_NARROWED:
                self._narrowed.popitem(last=False)
        self._narrowed.move_to_end((number, name))
        return found

    def device_of(self, allocation: int) -> Device:
        """The device that an allocation lies on. Raises :class:`BadRequestError` for a number that there isn't."""
        devices = timeline_of(self.info, "single allocations").devices
        ends = self.manifest.first_allocations[1:]
        if 0 <= allocation < self.manifest.first_allocations[-1]:
            return self.device(devices[bisect.bisect_right(ends, allocation)].device)
        raise BadRequestError(f"The snapshot has no allocation {allocation}")

    def stack_frame_ids(self, stack: int) -> list[int]:
        """The frames of a stack, innermost first."""
        parents, frames = self.column("node_parent"), self.column("node_frame")
        node = int(self.column("stack_node")[stack])
        ids = []
        while node:
            ids.append(int(frames[node]))
            above = int(parents[node])
            if above >= node:
                raise InconsistentError("A stack's frame has no lower number than the frame that it called")
            node = above
        return ids

    def modules(self) -> dict[int, tuple[int, str, str]]:
        """The ``torch.nn`` modules by number: parent, name, path. Column ``stack_module`` holds each stack's number.

        0 is "in no module", with an empty name.
        """
        return {row[0]: row[1:] for row in self.text.execute("SELECT id, parent, name, path FROM modules")}

    def frames(self, ids: Iterable[int]) -> dict[int, FrameRow]:
        """Some frames by id."""
        rows = self.text.executemany(
            "SELECT id, file, line, function, kind FROM frames WHERE id = ?", ((frame,) for frame in set(ids))
        )
        return {row[0]: row[1:] for row in rows}


def _map_column(path: Path, entry: ColumnEntry) -> Column:
    dtype = np.dtype(
        entry.dtype if isinstance(entry.dtype, str) else [(name, kind) for name, kind in entry.dtype]
    )
    if dtype.hasobject or dtype.itemsize * entry.count != entry.bytes:
        raise InconsistentError(f"Column {path.name} does not fit its description")
    if entry.count == 0:
        return np.empty(0, dtype)
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size != entry.bytes:
            raise ArchiveError(
                f"The archive {path.parent.name} is damaged: column {path.name} has another size"
            )
        return np.frombuffer(mapped(file), dtype)
