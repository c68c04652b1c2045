"""The frames of an archive, as typed columns with the numbers of their strings."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import U8, U32, Mask
from memlens.model.distinct import distinct, first_equal
from memlens.model.frames import Frames
from memlens.model.texts import Texts
from memlens.store.columns import Array, Columns, Count, Source, Stored
from memlens.store.files.column_files import ColumnFiles
from memlens.store.stacks.strings import Strings, StringWriter

FrameRow = tuple[str, int, str, int]
"""File, line, function, kind."""

_MOST_READ_AT_ONCE = 1 << 12


class FrameColumns(Columns):
    """One item per frame."""

    prefix = "frame_"
    file = Stored(np.uint32, "frames", below="strings")
    """0 for a frame without a file."""
    line = Stored(np.int32, "frames")
    """0 if it isn't known."""
    function = Stored(np.uint32, "frames", below="strings")
    kind = Stored(np.uint8, "frames")
    """Whose code it is: USER, LIBRARY or NATIVE."""
    source = Stored(np.uint8, "frames")
    """How the frame is known, as an index of ``SOURCE_NAMES``."""
    doubtful = Stored(np.uint8, "frames")
    """1 for a frame of the user's only probably: of another project than the program's, see ``model/own_root.py``."""

    def __init__(self, source: Source, counts: Mapping[Count, int]) -> None:
        super().__init__(source, counts)
        self.strings = Strings(source, counts)

    def __len__(self) -> int:
        return len(self.kind)

    def rows(self, numbers: Iterable[int]) -> dict[int, FrameRow]:
        """Some frames with their texts, by number. Raises IndexError for a number that no frame has."""
        files, lines, functions, kinds = (
            column.data for column in (self.file, self.line, self.function, self.kind)
        )
        chosen = set(numbers)
        texts = self.strings.some([column[number] for column in (files, functions) for number in chosen])
        return {
            number: (texts[files[number]], lines[number], texts[functions[number]], kinds[number])
            for number in chosen
        }

    def each(self, numbers: npt.NDArray[np.integer] | None = None) -> Iterator[FrameRow]:
        """Some frames with their texts, or all, in order. The texts of a few thousand are read at a time."""
        chosen = np.arange(len(self)) if numbers is None else numbers
        for start in range(0, len(chosen), _MOST_READ_AT_ONCE):
            part = chosen[start : start + _MOST_READ_AT_ONCE]
            files, functions = self.file[part], self.function[part]
            texts = self.strings.some(np.concatenate((files, functions)))
            yield from zip(
                map(texts.__getitem__, files.tolist()),
                self.line[part].tolist(),
                map(texts.__getitem__, functions.tolist()),
                self.kind[part].tolist(),
                strict=True,
            )

    def in_file(self, test: Callable[[str], bool]) -> Mask:
        """Mask of the frames with a file whose path passes a test."""
        found: Mask = self.strings.where(self.file, test) & (self.file != 0)
        return found

    def in_function(self, test: Callable[[str], bool]) -> Mask:
        """Mask of the frames with a function whose name passes a test."""
        return self.strings.where(self.function, test)

    def distinct(
        self, chosen: npt.NDArray[np.intp] | None = None
    ) -> tuple[Iterator[tuple[str, str, int]], npt.NDArray[np.intp]]:
        """The distinct combinations of file, function and kind of frames, and the index of each frame's combination.

        ``chosen`` are the frames, None for all. Combinations are in the order of their first frames.
        """
        numbers = np.arange(len(self)) if chosen is None else chosen
        columns = (self.file[numbers], self.function[numbers], self.kind[numbers])
        first = first_equal(np.stack(columns, axis=1))
        firsts = distinct(first)
        places = np.searchsorted(firsts, first)
        rows = self.each(numbers[firsts])
        return ((file, function, kind) for file, _, function, kind in rows), places

    def alike(self, *, by_line: bool) -> U32:
        """For each frame the first with the same file and function (and line) that is known in the same way."""
        columns = (self.file, self.function, self.source)
        return first_equal(np.stack((*columns, self.line) if by_line else columns, axis=1))


class _Lists:
    """Provides columns from memory."""

    def __init__(self, columns: Mapping[str, Array]) -> None:
        self._columns = columns

    def description(self, file: str) -> tuple[np.dtype[Any], int] | None:
        column = self._columns.get(file)
        return None if column is None else (column.dtype, len(column))

    def array(self, file: str) -> Array:
        return self._columns[file]

    def items(self, file: str, chosen: slice | npt.NDArray[np.integer]) -> Array:
        return self._columns[file][chosen]


def listed(rows: Iterable[FrameRow], sources: U8 | None = None) -> FrameColumns:
    """Frames that aren't in an archive; ``sources`` are as in the columns, all RECORDED by default."""
    known = list(rows)
    numbers: dict[str, int] = {"": 0}
    files = [numbers.setdefault(file, len(numbers)) for file, _, _, _ in known]
    functions = [numbers.setdefault(function, len(numbers)) for _, _, function, _ in known]
    texts = Texts.of(numbers)
    columns: dict[str, Array] = {
        FrameColumns.file.file: np.array(files, np.uint32),
        FrameColumns.line.file: np.array([row[1] for row in known], np.int32),
        FrameColumns.function.file: np.array(functions, np.uint32),
        FrameColumns.kind.file: np.array([row[3] for row in known], np.uint8),
        FrameColumns.source.file: np.zeros(len(known), np.uint8) if sources is None else sources,
        FrameColumns.doubtful.file: np.zeros(len(known), np.uint8),
        Strings.end.file: texts.end,
        Strings.utf8.file: texts.utf8,
    }
    counts: dict[Count, int] = {
        "frames": len(known), "strings": len(numbers), "string bytes": len(texts.utf8)
    }  # fmt: skip
    return FrameColumns(_Lists(columns), counts)


def write_frames(
    columns: ColumnFiles, frames: Frames, strings: StringWriter, doubtful: Mask | None = None
) -> None:
    """Write the columns of frames; their strings get numbers. ``doubtful`` is as the column, None for none."""
    files, lines, functions, _ = zip(*frames.frames, strict=True) if frames.frames else ((),) * 4
    columns.write(
        FrameColumns,
        {
            "file": strings.numbers(files),
            "line": np.array(lines, np.int32),
            "function": strings.numbers(functions),
            "kind": frames.kinds,
            "source": frames.sources,
            "doubtful": np.zeros(len(lines), np.uint8) if doubtful is None else doubtful.astype(np.uint8),
        },
    )
