"""Table-valued functions for SQL, whose rows Python makes lazily from the arguments that a query passes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any, NamedTuple

import apsw

Row = tuple[Any, ...]
"""A value that takes long may be a function without arguments, which is called if the query needs it."""
Answer = Callable[..., Iterator[Row]]
"""Makes rows from the arguments, None for missing ones; the first column is an integer."""
Opened = Callable[[], AbstractContextManager[Answer]]


class TableFunction(NamedTuple):
    """A table-valued function: its arguments, its columns, and the function that yields its rows."""

    arguments: tuple[str, ...]
    columns: tuple[str, ...]
    about: str


def add_function(
    connection: apsw.Connection, name: str, arguments: Sequence[str], columns: Sequence[str], answer: Answer
) -> None:
    """Let a connection's queries select from a function."""
    add_opened_function(connection, name, arguments, columns, lambda: nullcontext(answer))


def add_opened_function(
    connection: apsw.Connection, name: str, arguments: Sequence[str], columns: Sequence[str], opened: Opened
) -> None:
    """The same for one whose answers share something, as an open file, for as long as a query runs."""
    # APSW calls only the methods of read-only tables, but its types require the others, too
    module: Any = _Module(tuple(arguments), tuple(columns), opened)
    connection.create_module(
        name, module, use_bestindex_object=True, eponymous_only=True, read_only=True
    )  # fmt: skip
    # connect now, because a later authorizer would refuse the declaration of its columns
    connection.execute(f"SELECT * FROM {name} LIMIT 0").fetchall()  # noqa: S608 - our own names


class _Module:
    """SQLite's interface of a table-valued function in APSW, with APSW's names."""

    def __init__(self, arguments: tuple[str, ...], columns: tuple[str, ...], opened: Opened) -> None:
        self.arguments = arguments
        self.columns = columns
        self.opened = opened

    def Connect(self, *_: Any) -> tuple[str, "_Table"]:  # noqa: N802
        # arguments are hidden columns to which a query assigns values
        hidden = (f"{argument} HIDDEN" for argument in self.arguments)
        return f"CREATE TABLE answers ({', '.join((*self.columns, *hidden))})", _Table(self)

    Create = Connect


class _Table:
    def __init__(self, module: _Module) -> None:
        self.module = module

    def BestIndexObject(self, index: Any) -> bool:  # noqa: N802
        """Use the arguments; reject plans in which one isn't known yet because its table comes later."""
        given, columns = 0, len(self.module.columns)
        for number in range(index.nConstraint):
            argument = index.get_aConstraint_iColumn(number) - columns
            if argument < 0 or index.get_aConstraint_op(number) != apsw.SQLITE_INDEX_CONSTRAINT_EQ:
                continue
            if not index.get_aConstraint_usable(number):
                return False
            given |= 1 << argument
        # in the order of the arguments, whatever the order of the query
        place = 0
        for argument in range(len(self.module.arguments)):
            for number in range(index.nConstraint):
                if given >> argument & 1 and index.get_aConstraint_iColumn(number) == columns + argument:
                    place += 1
                    index.set_aConstraintUsage_argvIndex(number, place)
                    index.set_aConstraintUsage_omit(number, True)
                    break
        index.idxNum = given
        index.estimatedRows = 2_000
        index.estimatedCost = 2_000.0
        return True

    def Open(self) -> "_Cursor":  # noqa: N802
        return _Cursor(self.module)

    def Disconnect(self) -> None:  # noqa: N802
        pass

    Destroy = Disconnect


class _Cursor:
    def __init__(self, module: _Module) -> None:
        self.module = module
        self.stack = ExitStack()
        self.answer = self.stack.enter_context(module.opened())
        self.arguments: list[Any] = [None] * len(module.arguments)
        self.rows: Iterator[Row] = iter(())
        self.row: Row | None = None

    def Filter(self, given: int, _name: str | None, values: tuple[Any, ...]) -> None:  # noqa: N802
        self.arguments = [None] * len(self.module.arguments)
        wanted = [argument for argument in range(len(self.arguments)) if given >> argument & 1]
        for argument, value in zip(wanted, values, strict=True):
            self.arguments[argument] = value
        self.rows = self.answer(*self.arguments)
        self.Next()

    def Eof(self) -> bool:  # noqa: N802
        return self.row is None

    def Rowid(self) -> int:  # noqa: N802
        return 0 if self.row is None else int(self.row[0])

    def Column(self, number: int) -> Any:  # noqa: N802
        if number < 0 or self.row is None:
            return self.Rowid()
        if number >= len(self.module.columns):
            return self.arguments[number - len(self.module.columns)]
        value = self.row[number]
        return value() if callable(value) else value

    def Next(self) -> None:  # noqa: N802
        self.row = next(self.rows, None)

    def Close(self) -> None:  # noqa: N802
        self.rows = iter(())
        self.stack.close()
