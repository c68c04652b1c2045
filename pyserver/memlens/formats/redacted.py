"""Heap dumps that ``memlens redact`` wrote: how a file says so, and what a reader then doesn't take for values.

Without this a redacted dump would be full of equal strings and arrays of zeros, and its collections be empty.
"""

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from memlens.arrays import Mask
from memlens.model.graph import VALUE_KINDS, Graph, Values
from memlens.model.info import FileWarning
from memlens.packs import registry
from memlens.texts import phrase, plural

Removed = Literal["values", "contents"]
"""What was removed: all values, or only contents, which leaves numbers."""

VALUES: Removed = "values"
CONTENTS: Removed = "contents"

MAPPING_NAME = "mapping.txt"
"""Of mappings that builds write."""

REMOVALS: dict[object, Removed] = {each: each for each in (VALUES, CONTENTS)}
"""By the words that files have."""


def mapping_beside(dump: Path) -> Path:
    """The path of a dump's own mapping back to its original names, if it lies beside the dump."""
    stem = dump.name
    for each in registry.formats().values():
        for pattern in each.file_names if each.is_mapped else ():
            stem = stem.split(pattern.removeprefix("*"))[0]
    return dump.with_name(f"{stem}.{MAPPING_NAME}")


class Wanted(NamedTuple):
    """What is to be written of a dump."""

    removed: Removed = VALUES
    allows_damage: bool = False
    """Write a damaged dump up to the damage, instead of refusing it."""
    keeps_shared: bool = False
    """Leave what leads to objects that the runtime shares, and the order of elements, from which values can be read."""
    keeps_time: bool = False
    """Leave when the dump was written, by which process, and the build of what it ran on."""
    keeps_threads: bool = False
    """Leave the names that a program gave its threads."""


MARK = "removed by Memlens: "
"""In the file, followed by what was removed."""


def mark_of(removed: Removed) -> str:
    """The words in a file that say what was removed from it."""
    return MARK + removed


def removed_by(text: str) -> Removed | None:
    """What was removed, by the words in a file; None if it isn't such a mark."""
    return REMOVALS.get(text.removeprefix(MARK)) if text.startswith(MARK) else None


def mark_graph(
    graph: Graph,
    removed: Removed | None,
    *,
    comparable: bool = False,
    fields_stay: bool = False,
    redirected: int | None = None,
) -> None:
    """Say in a dump that something was removed, if it was, and take what is left in its place for no value.

    ``comparable``: whether equal contents are still equal, and others not. ``fields_stay``: whether the fields are the
    runtime's and not the program's, so that they are all there. ``redirected``: how many references lead to one
    object of their kind, None if all are as they were.
    """
    if removed is None:
        return
    graph.settings["removed"] = removed
    graph.warnings.append(_warning(removed, comparable=comparable))
    if redirected is not None:
        graph.warnings.append(_redirected(redirected))
    if graph.values is not None and not fields_stay:
        graph.values = None if removed == VALUES else _numbers_of(graph.values)
    # their pixels were elements of arrays
    graph.images = graph.images[:0]
    if len(graph.arrays):
        graph.arrays = graph.arrays[_stays(graph)] if removed == CONTENTS else graph.arrays[:0]


def _numbers_of(values: Values) -> Values:
    """The fields that ``--keep-numbers`` keeps: those whose types aren't bytes or characters."""
    gone = [VALUE_KINDS.index(name) for name in ("byte", "char")]
    stays = ~np.isin(values.kind, gone)
    before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(stays, dtype=np.uint64)))
    return Values(before[values.start], values.name[stays], values.kind[stays], values.bits[stays])


def _stays(graph: Graph) -> Mask:
    """A mask of the arrays whose elements are still the program's."""
    names = [graph.texts[number] for number in graph.types.name.tolist()]
    gone = np.array([name in ("byte[]", "char[]", "int[]") for name in names])
    found: Mask = ~gone[graph.objects.type[graph.arrays["object"]]]
    return found


def _warning(removed: Removed, *, comparable: bool) -> FileWarning:
    if removed == VALUES:
        what = phrase("The values were removed from this dump: contents of strings and numbers.")
    else:
        what = phrase("The contents of strings were removed from this dump, and most arrays of numbers.")
    if comparable:
        which = phrase("Equal strings can still be recognized by the numbers that replace them.")
    else:
        which = phrase(
            "Findings that need them, such as duplicate strings and empty collections, are left out."
        )
    return FileWarning("values-removed", phrase("{what} {which}", what=what, which=which))


def _redirected(count: int) -> FileWarning:
    said = phrase(
        plural(
            count,
            "{n} reference to a value that the runtime shares, such as true, a small number or an enum "
            "constant, now leads to one value of its kind; elements are in another order.",
            "{n} references to values that the runtime shares, such as true, small numbers or enum "
            "constants, now lead to one value of each kind; elements are in another order.",
        ),
        n=count,
    )
    return FileWarning("redirected-references", said)
