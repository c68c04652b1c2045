"""The live set at a moment or at a time, as table-valued functions for SQL.

``live_at(device, moment, filter)`` and ``live_at_time(device, time_us, filter)`` answer in rows of ``LIVE_COLUMNS``,
oldest first. A device left out or NULL is the snapshot's default one; a moment or time left out or NULL is the device's
peak, whatever the filter; with a filter, as in the view, only what fits it is listed.
"""

from collections.abc import Callable
from typing import Any

import apsw
import numpy as np

from memlens.errors import BadRequestError
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.selection.columns import NEVER, check_moment, device_of, live_rows

TABLE_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "live_at": ("device", "moment", "filter"),
    "live_at_time": ("device", "time_us", "filter"),
}
"""Names, each with its arguments."""

LIVE_COLUMNS = ("allocation", "size_bytes", "file", "line", "function", "stack", "start_moment")

_ROWS_A_STRETCH = 4_096
_NOWHERE = (None, None, None)

Row = tuple[Any, ...]
Pick = Callable[[Any, Any, Any], tuple[Device, int]]


def add_live_at(connection: apsw.Connection, snapshot: Snapshot) -> None:
    """Let a connection's queries ask for live sets. The snapshot must be the connection's own."""

    def device(number: Any, filter_text: Any) -> Device:
        if not isinstance(filter_text, str | None):
            raise BadRequestError("The filter of live_at is a text")
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
            raise BadRequestError("The snapshot has no times: use live_at(device, moment)")
        if not isinstance(time_us, int | float):
            raise BadRequestError("The time passed to live_at_time must be a number of microseconds")
        return found, int(np.searchsorted(found.time, time_us, "right"))

    for (name, arguments), pick in zip(TABLE_FUNCTIONS.items(), (at_moment, at_time), strict=True):
        # APSW asks only for what a read-only table needs; its types name the methods of the others, too
        module: Any = _Module(snapshot, arguments, pick)
        connection.create_module(
            name,
            module,
            use_bestindex_object=True,
            eponymous_only=True,
            read_only=True,
        )
        # connected now, for the authorizer to come would refuse the declaration of its columns
        connection.execute(f"SELECT * FROM {name} LIMIT 0").fetchall()  # noqa: S608 - our own names


def _whole(value: Any, what: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        raise BadRequestError(f"The {what} passed to live_at must be a whole number")
    return value


class _Module:
    """What SQLite asks of a table-valued function, as APSW passes it on; the names are APSW's."""

    def __init__(self, snapshot: Snapshot, arguments: tuple[str, ...], pick: Pick) -> None:
        self.snapshot = snapshot
        self.arguments = arguments
        self.pick = pick

    def Connect(self, *_: Any) -> tuple[str, "_Table"]:  # noqa: N802
        # arguments are hidden columns that a query sets
        hidden = (f"{argument} HIDDEN" for argument in self.arguments)
        return f"CREATE TABLE live ({', '.join((*LIVE_COLUMNS, *hidden))})", _Table(self)

    Create = Connect


class _Table:
    def __init__(self, module: _Module) -> None:
        self.module = module

    def BestIndexObject(self, index: Any) -> bool:  # noqa: N802
        """Take the arguments; no plan in which one is not known yet, as when the table that has it comes later."""
        given = 0
        for number in range(index.nConstraint):
            argument = index.get_aConstraint_iColumn(number) - len(LIVE_COLUMNS)
            if argument < 0 or index.get_aConstraint_op(number) != apsw.SQLITE_INDEX_CONSTRAINT_EQ:
                continue
            if not index.get_aConstraint_usable(number):
                return False
            given |= 1 << argument
        # in the order of the arguments, whatever the order of the query
        place = 0
        for argument in range(len(self.module.arguments)):
            for number in range(index.nConstraint):
                if (
                    given >> argument & 1
                    and index.get_aConstraint_iColumn(number) == len(LIVE_COLUMNS) + argument
                ):
                    place += 1
                    index.set_aConstraintUsage_argvIndex(number, place)
                    index.set_aConstraintUsage_omit(number, True)
                    break
        index.idxNum = given
        index.estimatedRows = 2_000
        index.estimatedCost = 2_000.0
        return True

    def Open(self) -> "_Cursor":  # noqa: N802
        return _Cursor(self.module)

    def Disconnect(self) -> None:  # noqa: N802
        pass

    Destroy = Disconnect


class _Cursor:
    """Makes a few thousand rows at a time."""

    def __init__(self, module: _Module) -> None:
        self.module = module
        self.arguments: list[Any] = [None] * len(module.arguments)
        self.device: Device | None = None
        self.live = np.empty(0, np.uint32)
        self.first = 0
        self.rows: list[Row] = []
        self.at = 0

    def Filter(self, given: int, _name: str | None, values: tuple[Any, ...]) -> None:  # noqa: N802
        self.arguments = [None] * len(self.module.arguments)
        wanted = [argument for argument in range(len(self.arguments)) if given >> argument & 1]
        for argument, value in zip(wanted, values, strict=True):
            self.arguments[argument] = value
        self.device, moment = self.module.pick(*self.arguments)
        self.live = live_rows(self.device, moment)
        self.first = 0
        self._make()

    def Eof(self) -> bool:  # noqa: N802
        return self.first + self.at >= len(self.live)

    def Rowid(self) -> int:  # noqa: N802
        return int(self.rows[self.at][0])

    def Column(self, number: int) -> Any:  # noqa: N802
        if number < 0:
            return self.Rowid()
        if number >= len(LIVE_COLUMNS):
            return self.arguments[number - len(LIVE_COLUMNS)]
        return self.rows[self.at][number]

    def Next(self) -> None:  # noqa: N802
        self.at += 1
        if self.at == len(self.rows):
            self.first += self.at
            self._make()

    def Close(self) -> None:  # noqa: N802
        self.rows = []

    def _make(self) -> None:
        snapshot, device = self.module.snapshot, self.device
        self.at = 0
        rows = self.live[self.first : self.first + _ROWS_A_STRETCH]
        if device is None or not len(rows):
            self.rows = []
            return
        stacks = device.stack[rows]
        labels = snapshot.stacks.label[stacks].tolist()
        frames = snapshot.frames.rows(label for label in labels if label != NEVER)
        self.rows = [
            (allocation, size, *(frames[label][:3] if label in frames else _NOWHERE), stack, start)
            for allocation, size, label, stack, start in zip(
                device.allocations(rows).tolist(),
                device.size[rows].tolist(),
                labels,
                stacks.tolist(),
                device.start[rows].tolist(),
                strict=True,
            )
        ]
