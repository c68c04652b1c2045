"""How a filter is written: its terms, and the numbers, sizes and times in them."""

import re
from dataclasses import dataclass

import numpy as np

from memlens.arrays import F64, I64, Mask
from memlens.errors import BadRequestError
from memlens.texts import phrase

MOST_CHARACTERS = 4096

_FIELD = re.compile(r"(?P<field>[A-Za-z_]+(-[A-Za-z_]+)*)(?P<comparison>:(?!:)|<=|>=|<|>|=)")
_SPECIAL = re.compile(r'[\s",]')
_EXPRESSION = re.compile(r"/(?:[^/\\]|\\.)+/i?(?=[\s,]|$)")
"""Blanks, commas and quotes in it are its own, and a backslash makes a slash so."""
_AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?|\.\d+) ?(?P<unit>[A-Za-zµμ]*)")
_BYTES = {
    "": 1, "b": 1, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30, "gib": 2**30, "t": 2**40,
    "tib": 2**40, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
}  # fmt: skip
_MICROSECONDS = {
    "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "sec": 1e6, "m": 6e7, "min": 6e7, "h": 3.6e9, "ns": 1e-3,
}  # fmt: skip
_EVENTS = ("ev", "event", "events")


@dataclass(frozen=True, slots=True)
class Term:
    """One term: ``field`` is empty for a word, ``comparison`` is ``:`` or one of ``= < <= > >=``."""

    field: str
    comparison: str
    values: tuple[str, ...]
    negated: bool = False

    def __str__(self) -> str:
        head = f"{self.field}{self.comparison}" if self.field else ""
        return ("-" if self.negated else "") + head + ",".join(map(quoted, self.values))


def quoted(value: str) -> str:
    """A value in the syntax of filters, quoted if necessary."""
    if value and not _SPECIAL.search(value) and value[0] not in "-:" and not _FIELD.match(value):
        return value
    return in_quotes(value)


def in_quotes(value: str) -> str:
    """A value in the quotes of filters."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def terms_of(text: str, fields: tuple[str, ...], with_expressions: tuple[str, ...] = ()) -> list[Term]:
    """The terms of a filter with the given ``fields``, whose values are only checked not to be empty.

    Those of ``with_expressions`` take regular expressions. Raises :class:`BadRequestError` that says which term is
    wrong.
    """
    return [term for term, _ in written_terms(text, fields, with_expressions)]


def written_terms(
    text: str, fields: tuple[str, ...], with_expressions: tuple[str, ...] = ()
) -> list[tuple[Term, str]]:
    """Terms, each with its source text."""
    if len(text) > MOST_CHARACTERS:
        raise BadRequestError(phrase("A filter can have at most {most} characters", most=MOST_CHARACTERS))
    terms: list[tuple[Term, str]] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return terms
        start = at
        negated = text[at] == "-"
        at += negated
        head = _FIELD.match(text, at)
        if head:
            at = head.end()
        field = head["field"].casefold() if head else ""
        values, at = _values(text, at, expressions=field in with_expressions)
        written = text[start:at]
        comparison = head["comparison"] if head else ":"
        if field and field not in fields:
            known = ", ".join(f"{name}:" for name in fields[:4])
            raise BadRequestError(
                phrase(
                    "'{written}' is not a filter term: there is no '{field}'", written=written, field=field
                ),
                advice=phrase(
                    "Terms begin with {known} and others; put a text that contains a colon in quotes.",
                    known=known,
                ),
            )
        if any(value in ("", "=") for value in values):
            raise BadRequestError(phrase("'{written}' needs a value", written=written))
        terms.append((Term(field, comparison, values, negated), written))


def _values(text: str, at: int, *, expressions: bool) -> tuple[tuple[str, ...], int]:
    """Values separated by commas from ``at`` on, and their end."""
    values = []
    while True:
        value = ""
        if text[at : at + 1] == '"':
            value, at = _quoted_value(text, at)
        elif expressions and (expression := _EXPRESSION.match(text, at)):
            value, at = expression[0], expression.end()
        else:
            end = at
            while end < len(text) and not text[end].isspace() and text[end] not in ',"':
                end += 1
            value, at = text[at:end], end
        values.append(value)
        if text[at : at + 1] != ",":
            return tuple(values), at
        at += 1


def _quoted_value(text: str, at: int) -> tuple[str, int]:
    value, start = "", at
    at += 1
    while at < len(text):
        if text[at] == '"':
            return value, at + 1
        if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\"):
            at += 1
        value += text[at]
        at += 1
    raise BadRequestError(phrase("{text} has no closing quote", text=text[start:]))


def number_of(value: str, written: str) -> int:
    """A value as a whole number, decimal or hexadecimal. Raises :class:`BadRequestError`."""
    try:
        return int(value, 16 if value[:2].lower() == "0x" else 10)
    except ValueError:
        raise BadRequestError(
            phrase("'{written}': {value} is not a number", written=written, value=value)
        ) from None


def _field_of(written: str) -> str:
    """The field of a term as it was written: other models have sizes of other names."""
    head = _FIELD.match(written.removeprefix("-"))
    return head["field"] if head else "size"


def amount_of(field: str, value: str, written: str) -> tuple[float, bool]:
    """An amount in bytes or microseconds, or in events if the second value is True."""
    found = _AMOUNT.fullmatch(value)
    if found is None:
        example = "life>10ms" if field == "life" else f"{_field_of(written)}>1MiB"
        raise BadRequestError(
            phrase(
                "'{written}': {value} is not a size or time; write it as in {example}",
                written=written,
                value=value,
                example=example,
            )
        )
    unit = found["unit"].casefold()
    number = float(found["number"])
    if field == "size":
        if unit not in _BYTES:
            raise BadRequestError(
                phrase(
                    "'{written}': {unit} is not a unit of size (KiB, MiB, GiB …)",
                    written=written,
                    unit=found["unit"],
                )
            )
        return number * _BYTES[unit], False
    if unit in _EVENTS:
        return number, True
    if unit not in _MICROSECONDS:
        if not unit:
            raise BadRequestError(
                phrase("'{written}': the unit is missing; use us, ms, s, min or ev (events)", written=written)
            )
        raise BadRequestError(
            phrase(
                "'{written}': {unit} is not a unit of time; use us, ms, s, min or ev (events)",
                written=written,
                unit=found["unit"],
            )
        )
    return number * _MICROSECONDS[unit], False


def bytes_of(value: str, written: str) -> float:
    """A value as an amount of bytes, as ``1MiB``. Raises :class:`BadRequestError`."""
    return amount_of("size", value, written)[0]


def compared(column: F64 | I64, term: Term, amounts: list[float]) -> Mask:
    """Mask of the items of a column that compare with some amounts as a term requires."""
    match term.comparison:
        case "<":
            return column < amounts[0]
        case "<=":
            return column <= amounts[0]
        case ">":
            return column > amounts[0]
        case ">=":
            return column >= amounts[0]
    return np.isin(column, np.asarray(amounts))


def numbered(count: int, term: Term) -> Mask:
    """Which numbers below ``count`` a term names; ``7-9`` are three of them. Raises :class:`BadRequestError`."""
    found = np.zeros(count, np.bool_)
    for value in term.values:
        first, _, last = value.partition("-")
        begin = number_of(first, str(term))
        found[max(begin, 0) : max(number_of(last, str(term)) if last else begin, -1) + 1] = True
    return found
