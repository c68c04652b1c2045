"""Which columns and functions say what a heap dump's objects contain, for queries that may not know it.

Such a query begins with :data:`~memlens.views.heap.objects.plain_names.WITHOUT_CONTENTS`; for it these columns are
NULL.
"""

import re

from memlens.errors import BadRequestError
from memlens.texts import phrase
from memlens.views.heap.objects.plain_names import WITHOUT_CONTENTS

_OF_TABLES = {
    "objects": frozenset(("name", "name_string")),
    "strings": frozenset(("text",)),
    "refs": frozenset(("key",)),
}
_SAFE = frozenset(
    (
        "", "address", "class", "context", "depth", "distance", "elements", "extensions", "field", "file", "function",
        "held_otherwise", "key", "key_type", "kind", "length", "line", "loaders", "object", "objects", "path",
        "position", "realm", "referrers", "refs", "retained_bytes", "scope", "service", "shallow_bytes", "size",
        "slots", "stale_loaders", "step", "steps", "strength", "type", "used_slots", "variable",
    )
)  # fmt: skip
"""Columns of functions that have no contents. What isn't listed has."""
_NAMES_OF_REFERENCES = frozenset(("paths_to", "referrers_of", "referrers_by_type", "subclasses_of"))
"""Functions whose column ``name`` is that of a reference or a class."""
FUNCTIONS = frozenset(("field", "value_of"))
"""Functions that answer with contents."""

_JOINED = re.compile(r"\b(natural|using|indexed)\b", re.IGNORECASE)
"""Joins of which SQLite doesn't ask whether it may read the columns that they compare."""


def is_without_contents(query: str) -> bool:
    """Whether a query may not read contents."""
    return query.startswith(WITHOUT_CONTENTS)


def check_joins(query: str) -> None:
    """Raise :class:`BadRequestError` for a query that could compare contents without reading them."""
    found = _JOINED.search(query)
    if found is not None:
        raise BadRequestError(
            phrase("{word} isn't allowed in a query that may not see contents", word=found[0].upper()),
            advice=phrase("Join by ON, or ask with `values: true`."),
        )


def has_contents(table: str, column: str, functions: frozenset[str]) -> bool:
    """Whether a column of a table or a table-valued function has contents of objects."""
    if table in functions:
        return column not in _SAFE and not (column == "name" and table in _NAMES_OF_REFERENCES)
    return column in _OF_TABLES.get(table, ())
