"""Colours of pictures on a light and on a dark background, by the same rules as in the view, which has more themes.

The rules are those of ``colour.ts`` in ``webview/src/canvas``, ``scene/areas.ts`` and ``pictures/reserved-draw.ts`` in
``timeline``, and ``flame/colours.ts`` and ``flame/difference.ts``.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from memlens.views.answers import Area
from memlens.views.naming.frame_names import NameKind
from memlens.views.trace.picture.areas import OTHER, AreaKind

Theme = Literal["light", "dark", "both"]
"""``both`` follows what the reader's system prefers."""

GOLDEN = 0.6180339887498949
_STACK_COLOURS = 512
_FIRST_OF_STACKS = 2
_OF_STACKS: frozenset[AreaKind] = frozenset({"line", "function", "file", "module"})


class Colour(NamedTuple):
    """A colour on a light and on a dark background, as ``#rrggbb``."""

    light: str
    dark: str


class _Shades(NamedTuple):
    """Lightness levels that neighbouring numbers cycle through, the chroma of each, and a flame graph's by kind.

    Names on boxes are black in both forms, so no box is as dark as the view's may be.
    """

    lightness: tuple[float, float, float]
    chroma: tuple[float, float, float]
    boxes: tuple[float, float, float]


_LIGHT = _Shades((0.74, 0.65, 0.83), (0.105, 0.12, 0.085), (0.64, 0.63, 0.62))
_DARK = _Shades((0.66, 0.56, 0.75), (0.115, 0.12, 0.095), (0.72, 0.6, 0.59))
_BOX_CHROMA = (0.12, 0.07, 0.018)
_BOX_SHADES = 16


class _Inks(NamedTuple):
    """Colours of VS Code's own themes, Light Modern and Dark Modern, as red, green and blue."""

    light: tuple[int, int, int]
    dark: tuple[int, int, int]


_PAPER = _Inks((255, 255, 255), (31, 31, 31))
_INK = _Inks((59, 59, 59), (204, 204, 204))
_ACCENT = _Inks((0, 95, 184), (77, 170, 252))
_WARNING = _Inks((191, 136, 3), (204, 167, 0))


def _on_paper(ink: _Inks, share: float) -> Colour:
    """An ink of this opacity on the background."""
    mixed = (
        "#"
        + "".join(
            f"{round(below + (above - below) * share):02x}" for below, above in zip(paper, over, strict=True)
        )
        for paper, over in zip(_PAPER, ink, strict=True)
    )
    return Colour(*mixed)


OTHER_GROUPS = _on_paper(_INK, 0.4)
RESERVED_FREE = _on_paper(_INK, 0.12)
"""Memory that is reserved but free, in the memory map."""
RESERVED = _on_paper(_INK, 0.22)
ACTIVE = _on_paper(_WARNING, 0.85)
ALLOCATED = _on_paper(_ACCENT, 0.5)
REQUESTED = _on_paper(_ACCENT, 0.85)
MORE_BOXES = Colour("#c8c8c8", "#4f4f4f")
PLAIN_BOX = Colour("#919191", "#8a8a8a")

_CHANGE_LIGHTNESS = ((0.9, 0.72), (0.6, 0.68))
"""Chroma or lightness of no change and of the largest change, on a light and on a dark background."""
_CHANGE_CHROMA = 0.17
_MORE_HUE, _LESS_HUE = 25, 150
_CHANGE_STEPS = 16

_CATEGORIES: dict[str, tuple[float, float, float]] = {
    "parameter": (150, 0, 1),
    "gradient": (262, -0.02, 1.15),
    "activation": (38, 0.01, 1.15),
    "optimizer_state": (88, 0.07, 1),
    "parameter_or_optimizer_state": (120, 0.03, 0.8),
    "temporary": (315, 0, 1),
    "autograd_detail": (215, 0.05, 0.8),
    "input": (185, -0.08, 0.8),
    "unknown": (260, 0, 0.12),
}
"""Hue in degrees, lightness relative to the theme's middle, and chroma as a share."""


def of_area(area: Area, by: AreaKind, categories: list[str]) -> Colour:
    """The colour of an area of the timeline."""
    if area.key == OTHER:
        return OTHER_GROUPS
    if by == "category":
        return _of_category(area.name.text, categories)
    if by in _OF_STACKS and area.key < _FIRST_OF_STACKS:
        return _both(lambda shades: _oklch(shades.lightness[1] - 0.06, 0.045, 245))
    number = area.colour % _STACK_COLOURS
    return _both(lambda shades: _of_stack(number, shades))


def of_box(kind: NameKind, package: int, name: int) -> Colour:
    """The colour of a box of a flame graph: the user's code warm, libraries cool by package, native code greyish."""
    name %= _BOX_SHADES
    around = name * GOLDEN % 1
    shade = (around - 0.5) * 0.05
    match kind:
        case "user":
            return _both(lambda shades: _oklch(shades.boxes[0] + shade, _BOX_CHROMA[0], 25 + 75 * around))
        case "library":
            hue = 150 + 160 * (package * GOLDEN % 1)
            return _both(lambda shades: _oklch(shades.boxes[1] + shade, _BOX_CHROMA[1], hue))
        case "native":
            hue = 360 * (package * GOLDEN % 1)
            return _both(lambda shades: _oklch(shades.boxes[2] + shade, _BOX_CHROMA[2], hue))
        case "none":
            return PLAIN_BOX


def of_change(relative: float) -> Colour:
    """The colour of a box by how much of itself it gained (up to 1) or lost (down to -1)."""
    hue = _MORE_HUE if relative > 0 else _LESS_HUE
    # even a small change must look different from none
    depth = (
        0.25 + 0.75 * math.ceil(min(abs(relative), 1.0) * _CHANGE_STEPS) / _CHANGE_STEPS if relative else 0.0
    )
    return Colour(
        *(
            _mixed(_oklch(even, 0, 0), _oklch(far, _CHANGE_CHROMA, hue), depth)
            for even, far in _CHANGE_LIGHTNESS
        )
    )


def _both(make: Callable[[_Shades], str]) -> Colour:
    return Colour(make(_LIGHT), make(_DARK))


def _of_stack(number: int, shades: _Shades) -> str:
    hue = (0.61 + number * GOLDEN) % 1
    # dark yellows look like dirty browns, so these are lighter
    lift = 0.07 * math.exp(-(((hue * 360 - 85) / 40) ** 2))
    shade = number % len(shades.lightness)
    return _oklch(shades.lightness[shade] + lift, shades.chroma[shade], hue * 360)


def _of_category(name: str, categories: list[str]) -> Colour:
    number = categories.index(name) if name in categories else -1
    if number < 0:
        return OTHER_GROUPS
    hue, lift, share = _CATEGORIES.get(
        name.removesuffix(" (inferred)"), (number * GOLDEN % 1 * 360, number % 3 * 0.05 - 0.05, 1.0)
    )
    return _both(lambda shades: _oklch(shades.lightness[0] + lift, shades.chroma[0] * share, hue))


def _mixed(one: str, other: str, share: float) -> str:
    """A colour between two, by its channels."""
    pairs = ((int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _oklch(lightness: float, chroma: float, hue: float) -> str:
    """OKLCH as ``#rrggbb``; chroma is lowered until the colour exists."""
    angle = math.radians(hue)
    while True:
        channels = _linear(lightness, max(chroma, 0) * math.cos(angle), max(chroma, 0) * math.sin(angle))
        if chroma <= 0 or all(-0.0005 <= each <= 1.0005 for each in channels):
            return "#" + "".join(f"{_byte(each):02x}" for each in channels)
        chroma -= 0.004


def _linear(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    # the matrices are those of Björn Ottosson's definition of OKLab
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short,
    )


def _byte(linear: float) -> int:
    value = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))
