"""Stacks as the readers of profiles make them: told what was cut off, and each distinct frame once."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from memlens.model.frames import NATIVE, Frames, SourceFrame

CUT = SourceFrame("", 0, "(stack cut off)", NATIVE)
"""Stands as the outermost caller of a stack whose older callers weren't recorded."""

Item = TypeVar("Item", bound=Hashable)


class Numbers(dict[Item, int]):
    """Numbers distinct items in the order in which they are first asked for."""

    def __missing__(self, item: Item) -> int:
        number = self[item] = len(self)
        return number


def distinct_frames(frames: Iterable[SourceFrame]) -> tuple[list[SourceFrame], npt.NDArray[np.uint32]]:
    """The distinct ones of ``frames``, and the number among them of each."""
    numbers: Numbers[SourceFrame] = Numbers()
    found = np.fromiter((numbers[frame] for frame in frames), np.uint32)
    return list(numbers), found


def cut_stacks(
    frames: Frames, stacks: npt.NDArray[np.uint32], cut: npt.NDArray[np.bool_]
) -> tuple[Frames, npt.NDArray[np.uint32]]:
    """Frames whose stacks end with :data:`CUT` where ``cut`` says so, and ``stacks`` numbered anew.

    ``stacks`` and ``cut`` have an item a sample; a stack may be whole in one sample and cut in another.
    """
    if not cut.any():
        return frames, stacks
    # which stacks occur cut: copies of them, a frame longer, follow all others
    chosen = np.unique(stacks[cut])
    whole = int(frames.starts[-1])
    starts, places = _places(frames, chosen, more=1)
    # the place behind a stack's last frame is another's, or none at all: there the new frame goes
    copied = np.append(frames.sequence, np.uint32(0))[places]
    copied[starts[1:] - 1] = len(frames.frames)
    found = Frames(
        [*frames.frames, CUT],
        np.concatenate((frames.starts, (starts[1:] + whole).astype(np.uint64))),
        np.concatenate((frames.sequence, copied.astype(np.uint32))),
    )
    moved = np.searchsorted(chosen, stacks) + (len(frames.starts) - 1)
    return found, np.where(cut, moved, stacks).astype(np.uint32)


def used_stacks(frames: Frames, stacks: npt.NDArray[np.uint32]) -> tuple[Frames, npt.NDArray[np.uint32]]:
    """Only the frames and stacks that ``stacks`` (an item a sample) refer to, and ``stacks`` numbered anew."""
    chosen, numbers = np.unique(stacks, return_inverse=True)
    starts, places = _places(frames, chosen, more=0)
    named, sequence = np.unique(frames.sequence[places], return_inverse=True)
    kept = [frames.frames[frame] for frame in named.tolist()]
    return Frames(kept, starts.astype(np.uint64), sequence.astype(np.uint32)), numbers.astype(np.uint32)


def _places(
    frames: Frames, chosen: npt.NDArray[np.uint32], *, more: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where the frames of ``chosen`` stacks stand in the sequence, one after the other, and where each stack starts.

    Each is taken to be ``more`` frames longer than it is.
    """
    old = frames.starts.astype(np.int64)
    lengths = np.diff(old)[chosen] + more
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return starts, np.arange(int(starts[-1])) + np.repeat(old[chosen] - starts[:-1], lengths)
