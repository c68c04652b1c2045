"""What ``memlens paths`` says of the references that hold objects independently."""

from collections.abc import Iterator

from memlens.cli.object import words
from memlens.units import counted, format_bytes
from memlens.views.graph.least_cut import LeastCutAnswer


def least_cut_lines(cut: LeastCutAnswer, kind: str) -> Iterator[str]:
    """Lines that say which references must go together; none where one reference alone holds the objects."""
    them = "it" if cut.objects == 1 else "them"
    below = "" if cut.holder is None else f" below {words(cut.holder, kind)}"
    if cut.count > 1 and not cut.references:
        yield f"{cut.count} references or roots, or more, hold {them} independently{below}: cutting one frees nothing"
    if len(cut.references) < 2:
        return
    freed = (
        ""
        if cut.freed_bytes is None
        else f"; without all of them {format_bytes(cut.freed_bytes)} would be freed"
    )
    count = counted(len(cut.references), "reference")
    yield f"{count} hold {them} independently{below}: cutting one frees nothing{freed}:"
    for each in cut.references:
        yield f"  {each.way} of {words(each.source, kind)}"
