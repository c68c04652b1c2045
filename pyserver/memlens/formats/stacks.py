"""Helpers for the stacks of profiles: distinct frames, and marks of truncated stacks."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

import numpy as np

from memlens.arrays import I64, U32, U64, Mask
from memlens.model.distinct import distinct
from memlens.model.frames import NATIVE, Frames, SourceFrame

CUT = SourceFrame("", 0, "(stack cut off)", NATIVE)
"""The outermost frame of a stack whose outer callers weren't recorded."""

Item = TypeVar("Item", bound=Hashable)


class Numbers(dict[Item, int]):
    """Numbers distinct items in the order of their first use."""

    def __missing__(self, item: Item) -> int:
        number = self[item] = len(self)
        return number


def distinct_frames(frames: Iterable[SourceFrame]) -> tuple[list[SourceFrame], U32]:
    """Return the distinct frames, and the number of each of ``frames`` among them."""
    numbers: Numbers[SourceFrame] = Numbers()
    of_frames = np.fromiter((numbers[frame] for frame in frames), np.uint32)
    return list(numbers), of_frames


def with_inlined(starts: U64, items: U32, sizes: I64) -> tuple[U64, I64]:
    """Expand the items of stacks, such as addresses, each to as many frames as ``sizes`` says.

    Returns the starts of the stacks, and the numbers of their frames: those of the first item come first.
    """
    first = np.concatenate(([0], np.cumsum(sizes)))
    count = sizes[items]
    ends = np.concatenate(([0], np.cumsum(count)))
    places = np.arange(int(ends[-1])) + np.repeat(first[items] - ends[:-1], count)
    return ends[starts.astype(np.int64)].astype(np.uint64), places


def cut_stacks(frames: Frames, stacks: U32, cut: Mask) -> tuple[Frames, U32]:
    """Append :data:`CUT` to the stacks of samples that are ``cut``; return the frames, and the samples' new stacks.

    ``stacks`` and ``cut`` have an item per sample; a stack may be whole in one sample and cut in another.
    """
    if not cut.any():
        return frames, stacks
    # copies of the stacks that are cut somewhere, one frame longer, follow all others
    chosen = distinct(stacks[cut])
    whole = int(frames.starts[-1])
    starts, places = _places(frames, chosen, more=1)
    # what follows a stack's last frame belongs to another stack, and is replaced by the new frame
    copied = np.append(frames.sequence, np.uint32(0))[places]
    copied[starts[1:] - 1] = len(frames.frames)
    extended = Frames(
        [*frames.frames, CUT],
        np.concatenate((frames.starts, (starts[1:] + whole).astype(np.uint64))),
        np.concatenate((frames.sequence, copied.astype(np.uint32))),
    )
    moved = np.searchsorted(chosen, stacks) + (len(frames.starts) - 1)
    return extended, np.where(cut, moved, stacks).astype(np.uint32)


def used_stacks(frames: Frames, stacks: U32) -> tuple[Frames, U32]:
    """Drop unused frames and stacks; return the frames, and the samples' stacks (an item per sample) renumbered."""
    chosen, numbers = np.unique(stacks, return_inverse=True)
    starts, places = _places(frames, chosen, more=0)
    named, sequence = np.unique(frames.sequence[places], return_inverse=True)
    kept = [frames.frames[frame] for frame in named.tolist()]
    return Frames(kept, starts.astype(np.uint64), sequence.astype(np.uint32)), numbers.astype(np.uint32)


def _places(frames: Frames, chosen: U32, *, more: int) -> tuple[I64, I64]:
    """Return the starts of the ``chosen`` stacks in a new sequence, and the old index of each of its items.

    Each stack is taken to be ``more`` frames longer than it is.
    """
    old = frames.starts.astype(np.int64)
    lengths = np.diff(old)[chosen] + more
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return starts, np.arange(int(starts[-1])) + np.repeat(old[chosen] - starts[:-1], lengths)
