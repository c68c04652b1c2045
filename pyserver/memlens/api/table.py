"""Tables of answers, for programs and notebooks."""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, overload

import msgspec
from msgspec import Struct

from memlens.api.arrow import ColumnType, stream_of, struct_array
from memlens.export import summary
from memlens.export.report import as_part, grid
from memlens.json_text import in_english
from memlens.texts import Text
from memlens.units import format_bytes, shortened

Cell = str | int | float | bool | bytes | None
Row = dict[str, Cell]
_MOST_TEXT = 400
"""Characters of a cell in a notebook."""
_TYPES: dict[Any, ColumnType] = {
    str: "text", Text: "text", int: "integer", float: "real", bool: "boolean", bytes: "blob",
}  # fmt: skip


class Table:
    """Rows with named columns. It is no ``Sequence``: of those Polars would guess the types from the first rows.

    ``table[0]`` is a row, ``table["file"]`` a column. ``types`` has the type of each column. ``data`` is the whole
    answer, as the command prints it with ``--json``: also sums, and what doesn't fit into columns. Sizes are in bytes,
    times in microseconds.
    """

    def __init__(
        self, columns: Mapping[str, Sequence[Any]], types: Mapping[str, ColumnType], data: Any = None
    ) -> None:
        self._columns = {name: list(cells) for name, cells in columns.items()}
        self.types = dict(types)
        self.data = data

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> "Table": ...

    def __getitem__(self, key: str | int | slice) -> "list[Any] | Row | Table":
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            return Table({name: cells[key] for name, cells in self._columns.items()}, self.types, self.data)
        return {name: cells[key] for name, cells in self._columns.items()}

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __iter__(self) -> Iterator[Row]:
        for cells in zip(*self._columns.values(), strict=True):
            yield dict(zip(self._columns, cells, strict=True))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Its columns as an array of structs, for what takes Arrow's data; that needs ``memlens[arrow]``."""
        return self._as_arrow().__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same as a stream of one array: pandas, Polars, DuckDB and others take the table as it is."""
        return stream_of(self._as_arrow()).__arrow_c_stream__(requested_schema)

    def _as_arrow(self) -> Any:
        return struct_array(self._columns, self.types, len(self))

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        known = [
            name
            for name, cells in self._columns.items()
            if any(cell is not None for cell in cells[: summary.MOST_ROWS])
        ]
        rows = [
            summary.Row([_shown(name, row[name]) for name in known], 0) for row in self[: summary.MOST_ROWS]
        ]
        named = next((place for place, name in enumerate(known) if self.types[name] == "text"), 0)
        left = len(self) - len(rows)
        more = f"<p>and {left:,} more rows</p>" if left else ""
        return as_part([grid(summary.Table("", known, named, rows)), more])

    def __repr__(self) -> str:
        return f"<memlens.Table of {len(self):,} rows: {', '.join(self._columns)}>"


def as_data(answer: object, shown: Callable[[Any], Any] = lambda value: value) -> Any:
    """An answer as the command prints it with ``--json``; ``shown`` may return something else for any part of it."""
    return msgspec.to_builtins(in_english(answer, shown))


def table_of(rows: Sequence[Struct], kind: type[Struct], data: Any = None) -> Table:
    """The table of rows of a ``kind``, its texts in English; what has parts of its own is no column."""
    found = {
        name: type_ for name, hint in get_type_hints(kind).items() if (type_ := _type_of(hint)) is not None
    }
    names = [name for name in kind.__struct_fields__ if name in found]
    columns = {name: [in_english(getattr(row, name)) for row in rows] for name in names}
    return Table(columns, {name: found[name] for name in names}, data)


def table_of_cells(names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """The table of a query's rows, whose columns have distinct names. One with values of several types is of texts."""
    cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    columns = dict(zip(names, cells, strict=True))
    return Table(columns, {name: _type_of_cells(values) for name, values in columns.items()})


def _shown(name: str, cell: Any) -> str:
    """A cell for people."""
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return f"x'{cell.hex()}'"
    if isinstance(cell, int) and not isinstance(cell, bool):
        # as in bytes_1 of a series
        quantity = name.rstrip("0123456789").rstrip("_").rpartition("_")[2]
        if quantity == "bytes":
            return format_bytes(cell)
        # ids and lines are no amounts
        return f"{cell:,}" if quantity == "count" else str(cell)
    return shortened(f"{cell:.6g}" if isinstance(cell, float) else str(cell), _MOST_TEXT)


def _type_of(hint: Any) -> ColumnType | None:
    """The type of a column for values of an annotation; None for what is no single value."""
    if get_origin(hint) in (Union, types.UnionType):
        parts = {_type_of(each) for each in get_args(hint) if each is not type(None)}
        return parts.pop() if len(parts) == 1 else None
    if get_origin(hint) is Literal:
        return "text"
    return _TYPES.get(hint)


def _type_of_cells(values: Iterable[Cell]) -> ColumnType:
    kinds = {_TYPES[type(value)] for value in values if value is not None}
    if len(kinds) > 1:
        return "real" if kinds == {"integer", "real"} else "text"
    return kinds.pop() if kinds else "none"
