"""Functions for SQL that answer what the tables of a heap dump can't.

``retained(object)`` is an aggregate: the bytes that only these objects keep alive. Table-valued are
``paths_to(object, paths, through)``, a row for each object on the shortest paths from roots (``paths`` of them, 1 if
left out; ``through`` names kinds of weakness that are followed as well, ``weak,soft``);
``referrers_of(object)``; ``retained_by(object)``, all that it dominates, itself included.
"""

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias, get_args

import apsw
import numpy as np

from memlens.errors import BadRequestError
from memlens.model.graph import Strength
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.graph.objects import references_between
from memlens.views.graph.paths import paths
from memlens.views.graph.retained import retained_by
from memlens.views.graph.rows import MOST_ROWS, check_object, object_rows, reference_rows
from memlens.views.sql.functions import Answer, Row, add_function

Chosen: TypeAlias = "array[int]"
"""Numbers of objects, of which there may be as many as the dump has."""


class HeapFunction(NamedTuple):
    """A table-valued function: its arguments, its columns, and its rows."""

    arguments: tuple[str, ...]
    columns: tuple[str, ...]
    about: str


AGGREGATES = ("retained",)

HEAP_FUNCTIONS: dict[str, HeapFunction] = {
    "paths_to": HeapFunction(
        ("of", "paths", "through"),
        ("path", "step", "object", "type", "name", "kind", "retained_bytes"),
        "Objects on the shortest paths from roots to an object, from root to object; `name` and `kind` are those of "
        "the reference that leads there.",
    ),
    "referrers_of": HeapFunction(
        ("of",),
        ("object", "type", "name", "kind", "strength", "retained_bytes"),
        "Objects that refer to an object; `name` and `kind` are those of the reference.",
    ),
    "retained_by": HeapFunction(
        ("of",),
        ("object", "type", "name", "shallow_bytes", "retained_bytes"),
        "What an object retains: all that it dominates, itself included.",
    ),
}


def add_heap_functions(connection: apsw.Connection, snapshot: Snapshot) -> None:
    """Add these functions to a connection. No other thread may use the snapshot."""
    if heap_dump_of(snapshot.info) is None:
        return

    def aggregate() -> tuple[Chosen, Callable[..., None], Callable[[Chosen], int]]:
        return array("q"), _step, lambda chosen: _retained(snapshot, chosen)

    connection.create_aggregate_function("retained", aggregate, 1)
    answers: dict[str, Answer] = {"paths_to": _paths, "referrers_of": _referrers, "retained_by": _dominated}
    for name, function in HEAP_FUNCTIONS.items():
        add_function(connection, name, function.arguments, function.columns, partial(answers[name], snapshot))


def _step(chosen: Chosen, number: Any) -> None:
    if number is not None:
        chosen.append(_number(number))


def _number(value: Any) -> int:
    if not isinstance(value, int):
        raise BadRequestError(phrase("Functions of heap dumps take object numbers, as in the column object"))
    return value


def _retained(snapshot: Snapshot, chosen: Chosen) -> int:
    return retained_by(snapshot, np.frombuffer(chosen, np.int64)).retained_bytes if chosen else 0


def _paths(snapshot: Snapshot, of: Any, most: Any, through: Any) -> Iterator[Row]:
    if of is None:
        return
    strengths = [word.strip() for word in through.split(",")] if isinstance(through, str) else []
    unknown = [word for word in strengths if word not in get_args(Strength)]
    if unknown:
        raise BadRequestError(
            phrase(
                "'{unknown}' is not a kind of reference: expected {known}",
                unknown=unknown[0],
                known=", ".join(get_args(Strength)),
            )
        )
    chosen: Any = strengths
    for path, found in enumerate(
        paths(snapshot, _number(of), _number(1 if most is None else most), chosen).paths
    ):
        root = found.root
        kinds = ", ".join(dict.fromkeys(each.kind for each in found.roots))
        yield path, 0, root.object, root.type, "", kinds, root.retained_bytes
        for step, row in enumerate(found.steps, 1):
            yield (
                path,
                step,
                row.object.object,
                row.object.type,
                row.name,
                row.kind,
                row.object.retained_bytes,
            )


def _referrers(snapshot: Snapshot, of: Any) -> Iterator[Row]:
    if of is None:
        return
    number, stored = check_object(snapshot, _number(of)), snapshot.references
    sources = np.unique(
        stored.referrer[int(stored.referrer_start[number]) : int(stored.referrer_start[number + 1])]
    )
    for start in range(0, len(sources), MOST_ROWS):
        part = sources[start : start + MOST_ROWS]
        found = [references_between(snapshot, source, number) for source in part.tolist()]
        ends = np.repeat(part, [len(each) for each in found])
        for row in reference_rows(snapshot, np.concatenate(found), ends):
            end = row.object
            yield end.object, end.type, row.name, row.kind, row.strength, end.retained_bytes


def _dominated(snapshot: Snapshot, of: Any) -> Iterator[Row]:
    if of is None:
        return
    objects = snapshot.objects
    level = np.array([check_object(snapshot, _number(of))], np.int64)
    while len(level):
        for start in range(0, len(level), MOST_ROWS):
            for row in object_rows(snapshot, level[start : start + MOST_ROWS]):
                yield row.object, row.type, row.name, row.shallow_bytes, row.retained_bytes
        begins = objects.dominated_start[level].astype(np.int64)
        counts = objects.dominated_start[level + 1].astype(np.int64) - begins
        places = np.arange(int(counts.sum())) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        level = objects.dominated[places].astype(np.int64)
