"""How far what a file holds once may be written out, where it is referred to many times.

A format lets a few bytes stand for much: each of 50,000 nested calls is a stack of its own, and written out in full
they have a thousand million frames. Whatever writes out what the file shares keeps to one bound, which follows from
what the file has: :func:`most_items`. For stacks that is the number of innermost frames that each keeps,
:func:`levels_of`, the same in SQL's tables, in exports and in what is printed.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64
from memlens.kernels.tree import stacks as kernel
from memlens.model.info import FileWarning
from memlens.texts import phrase

LEAST_ITEMS = 1 << 16
"""What is always written out in full."""
_ITEMS_PER_BYTE = 16
_LEAST_FRAMES = 1 << 17
_ITEMS_OF_CALL = 10
"""As often a node of the tree of calls may be written out: in recordings of programs it is up to ten times."""
_ITEMS_OF_SAMPLE = 64
"""As many frames a sample's stack has where it is written out for each sample."""
DEEP_STACKS = "deep-stacks"
"""The code of the warning of what is cut."""

Numbers = npt.NDArray[Any]


def most_items(file_bytes: int) -> int:
    """Return the most items (frames, labels, rows) that a file of that size may be written out to."""
    return max(LEAST_ITEMS, _ITEMS_PER_BYTE * file_bytes)


def most_frames(calls: int, samples: int = 0) -> int:
    """Return the most frames that the stacks of a tree with so many nodes may be written out to.

    ``samples`` is the number of samples, where each has its stack in full.
    """
    return max(_LEAST_FRAMES, _ITEMS_OF_CALL * calls + _ITEMS_OF_SAMPLE * samples)


class Levels(NamedTuple):
    """How many innermost frames of each stack are written out: for stack ``s`` the smaller of ``most`` and its
    depth.
    """

    most: int
    depths: I64
    """The number of frames of each stack."""

    @property
    def is_cut(self) -> bool:
        """Whether any stack has more frames than are written out."""
        return bool(self.depths.max(initial=0) > self.most)

    @property
    def kept(self) -> I64:
        """The number of frames of each stack that are written out."""
        return np.minimum(self.depths, self.most)


def fitting(lengths: I64, most: int, counts: I64 | None = None) -> int:
    """Return the length, at least 1, to which all are cut so that together they have no more than ``most``.

    ``counts`` says how often each occurs, once by default.
    """
    # how many have something at each place, and how much there is down to it
    longer = np.cumsum(np.bincount(lengths, counts, minlength=1)[::-1])[::-1][1:]
    return max(int(np.searchsorted(np.cumsum(longer), most, "right")), 1)


def levels_of(parents: Numbers, nodes: Numbers, most: int | None = None) -> Levels | None:
    """Return how many frames the stacks at some nodes of a prefix tree keep; None if the tree is damaged.

    ``most`` is the number of all frames that are written out, by default one that follows from the tree.
    """
    of_nodes = np.empty(len(parents), np.uint32)
    if not kernel.depths(parents, of_nodes) or (len(nodes) and int(nodes.max()) >= len(parents)):
        return None
    depths = of_nodes[nodes].astype(np.int64)
    return Levels(fitting(depths, most or most_frames(len(parents))), depths)


def deep_stacks(parents: Numbers, nodes: Numbers) -> list[FileWarning]:
    """Return the warning of what is cut when the stacks at some nodes are written out, if anything is."""
    levels = levels_of(parents, nodes)
    return [] if levels is None or not levels.is_cut else [levels_warning(levels)]


def levels_warning(levels: Levels) -> FileWarning:
    """Return the warning of what is cut."""
    said = phrase(
        "Stacks are up to {depth} frames deep and share most of their frames: the table stack_frames in SQL, exports "
        "and folded stacks have the innermost {most} frames of each, and lack {n}.",
        depth=int(levels.depths.max(initial=0)),
        most=levels.most,
        n=int((levels.depths - levels.kept).sum()),
    )
    return FileWarning(DEEP_STACKS, said)
