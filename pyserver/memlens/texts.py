"""Memlens's own words: in English, and as what they are made of, so that a view can show them in another language.

A template is a text with names in braces and its own key in ``l10n/``, where ``npm run l10n`` collects all that
:func:`phrase` and :func:`plural` are called with. What stands for a name is a value, which is the same in every
language (a name, a path, an amount), or again a phrase.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct


class Text(Struct, frozen=True):
    """``text`` is the English; of Memlens's own words ``template`` and ``values`` are what it was made of.

    A ``text`` without a template is the same in every language.
    """

    text: str
    template: str = ""
    values: Mapping[str, "Text"] = {}

    def __str__(self) -> str:
        return self.text

    def as_data(self) -> object:
        """What a script gets of it: the English."""
        return self.text


Value = Text | str | int | PurePath
"""What stands for a name in a template; numbers get their commas."""


def phrase(template: str, /, **values: Value) -> Text:
    """Words of Memlens's own: ``phrase("{count} lines of {file}", count=4000, file=name)``."""
    return _filled(template, {name: as_text(value) for name, value in values.items()})


def plural(count: int, one: str, many: str) -> str:
    """The template for a number of things: ``phrase(plural(n, "{n} line", "{n} lines"), n=n)``."""
    return one if count == 1 else many


def as_text(value: Value) -> Text:
    """A value as a text."""
    if isinstance(value, Text):
        return value
    return Text(f"{value:,}" if isinstance(value, int) else str(value))


def in_a_row(values: Sequence[Value], between: str) -> Text:
    """Texts one after the other, with the same between them in every language: "; " or a blank."""
    parts = {f"part{number}": as_text(value) for number, value in enumerate(values)}
    return _filled(between.join(f"{{{name}}}" for name in parts), parts)


def _filled(template: str, values: Mapping[str, Text]) -> Text:
    return Text(template.format_map({name: value.text for name, value in values.items()}), template, values)
