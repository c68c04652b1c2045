"""One device's columns of a trace, whole or narrowed to some of its allocations."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.model.info import DeviceInfo
from memlens.model.timeline import NOTE_DTYPE
from memlens.store.columns import Array, Columns, Count, Source, Stored, StoredIfAny, StoredTable
from memlens.store.manifest import InconsistentError
from memlens.store.trace.peaks import BLOCK, SUPER_BLOCK, end_columns, live_columns

_PER_ALLOCATION = ("address", "size", "rounded", "start", "end", "stack", "stream", "category", "flags")
_INFERRED = ("inferred", "inferred_module")


def with_live(info: DeviceInfo, live: Array, count: Array, time: Array | None) -> DeviceInfo:
    """A device's figures, with those of the live memory at its moments; ``time`` are the times of its events, if
    known.
    """
    peak = int(np.argmax(live))
    return msgspec.structs.replace(
        info,
        peak_bytes=int(live[peak]),
        peak_moment=peak,
        peak_time_us=None if time is None else int(time[peak - 1]) if peak else 0,
        live_at_start_bytes=int(live[0]),
        live_at_end_bytes=int(live[-1]),
        live_at_end_count=int(count[-1]),
    )


class Lives(NamedTuple):
    """Allocations in the order of their starts, as they would have been."""

    rows: U32
    """The rows of the whole device that they are; a row may be there several times."""
    sizes: I64
    starts: U32
    ends: U32

    def where(self, chosen: Mask | npt.NDArray[np.intp]) -> "Lives":
        """Some of them."""
        return Lives(self.rows[chosen], self.sizes[chosen], self.starts[chosen], self.ends[chosen])


def scope_of(device: int) -> str:
    """The beginning of the names of a device's files."""
    return f"{device}."


class Device(Columns):
    """One device's columns: items for events, for moments (one more) and for allocations.

    A *narrowed* device has only some of a device's allocations: fewer rows, and their sum as what was live. Its
    ``info`` is about them; events, times and axes are those of the whole device. So a row is not an allocation's number
    minus the first one's: :meth:`allocations` and :meth:`row_of` convert between them. A *changed* one has them with
    other sizes and lives.
    """

    time = StoredIfAny(np.int64, "events")
    """Microseconds since the first event; None for a device whose events have no times."""
    event_action = Stored(np.uint8, "events")
    event_address = Stored(np.uint64, "events")
    event_size = Stored(np.int64, "events")
    event_stack = Stored(np.uint32, "events")
    event_stream = Stored(np.uint16, "events")
    event_pool = Stored(np.uint16, "events")
    event_owner = Stored(np.uint32, "events")
    """The row of the whole device's allocation that an event starts or frees, NEVER for none."""
    notes = StoredTable(NOTE_DTYPE)
    """Rare facts about events, in the events' order."""
    live = Stored(np.int64, "moments")
    live_64 = Stored(np.int64, "moments", per=BLOCK)
    live_4096 = Stored(np.int64, "moments", per=SUPER_BLOCK)
    low_64 = Stored(np.int64, "moments", per=BLOCK)
    live_count = Stored(np.uint32, "moments")
    address = Stored(np.uint64, "allocations")
    size = Stored(np.int64, "allocations")
    rounded = Stored(np.int64, "allocations")
    start = Stored(np.uint32, "allocations")
    end = Stored(np.uint32, "allocations")
    end_64 = Stored(np.uint32, "allocations", per=BLOCK)
    end_4096 = Stored(np.uint32, "allocations", per=SUPER_BLOCK)
    stack = Stored(np.uint32, "allocations")
    stream = Stored(np.uint16, "allocations")
    category = Stored(np.uint8, "allocations")
    flags = Stored(np.uint8, "allocations")
    inferred = StoredIfAny(np.uint32, "allocations")
    """The frame of each allocation's inferred line, NEVER for none; None where nothing was inferred at all."""
    inferred_module = StoredIfAny(np.uint32, "allocations")
    """The number of each allocation's inferred module, 0 for none; None where nothing was inferred at all."""

    def __init__(
        self, source: Source, counts: Mapping[Count, int], info: DeviceInfo, first_allocation: int
    ) -> None:
        own: dict[Count, int] = {
            "events": info.events, "moments": info.events + 1, "allocations": info.allocations
        }  # fmt: skip
        super().__init__(source, {**counts, **own}, scope_of(info.device))
        self.info = info
        self.first_allocation = first_allocation
        self._whole: Device | None = None
        self.rows: U32 | None = None
        """The rows of the whole device that this narrowed one has; None if it has all as they are.

        They are ascending where none was changed.
        """

    @property
    def whole(self) -> "Device":
        """The device with all of its allocations. Columns of events refer to its rows."""
        return self if self._whole is None else self._whole

    def allocations(self, rows: npt.NDArray[Any]) -> U32:
        """The numbers in the snapshot of some rows' allocations."""
        own = rows if self.rows is None else self.rows[rows]
        return own.astype(np.uint32) + np.uint32(self.first_allocation)

    def row_of(self, allocation: int) -> int | None:
        """The first row of an allocation; None if it is on another device or excluded by the filter."""
        row = allocation - self.first_allocation
        if not 0 <= row < self.whole.info.allocations:
            return None
        if self.rows is None:
            return row
        places = np.flatnonzero(self.rows == np.uint32(row))
        return int(places[0]) if len(places) else None

    def narrowed(self, rows: U32) -> "Device":
        """The device with only some of its rows, ascending. Its columns are copies, about 12 bytes an event."""
        return self._with(rows, {})

    def changed(self, lives: Lives) -> "Device":
        """The whole device with its allocations as they would have been."""
        # what the allocator would have made of another size isn't known here
        rounded = np.where(lives.sizes == self.size[lives.rows], self.rounded[lives.rows], 0)
        return self._with(
            lives.rows,
            {"size": lives.sizes, "rounded": rounded, "start": lives.starts, "end": lives.ends},
        )

    def _with(self, rows: U32, changed: Mapping[str, Array]) -> "Device":
        narrow = copy.copy(self)
        narrow._whole = self.whole
        narrow.rows = rows if self.rows is None else self.rows[rows]
        if len(rows) != self.info.allocations or not bool((rows[1:] > rows[:-1]).all()):
            # NumPy's index type, so that they aren't converted for each column
            places = rows.astype(np.intp)
            for name in (*_PER_ALLOCATION, *_INFERRED):
                column = None if name in changed else getattr(self, name)
                if column is not None:
                    narrow._put({name: column.take(places)})
        narrow._put(changed)
        moments = self.info.events + 1
        if len(rows) and int(narrow.start.max()) >= moments:
            raise InconsistentError("An allocation starts after the last event")
        narrow._put(end_columns(narrow.end))
        narrow._put(live_columns(narrow.size, narrow.start, narrow.end, moments))
        info = msgspec.structs.replace(self.info, allocations=len(rows))
        narrow.info = with_live(info, narrow.live, narrow.live_count, self.time)
        return narrow

    def _put(self, columns: Mapping[str, Array]) -> None:
        """Replace columns of the archive."""
        vars(self).update(columns)
