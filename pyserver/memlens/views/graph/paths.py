"""Why an object is alive: paths to it from roots."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.kernels.graph.walk import PathSearch
from memlens.model.graph import Strength
from memlens.store.snapshot import Snapshot
from memlens.views.graph.objects import RootRow, references_between, roots_of
from memlens.views.graph.rows import ObjectRow, ReferenceRow, check_object, object_rows, reference_rows

MOST_PATHS = 100
_MOST_LOOKED_AT = 1 << 26
"""Objects that a search passes through at most."""

_MOST_STEPS = 1_000
"""Steps of a path that are answered: the first half and the last."""


class Path(Struct, frozen=True):
    """A path from a root: ``root`` is the root object, and each of ``steps`` a reference and where it leads.

    The last step leads to the object that is explained. Of a path of more than 1,000 steps the middle is left out, and
    ``left_out`` says how many steps that is; they would follow the first 500.
    """

    root: ObjectRow
    roots: list[RootRow]
    steps: list[ReferenceRow]
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
        stored.start, stored.target, stored.kind, stored.referrer_start, stored.referrer, follows,
        _is_root(snapshot), number,
    )  # fmt: skip
    found: list[Path] = []
    while len(found) < min(most, MOST_PATHS):
        items = search.next_path(_MOST_LOOKED_AT)
        if items is None:
            break
        found.append(_path(snapshot, np.asarray(items), follows))
    return PathsAnswer(object_rows(snapshot, [number])[0], found, search.is_complete)


def followed(snapshot: Snapshot, through: Collection[Strength] = ()) -> npt.NDArray[np.uint8]:
    """An item for each number of a byte: 1 for kinds of references that retain, and for those of some strengths."""
    follows = np.zeros(256, np.uint8)
    for number, kind in enumerate(snapshot.graph_names.reference_kinds):
        follows[number] = kind.retains or (kind.strength != "strong" and kind.strength in through)
    return follows


def entries(snapshot: Snapshot) -> npt.NDArray[np.uint32]:
    """The objects at which reachability begins."""
    rows, root = snapshot.objects.roots, snapshot.graph_names.root
    held = np.isin(rows["kind"], np.array(snapshot.graph_names.held_kinds, np.uint32))
    roots = rows["object"][~held]
    return np.unique(roots if root is None else np.append(roots, np.uint32(root))).astype(np.uint32)


def _is_root(snapshot: Snapshot) -> npt.NDArray[np.uint8]:
    is_root = np.zeros(len(snapshot.objects.type), np.uint8)
    is_root[entries(snapshot)] = 1
    return is_root


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
    root = int(items[0])
    return Path(
        object_rows(snapshot, [root])[0],
        roots_of(snapshot, np.array([root])).get(root, []),
        reference_rows(snapshot, np.array(steps, np.int64), items[shown + 1]),
        length,
        length - len(shown),
    )
