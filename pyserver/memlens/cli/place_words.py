"""How commands name a place in code in a table of differences."""

from memlens.cli.columns import Piece
from memlens.views.answers import Frame
from memlens.views.findings.writing import function_beside
from memlens.views.naming.places import BEFORE_RECORDING


def place_pieces(place: Frame) -> list[Piece]:
    """A file, line and function; what has no file is named by what is known of it."""
    name = function_beside(place.file, place.line, place.function)
    if not place.file and name == BEFORE_RECORDING[2]:
        return [Piece(name)]
    file = Piece(place.file, "path") if place.file else Piece("(no Python frame)" if name else "(no stack)")
    # native frames and whole files have no line
    line = f":{place.line}" if place.line else ""
    return [file, Piece(f"{line}{' ' if name else ''}"), Piece(name, "name")]
