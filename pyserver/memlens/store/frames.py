"""The frames of an archive, as typed columns with the numbers of their strings."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from memlens.model.frames import Frames
from memlens.store.column_files import ColumnFiles
from memlens.store.columns import Columns, Count, Source, Stored
from memlens.store.strings import Strings, StringWriter

Mask = npt.NDArray[np.bool_]

FrameRow = tuple[str, int, str, int]
"""File, line, function, kind."""


class FrameColumns(Columns):
    """An item a frame."""

    prefix = "frame_"
    file = Stored(np.uint32, "frames", below="strings")
    """0 for a frame without a file."""
    line = Stored(np.int32, "frames")
    """0 where it isn't known."""
    function = Stored(np.uint32, "frames", below="strings")
    kind = Stored(np.uint8, "frames")
    """Whose code it is: USER, LIBRARY or NATIVE."""
    source = Stored(np.uint8, "frames")
    """How the frame is known, as a number of ``SOURCE_NAMES``."""

    def __init__(self, source: Source, counts: Mapping[Count, int]) -> None:
        super().__init__(source, counts)
        self.strings = Strings(source, counts)

    def __len__(self) -> int:
        return len(self.kind)

    def rows(self, numbers: Iterable[int]) -> dict[int, FrameRow]:
        """Some frames in words, by number. Raises IndexError for a number that names no frame."""
        files, lines, functions, kinds = (
            column.data for column in (self.file, self.line, self.function, self.kind)
        )
        chosen = set(numbers)
        texts = self.strings.some([column[number] for column in (files, functions) for number in chosen])
        return {
            number: (texts[files[number]], lines[number], texts[functions[number]], kinds[number])
            for number in chosen
        }

    def all_rows(self) -> list[FrameRow]:
        """All frames in words, for what has to look at each of them."""
        return self._rows(slice(None))

    def _rows(self, chosen: npt.NDArray[np.int64] | slice) -> list[FrameRow]:
        files, functions = self.file[chosen], self.function[chosen]
        texts = self.strings.texts(np.concatenate((files, functions)))
        return list(
            zip(
                texts[: len(files)],
                self.line[chosen].tolist(),
                texts[len(files) :],
                self.kind[chosen].tolist(),
                strict=True,
            )
        )

    def in_file(self, test: Callable[[str], bool]) -> Mask:
        """Which frames have a file whose path passes a test."""
        found: Mask = self.strings.where(self.file, test) & (self.file != 0)
        return found

    def in_function(self, test: Callable[[str], bool]) -> Mask:
        """Which frames have a function whose name passes a test."""
        return self.strings.where(self.function, test)

    def distinct(
        self, chosen: npt.NDArray[np.intp] | None = None
    ) -> tuple[list[tuple[str, str, int]], npt.NDArray[np.intp]]:
        """The distinct files, functions and kinds that frames have together, and the place there of each frame.

        ``chosen`` are the frames, None for all.
        """
        numbers = np.arange(len(self)) if chosen is None else chosen
        texts = self.file[numbers].astype(np.uint64) << np.uint64(32) | self.function[numbers]
        _, places = np.unique(texts, return_inverse=True)
        _, first, places = np.unique(places << 8 | self.kind[numbers], return_index=True, return_inverse=True)
        rows = self._rows(numbers[first])
        return [(file, function, kind) for file, _, function, kind in rows], places


def write_frames(columns: ColumnFiles, frames: Frames, strings: StringWriter) -> None:
    """Write the columns of frames; their strings get numbers."""
    rows = frames.frames
    columns.write(
        FrameColumns,
        {
            "file": strings.numbers(frame.file for frame in rows),
            "line": np.fromiter((frame.line for frame in rows), np.int32, len(rows)),
            "function": strings.numbers(frame.function for frame in rows),
            "kind": frames.kinds,
            "source": frames.sources,
        },
    )
