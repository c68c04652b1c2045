"""Source lines and other places, and what they hold: for a heap dump without stacks, where its types are defined."""

from collections.abc import Sequence
from typing import Any, assert_never

from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.answers import SourceLine
from memlens.views.heap.objects.lines import HeapFile, HeapLine, largest_lines
from memlens.views.lines.charged import (
    Charged,
    ChargedAmount,
    ChargedFigures,
    charged_allocations,
    charged_amounts,
)
from memlens.views.lines.totals import LineOrder, ProfileLine, top_lines, top_profile_lines
from memlens.views.selection.profile_sets import value_named
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.held import HeldOfProfile, HeldOfTrace, Part, held, order_of_profile


class LinesOfTrace(Struct, frozen=True):
    """The lines of a whole trace."""

    lines: list[SourceLine]
    charged: list[Charged]
    total: ChargedFigures


class LinesOfProfile(Struct, frozen=True):
    """The lines of a whole profile, in one of its values."""

    value: str
    title: Text
    unit: str
    lines: list[ProfileLine]
    charged: list[ChargedAmount]
    total: int


class Definitions(Struct, frozen=True):
    """The lines that define the types and functions of a heap dump."""

    lines: list[HeapLine | HeapFile]


LinesAnswer = LinesOfTrace | LinesOfProfile | Definitions | HeldOfTrace | HeldOfProfile


def lines(
    snapshot: Snapshot, by: GroupKind, part: Part, attribution: Attribution, order: LineOrder, top: int
) -> LinesAnswer:
    """The ``top`` places that hold the most of a ``part`` of a snapshot, by some order.

    A heap dump without stacks has only its definitions, whatever else is asked for.
    Raises :class:`memlens.errors.BadRequestError`.
    """
    is_part = bool(part.at or part.filter) or part.device is not None or by != "line"
    match snapshot.info:
        case GraphInfo(allocations=None):
            return Definitions(largest_lines(snapshot, top))
        case TimelineInfo() if is_part and order == "freed":
            raise BadRequestError(
                phrase("Frees are only summed over a whole trace"),
                advice=phrase(
                    "For a part of it, use memlens lines --by freed, which groups by the line that freed."
                ),
            )
        case TimelineInfo() if not is_part and part.value is None:
            found = top_lines(snapshot, top, attribution, order)
            return LinesOfTrace(found, *charged_allocations(snapshot, attribution))
        case (ProfileInfo() | GraphInfo()) as info if not is_part:
            number = value_named(profile_of(info), part.value)
            rows = top_profile_lines(snapshot, number, top, attribution, order_of_profile(order))
            value = profile_of(info).values[number]
            charged = charged_amounts(snapshot, number, attribution)
            return LinesOfProfile(value.name, value.title, value.unit, rows, *charged)
        case TimelineInfo() | ProfileInfo() | GraphInfo():
            return held(snapshot, by, part, attribution, order, top)
        case _:
            assert_never(snapshot.info)


def answer_rows(answer: LinesAnswer) -> Sequence[Any]:
    """The rows of an answer."""
    match answer:
        case Definitions() | LinesOfTrace() | LinesOfProfile():
            return answer.lines
        case HeldOfTrace() | HeldOfProfile():
            return answer.rows
        case _:
            assert_never(answer)
