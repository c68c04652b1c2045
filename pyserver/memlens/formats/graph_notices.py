"""Notices about what heap dumps lack, shared by the readers of several formats."""

from memlens.model.info import Notice
from memlens.texts import Text, phrase


def counted_notices(**counts: int) -> list[Notice]:
    """A notice for each count that isn't 0; names are codes of notices, with ``_`` for ``-``."""
    return [Notice(name.replace("_", "-"), _said(name, n)) for name, n in counts.items() if n]


def _said(name: str, n: int) -> Text:
    match name:
        case "bad_lines":
            return phrase("Lines left out because they are not objects: {n}.", n=n)
        case "dangling":
            return phrase("References left out because their objects are not in the file: {n}.", n=n)
        case "missing_roots":
            return phrase("Roots left out because their objects are not in the file: {n}.", n=n)
        case "circular_classes":
            return phrase("Circles of superclasses: {n}. One class of each inherits nothing.", n=n)
        case "duplicate_ids":
            return phrase(
                "Objects at the address of an earlier one: {n}. References lead to the earlier one.", n=n
            )
        case "short_instances":
            return phrase("Objects that are shorter than their class's fields: {n}.", n=n)
        case "unknown_classes":
            return phrase("Objects whose class is not in the file: {n}.", n=n)
        case "shortened_texts":
            return phrase("Strings shown without their end: {n}.", n=n)
        case "unknown_records":
            return phrase("Records of an unknown kind, which were skipped: {n}.", n=n)
        case "impossible_natives":
            return phrase("Native memory left out because its size is impossible: {n}.", n=n)
        case "shared_stacks":
            return phrase(
                "Threads whose frames are left out because others have the same long stack: {n}.", n=n
            )
        case _:
            raise ValueError(name)
