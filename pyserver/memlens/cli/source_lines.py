"""Lines of source in tables."""

from memlens.cli.columns import Piece
from memlens.views.findings.writing import function_beside


def source_line(file: str, line: int, function: str) -> list[Piece]:
    """A line and its function as a label, as far as they are known."""
    function = function_beside(file, line, function)
    place = [Piece(file, "path"), Piece(f":{line}" if line else "")] if file else []
    space = [Piece(" ")] if place and function else []
    return [*place, *space, *([Piece(function, "name")] if function else [])]
