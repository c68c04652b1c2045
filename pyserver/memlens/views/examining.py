"""Slow results that views need of a large heap dump, computed once and stored in its archive."""

from collections.abc import Callable

from memlens.model.graph import EXAMINED_FROM
from memlens.model.info import GraphInfo, SnapshotInfo
from memlens.progress import Report
from memlens.store.artefacts import Artefact
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import FINDINGS, parts
from memlens.views.heap.reachable.from_roots import HELD_DISTANCES
from memlens.views.heap.retained.by_type import TOGETHER, WORKED_OUT_FROM

Step = Callable[[Snapshot], object]

EXAMINED: tuple[Artefact, ...] = (HELD_DISTANCES, TOGETHER, FINDINGS)
"""What an examination makes, in this order: the findings are there last."""


def is_large(info: SnapshotInfo) -> bool:
    """Whether it is a heap dump that is large enough to be examined separately."""
    return isinstance(info, GraphInfo) and info.objects >= EXAMINED_FROM


def is_examined(snapshot: Snapshot) -> bool:
    """Whether the findings were computed."""
    return FINDINGS.is_current(snapshot.origin)


def examine(snapshot: Snapshot, report: Report) -> None:
    """Compute :data:`EXAMINED`, as far as the archive can be written and the dump needs them.

    ``report`` is called with ``("examining", fraction)``. Raises :class:`BadRequestError`.
    """
    steps: list[Step] = [*parts(snapshot, None)]
    is_huge = graph_of(snapshot.info).objects >= WORKED_OUT_FROM
    if is_huge:
        steps.insert(0, TOGETHER.try_to_write)
    if snapshot.graph_names.root is not None:
        steps.insert(0, HELD_DISTANCES.try_to_write)
    for number, step in enumerate([*steps, FINDINGS.try_to_write]):
        report("examining", number / (len(steps) + 1))
        step(snapshot)
        if is_huge:
            # each reads other columns, and what is mapped counts as this process's memory
            snapshot.drop_pages()
