"""Notices about what heap dumps lack, shared by the readers of several formats."""

from collections.abc import Callable

from memlens.model.info import Notice
from memlens.texts import Text, phrase

_SAID: dict[str, Callable[[int], Text]] = {
    "bad_lines": lambda n: phrase("Lines left out because they are not objects: {n}.", n=n),
    "dangling": lambda n: phrase("References left out because their objects are not in the file: {n}.", n=n),
    "missing_roots": lambda n: phrase("Roots left out because their objects are not in the file: {n}.", n=n),
    "circular_classes": lambda n: phrase(
        "Circles of superclasses: {n}. One class of each inherits nothing.", n=n
    ),
    "duplicate_ids": lambda n: phrase(
        "Objects at the address of an earlier one: {n}. References lead to the earlier one.", n=n
    ),
    "equal_ids": lambda n: phrase(
        "Objects with the id of another: {n}. Comparisons may take one for the other.", n=n
    ),
    "lost_stacks": lambda n: phrase(
        "Objects whose place in the allocation trace is not in the file: {n}. They are shown without a stack.",
        n=n,
    ),
    "unknown_sizes": lambda n: phrase(
        "Objects with an impossible size: {n}. They are counted with 0 B.", n=n
    ),
    "unknown_numbers": lambda n: phrase(
        "Lengths, generations, lines and other numbers of objects that are impossible and left out: {n}.", n=n
    ),
    "short_instances": lambda n: phrase("Objects that are shorter than their class's fields: {n}.", n=n),
    "unknown_classes": lambda n: phrase("Objects whose class is not in the file: {n}.", n=n),
    "shortened_texts": lambda n: phrase("Strings shown without their end: {n}.", n=n),
    "unknown_records": lambda n: phrase("Records of an unknown kind, which were skipped: {n}.", n=n),
    "impossible_natives": lambda n: phrase(
        "Native memory left out because its size is impossible: {n}.", n=n
    ),
    "shared_stacks": lambda n: phrase(
        "Threads whose frames are left out because others have the same long stack: {n}.", n=n
    ),
}


def counted_notices(**counts: int) -> list[Notice]:
    """A notice for each count that isn't 0; names are codes of notices, with ``_`` for ``-``."""
    return [Notice(name.replace("_", "-"), _SAID[name](n)) for name, n in counts.items() if n]
