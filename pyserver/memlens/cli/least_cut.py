"""The references that hold objects independently, for ``memlens paths``."""

from collections.abc import Iterator

from memlens.cli.object_words import words
from memlens.units import counted, format_bytes
from memlens.views.heap.paths.least_cut import LeastCutAnswer


def least_cut_lines(cut: LeastCutAnswer, kind: str) -> Iterator[str]:
    """Lines that say which references must go together; none where one reference alone holds the objects."""
    them, are = ("it", "it is") if cut.objects == 1 else ("them", "they are")
    below = "" if cut.holder is None else f" below {words(cut.holder, kind)}"
    if cut.objects == 1 and cut.count > 1 and not cut.references:
        yield f"{cut.count} references or roots, or more, hold {them} independently{below}"
    if len(cut.references) < 2:
        return
    freed = "" if cut.freed_bytes is None else f", {format_bytes(cut.freed_bytes)} in all"
    count = counted(len(cut.references), "reference")
    yield f"{count} hold {them} independently{below}; {are} freed only without all of them{freed}:"
    for each in cut.references:
        yield f"  {each.way} of {words(each.source, kind)}"
