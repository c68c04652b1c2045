"""Lines of source in tables."""

from memlens.cli.columns import Piece
from memlens.views.findings.answers import LineLink
from memlens.views.findings.writing import function_beside


def source_line(line: LineLink) -> list[Piece]:
    """A line and its function as a label, as far as they are known."""
    function = function_beside(line)
    file = [Piece(line.file, "path"), Piece(f":{line.line}" if line.line else "")] if line.file else []
    space = [Piece(" ")] if file and function else []
    return [*file, *space, *([Piece(function, "name")] if function else [])]
