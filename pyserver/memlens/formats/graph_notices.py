"""Notices about what heap dumps lack, shared by the readers of several formats."""

from memlens.model.info import Notice

_COUNTED = {
    "bad-lines": "Lines that are not objects, which are left out: {:,}.",
    "dangling": "References to objects that are not in the file, which are left out: {:,}.",
    "duplicate-ids": "Objects with the address of an earlier one: {:,}. References lead to it.",
    "short-instances": "Objects that are shorter than their class's fields: {:,}.",
    "unknown-classes": "Objects whose class is not in the file: {:,}.",
    "shortened-texts": "Strings that are shown without their end: {:,}.",
}


def counted_notices(**counts: int) -> list[Notice]:
    """A notice for each count that isn't 0; names are codes of notices, with ``_`` for ``-``."""
    named = {name.replace("_", "-"): count for name, count in counts.items()}
    return [Notice(code, _COUNTED[code].format(count)) for code, count in named.items() if count]
