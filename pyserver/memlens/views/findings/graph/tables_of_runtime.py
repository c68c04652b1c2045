"""Recognises findings about the runtime's own data, which the reader can't change.

Charsets and streams, repositories, the caches of reflection: every program has them, and in a small heap they are a
large share. What the platform keeps on behalf of the program, such as the files of ``DeleteOnExitHook``, is a finding
if it is large.
"""

import numpy as np

from memlens.errors import MemlensError
from memlens.model.frames import USER
from memlens.model.graph import NONE
from memlens.model.packages import package_of
from memlens.views.findings.graph.case import GraphCase, is_class
from memlens.views.findings.graph.threads import OUT_OF_MEMORY
from memlens.views.findings.writing import Ranked
from memlens.views.heap.objects.packages import is_platform
from memlens.views.heap.objects.rows import ObjectRow
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.paths.to_object import Path, paths

MOST_OF_RUNTIME = 4 << 20
"""A runtime's own tables are smaller, in bytes."""
_MOST_SAMPLED = 3


def is_of_the_runtime(case: GraphCase, found: Ranked) -> bool:
    """Whether a finding's largest objects are reached only through the platform's own."""
    if not case.is_managed or found.objects is None or not len(found.objects):
        return False
    if found.finding.rule == OUT_OF_MEMORY or found.finding.figure.amount >= MOST_OF_RUNTIME:
        return False
    retained = case.snapshot.objects.retained[found.objects]
    largest = found.objects[np.argsort(-retained.astype(np.int64), kind="stable")[:_MOST_SAMPLED]]
    return all(is_reached_by_the_runtime(case, int(number)) for number in largest.tolist())


def is_reached_by_the_runtime(case: GraphCase, number: int) -> bool:
    """Whether the shortest path to an object of a managed platform passes only the platform's own objects."""
    try:
        found = paths(case.snapshot, number, 1, soon=True).paths
    except MemlensError:
        return False
    if not found:
        return False
    rows = [found[0].root, *(step.object for step in found[0].steps)]
    if not all(_is_platform(case, row) for row in rows):
        return False
    return _says_whose(case, found[0], rows)


def _is_platform(case: GraphCase, row: ObjectRow) -> bool:
    name = (row.name if is_class(row) else row.type).split(" (", 1)[0]
    kind = case.info.kind
    return is_platform(name, package_of(name, kind), kind, "")


def _says_whose(case: GraphCase, path: Path, rows: list[ObjectRow]) -> bool:
    """Whether a path of only platform objects shows that they are its own, unlike a program's list in a root."""
    first = rows[0]
    known = table(case.snapshot)
    threads = np.flatnonzero(known.object == first.object)
    # a thread with the program's functions on its stack may hold their objects
    if any(_runs_the_program(case, thread) for thread in threads.tolist()):
        return False
    if any("local" in root.kind.lower() or "frame" in root.kind.lower() for root in path.roots) and any(
        _runs_the_program(case, thread) for thread in range(len(known.object))
    ):
        return False
    return any(is_class(row) or not _is_anywhere(case, row) for row in rows[:-1] or rows)


def _is_anywhere(case: GraphCase, row: ObjectRow) -> bool:
    package = case.known.collections.package
    is_collection = bool(package) and row.type.startswith(package)
    return is_collection or row.type.split(" (", 1)[0].endswith("[]")


def _runs_the_program(case: GraphCase, thread: int) -> bool:
    frames = table(case.snapshot).frames_of(thread)
    kinds = case.snapshot.frames.kind
    return any(int(kinds[frame]) == USER for frame in frames.tolist() if frame != NONE)
