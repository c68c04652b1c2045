"""Memlens's own texts, in English and as a template with values, so that a view can show them in another language.

A template is a text with names in braces, and is its own key in ``l10n/``, where ``npm run l10n`` collects the
arguments of :func:`phrase` and :func:`plural`. A name is replaced by a value that is the same in every language (a
name, a path, an amount), or by another phrase.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from msgspec import Struct


class Text(Struct, frozen=True):
    """A text in English (``text``), with the ``template`` and the ``values`` that it was made from.

    A text without a template is the same in every language.
    """

    text: str
    template: str = ""
    values: Mapping[str, "Text"] = {}

    def __str__(self) -> str:
        return self.text

    def as_data(self) -> object:
        """Return the English text, for scripts."""
        return self.text


Value = Text | str | int | PurePath
"""What replaces a name in a template; numbers get thousands separators."""


def phrase(template: str, /, **values: Value) -> Text:
    """Return one of Memlens's own texts: ``phrase("{count} lines of {file}", count=4000, file=name)``."""
    return _filled(template, {name: as_text(value) for name, value in values.items()})


def own_words(text: str) -> Text:
    """Return Memlens's own words that are in no bundle, such as a library's words about an argument."""
    return Text(text, text.replace("{", "{{").replace("}", "}}"))


def plural(count: int, one: str, many: str) -> str:
    """Return the template for a count: ``phrase(plural(n, "{n} line", "{n} lines"), n=n)``."""
    return one if count == 1 else many


def as_text(value: Value) -> Text:
    """Return a value as a text."""
    if isinstance(value, Text):
        return value
    return Text(f"{value:,}" if isinstance(value, int) else str(value))


def in_a_row(values: Sequence[Value], between: str) -> Text:
    """Join texts by a separator that is the same in every language, such as "; " or a space."""
    parts = {f"part{number}": as_text(value) for number, value in enumerate(values)}
    return _filled(between.join(f"{{{name}}}" for name in parts), parts)


def function_name(name: str) -> Text:
    """The name of a function in a row of texts: never a figure, even if it looks like one."""
    return _filled("{function}", {"function": as_text(name)})


def in_parentheses(value: Value) -> Text:
    """A text in parentheses, which aren't part of it: they are Memlens's own, even around a name."""
    return _filled("({inner})", {"inner": as_text(value)})


def one_of(names: Sequence[Value]) -> Text:
    """Names as alternatives in a sentence; there is at least one."""
    *others, last = names
    return phrase("{names} or {last}", names=in_a_row(others, ", "), last=last) if others else as_text(last)


def _filled(template: str, values: Mapping[str, Text]) -> Text:
    return Text(template.format_map({name: value.text for name, value in values.items()}), template, values)
