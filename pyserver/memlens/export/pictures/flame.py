"""A flame graph that stands still: boxes with their names, and with the rest as titles to hover."""

from memlens.errors import BadRequestError
from memlens.export.pictures.colours import MORE_BOXES, of_box
from memlens.export.pictures.svg import Svg, fitting
from memlens.kernels.tree.flame import MORE
from memlens.units import counted, format_share, format_value
from memlens.views.flame.calltree import CallTree
from memlens.views.flame.graph import boxes_of
from memlens.views.naming.frame_names import FlameName, NameKind
from memlens.views.selection.stacks import AMOUNT, sides_of

WIDTH = 1160
MOST_ROWS = 80
_ROW, _TOP = 17, 34
_LEAST_PX = 1.0
_TITLED_PX = 3
_KINDS: tuple[NameKind, ...] = ("user", "library", "native", "none")


def flame(tree: CallTree, title: str, x0: float = 0.0, x1: float = 1.0, rows: int = MOST_ROWS) -> Svg:
    """Draw ``[x0, x1]`` (shares of the whole) of a tree.

    Raises :class:`memlens.errors.BadRequestError` for a tree with nothing in it.
    """
    if tree.total <= 0:
        raise BadRequestError("There is nothing to draw a flame graph of")
    unit = tree.meaning.types[tree.by if sides_of(tree.meaning) is None else AMOUNT].unit
    boxes, _, _ = boxes_of(tree, x0, x1, 0, rows, WIDTH)
    boxes = boxes[boxes["x1"] - boxes["x0"] >= _LEAST_PX]
    deepest = int(boxes["row"].max(initial=0))
    cut = tree.deepest - rows + 1
    height = _TOP + (deepest + 1) * _ROW + (_ROW if cut > 0 else 0)
    svg = Svg(WIDTH, height, title)
    svg.text(2, 18, fitting(title, WIDTH), "ink")
    more = (boxes["flags"] & MORE) != 0
    wide = ~more & (boxes["x1"] - boxes["x0"] >= _TITLED_PX) & (boxes["node"] != 0)
    numbers = sorted(set(boxes["name"][wide].tolist()))
    names = dict(zip(numbers, tree.names.names(numbers), strict=True))
    kinds, packages = tree.names.kinds(), tree.names.package_numbers()
    for box, merged in zip(boxes.tolist(), more.tolist(), strict=True):
        _left, value, node, number, from_px, to_px, row, *_ = box
        x, y, width = from_px, _TOP + row * _ROW, to_px - from_px
        amount = f"{format_value(round(value), unit)} ({format_share(value, tree.total)})"
        if merged:
            svg.rect(
                x, y, max(width - 0.5, 0.5), _ROW - 1, MORE_BOXES, f"{counted(number, 'more')}: {amount}"
            )
            continue
        if node == 0:
            svg.rect(x, y, width, _ROW - 1, MORE_BOXES, amount)
            svg.text(x + 4, y + 12, f"All: {amount}", "ink")
            continue
        name = names.get(number)
        colour = of_box(_KINDS[int(kinds[number])], int(packages[number]), number)
        svg.rect(x, y, max(width - 0.5, 0.5), _ROW - 1, colour, f"{_words(name)}: {amount}" if name else "")
        shown = fitting(name.text, width - 6) if name else ""
        if shown:
            svg.text(x + 3, y + 12, shown, "on")
    if cut > 0:
        svg.text(2, height - 5, f"{counted(cut, 'deeper row')} not shown", "faint")
    return svg


def _words(name: FlameName) -> str:
    where = f"{name.file}:{name.line}" if name.line else name.file
    return f"{name.text} {where}".strip()
