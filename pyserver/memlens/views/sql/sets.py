"""What a set of a heap dump's objects retains, as an aggregate function for SQL: ``retained(object)``."""

from collections.abc import Callable
from typing import Any

import apsw

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo
from memlens.store.snapshot import Snapshot
from memlens.views.graph.retained import retained_by

AGGREGATES = ("retained",)


def add_retained(connection: apsw.Connection, snapshot: Snapshot) -> None:
    """Let a connection's queries ask what sets of objects retain. The snapshot must be the connection's own."""
    if not isinstance(snapshot.info, GraphInfo):
        return

    def make() -> tuple[set[int], Callable[..., None], Callable[[set[int]], int]]:
        return (
            set(),
            _step,
            lambda chosen: retained_by(snapshot, sorted(chosen)).retained_bytes if chosen else 0,
        )

    connection.create_aggregate_function("retained", make, 1)


def _step(chosen: set[int], number: Any) -> None:
    if number is None:
        return
    if not isinstance(number, int):
        raise BadRequestError("retained() takes the numbers of objects")
    chosen.add(number)
