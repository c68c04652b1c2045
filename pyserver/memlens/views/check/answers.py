"""Limits, their measured figures, and their results."""

import re
from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.texts import Text, phrase
from memlens.units import format_value, plain, shortened
from memlens.views.findings.writing import function_beside
from memlens.views.selection.terms import bytes_of

LimitName = Literal["max-peak", "max-leaked", "max-growth-per-step", "max-retained", "max-sql", "no-finding"]
Status = Literal["kept", "exceeded", "unchecked"]

_BOUND = re.compile(r"(?P<plus>\+?)(?P<amount>[0-9.]+ ?[A-Za-z]*)(?P<percent>%?)")
_LONGEST_OF, _LONGEST_NAME = 60, 1_000


class Bound(Struct, frozen=True):
    """The most that is allowed: an amount, or with a plus what may be added to the base's, also in percent of it."""

    text: str
    amount: float
    relative: Literal["", "amount", "percent"] = ""

    def most(self, before: float) -> float:
        """The most that is allowed where the base has ``before``, which only a relative bound looks at."""
        match self.relative:
            case "":
                return self.amount
            case "amount":
                return before + self.amount
            case "percent":
                return before * (1 + self.amount / 100)


def bound_of(text: str) -> Bound:
    """A bound as it is written: ``2GiB``, ``0``, ``+10MiB`` or ``+5%``. Raises :class:`BadRequestError`."""
    found = _BOUND.fullmatch(text.strip())
    wrong = BadRequestError(
        phrase("{text} is not a limit: write it as 2GiB, 0, or against a base +10MiB or +5%", text=text)
    )
    if found is None or (found["percent"] and not found["plus"]):
        raise wrong
    try:
        amount = bytes_of(found["amount"], text)
    except (BadRequestError, ValueError):
        raise wrong from None
    return Bound(text.strip(), amount, ("percent" if found["percent"] else "amount") if found["plus"] else "")


class Limit(Struct, frozen=True):
    """One limit. ``of`` is the filter, the query or the rule that it is about."""

    name: LimitName
    bound: Bound = Bound("", 0)
    of: str = ""

    @property
    def written(self) -> str:
        """The limit as it is written, on one line and not too long."""
        of = shortened(plain(" ".join(self.of.split())), _LONGEST_OF)
        return " ".join(filter(None, (self.name, of, self.bound.text)))


class Measured(Struct, frozen=True):
    """What a limit is about, of one device where a snapshot has several.

    ``lacks`` says why there may be more than that, as in a file that is cut off.
    """

    what: Text
    amount: float
    unit: str
    device: int | None = None
    lacks: Text | None = None

    @property
    def shown(self) -> str:
        """The amount for people."""
        return shown_amount(self.amount, self.unit)


class LimitLine(Struct, frozen=True):
    """A line of source with its part of what was measured; ``line`` is 0 where only the file is known.

    ``before`` is its part in the base, None where that isn't known.
    """

    file: str
    line: int
    function: str
    amount: float
    unit: str
    before: float | None = None

    @property
    def shown(self) -> str:
        """The amount for people, and how it changed."""
        shown = shown_amount(self.amount, self.unit)
        if self.before is None:
            return shown
        change = self.amount - self.before
        return f"{shown} ({'+' if change >= 0 else '-'}{shown_amount(abs(change), self.unit)})"

    @property
    def place(self) -> str:
        """The line as far as it is known, and its function; long names are cut."""
        function = function_beside(self.file, self.line, self.function)
        file, function = (shortened(each, _LONGEST_NAME) for each in (self.file, function))
        return " ".join(filter(None, (f"{file}:{self.line}" if self.line else file, function)))


class LimitResult(Struct, frozen=True):
    """The result of a limit, for one device where a snapshot has several.

    ``text`` says it in a sentence. ``most`` is what was allowed, ``before`` what the base has.
    """

    limit: LimitName
    of: str
    written: str
    status: Status
    text: Text
    device: int | None = None
    unit: str = ""
    amount: float | None = None
    most: float | None = None
    before: float | None = None
    lines: list[LimitLine] = []


def shown_amount(amount: float, unit: str) -> str:
    """An amount for people: bytes with a unit, other numbers as they are."""
    if unit == "bytes":
        return format_value(round(amount), unit)
    return f"{int(amount):,}" if float(amount).is_integer() else f"{amount:,.6g}"


class CheckedFile(Struct, frozen=True):
    """The results of all limits for a file. ``status`` is the worst; ``problem`` says why the file can't be read."""

    file: str
    status: Status
    results: list[LimitResult]
    notes: list[Text] = []
    problem: Text | None = None


def worst(statuses: Collection[Status]) -> Status:
    """The worst of several. What is known to be exceeded counts more than what isn't known."""
    order: tuple[Status, ...] = ("exceeded", "unchecked")
    return next((each for each in order if each in statuses), "kept")
