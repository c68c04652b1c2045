"""Why an object is alive: paths to it from roots."""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.kernels.graph.paths import PathSearch
from memlens.model.graph import RETAINING, Strength
from memlens.store.manifest import InconsistentError
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.graph.cuts import MOST_LOOKED_AT, freed_by_cut
from memlens.views.graph.freed import Freed, amounts
from memlens.views.graph.objects import RootRow, references_between, roots_of
from memlens.views.graph.reach import entries, followed, is_entry
from memlens.views.graph.rows import (
    Numbers,
    ObjectRow,
    ReferenceRow,
    check_object,
    object_rows,
    reference_rows,
    referrers_of,
)
from memlens.views.graph.stopped import stopped
from memlens.views.graph.without import LeavesOut, Without, WithoutAnswer, without

MOST_PATHS = 100
_AT_ONCE = 1 << 15
"""Objects that a search passes through before it is asked whether it is still wanted."""

_AT_FIRST = 4
"""Such stretches after which an answer that others wait for has no further paths: some 30 ms."""

_MOST_STEPS = 1_000
"""Steps of a path that are answered: the first half and the last."""


_MOST_CUTS = 200
"""Steps of a path of which it is worked out what cutting them would free: the last ones."""


class PathStep(ReferenceRow, frozen=True):
    """A reference and where it leads.

    ``freed_bytes`` would be freed without the references from the step before to this: what the object retains where
    every path to it passes there, else 0. Where others are left out, it is what would be freed besides. None where that
    isn't worked out.
    """

    freed_bytes: int | None
    freed_native_bytes: int | None
    """The same outside of the heap; None also in dumps that know of no such memory."""


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
    """Paths, the shortest first; ``complete`` if there are no others. ``without`` is None where nothing is left out."""

    object: ObjectRow
    paths: list[Path]
    complete: bool
    without: WithoutAnswer | None


def paths(
    snapshot: Snapshot,
    number: int,
    most: int = 10,
    through: Collection[Strength] = RETAINING,
    leaving_out: Collection[LeavesOut] = (),
    *,
    soon: bool = False,
) -> PathsAnswer:
    """Paths from roots to an object, by strong references and those of the strengths ``through``.

    Each further path begins at another root. One that comes from the graph's own root through another is left out:
    below that are the groups by which a file lists its roots. If the answer is to come ``soon``, further paths are only
    looked for nearby. Raises :class:`BadRequestError`, and :class:`CancelledError` when the snapshot's work is stopped.
    """
    check_object(snapshot, number)
    left = without(snapshot, leaving_out)
    follows, stored = followed(snapshot, through), snapshot.references
    begins = is_entry(snapshot) if left is None else left.is_entry
    search = PathSearch(
        stored.unchecked(ReferenceColumns.referrer_start), stored.unchecked(ReferenceColumns.referrer),
        stored.referrer_kind, follows, begins, number,
        None if left is None else left.left_out,
    )  # fmt: skip
    found: list[Path] = []
    # where all begin at one root, as V8's do, looking for another one would pass through the whole heap
    roots = len(entries(snapshot))
    is_stored = left is None and bool((follows == followed(snapshot)).all())
    nearest = _by_distance(snapshot, number, follows) if soon and is_stored else None
    stretches = 0
    while len(found) < min(most, MOST_PATHS, roots):
        items = search.next_path(_AT_ONCE)
        if items is None:
            if search.is_complete:
                break
            stretches += 1
            if not snapshot.work.report(stretches * _AT_ONCE / len(begins)):
                raise stopped()
            if not soon or stretches < _AT_FIRST:
                continue
            if not found and nearest is not None:
                found.append(_path(snapshot, nearest, follows, left))
            if found:
                break
            continue
        path = np.asarray(items)
        if found and int(path[0]) == snapshot.graph_names.root and bool(begins[path[1:]].any()):
            roots -= 1
            continue
        found.append(_path(snapshot, path, follows, left))
    return PathsAnswer(
        object_rows(snapshot, [number])[0], found, search.is_complete or len(found) == roots,
        None if left is None else left.answer(snapshot),
    )  # fmt: skip


def _by_distance(
    snapshot: Snapshot, number: int, follows: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint32] | None:
    """A shortest path, as :class:`PathSearch` returns it; None where there is none, or one of many steps.

    It is found by the stored distances: however many objects are nearer to the object than a root is, none of them is
    looked at that isn't a referrer of one on the path.
    """
    distance, stored = snapshot.objects.distance, snapshot.references
    far = int(distance[number])
    if far > _MOST_STEPS:
        return None
    path = [number]
    for nearer in reversed(range(far)):
        part = referrers_of(snapshot, path[-1])
        sources = stored.items(ReferenceColumns.referrer, part)
        leads = (follows[stored.referrer_kind[part]] != 0) & (distance[sources] == nearer)
        if not leads.any():
            raise InconsistentError("An object is nearer to a root than what refers to it")
        path.append(int(sources[np.argmax(leads)]))
    return np.array(path[::-1], np.uint32)


def _path(
    snapshot: Snapshot, items: npt.NDArray[np.uint32], follows: npt.NDArray[np.uint8], left: Without | None
) -> Path:
    length, half = len(items) - 1, _MOST_STEPS // 2
    shown = np.arange(length)
    if length > _MOST_STEPS:
        shown = np.concatenate((shown[:half], shown[-half:]))
    kinds = snapshot.references.kind
    steps = []
    for step in shown.tolist():
        between = references_between(snapshot, int(items[step]), int(items[step + 1]))
        leads = follows[kinds[between]] != 0
        if left is not None:
            leads &= ~left.are_out(np.full(len(between), items[step]), between)
        steps.append(int(between[np.argmax(leads)]))
    rows = reference_rows(snapshot, np.array(steps, np.int64), items[shown + 1])
    last = shown[shown >= length - _MOST_CUTS]
    cuts: list[Freed | None] = [None] * (len(shown) - len(last))
    if left is None:
        cuts += [freed_by_cut(snapshot, int(items[step]), int(items[step + 1])) for step in last.tolist()]
    else:
        cuts += _cuts_besides(snapshot, left, items[last], items[last + 1])
    root = int(items[0])
    return Path(
        object_rows(snapshot, [root])[0],
        roots_of(snapshot, root)[0],
        [
            PathStep(row.kind, row.name, row.object, row.strength, row.is_unread, *amounts(snapshot, freed))
            for row, freed in zip(rows, cuts, strict=True)
        ],
        length,
        length - len(shown),
    )


def _cuts_besides(
    snapshot: Snapshot, left: Without, sources: Numbers, targets: Numbers
) -> list[Freed | None]:
    """What each of a path's last references keeps alive where others are left out.

    The nearer a reference is to a root, the more there is to look at: None from where that is too much.
    """
    found: list[Freed | None] = [None] * len(sources)
    most = MOST_LOOKED_AT
    for step in range(len(sources) - 1, -1, -1):
        both = sources[step : step + 1], targets[step : step + 1]
        found[step], looked_at = left.freed_by_cuts(snapshot, *both, most)
        most -= looked_at
        if most <= 0:
            break
    return found
