"""Compares a copy that ``memlens redact`` wrote with its original: which contents of the original are still in it.

First the whole copy is read. All its names must be names of the original, and none of its contents (texts, numbers,
elements of arrays) may be the original's. Only the suspicious ones are then searched in the original.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from memlens.proof.items import Item, Keeps, Reader
from memlens.proof.readers import reader_of

_MOST_SUSPECTS = 500_000
_LEAST_NAME = 4
"""The characters of the shortest name that isn't one of the original's and may be a content of it."""

_SHOWN_BYTES = 60


class Found(Struct, frozen=True):
    """Content of the original that the copy still has, or bytes of the copy that no reader knows."""

    what: str
    kind: str
    """"text", "number", "array" or "unknown"."""
    stands: str
    """Its place in the copy, in words."""
    at: int
    stood: str
    """Its place in the original; empty for unknown bytes."""


class Verified(Struct, frozen=True):
    """What a comparison found: ``names`` and ``contents`` of the copy were compared."""

    found: list[Found]
    names: int
    contents: int
    is_whole: bool
    """Whether all contents of the copy were compared: there may be too many."""


class _Suspect(NamedTuple):
    item: Item
    is_name: bool


def verify(original: Path, copy: Path, keeps: Keeps) -> Verified:
    """Compare two heap dumps of one format. Raises :class:`MemlensError`, and OSError."""
    after, before = reader_of(copy, keeps), reader_of(original, keeps)
    suspects: dict[tuple[str, str | bytes], _Suspect] = {}
    found: list[Found] = []
    names = contents = 0
    is_whole = True
    for each in after.names():
        names += 1
        if each.kind == "name" and len(each.value) >= _LEAST_NAME:
            suspects.setdefault(_key(each), _Suspect(each, is_name=True))
    for each in before.names():
        suspects.pop(_key(each), None)
    for each in after.contents(None):
        contents += 1
        if each.kind == "unknown":
            found.append(Found(shown(each.value), each.kind, each.place, each.where, ""))
        elif len(suspects) < _MOST_SUSPECTS:
            suspects[_key(each)] = _Suspect(each, is_name=False)
        else:
            is_whole = False
            break
    if suspects:
        found += _searched(before, suspects)
    return Verified(found, names, contents, is_whole)


def _searched(original: Reader, suspects: dict[tuple[str, str | bytes], _Suspect]) -> Iterable[Found]:
    """Look for contents in the original, each once."""
    numbers = np.unique(
        np.array([_as_float(value) for kind, value in suspects if kind == "number"], np.float64)
    )
    arrays = set[int]()
    for each in original.contents(numbers):
        suspect = suspects.pop(_key(each), None)
        if suspect is None:
            continue
        item = suspect.item
        if item.kind == "array":
            arrays.add(item.where)
        elif item.where in arrays:
            # the same bytes as text
            continue
        stands = f"name of {item.place}" if suspect.is_name else item.place
        yield Found(shown(each.value), each.kind, stands, item.where, each.place)
        if not suspects:
            return


def _key(item: Item) -> tuple[str, str | bytes]:
    """The comparison key: a name equals a text content."""
    kind = "text" if item.kind in ("name", "drawn") else item.kind
    return kind, item.value


def _as_float(value: str | bytes) -> float:
    try:
        return float(value)
    except ValueError:
        return float("nan")


def shown(value: str | bytes) -> str:
    """A printable value: undecodable bytes in hexadecimal."""
    if isinstance(value, bytes):
        text = value[:_SHOWN_BYTES].decode("latin-1")
        value = text if text.isprintable() else value[: _SHOWN_BYTES // 2].hex(" ")
    return value if len(value) <= _SHOWN_BYTES else value[: _SHOWN_BYTES - 1] + "…"
