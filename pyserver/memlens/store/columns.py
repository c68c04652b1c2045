"""The columns of an archive as typed attributes: name, type and length of each are declared once.

A subclass of :class:`Columns` declares columns that belong together. Writers pass arrays to ``column_files.py`` by the
names of the attributes, and readers get an instance from an open snapshot, so that every column that is written can be
read and has the declared type and length. A file's name is the scope of the instance (the device) if it has one, the
prefix of its class, and the name of the attribute.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from memlens.model.timeline import NEVER
from memlens.store.manifest import InconsistentError

S = TypeVar("S", bound=np.generic)
Array = npt.NDArray[Any]

Count = Literal[
    "strings", "string bytes", "frames", "lines", "nodes", "stacks", "modules", "events", "moments", "allocations",
    "samples", "edges", "change offsets", "objects", "object ends", "holders", "references", "types", "type ends",
    "field values", "compact nodes",
]  # fmt: skip
"""What a column has an item for each of.

"moments" are one more than events; "change offsets" one more than edges; "object ends" and "type ends" one more than
objects and types, "holders" two more than objects.
"""


class Declared:
    """The declaration of a column: its allowed types, and how many items it has."""

    name: str
    file: str
    """The name of its file, without the scope; for a :class:`StoredMany` a dot and a key follow."""

    def __init__(
        self, dtypes: tuple[np.dtype[Any], ...], of: Count | None, *, per: int = 1, width: int = 1
    ) -> None:
        self.dtypes = tuple(dtype.newbyteorder("<") for dtype in dtypes)
        self.of = of
        self.per = per
        self.width = width

    def __set_name__(self, owner: type["Columns"], name: str) -> None:
        self.name = name
        self.file = owner.prefix + name

    def length(self, count: int) -> int:
        """The number of items of the column, given the ``count`` of what it describes."""
        return self.width * (count if self.per == 1 else max(-(-count // self.per), 1))

    def check(self, column: Array, counts: Mapping[Count, int]) -> None:
        """Raises :class:`InconsistentError` for a value that is out of range."""


_PART = 1 << 16


def _parts(column: Array, more: int = 0) -> Iterator[tuple[int, Array]]:
    """A column in parts that fit the processor's caches, each with its offset. Parts overlap by ``more`` items."""
    for at in range(0, len(column), _PART):
        yield at, column[at : at + _PART + more]


class _Numbers(Declared, Generic[S]):
    """Columns of plain numbers.

    There is an item for each ``of``, or one for every ``per`` of them, or ``width`` items for each. ``below`` says what
    the values index (or that they index earlier items of the same column), so that kernels may use them as indexes;
    they are checked when the column is mapped. ``or_never`` also allows NEVER, and ``first`` is the first item that is
    checked. ``into`` says that values are offsets into columns of that kind: they begin with 0, never descend, and end
    with its count.
    """

    def __init__(
        self,
        kind: type[S],
        of: Count,
        *,
        per: int = 1,
        width: int = 1,
        below: Count | Literal["itself"] | None = None,
        or_never: bool = False,
        first: int = 0,
        into: Count | None = None,
    ) -> None:
        super().__init__((np.dtype(kind),), of, per=per, width=width)
        self._into = into
        self._below = below
        self._or_never = or_never
        self._first = first

    def check(self, column: Array, counts: Mapping[Count, int]) -> None:
        if self._into is not None:
            ends = len(column) > 0 and int(column[0]) == 0 and int(column[-1]) == counts[self._into]
            if not ends or any(bool((part[1:] < part[:-1]).any()) for _, part in _parts(column, 1)):
                raise InconsistentError(f"Column {self.file} has offsets that are out of range")
        if self._below is None:
            return
        values = column[self._first :]
        if self._below == "itself":
            own = np.arange(_PART, dtype=values.dtype)
            fits = all(
                bool((part < own[: len(part)] + values.dtype.type(self._first + at)).all())
                for at, part in _parts(values)
            )
        elif self._or_never:
            fits = all(
                bool(((part < counts[self._below]) | (part == NEVER)).all()) for _, part in _parts(values)
            )
        else:
            fits = not len(values) or int(values.max()) < counts[self._below]
        if not fits:
            raise InconsistentError(f"Column {self.file} has a number that is out of range")

    def check_some(self, values: Array, counts: Mapping[Count, int]) -> None:
        """Check some items of a column, as far as that can be done without the others."""
        if self._or_never:
            values = values[values != NEVER]
        most = int(values.max(initial=0))
        if self._into is not None:
            fits = most <= counts[self._into]
        else:
            fits = self._below is None or self._below == "itself" or most < max(counts[self._below], 1)
        if not fits:
            raise InconsistentError(f"Column {self.file} has a number that is out of range")


class Stored(_Numbers[S]):
    """A column of numbers that all archives of its model have."""

    @overload
    def __get__(self, columns: None, owner: type["Columns"]) -> Self: ...
    @overload
    def __get__(self, columns: "Columns", owner: type["Columns"]) -> npt.NDArray[S]: ...
    def __get__(self, columns: "Columns | None", owner: type["Columns"]) -> Self | npt.NDArray[S]:
        return self if columns is None else columns.needed(self)


class StoredIfAny(_Numbers[S]):
    """A column of numbers that is None if the archive doesn't have it, because nothing is known about it."""

    @overload
    def __get__(self, columns: None, owner: type["Columns"]) -> Self: ...
    @overload
    def __get__(self, columns: "Columns", owner: type["Columns"]) -> npt.NDArray[S] | None: ...
    def __get__(self, columns: "Columns | None", owner: type["Columns"]) -> Self | npt.NDArray[S] | None:
        return self if columns is None else columns.mapped(self)


class StoredMany(_Numbers[S]):
    """Columns of numbers of one kind, distinguished by a key."""

    @overload
    def __get__(self, columns: None, owner: type["Columns"]) -> Self: ...
    @overload
    def __get__(self, columns: "Columns", owner: type["Columns"]) -> "Keyed[S]": ...
    def __get__(self, columns: "Columns | None", owner: type["Columns"]) -> "Self | Keyed[S]":
        return self if columns is None else columns.keyed(self)


class StoredTable(Declared):
    """Structured rows of one of some types, of any number; none if the archive doesn't have the column.

    ``file`` names a file whose name has no prefix.
    """

    def __init__(self, *dtypes: np.dtype[Any], file: str | None = None) -> None:
        super().__init__(dtypes, None)
        self._own_file = file

    def __set_name__(self, owner: type["Columns"], name: str) -> None:
        super().__set_name__(owner, name)
        self.file = self._own_file or self.file

    @overload
    def __get__(self, columns: None, owner: type["Columns"]) -> Self: ...
    @overload
    def __get__(self, columns: "Columns", owner: type["Columns"]) -> npt.NDArray[np.void]: ...
    def __get__(self, columns: "Columns | None", owner: type["Columns"]) -> Self | npt.NDArray[np.void]:
        return self if columns is None else columns.table(self)


class Keyed(Generic[S]):
    """Columns by key, each mapped when it is first used."""

    def __init__(self, find: Callable[[str], npt.NDArray[S]]) -> None:
        self._find = find
        self._found: dict[str, npt.NDArray[S]] = {}

    def __getitem__(self, key: int | str) -> npt.NDArray[S]:
        found = self._found.get(str(key))
        if found is None:
            found = self._found[str(key)] = self._find(str(key))
        return found


class Source(Protocol):
    """The source of columns: an archive's files."""

    def description(self, file: str) -> tuple[np.dtype[Any], int] | None:
        """The type and the number of items of a file's column; None if the archive doesn't have the file."""

    def array(self, file: str) -> Array:
        """A column. Raises ``ArchiveError`` if its file doesn't match the manifest."""

    def items(self, file: str, chosen: slice | npt.NDArray[np.integer]) -> Array | None:
        """Some items of a column; None where it is better to ask for all. Raises ``ArchiveError``."""


class Columns:
    """Columns that belong together, each mapped and checked when it is first used; read-only.

    A column that isn't as declared raises :class:`InconsistentError`.
    """

    prefix: ClassVar[str] = ""

    def __init__(self, source: Source, counts: Mapping[Count, int], scope: str = "") -> None:
        self._source: Final = source
        self._counts: Final = counts
        self._scope: Final = scope
        self._unchecked: Final = dict[str, Array]()

    @classmethod
    def declared(cls) -> Iterator[Declared]:
        """The columns."""
        for each in cls.__mro__:
            yield from (column for column in vars(each).values() if isinstance(column, Declared))

    def needed(self, column: _Numbers[S]) -> npt.NDArray[S]:
        """A column that must exist."""
        found = self.mapped(column)
        if found is None:
            raise InconsistentError(f"The archive has no column {column.file}")
        return found

    def mapped(self, column: _Numbers[S]) -> npt.NDArray[S] | None:
        """A column, or None."""
        found = self._find(column, column.file)
        if found is not None:
            self.check_with_others(column, found)
        vars(self)[column.name] = found
        self._unchecked.pop(column.name, None)
        return found

    def check_with_others(self, column: Declared, found: Array) -> None:
        """Check a column that is mapped as a whole against others. Raises :class:`InconsistentError`."""

    def items(self, column: Stored[S], chosen: slice | npt.NDArray[np.integer]) -> npt.NDArray[S]:
        """Some items of a column, of which only these are checked: checking a column of many millions takes long."""
        whole: npt.NDArray[S] | None = vars(self).get(column.name)
        if whole is not None:
            return whole[chosen]
        found: npt.NDArray[S] | None = None
        if column.name not in self._unchecked:
            file = self._described(column, column.file)
            found = None if file is None else self._source.items(file, chosen)
        if found is None:
            found = self.unchecked(column)[chosen]
        column.check_some(found, self._counts)
        return found

    def unchecked(self, column: Stored[S]) -> npt.NDArray[S]:
        """A column with the declared type and length, for kernels that check each number they use."""
        whole: npt.NDArray[S] | None = vars(self).get(column.name)
        if whole is None:
            whole = self._unchecked.get(column.name)
        if whole is None:
            whole = self._file(column, column.file)
            if whole is None:
                raise InconsistentError(f"The archive has no column {column.file}")
            self._unchecked[column.name] = whole
        return whole

    def keyed(self, column: _Numbers[S]) -> Keyed[S]:
        """The columns of a :class:`StoredMany`."""

        def find(key: str) -> npt.NDArray[S]:
            array = self._find(column, f"{column.file}.{key}")
            if array is None:
                raise InconsistentError(f"The archive has no column {column.file}.{key}")
            return array

        found = Keyed(find)
        vars(self)[column.name] = found
        return found

    def table(self, column: StoredTable) -> npt.NDArray[np.void]:
        """The rows of a table."""
        found = self._find(column, column.file)
        if found is None:
            found = np.empty(0, column.dtypes[0])
        vars(self)[column.name] = found
        return found

    def _find(self, column: Declared, file: str) -> Array | None:
        array = self._file(column, file)
        if array is None:
            return None
        column.check(array, self._counts)
        return array if column.width == 1 else array.reshape(-1, column.width)

    def _file(self, column: Declared, file: str) -> Array | None:
        """A file's items; only their type and number are checked."""
        found = self._described(column, file)
        return None if found is None else self._source.array(found)

    def _described(self, column: Declared, file: str) -> str | None:
        """A file's name in the archive, None if it has none. Raises :class:`InconsistentError`."""
        file = self._scope + file
        described = self._source.description(file)
        if described is None:
            return None
        dtype, items = described
        if dtype not in column.dtypes:
            raise InconsistentError(f"Column {file} is of another type")
        if column.of is not None and items != column.length(self._counts[column.of]):
            raise InconsistentError(f"Column {file} has another length")
        return file
