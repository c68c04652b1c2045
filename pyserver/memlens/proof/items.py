"""The items of a dump in any format: names, and contents of strings, numbers and arrays."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

Reason = Literal[
    "types", "fields", "methods", "signatures", "functions", "variables", "attributes", "properties", "symbols",
    "files", "threads", "modules", "program", "roots", "engine", "encodings", "texts",
    "other",
]  # fmt: skip
"""Why a text stays in a copy."""

REASONS: tuple[Reason, ...] = Reason.__args__  # pyrefly: ignore[missing-attribute]

_PRINTABLE = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd]+")
MOST_TEXT_BYTES = 1 << 16
LEAST_NUMBER = 1_000
"""Only numbers of more than three digits are compared: shorter ones are everywhere."""


class Item(NamedTuple):
    """A name or a content. ``where`` is its offset in the unpacked file, or another position that the format counts."""

    kind: Literal["name", "drawn", "text", "number", "array", "unknown"]
    """"drawn": a name that is drawn for each copy, which may be a text of the original by chance."""
    place: str
    """For a name its :data:`Reason`; for content its place, in words."""
    value: str | bytes
    """Numbers as decimals; arrays and undecodable texts as bytes, perhaps only the first ones."""
    where: int


class Keeps(NamedTuple):
    """What the user chose to keep."""

    numbers: bool = False
    time: bool = False
    threads: bool = False
    """The names that a program gave its threads."""
    shared: bool = False
    """Addresses and order, if a copy has others."""


def by_reason(names: Iterator[Item]) -> Iterator[tuple[Reason, Iterable[str]]]:
    """The texts of names, one at a time."""
    for each in names:
        yield cast("Reason", each.place), (str(each.value),)


class Reader(Protocol):
    """Reads one dump, each method from its beginning."""

    def __init__(self, path: Path, keeps: Keeps) -> None: ...

    def names(self) -> Iterator[Item]:
        """All names, each at least once."""
        ...

    def contents(self, numbers: npt.NDArray[np.float64] | None) -> Iterator[Item]:
        """All contents; of numbers only those that are equal to one of these, if they are given, ascending."""
        ...


@runtime_checkable
class ListingReader(Protocol):
    """A faster reader for the names of a copy."""

    def listed(self) -> Iterator[tuple[Reason, Iterable[str]]]:
        """All names, each at least once, some at a time for each reason."""
        ...


def decoded(data: bytes, encodings: tuple[str, ...]) -> list[str]:
    """The possible decodings of some bytes, without those with control characters."""
    found = []
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text not in found and _PRINTABLE.fullmatch(text):
            found.append(text)
    return found


def is_long(number: str) -> bool:
    """Whether a decimal number has more than three digits, not counting leading and trailing zeros."""
    digits = re.sub(r"[eE].*$", "", number)
    return len(re.sub(r"[^0-9]", "", digits).strip("0")) > 3 or (
        "." not in digits and len(digits.lstrip("-0")) > 3
    )


def number_of(value: int | float) -> str:  # noqa: PYI041 - whole ones are written in another way
    """A number as the readers write it: whole ones without a point."""
    if not isinstance(value, int):
        return str(int(value)) if value.is_integer() and abs(value) < 1 << 53 else repr(value)
    return str(value)


def wanted_rows(
    values: npt.NDArray[np.float64], numbers: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.intp]:
    """The rows of numbers of more than three digits, and which are among ``numbers`` if these are given."""
    if numbers is not None:
        return np.flatnonzero(np.isin(values, numbers))
    with np.errstate(invalid="ignore"):
        return np.flatnonzero((np.abs(values) >= LEAST_NUMBER) | (values != np.floor(values)))
