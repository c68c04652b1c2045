"""Values of objects that are a text or a number in their language: strings and boxed numbers."""

import re

import numpy as np

from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.fields import field_reader

Plain = int | float | str

_WHOLE, _LONGEST_NUMBER = re.compile(r"-?[0-9]+"), 400
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?|-?Infinity|-?inf|NaN|nan")
_MOST_WHOLE = 1 << 63


def plain_value(snapshot: Snapshot, number: int) -> Plain | None:
    """Return a string's text, as far as the dump has it, or a number; None for other objects and unknown values.

    Integers of more than 64 bits, which SQL doesn't have, are returned as text.
    """
    reader, objects = field_reader(snapshot), snapshot.objects
    kind = snapshot.graph_names.type_kinds[int(snapshot.types.kind[int(objects.type[number])])]
    type_name, name = reader.type_name(number), int(objects.name[number])
    known = registry.objects_of(snapshot.info.kind)
    if type_name in known.texts.boxes:
        found = reader.values(number).get("value")
        return int(found) if isinstance(found, bool) else found
    is_text = known.texts.has_empty_strings and type_name in known.texts.strings
    if kind in known.texts.kinds or is_text:
        return _text(snapshot, name) if name else _empty(snapshot) if is_text else None
    if known.texts.number_texts is not None and kind == known.texts.number_texts[0]:
        held = reader.reference(number, known.texts.number_texts[1])
        return None if held is None else _parsed(_text(snapshot, int(objects.name[held])))
    if type_name in known.texts.numbers and name:
        return _parsed(_text(snapshot, name))
    return None


def _text(snapshot: Snapshot, name: int) -> str:
    return snapshot.strings.texts(np.array([name]))[0]


def _empty(snapshot: Snapshot) -> str | None:
    """Return the text of a string without stored text: empty, or None if it was removed."""
    return None if "removed" in snapshot.manifest.settings else ""


def _parsed(text: str) -> Plain | None:
    """Parse a number as its language writes it, including ``NaN`` and ``Infinity``."""
    if len(text) > _LONGEST_NUMBER:
        return None
    if _WHOLE.fullmatch(text):
        whole = int(text)
        return whole if -_MOST_WHOLE <= whole < _MOST_WHOLE else text
    return float(text) if _FLOAT.fullmatch(text) else None
