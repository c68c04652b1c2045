"""Which tables there are for SQL, which file of the archive each lies in, and the statements that make them."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from memlens.store import behind

Part = Literal["base", "trace"]
"""What grows with the trace lies in a file of its own, so that a query about the rest never waits for it."""

PARTS: tuple[Part, ...] = ("base", "trace")
FILE_NAMES: dict[Part, str] = {"base": behind.TABLES_NAME, "trace": behind.TRACE_TABLES_NAME}

_OF_TRACE = frozenset(("events", "allocations"))
_CREATE = re.compile(r"CREATE (?P<kind>TABLE|VIEW|INDEX) (?P<name>\"?\w+\"?)(?: ON (?P<table>\w+))?")


class Statement(NamedTuple):
    """A statement that makes a table, a view or an index."""

    kind: str
    name: str
    table: str
    """The table that an index is of, else the name again."""
    about: str
    """What the comment above it says."""
    sql: str

    @property
    def part(self) -> Part:
        """The file that it is made in, of a table or an index. A view may join tables of both, so it is in neither."""
        return "trace" if self.table in _OF_TRACE else "base"


@cache
def statements() -> tuple[Statement, ...]:
    """All statements of ``tables.sql`` and ``tables_indexes.sql``, in their order."""
    made = []
    for file in ("tables.sql", "tables_indexes.sql"):
        text = files("memlens.store").joinpath(file).read_text("utf-8")
        # comments have semicolons, too, but none that ends a line
        for part in re.split(r";\n", text):
            found = _CREATE.search(part)
            if found is None:
                continue
            before = part[: found.start()].rpartition("\n\n")[2]
            about = " ".join(
                line.removeprefix("-- ") for line in before.splitlines() if line.startswith("-- ")
            )
            name = found["name"].strip('"')
            made.append(Statement(found["kind"], name, found["table"] or name, about, part[found.start() :]))
    return tuple(made)


def parts_of(tables: Iterable[str]) -> tuple[Part, ...]:
    """The files that hold some tables, of views or functions none."""
    wanted = {each.part for each in statements() if each.kind == "TABLE" and each.name in set(tables)}
    return tuple(part for part in PARTS if part in wanted)
