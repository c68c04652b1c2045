"""Tables as Arrow arrays, for pandas, Polars, DuckDB and whatever else takes the PyCapsule interface.

nanoarrow, of 3 MB and without dependencies, has the C structures; it is optional.
Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from memlens.missing import needed

ColumnType = Literal["text", "integer", "real", "boolean", "blob", "none"]
"""The type of a column's values; any may be None. A column of type ``none`` has nothing else."""

_LAST_EXACT = 2**53
"""Larger integers are not exact as real numbers."""


def struct_array(columns: Mapping[str, Sequence[Any]], types: Mapping[str, ColumnType], rows: int) -> Any:
    """An array of structs, one a row. Raises :class:`memlens.missing.MissingPackageError`."""
    with needed("nanoarrow", extra="arrow"):
        import nanoarrow

    fields: dict[str, Any] = {}
    arrays: list[Any] = []
    for name, cells in columns.items():
        kind, values = _stored(types[name], cells)
        fields[_text(name)] = schema = getattr(nanoarrow, kind)()
        if kind == "null":
            arrays.append(nanoarrow.c_array_from_buffers(schema, rows, [], rows))
        else:
            arrays.append(nanoarrow.c_array(values, schema))
    # the rows themselves are never null
    return nanoarrow.c_array_from_buffers(nanoarrow.struct(fields), rows, [None], 0, children=arrays)


def stream_of(array: Any) -> Any:
    """A stream of one array."""
    with needed("nanoarrow", extra="arrow"):
        import nanoarrow
    return nanoarrow.c_array_stream(array)


def _stored(type_: ColumnType, cells: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The type of Arrow in which all values of a column are exact, and the values."""
    match type_:
        case "none":
            return "null", cells
        case "boolean":
            return "bool_", cells
        case "blob":
            return "binary", cells
        case "real":
            whole = [cell for cell in cells if isinstance(cell, int)]
            if all(abs(cell) <= _LAST_EXACT for cell in whole):
                return "float64", [None if cell is None else float(cell) for cell in cells]
        case "integer":
            known = [cell for cell in cells if cell is not None]
            least, most = min(known, default=0), max(known, default=0)
            if least >= -(2**63) and most < 2**63:
                return "int64", cells
            if least >= 0 and most < 2**64:
                # addresses
                return "uint64", cells
        case "text":
            pass
    return "string", [None if cell is None else _text(str(cell)) for cell in cells]


def _text(text: str) -> str:
    """A text that UTF-8 can have: a question mark for half of a surrogate pair, as names of files may have them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
