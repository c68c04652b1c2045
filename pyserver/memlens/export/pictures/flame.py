"""A static flame graph: boxes with their names, and with details in titles that are shown on hover."""

from typing import Any, NamedTuple

import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.export.pictures.colours import MORE_BOXES, Colour, of_box, of_change
from memlens.export.pictures.svg import Svg, fitting
from memlens.kernels.tree.flame import MORE
from memlens.texts import phrase
from memlens.units import counted, format_share, format_value
from memlens.views.compare.difference import DifferenceScale
from memlens.views.flame.calltree import CallTree
from memlens.views.flame.graph import boxes_of
from memlens.views.flame.names import Names
from memlens.views.flame.tables import whole
from memlens.views.naming.frame_names import FlameName, NameKind
from memlens.views.selection.stacks import AMOUNT, sides_of

WIDTH = 1160
MOST_ROWS = 80
_ROW, _TOP = 17, 34
_LEGEND = 18
_LEAST_PX = 1.0
_TITLED_PX = 3
_KINDS: tuple[NameKind, ...] = ("user", "library", "native", "none")
_LEAST_SHARE = 0.00005
"""Shares that differ by less count as the same, as in the view."""


class _Change(NamedTuple):
    """The values of a box on its two sides, and the totals of the sides if the values are shown as shares."""

    before: float
    after: float
    unit: str
    of_before: float | None = None
    of_after: float | None = None
    compared: bool = True

    @property
    def relative(self) -> float:
        """The change relative to the larger side: up to 1 for growth, down to -1 for shrinkage."""
        before, after = self._measured
        larger = max(abs(before), abs(after), abs(after - before))
        least = 0.0 if self.of_before is None else _LEAST_SHARE
        return (after - before) / larger if larger and abs(after - before) > least else 0.0

    @property
    def arrow(self) -> str:
        """The direction of the change."""
        relative = self.relative
        return "▲" if relative > 0 else "▼" if relative < 0 else "="

    @property
    def text(self) -> str:
        """``704 KiB → 1.4 MiB, +704 KiB``; for shares the difference is in percentage points."""
        before, after = self._measured
        size = abs(after - before)
        sign = "+" if self.relative > 0 else "-" if self.relative < 0 else ""
        one, two = (format_value(round(side), self.unit) for side in (self.before, self.after))
        if self.of_before is not None:
            sides = f"{one} ({before:.1%}) → {two} ({after:.1%})"
            return f"{sides}, {sign}{100 * size:.2f} points"
        sides = f"{one} → {two}" if self.compared else f"+{two} -{one}"
        return f"{sides}, {sign}{format_value(round(size), self.unit)}"

    @property
    def _measured(self) -> tuple[float, float]:
        if self.of_before is None or self.of_after is None:
            return self.before, self.after
        return self.before / (self.of_before or 1), self.after / (self.of_after or 1)


def flame(
    tree: CallTree,
    title: str,
    x0: float = 0.0,
    x1: float = 1.0,
    rows: int = MOST_ROWS,
    scale: DifferenceScale | None = None,
) -> Svg:
    """Draw ``[x0, x1]`` (shares of the whole) of a tree.

    Boxes with two sides are coloured by growth and shrinkage: in a comparison by its ``scale``; ``scale`` is None for
    one snapshot with some negative values.

    Raises :class:`memlens.errors.BadRequestError` for a tree with nothing in it.
    """
    if tree.total <= 0:
        raise BadRequestError(phrase("There is nothing to draw in a flame graph"))
    boxes, sides, _, _ = boxes_of(tree, x0, x1, 0, rows, WIDTH)
    wide = boxes["x1"] - boxes["x0"] >= _LEAST_PX
    boxes, sides = boxes[wide], sides[wide] if len(sides) else sides
    changes = _changes(tree, sides, scale)
    top = _TOP + (_LEGEND if changes else 0)
    deepest = int(boxes["row"].max(initial=0))
    cut = tree.deepest - rows + 1
    height = top + (deepest + 1) * _ROW + (_ROW if cut > 0 else 0)
    svg = Svg(WIDTH, height, title)
    svg.text(2, 18, fitting(title, WIDTH), "ink")
    if changes:
        _legend(svg, compared=scale is not None)
    names = _Names(tree.names, boxes)
    for at, box in enumerate(boxes.tolist()):
        _left, value, node, number, from_px, to_px, row, flags, *_ = box
        x, y, width = from_px, top + row * _ROW, to_px - from_px
        change = changes[at] if changes else None
        amount = change.text if change else _amount(tree, value)
        if flags & MORE:
            svg.rect(
                x, y, max(width - 0.5, 0.5), _ROW - 1, MORE_BOXES, f"{counted(number, 'more')}: {amount}"
            )
            continue
        if node == 0:
            svg.rect(x, y, width, _ROW - 1, MORE_BOXES, amount)
            svg.text(x + 4, y + 12, f"All: {amount}", "ink")
            continue
        name = names.known.get(number)
        colour = of_change(change.relative) if change else names.colour(number)
        svg.rect(x, y, max(width - 0.5, 0.5), _ROW - 1, colour, f"{_words(name)}: {amount}" if name else "")
        text = f"{change.arrow} {name.text}" if name and change else name.text if name else ""
        shown = fitting(text, width - 6)
        if shown:
            svg.text(x + 3, y + 12, shown, "on")
    if cut > 0:
        svg.text(2, height - 5, f"{counted(cut, 'deeper row')} not shown", "faint")
    return svg


class _Names:
    """Names of the boxes that have room for one, or at least for a title to hover."""

    def __init__(self, names: Names, boxes: npt.NDArray[Any]) -> None:
        wide = (boxes["flags"] & MORE) == 0
        wide &= (boxes["x1"] - boxes["x0"] >= _TITLED_PX) & (boxes["node"] != 0)
        numbers = sorted(set(boxes["name"][wide].tolist()))
        self.known = dict(zip(numbers, names.names(numbers), strict=True))
        self._kinds, self._packages = names.kinds(), names.package_numbers()

    def colour(self, number: int) -> Colour:
        """The same colour as in the view, which depends on whose code it is."""
        return of_box(_KINDS[int(self._kinds[number])], int(self._packages[number]), number)


def _amount(tree: CallTree, value: float) -> str:
    return (
        f"{format_value(round(value), tree.meaning.types[tree.by].unit)} ({format_share(value, tree.total)})"
    )


def _changes(tree: CallTree, sides: npt.NDArray[Any], scale: DifferenceScale | None) -> list[_Change]:
    """The change of each box; empty for a tree whose boxes have one side."""
    if sides_of(tree.meaning) is None:
        return []
    unit = tree.meaning.types[AMOUNT].unit
    all_of = whole(tree)
    of_before = of_after = None
    if all_of is not None and scale == "normalised":
        of_before, of_after = float(all_of.before_bytes), float(all_of.after_bytes)
    compared = scale is not None
    return [_Change(before, after, unit, of_before, of_after, compared) for before, after in sides.tolist()]


def _legend(svg: Svg, *, compared: bool) -> None:
    """What the colours mean."""
    words = ("more after", "the same", "less after") if compared else ("more", "no change", "less")
    x = 2.0
    for relative, arrow, word in zip((1.0, 0.0, -1.0), "▲=▼", words, strict=True):
        text = f"{arrow} {word}"
        svg.rect(x, 27, 22, 12, of_change(relative))
        svg.text(x + 28, 37, text, "ink")
        x += 130
    svg.text(x, 37, "the deeper, the larger a part of the box", "faint")


def _words(name: FlameName) -> str:
    where = f"{name.file}:{name.line}" if name.line else name.file
    return f"{name.text} {where}".strip()
