"""Bytes that all instances of a type retain together; computed for many types in one traversal."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import U32, U64
from memlens.errors import stopped
from memlens.kernels.graph.columns import Sizes
from memlens.kernels.graph.together import MOST_GROUPS, retained_together
from memlens.progress import Report
from memlens.store.artefacts import Artefact, write_columns
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.native_memory import native_or_none, own_native
from memlens.views.heap.objects.types import figures_of, instances_of
from memlens.views.heap.reachable.from_roots import followed, holders, outgoing
from memlens.views.heap.retained.by_objects import RetainedAnswer, retained_by

WORKED_OUT_FROM = 1_000_000
"""The number of objects from which results are archived; smaller dumps take less than a tenth of a second."""
MOST_TYPES = MOST_GROUPS
"""Limit on the archived types."""


class _Together(NamedTuple):
    """Bytes that the instances of some types retain, their own included, in the heap and outside of it."""

    type: U32
    objects: U64
    bytes: U64
    native: U64


def retained_by_type(snapshot: Snapshot, kind: int) -> RetainedAnswer:
    """Return what would be freed without all instances of a type.

    Raises :class:`BadRequestError`, and :class:`CancelledError` when the snapshot's work is stopped.
    """
    instances = instances_of(snapshot, kind)
    made = _together(snapshot)
    at = np.flatnonzero(made.type == kind)
    if not len(at):
        return retained_by(snapshot, instances)
    objects, total, outside = (int(column[at[0]]) for column in (made.objects, made.bytes, made.native))
    return RetainedAnswer(len(instances), objects, total, native_or_none(snapshot, outside))


def is_known(snapshot: Snapshot, kind: int) -> bool:
    """Whether :func:`retained_by_type` has its result in the archive."""
    made = _read(snapshot)
    return made is not None and kind in made.type


@kept
def _together(snapshot: Snapshot) -> _Together:
    return _read(snapshot) or _make(snapshot)


def _make(snapshot: Snapshot) -> _Together:
    objects = snapshot.objects
    types = _largest(snapshot)
    group_of = np.zeros(len(snapshot.types.name), np.uint64)
    group_of[types] = np.uint64(1) << np.arange(len(types), dtype=np.uint64)
    found = np.zeros((3, MOST_GROUPS), np.uint64)
    is_done = retained_together(
        outgoing(snapshot, followed(snapshot)), holders(snapshot), np.empty(0, np.uint64), objects.type, group_of,
        Sizes(objects.shallow, own_native(snapshot)), found, snapshot.work,
    )  # fmt: skip
    if not is_done:
        raise stopped()
    return _Together(types, *found[:, : len(types)])


def _largest(snapshot: Snapshot) -> U32:
    """Return the types with the most instances, and those whose instances retain most."""
    figures = figures_of(snapshot)
    ranked = [np.argsort(-figures[name].astype(np.int64), kind="stable") for name in ("count", "retained")]
    both = np.stack(ranked, axis=1).ravel()
    found: U32 = both[np.sort(np.unique(both, return_index=True)[1])][:MOST_TYPES].astype(np.uint32)
    return found


def _read(snapshot: Snapshot) -> _Together | None:
    path = TOGETHER.find(snapshot.origin)
    return None if path is None else TOGETHER.columns(path, _Together)


def _write(snapshot: Snapshot, path: Path, _report: Report) -> None:
    write_columns(path, _make(snapshot)._asdict(), [])


TOGETHER = Artefact("together.bin", version=2, make=_write, by_kinds=False)
"""Written for dumps of at least ``WORKED_OUT_FROM`` objects."""
