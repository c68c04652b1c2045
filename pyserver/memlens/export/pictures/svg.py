"""An SVG made of rectangles, paths and text, without scripts, inline styles or external resources.

Colours are classes, so that the same picture can be light or dark, and can be part of a page that allows only one style
sheet. All text comes from files: it is escaped, and invisible characters in it are replaced.
"""

from html import escape
from unicodedata import east_asian_width

from memlens.export.pictures.colours import Colour, Theme
from memlens.units import plain

FONT_PX = 11
_CHARACTER_PX = 6.4
"""Roughly the mean width of a character, rounded up."""

_RULES = {
    "light": ("#ffffff", "#1f1f1f", "#5f5f5f", "#d9d9d9"),
    "dark": ("#1f1f1f", "#e4e4e4", "#a8a8a8", "#3d3d3d"),
}
"""Background, ink, faint ink, and grid lines."""


class Svg:
    """The elements of a picture of ``width`` x ``height`` pixels, and the colours that they use."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height = width, height
        self.colours: set[Colour] = set()
        self.label = label
        self._parts: list[str] = []
        self._along = 0

    def rect(
        self, x: float, y: float, width: float, height: float, colour: Colour | str, title: str = ""
    ) -> None:
        """A rectangle. ``colour`` may be the name of a class of :func:`style`."""
        self._parts.append(
            f'<rect x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" height="{_short(height)}" '
            f'class="{self._class(colour)}"{_titled("rect", title)}'
        )

    def path(self, data: str, colour: Colour | str, title: str = "") -> None:
        """A path given as SVG commands, which must contain nothing else but numbers."""
        self._parts.append(f'<path d="{data}" class="{self._class(colour)}"{_titled("path", title)}')

    def line(self, x0: float, y0: float, x1: float, y1: float, kind: str = "grid") -> None:
        """A straight line."""
        self.path(f"M{_short(x0)} {_short(y0)}L{_short(x1)} {_short(y1)}", kind)

    def text(self, x: float, y: float, text: str, kind: str = "ink", anchor: str = "start") -> None:
        """Text on a base line."""
        at = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text x="{_short(x)}" y="{_short(y)}" class="{kind}"{at}>{escaped(text)}</text>')

    def text_along(self, data: str, text: str, kind: str = "on") -> None:
        """Text in the middle of a path that isn't drawn itself; ``data`` is like that of :meth:`path`."""
        self._along += 1
        name = f"along{self._along}"
        self._parts.append(
            f'<path id="{name}" d="{data}" class="along"/><text class="{kind}" text-anchor="middle">'
            f'<textPath href="#{name}" startOffset="50%">{escaped(text)}</textPath></text>'
        )

    def inline(self) -> str:
        """The picture as a part of a page that has the :func:`style` of its colours."""
        size = f'width="{_short(self.width)}" height="{_short(self.height)}"'
        box = f'viewBox="0 0 {_short(self.width)} {_short(self.height)}"'
        # no newlines, so that a search by line in the page finds its text and not the picture
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} role="img" class="picture" '
            f'aria-label="{escaped(self.label)}">{"".join(self._parts)}</svg>'
        )

    def document(self, theme: Theme) -> str:
        """The picture as a separate file."""
        head, rest = self.inline().split(">", 1)
        sheet = f'<style>{style(self.colours, theme)}</style><rect width="100%" height="100%" class="paper"/>'
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}>{sheet}{rest}\n'

    def _class(self, colour: Colour | str) -> str:
        if isinstance(colour, str):
            return colour
        self.colours.add(colour)
        return _class_of(colour)


_NOT_IN_XML = {0xFFFE: "\N{REPLACEMENT CHARACTER}", 0xFFFF: "\N{REPLACEMENT CHARACTER}"}
"""What no document may have, even as a reference, beside the control characters."""


def escaped(text: str) -> str:
    """Text from a file, for an element or an attribute."""
    return escape(plain(text).translate(_NOT_IN_XML), quote=True)


def fitting(text: str, width: float) -> str:
    """As much of a text as fits into roughly ``width`` pixels; empty if too little would be left."""
    room = int(width / _CHARACTER_PX)
    if text.isascii():
        if len(text) <= room:
            return text
        return text[: room - 1] + "…" if room > 2 else ""
    used = 0
    for at, character in enumerate(text):
        used += 2 if east_asian_width(character) in "WF" else 1
        if used > room:
            return text[: max(at - 1, 0)] + "…" if at > 2 else ""
    return text


def style(colours: set[Colour], theme: Theme) -> str:
    """The style sheet of pictures that use these colours."""
    shared = (
        f".picture text{{font:{FONT_PX}px system-ui,'Segoe UI',sans-serif;white-space:pre}}"
        ".picture .along{fill:none}"
        ".picture .grid,.picture .mark{fill:none;stroke-width:1;shape-rendering:crispEdges}"
        ".picture .mark{stroke-dasharray:4 3}"
    )
    match theme:
        case "light" | "dark":
            return shared + _rules(colours, theme)
        case "both":
            dark = _rules(colours, "dark")
            return f"{shared}{_rules(colours, 'light')}@media(prefers-color-scheme:dark){{{dark}}}"


def _rules(colours: set[Colour], theme: str) -> str:
    paper, ink, faint, grid = _RULES[theme]
    named = "".join(
        f".{_class_of(colour)}{{fill:{colour.dark if theme == 'dark' else colour.light}}}"
        for colour in sorted(colours)
    )
    return (
        f".picture .paper{{fill:{paper}}}.picture .ink{{fill:{ink}}}.picture .faint{{fill:{faint}}}"
        f".picture .grid{{stroke:{grid}}}.picture .mark{{stroke:{ink}}}"
        # on boxes, which are light in one theme and of medium lightness in the other
        f".picture .on{{fill:#000}}{named}"
    )


def _class_of(colour: Colour) -> str:
    return f"c{colour.light[1:]}{colour.dark[1:]}"


def _titled(element: str, title: str) -> str:
    return f"><title>{escaped(title)}</title></{element}>" if title else "/>"


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
