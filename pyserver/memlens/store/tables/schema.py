"""The tables for SQL, which file of the archive each is in, and the statements that create them."""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from memlens.model.info import Model

Part = Literal["base", "allocations", "events", "objects", "refs", "strings"]
"""Tables that grow with a trace or a heap are in separate files, so that a query waits only for those that it names.

All other tables are in the part ``base``.
"""

PARTS: tuple[Part, ...] = get_args(Part)
_OF_RECORDINGS: tuple[Part, ...] = ("base", "allocations", "events")
PARTS_OF: "dict[Model, tuple[Part, ...]]" = {
    "timeline": _OF_RECORDINGS,
    "profile": _OF_RECORDINGS,
    "graph": ("base", "objects", "refs", "strings"),
}
"""The parts that can have rows. A query may name tables of other parts, which are then made empty."""
FILE_NAMES: dict[Part, str] = {
    "base": "sql.db",
    "allocations": "sql_allocations.db",
    "events": "sql_events.db",
    "objects": "sql_objects.db",
    "refs": "sql_refs.db",
    "strings": "sql_strings.db",
}

SHARED: frozenset[str] = frozenset(("frame_texts", "frame_rows", "line_rows"))
"""Tables that have once what rows of views share; queries name the views."""

_CREATE = re.compile(r"CREATE (?P<kind>TABLE|VIEW|INDEX) (?P<name>\"?\w+\"?)(?: ON (?P<table>\w+))?")


class Statement(NamedTuple):
    """A statement that creates a table, a view or an index."""

    kind: str
    name: str
    table: str
    """The table of an index, else the name again."""
    about: str
    """The comment above it."""
    sql: str

    @property
    def part(self) -> Part:
        """The file in which a table or an index is made. A view may join tables of several files, so it is in none."""
        return next((part for part in PARTS if part == self.table), "base")


@cache
def statements() -> tuple[Statement, ...]:
    """All statements of ``tables.sql`` and ``indexes.sql``, in order."""
    from importlib.resources import files

    made = []
    for file in ("tables.sql", "indexes.sql"):
        text = files("memlens.store.tables").joinpath(file).read_text("utf-8")
        # comments may have semicolons, too, but not at the end of a line
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
    """The files of some tables; views and functions have none."""
    wanted = {each.part for each in statements() if each.kind == "TABLE" and each.name in set(tables)}
    return tuple(part for part in PARTS if part in wanted)
