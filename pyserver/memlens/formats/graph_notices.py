"""Notices about what heap dumps lack, shared by the readers of several formats."""

from memlens.model.info import Notice
from memlens.texts import Text, phrase


def counted_notices(**counts: int) -> list[Notice]:
    """A notice for each count that isn't 0; names are codes of notices, with ``_`` for ``-``."""
    return [Notice(name.replace("_", "-"), _said(name, n)) for name, n in counts.items() if n]


def _said(name: str, n: int) -> Text:
    match name:
        case "bad_lines":
            return phrase("Lines that are not objects, which are left out: {n}.", n=n)
        case "dangling":
            return phrase("References to objects that are not in the file, which are left out: {n}.", n=n)
        case "duplicate_ids":
            return phrase("Objects with the address of an earlier one: {n}. References lead to it.", n=n)
        case "short_instances":
            return phrase("Objects that are shorter than their class's fields: {n}.", n=n)
        case "unknown_classes":
            return phrase("Objects whose class is not in the file: {n}.", n=n)
        case "shortened_texts":
            return phrase("Strings that are shown without their end: {n}.", n=n)
        case "impossible_natives":
            return phrase("Sizes of native memory that can't be, which are left out: {n}.", n=n)
        case "shared_stacks":
            return phrase(
                "Threads that have the same long stack as others, whose frames are left out: {n}.", n=n
            )
        case _:
            raise ValueError(name)
