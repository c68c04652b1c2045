"""Replays of a trace as a table-valued function for SQL.

``what_if(device, settings, without, halve, free_at_once, recompute)`` has the trace itself as its first row, and one
for each replay. A missing or NULL device is the snapshot's default one, the other arguments are texts as ``memlens
what-if`` takes them. Without any, some settings that may help are tried.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import apsw

from memlens.errors import BadRequestError
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.selection.changes import Changes
from memlens.views.sql.functions import Row, TableFunction, add_function
from memlens.views.trace.what_if import what_if

WHAT_IF_FUNCTIONS = {
    "what_if": TableFunction(
        ("device", "settings", "without", "halve", "free_at_once", "recompute"),
        (
            "replay",
            "settings_tried",
            "peak_allocated_bytes",
            "peak_reserved_bytes",
            "failed_event",
            "missing_bytes",
        ),
        "What a trace would have reserved with other settings or changed allocations; the trace itself first, and "
        "alone where it can't be replayed.",
    )
}


def add_what_if(connection: apsw.Connection, snapshot: Snapshot) -> None:
    """Add this function to a connection. No other thread may use the snapshot."""
    for name, function in WHAT_IF_FUNCTIONS.items():
        add_function(connection, name, function.arguments, function.columns, partial(_rows, snapshot))


def _rows(snapshot: Snapshot, device: Any, settings: Any, *changes: Any) -> Iterator[Row]:
    if not isinstance(device, int | None):
        raise BadRequestError(phrase("The device of what_if must be a whole number"))
    texts = [_texts(each) for each in (settings, *changes)]
    found = what_if(
        snapshot,
        device,
        settings=texts[0],
        changes=Changes(**dict(zip(Changes.__struct_fields__, map(tuple, texts[1:]), strict=True))),
    )
    for number, row in enumerate(found.rows):
        failure = row.out_of_memory
        yield (
            number, row.settings, row.peak_allocated_bytes, row.peak_reserved_bytes,
            None if failure is None else failure.event, None if failure is None else failure.missing_bytes,
        )  # fmt: skip


def _texts(value: Any) -> list[str]:
    if not isinstance(value, str | None):
        raise BadRequestError(phrase("The arguments of what_if after the device must be texts"))
    return [value] if value else []
