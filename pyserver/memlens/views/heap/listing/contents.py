"""Rows of objects without what these contain, for whoever must not see it."""

from typing import Any

from msgspec.structs import replace

from memlens.model.graph import ENTRY
from memlens.packs import registry
from memlens.views.heap.listing.one_object import FieldRow
from memlens.views.heap.objects.rows import ObjectRow, ReferenceRow

_BY_KEYS = (ENTRY, "key without a value")
"""References of collections, which are named by what their keys contain."""


def row_without_contents(value: Any) -> Any:
    """A part of an answer, without texts and numbers that an object contains; other parts unchanged."""
    match value:
        # of most kinds of objects the name is that of the type
        case ObjectRow() if value.name != value.type and value.type not in registry.types_named_in_code():
            return replace(value, name="")
        case FieldRow():
            return replace(value, value="")
        case ReferenceRow() if value.kind in _BY_KEYS:
            return replace(value, name="")
        case _:
            return value
