"""Folded stacks: the paths to the nodes of a tree, a line each, within the bound of :mod:`memlens.model.expansion`.

All paths together have a bound as well, which follows from the file's bytes: a name may have a thousand letters, and be
in a million paths, each of which a file has in a byte. Beyond it the longest names are cut, and where they are short,
the outermost ones of the longest paths are left out.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from memlens.arrays import I64, U32, U64
from memlens.cli.output import note_of_cut, note_of_cut_texts, say
from memlens.formats.stacks import CUT
from memlens.kernels.tree import stacks as kernel
from memlens.model.expansion import Levels, fitting, levels_of
from memlens.store.manifest import InconsistentError
from memlens.units import shortened

_NAMES_AT_ONCE = 1 << 16
_LEAST_CHARACTERS = 4 << 20
_CHARACTERS_OF_BYTE = 10
"""How many characters all paths have at most, together, by the bytes of the file, which may be compressed."""
_LEAST_OF_NODES, _CHARACTERS_OF_NODE = 10 << 20, 32
"""The same by the nodes of the tree: half as many again as those of the largest recordings."""
_READABLE = 24
"""Names are cut to no fewer characters while paths have more than one of them."""


def paths(
    parents: U32,
    names: U32,
    nodes: U32,
    texts: Mapping[int, str],
    file_bytes: int,
    most: int | None = None,
    note: Callable[[Levels], None] = note_of_cut,
) -> Iterator[str]:
    """Yield the names down to each of some nodes, joined by semicolons, without the root's.

    ``names`` are the numbers of the nodes' names in ``texts``, ``file_bytes`` is the size of the tree's file or files,
    and ``most`` how many names all paths have, by default as many as stacks have; ``note`` prints that some lack names.
    What is cut is reported on stderr, and the paths that lack their first names begin with ``(stack cut off)``. Raises
    :class:`InconsistentError` for a damaged tree.
    """
    levels = levels_of(parents, nodes, most)
    if levels is None:
        raise InconsistentError("The tree contains a cycle")
    if levels.is_cut:
        note(levels)
    most_characters = min(
        _LEAST_CHARACTERS + _CHARACTERS_OF_BYTE * file_bytes,
        _LEAST_OF_NODES + _CHARACTERS_OF_NODE * len(parents),
    )
    all_levels = levels
    while True:
        cut, kept = levels.depths > levels.most, levels.kept
        used, counts = _counted(parents, names, nodes, kept)
        # each with a separator
        lengths = np.array([len(texts[number]) + 1 for number in used.tolist()], np.int64)
        room = most_characters - (len(CUT.function) + 1) * int(cut.sum())
        least = int(np.minimum(lengths, _READABLE) @ counts)
        if least <= room or levels.most == 1:
            break
        most_names = int(kept.sum() * max(room, 0) / least)
        levels = levels._replace(most=min(fitting(levels.depths, most_names), levels.most - 1))
    if levels.most < all_levels.most:
        say(
            f"note: lines have the innermost {levels.most:,} names of each path, to be of a bounded length.",
            error=True,
        )
    texts = _fitting(texts, used, lengths, counts, room)
    for part in _parts(kept):
        sequence, starts = _unrolled(parents, names, nodes[part], kept[part])
        numbers, places = sequence.tolist(), starts.tolist()
        for first, last, is_cut in zip(places, places[1:], cut[part].tolist(), strict=False):
            path = ";".join(map(texts.__getitem__, reversed(numbers[first:last])))
            yield f"{CUT.function};{path}" if is_cut else path


def _unrolled(parents: U32, names: U32, nodes: U32, kept: I64) -> tuple[U32, U64]:
    """The names of the ``kept`` innermost nodes of each path, one path after the other, and where each begins."""
    starts = np.concatenate(([0], np.cumsum(kept))).astype(np.uint64)
    sequence = np.empty(int(starts[-1]), np.uint32)
    kernel.unroll(parents, names, nodes, starts, sequence)
    return sequence, starts


def _counted(parents: U32, names: U32, nodes: U32, kept: I64) -> tuple[U32, I64]:
    """The names that the paths have, and how often all paths together have each."""
    distinct, named = np.unique(names, return_inverse=True)
    of_nodes, counts = named.astype(np.uint32), np.zeros(len(distinct), np.int64)
    for part in _parts(kept):
        sequence, _ = _unrolled(parents, of_nodes, nodes[part], kept[part])
        counts += np.bincount(sequence, minlength=len(counts))
    return distinct[counts > 0], counts[counts > 0]


def _fitting(texts: Mapping[int, str], used: U32, lengths: I64, counts: I64, most: int) -> Mapping[int, str]:
    """The used texts, cut so that all their occurrences together have at most ``most`` characters."""
    if int(lengths @ counts) <= most:
        return texts
    longest = max(fitting(lengths, most, counts) - 1, 1)
    note_of_cut_texts(int((lengths - 1 > longest).sum()), longest)
    return {number: shortened(texts[number], longest) for number in used.tolist()}


def _parts(lengths: I64) -> Iterator[slice]:
    """Consecutive slices with about equally many names."""
    before = np.concatenate(([0], np.cumsum(lengths)))
    start = 0
    while start < len(lengths):
        stop = max(int(np.searchsorted(before, before[start] + _NAMES_AT_ONCE, "right")) - 1, start + 1)
        yield slice(start, stop)
        start = stop
