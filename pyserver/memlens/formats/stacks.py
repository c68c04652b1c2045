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
    starts = frames.starts.astype(np.int64)
    lengths = np.diff(starts)[chosen] + 1
    ends = np.cumsum(lengths)
    places = (
        np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths) + np.repeat(starts[chosen], lengths)
    )
    # the place behind a stack's last frame is another's, or none at all: there the new frame goes
    copied = np.append(frames.sequence, np.uint32(0))[places]
    copied[ends - 1] = len(frames.frames)
    found = Frames(
        [*frames.frames, CUT],
        np.concatenate((frames.starts, (ends + starts[-1]).astype(np.uint64))),
        np.concatenate((frames.sequence, copied.astype(np.uint32))),
    )
    moved = np.searchsorted(chosen, stacks) + (len(starts) - 1)
    return found, np.where(cut, moved, stacks).astype(np.uint32)
