"""The live set at a moment or at a time, as table-valued functions for SQL.

``live_at(device, moment, filter)`` and ``live_at_time(device, time_us, filter)`` answer in rows of allocations,
oldest first. A missing or NULL device is the snapshot's default one; a missing or NULL moment or time is the device's
peak, regardless of the filter; with a filter, as in the view, only what matches is listed.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import apsw
import numpy as np

from memlens.errors import BadRequestError
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.selection.columns import NEVER, check_moment, device_of, live_rows
from memlens.views.sql.functions import Row, TableFunction, add_function

_COLUMNS = ("allocation", "size_bytes", "file", "line", "function", "stack", "start_moment")

LIVE_FUNCTIONS = {
    "live_at": TableFunction(
        ("device", "moment", "filter"),
        _COLUMNS,
        "What was live on a device at a moment; at the peak when that is left out.",
    ),
    "live_at_time": TableFunction(
        ("device", "time_us", "filter"),
        _COLUMNS,
        "What was live on a device at a time; at the peak when that is left out.",
    ),
}

_ROWS_AT_ONCE = 4_096
_NOWHERE = (None, None, None)

Pick = Callable[[Any, Any, Any], tuple[Device, int]]


def add_live_at(connection: apsw.Connection, snapshot: Snapshot) -> None:
    """Add these functions to a connection. No other thread may use the snapshot."""

    def device(number: Any, filter_text: Any) -> Device:
        if not isinstance(filter_text, str | None):
            raise BadRequestError(phrase("The filter of live_at must be a text"))
        known = timeline_of(snapshot.info, "devices").default_device
        return device_of(snapshot, known if number is None else _whole(number, "device"), filter_text or "")

    def at_moment(number: Any, moment: Any, filter_text: Any) -> tuple[Device, int]:
        found = device(number, filter_text)
        return found, found.whole.info.peak_moment if moment is None else check_moment(
            found, _whole(moment, "moment")
        )

    def at_time(number: Any, time_us: Any, filter_text: Any) -> tuple[Device, int]:
        found = device(number, filter_text)
        if time_us is None:
            return found, found.whole.info.peak_moment
        if found.time is None:
            raise BadRequestError(phrase("The snapshot has no times: use live_at(device, moment)"))
        if not isinstance(time_us, int | float):
            raise BadRequestError(phrase("The time of live_at_time must be a number of microseconds"))
        return found, int(np.searchsorted(found.time, time_us, "right"))

    for (name, function), pick in zip(LIVE_FUNCTIONS.items(), (at_moment, at_time), strict=True):
        add_function(connection, name, function.arguments, function.columns, partial(_rows, snapshot, pick))


def _whole(value: Any, argument: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise BadRequestError(phrase("The {argument} of live_at must be a whole number", argument=argument))
    return value


def _rows(snapshot: Snapshot, pick: Pick, *arguments: Any) -> Iterator[Row]:
    """The live set, made a few thousand rows at a time."""
    device, moment = pick(*arguments)
    live = live_rows(device, moment)
    for first in range(0, len(live), _ROWS_AT_ONCE):
        rows = live[first : first + _ROWS_AT_ONCE]
        stacks = device.stack[rows]
        labels = snapshot.stacks.label[stacks].tolist()
        frames = snapshot.frames.rows(label for label in labels if label != NEVER)
        for allocation, size, label, stack, start in zip(
            device.allocations(rows).tolist(),
            device.size[rows].tolist(),
            labels,
            stacks.tolist(),
            device.start[rows].tolist(),
            strict=True,
        ):
            yield allocation, size, *(frames[label][:3] if label in frames else _NOWHERE), stack, start
