"""What a model reads of an answer: the command line's JSON, with sizes in words, and never too long.

Every list says how much of it was left out. Text from the file stays data: it stands in JSON strings, in which what
can't be seen is escaped.
"""

import json
from typing import Any

from memlens.json_text import escaped, in_english
from memlens.server.tools.quoting import NOTE, spoken
from memlens.texts import Text
from memlens.units import format_bytes, shortened
from memlens.views.heap.listing.contents import row_without_contents

MOST_CHARACTERS = 24_000
"""Of one answer: some 8,000 tokens, of which a model has room for a few."""
MOST_TEXT = 400
"""Characters of a name or another text."""
MOST_SENTENCE = 4_000
_LENGTHS = (500, 200, 100, 50, 30, 20, 10, 5, 3, 1)

_NULLS = frozenset(("distance", "end_moment"))
"""Where null says something: that no root reaches an object, that an allocation was never freed."""


class Longer(str):
    """A sentence or a query of Memlens's own, which may be as long as MOST_SENTENCE."""

    __slots__ = ()


def readable(answer: Any, *, values: bool = True, unit: str = "bytes") -> Any:
    """An answer as data, in which sizes also stand in words; without ``values`` nothing that objects contain.

    What isn't known or doesn't apply is left out. With another ``unit`` figures that are called bytes, since most
    values of profiles are, are called amounts.
    """
    return _with_words(in_english(answer, _spoken if values else _without_values), unit)


def _spoken(value: Any) -> Any:
    # of sentences the words, without what a view links; a text without a template is a name
    if isinstance(value, Text):
        return Longer(spoken(value)) if value.template else value.text
    return value


def _without_values(value: Any) -> Any:
    return _spoken(row_without_contents(value))


def _with_words(value: Any, unit: str) -> Any:
    match value:
        case dict():
            found: dict[str, Any] = {}
            for key, each in value.items():
                if each is None and key not in _NULLS:
                    continue
                is_size = (key == "bytes" or key.endswith("_bytes")) and isinstance(each, int)
                if is_size and unit != "bytes":
                    found[f"{key.removesuffix('bytes')}amount"] = each
                    continue
                found[key] = _with_words(each, unit)
                name = "size" if key == "bytes" else key.removesuffix("_bytes")
                if is_size and abs(each) >= 1024 and name not in value:
                    found[name] = format_bytes(each)
            return found
        case list():
            return [_with_words(each, unit) for each in value]
        case str():
            return shortened(value, MOST_SENTENCE if isinstance(value, Longer) else MOST_TEXT)
        case _:
            return value


def written(data: dict[str, Any]) -> str:
    """JSON of at most MOST_CHARACTERS, or little more: lists are cut, and say by how much."""
    text, data = "", {"note": NOTE, **data}
    for most in _LENGTHS:
        text = escaped(json.dumps(_cut(data, most), ensure_ascii=False, separators=(",", ":")))
        if len(text) <= MOST_CHARACTERS:
            break
    return text


def _cut(value: Any, most: int) -> Any:
    match value:
        case dict():
            found: dict[str, Any] = {}
            for key, each in value.items():
                # an answer may have left out some itself
                found.setdefault(key, _cut(each, most))
                if isinstance(each, list) and len(each) > most:
                    left_out = f"{key}_left_out"
                    found[left_out] = len(each) - most + value.get(left_out, 0)
            return found
        case list():
            return [_cut(each, most) for each in value[:most]]
        case _:
            return value
