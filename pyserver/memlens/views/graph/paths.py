"""Why an object is alive: paths to it from roots."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.kernels.graph.walk import PathSearch
from memlens.model.graph import Strength
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.graph.cuts import freed_by_cut
from memlens.views.graph.objects import RootRow, references_between, roots_of
from memlens.views.graph.reach import entries, followed, is_entry
from memlens.views.graph.rows import ObjectRow, ReferenceRow, check_object, object_rows, reference_rows

MOST_PATHS = 100
_MOST_LOOKED_AT = 1 << 26
"""Objects that a search passes through at most."""

_MOST_STEPS = 1_000
"""Steps of a path that are answered: the first half and the last."""


_MOST_CUTS = 200
"""Steps of a path of which it is worked out what cutting them would free: the last ones."""


class PathStep(ReferenceRow, frozen=True):
    """A reference and where it leads.

    ``freed_bytes`` would be freed without the references from the step before to this: what the object retains where
    every path to it passes there, else 0. None where that isn't worked out.
    """

    freed_bytes: int | None


class Path(Struct, frozen=True):
    """A path from a root: ``root`` is the root object, and each of ``steps`` a reference and where it leads.

    The last step leads to the object that is explained. Of a path of more than 1,000 steps the middle is left out, and
    ``left_out`` says how many steps that is; they would follow the first 500.
    """

    root: ObjectRow
    roots: list[RootRow]
    steps: list[PathStep]
    length: int
    left_out: int


class PathsAnswer(Struct, frozen=True):
    """Paths, the shortest first; ``complete`` if there are no others."""

    object: ObjectRow
    paths: list[Path]
    complete: bool


def paths(snapshot: Snapshot, number: int, most: int = 10, through: Collection[Strength] = ()) -> PathsAnswer:
    """Paths from roots to an object, by references that keep their targets alive, and by those of ``through``.

    Each further path begins at another root. Raises :class:`BadRequestError`.
    """
    check_object(snapshot, number)
    follows, stored = followed(snapshot, through), snapshot.references
    search = PathSearch(
        stored.unchecked(ReferenceColumns.referrer_start), stored.unchecked(ReferenceColumns.referrer),
        stored.referrer_kind, follows, is_entry(snapshot), number,
    )  # fmt: skip
    found: list[Path] = []
    # where all begin at one root, as V8's do, looking for another one would pass through the whole heap
    roots = len(entries(snapshot))
    while len(found) < min(most, MOST_PATHS, roots):
        items = search.next_path(_MOST_LOOKED_AT)
        if items is None:
            break
        found.append(_path(snapshot, np.asarray(items), follows))
    return PathsAnswer(object_rows(snapshot, [number])[0], found, search.is_complete or len(found) == roots)


def _path(snapshot: Snapshot, items: npt.NDArray[np.uint32], follows: npt.NDArray[np.uint8]) -> Path:
    length, half = len(items) - 1, _MOST_STEPS // 2
    shown = np.arange(length)
    if length > _MOST_STEPS:
        shown = np.concatenate((shown[:half], shown[-half:]))
    kinds = snapshot.references.kind
    steps = []
    for step in shown.tolist():
        between = references_between(snapshot, int(items[step]), int(items[step + 1]))
        steps.append(int(between[np.argmax(follows[kinds[between]])]))
    rows = reference_rows(snapshot, np.array(steps, np.int64), items[shown + 1])
    cuts = [
        freed_by_cut(snapshot, int(items[step]), int(items[step + 1]))
        if step >= length - _MOST_CUTS
        else None
        for step in shown.tolist()
    ]
    root = int(items[0])
    return Path(
        object_rows(snapshot, [root])[0],
        roots_of(snapshot, np.array([root])).get(root, []),
        [
            PathStep(row.kind, row.name, row.object, row.strength, freed)
            for row, freed in zip(rows, cuts, strict=True)
        ],
        length,
        length - len(shown),
    )
