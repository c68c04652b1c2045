"""Folded stacks: the paths to the nodes of a tree, a line each, within the bound of :mod:`memlens.model.expansion`."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from memlens.cli.output import note_of_cut
from memlens.formats.stacks import CUT
from memlens.kernels.tree import stacks as kernel
from memlens.model.expansion import levels_of
from memlens.store.manifest import InconsistentError

_NAMES_AT_ONCE = 1 << 16

U32 = npt.NDArray[np.uint32]


def paths(parents: U32, names: U32, nodes: U32, texts: Mapping[int, str]) -> Iterator[str]:
    """Yield the names down to each of some nodes, joined by semicolons, without the root's.

    ``names`` are the numbers of the nodes' names in ``texts``. What is cut is reported on stderr, and the paths that
    lack their first names begin with ``(stack cut off)``. Raises :class:`InconsistentError` for a damaged tree.
    """
    levels = levels_of(parents, nodes)
    if levels is None:
        raise InconsistentError("The tree contains a cycle")
    note_of_cut(levels)
    cut, kept = levels.depths > levels.most, levels.kept
    for part in _parts(kept):
        starts = np.concatenate(([0], np.cumsum(kept[part]))).astype(np.uint64)
        sequence = np.empty(int(starts[-1]), np.uint32)
        kernel.unroll(parents, names, nodes[part], starts, sequence)
        numbers, places = sequence.tolist(), starts.tolist()
        for first, last, is_cut in zip(places, places[1:], cut[part].tolist(), strict=False):
            path = ";".join(map(texts.__getitem__, reversed(numbers[first:last])))
            yield f"{CUT.function};{path}" if is_cut else path


def _parts(lengths: npt.NDArray[np.int64]) -> Iterator[slice]:
    """Consecutive slices that have about as many names each."""
    before = np.concatenate(([0], np.cumsum(lengths)))
    start = 0
    while start < len(lengths):
        stop = max(int(np.searchsorted(before, before[start] + _NAMES_AT_ONCE, "right")) - 1, start + 1)
        yield slice(start, stop)
        start = stop
