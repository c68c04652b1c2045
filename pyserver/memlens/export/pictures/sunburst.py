"""A tree as static rings: each box around its parent, with its name, and with details in titles shown on hover."""

from math import cos, pi, sin

from memlens.errors import BadRequestError
from memlens.export.pictures.colours import MORE_BOXES, of_box
from memlens.export.pictures.svg import FONT_PX, Svg, fitting
from memlens.kernels.tree.flame import MORE
from memlens.texts import phrase
from memlens.units import counted, format_share, format_value
from memlens.views.flame.calltree import CallTree
from memlens.views.flame.graph import boxes_of
from memlens.views.naming.frame_names import NameKind

SIZE = 860
MOST_RINGS = 12
_TOP, _MARGIN, _INNER = 34, 6, 74.0
_LEAST_PX = 0.5
_PADDING = 4.0
_RISE = 0.35 * FONT_PX
"""The distance from the middle of small letters to their base line."""
_KINDS: tuple[NameKind, ...] = ("user", "library", "native", "none")


def sunburst(tree: CallTree, title: str, x0: float = 0.0, x1: float = 1.0) -> Svg:
    """Draw ``[x0, x1]`` (shares of the whole) of a tree, around the deepest box that fills all of that.

    Raises :class:`memlens.errors.BadRequestError` for a tree with nothing in it.
    """
    if tree.total <= 0:
        raise BadRequestError(phrase("There is nothing to draw in a sunburst"))
    outer = SIZE / 2 - _MARGIN
    around = round(2 * pi * outer)
    boxes, _, low, high = boxes_of(tree, x0, x1, 0, tree.deepest + 1, around)
    unit = tree.meaning.types[tree.by].unit
    more = (boxes["flags"] & MORE) != 0
    # doubles are rounded: a box fills the part if less than a millionth is missing
    slack = (high - low) * 1e-6
    fills = ~more & (boxes["left"] <= low + slack) & (boxes["left"] + boxes["value"] >= high - slack)
    middle = int(boxes["row"][fills].max(initial=0))
    deepest = int(boxes["row"].max(initial=0))
    rings = max(1, min(deepest - middle, MOST_RINGS))
    ring_px = (outer - _INNER) / rings
    svg = Svg(SIZE, SIZE + _TOP + 14, title)
    svg.text(2, 18, fitting(title, SIZE), "ink")
    numbers = sorted(set(boxes["name"][~more & (boxes["node"] != 0)].tolist()))
    names = dict(zip(numbers, tree.names.names(numbers), strict=True))
    kinds, packages = tree.names.kinds(), tree.names.package_numbers()
    for box, merged in zip(boxes.tolist(), more.tolist(), strict=True):
        left, value, _node, number, _from, _to, row, *_ = box
        amount = f"{format_value(round(value), unit)} ({format_share(value, tree.total)})"
        name = names.get(number)
        if row == middle and left <= low + slack:
            svg.text(
                SIZE / 2,
                _TOP + SIZE / 2 - 4,
                fitting(name.text, 2 * _INNER) if name else "All",
                "ink",
                "middle",
            )
            svg.text(SIZE / 2, _TOP + SIZE / 2 + 12, amount, "faint", "middle")
        if not middle < row <= middle + rings:
            continue
        start = 2 * pi * max(left - low, 0.0) / (high - low)
        end = 2 * pi * min(left + value - low, high - low) / (high - low)
        inner = _INNER + (row - middle - 1) * ring_px
        if (end - start) * (inner + ring_px) < _LEAST_PX:
            continue
        data = _arc(start, end, inner, inner + ring_px - 1)
        if merged:
            svg.path(data, MORE_BOXES, f"{counted(number, 'more')}: {amount}")
            continue
        colour = of_box(_KINDS[int(kinds[number])], int(packages[number]), number)
        svg.path(data, colour, f"{name.text}: {amount}" if name else amount)
        if name and ring_px > FONT_PX:
            _label(svg, name.text, start, end, inner + ring_px / 2)
    if deepest - middle > rings:
        svg.text(
            2, _TOP + SIZE + 6, f"{counted(deepest - middle - rings, 'ring')} further out not shown", "faint"
        )
    return svg


def _label(svg: Svg, name: str, start: float, end: float, radius: float) -> None:
    """A name along the middle of an arc, never upside down."""
    text = fitting(name, (end - start) * radius - 2 * _PADDING)
    if not text:
        return
    # on the lower half the path is reversed; half of the letters' height is on either side of the middle
    below = pi / 2 < (start + end) / 2 < 3 * pi / 2
    base = radius + _RISE * (1 if below else -1)
    first, last = (end, start) if below else (start, end)
    large = 1 if end - start > pi else 0
    line = f"M{_at(first, base)}A{base:.1f} {base:.1f} 0 {large} {0 if below else 1} {_at(last, base)}"
    svg.text_along(line, text)


def _arc(start: float, end: float, inner: float, outer: float) -> str:
    """A part of a ring, clockwise from the top; a whole turn is two halves, because one SVG arc can't draw it."""
    if end - start > 1.999 * pi:
        half = (start + end) / 2
        return _arc(start, half, inner, outer) + _arc(half, end, inner, outer)
    large = 1 if end - start > pi else 0
    return (
        f"M{_at(start, outer)}A{outer:.1f} {outer:.1f} 0 {large} 1 {_at(end, outer)}"
        f"L{_at(end, inner)}A{inner:.1f} {inner:.1f} 0 {large} 0 {_at(start, inner)}Z"
    )


def _at(angle: float, radius: float) -> str:
    return f"{SIZE / 2 + radius * sin(angle):.2f} {_TOP + SIZE / 2 - radius * cos(angle):.2f}"
