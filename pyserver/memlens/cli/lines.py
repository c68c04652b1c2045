"""``memlens lines``: the source lines that allocated the most, and what is charged to no line.

For a heap dump without stacks, the lines that define what retains most: classes and functions; of Java's
classes the files.
"""

import argparse
from typing import assert_never

from msgspec import Struct

from memlens.cli.ask import ask
from memlens.cli.attribution import attribution_of, with_attribution, without_stacks
from memlens.cli.output import json_line, say
from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import KIND_WORDS, SOURCE_WORDS, format_bytes, format_value
from memlens.views.answers import SourceLine
from memlens.views.graph.lines import HeapFile, HeapLine, largest_lines
from memlens.views.lines.charged import (
    Charged,
    ChargedAmount,
    ChargedFigures,
    ChargedTo,
    charged_allocations,
    charged_amounts,
)
from memlens.views.lines.totals import ProfileLine, top_lines, top_profile_lines
from memlens.views.selection.profile_sets import value_named


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    info, answer = ask(options, lambda snapshot: (snapshot.info, _answer(snapshot, options)))
    if options.json:
        json_line(with_attribution(options, answer))
    elif isinstance(answer, _Timeline):
        _print_timeline(options, answer)
    elif isinstance(answer, _Definitions):
        _print_definitions(answer)
    else:
        _print_profile(options, profile_of(info), answer)
    return 0


class _Timeline(Struct, frozen=True):
    lines: list[SourceLine]
    charged: list[Charged]
    total: ChargedFigures


class _Profile(Struct, frozen=True):
    value: str
    lines: list[ProfileLine]
    charged: list[ChargedAmount]
    total: int


class _Definitions(Struct, frozen=True):
    lines: list[HeapLine | HeapFile]


def _answer(snapshot: Snapshot, options: argparse.Namespace) -> _Timeline | _Profile | _Definitions:
    info, attribution = snapshot.info, attribution_of(options)
    match info:
        case GraphInfo(allocations=None):
            without_stacks(options, "--value", "--any-code", "--sort")
            return _Definitions(largest_lines(snapshot, options.top))
        case TimelineInfo():
            lines = top_lines(snapshot, options.top, attribution, options.sort or "self")
            return _Timeline(lines, *charged_allocations(snapshot, attribution))
        case ProfileInfo() | GraphInfo():
            value = value_named(profile_of(info), options.value)
            if options.sort not in (None, "self", "total"):
                raise BadRequestError(
                    phrase(
                        "Lines of a profile are sorted by self or total, not by {order}", order=options.sort
                    )
                )
            rows = top_profile_lines(snapshot, value, options.top, attribution, options.sort or "self")
            return _Profile(
                profile_of(info).values[value].name, rows, *charged_amounts(snapshot, value, attribution)
            )
        case _:
            assert_never(info)


def _print_definitions(answer: _Definitions) -> None:
    if not answer.lines:
        say(
            "The heap dump has neither allocation stacks nor lines at which its types and functions are defined."
        )
        return
    say(f"{'retained':>12} {'shallow':>12} {'count':>12}  defined at")
    for row in answer.lines:
        say(
            f"{format_bytes(row.retained_bytes):>12} {format_bytes(row.shallow_bytes):>12} {row.count:>12,}  "
            f"{row.file}{'' if row.line is None else f':{row.line}'} {row.name}"
        )


def _print_timeline(options: argparse.Namespace, answer: _Timeline) -> None:
    say(f"{'self':>10} {'at peak':>10} {'at end':>10} {'in all':>10} {'count':>7}  line")
    for row in answer.lines:
        say(
            f"{format_bytes(row.self_live_at_peak_bytes):>10} {format_bytes(row.live_at_peak_bytes):>10} "
            f"{format_bytes(row.live_at_end_bytes):>10} {format_bytes(row.total_bytes):>10} {row.count:>7,}  "
            f"{row.file}:{row.line} {row.function}{KIND_WORDS[row.kind]}{SOURCE_WORDS[row.source]}"
        )
    say("")
    say(f"{'':>10} {'at peak':>10} {'at end':>10} {'in all':>10} {'count':>7}  charged to")
    for each in answer.charged:
        words = _words(each.to, attribution_of(options), "no Python frame with a known line")
        say(f"{_figures(each)}  {words}")
    say(f"{_figures(answer.total)}  in total")


def _figures(sums: ChargedFigures) -> str:
    return (
        f"{'':>10} {format_bytes(sums.live_at_peak_bytes):>10} {format_bytes(sums.live_at_end_bytes):>10} "
        f"{format_bytes(sums.total_bytes):>10} {sums.count:>7,}"
    )


def _words(to: ChargedTo, attribution: Attribution, no_line: str) -> str:
    instead = "" if attribution == "any" else ", as no frame is your own code"
    words: dict[ChargedTo, str] = {
        "user": "lines of your own code",
        "library": f"lines of libraries{instead}",
        "native": f"lines of native code{instead}",
        "no_line": f"no line: {no_line}",
        "no_stack": "no line: no stack recorded",
        "before_recording": "no line: allocated before recording, without a stack",
    }
    return words[to]


def _print_profile(options: argparse.Namespace, profile: ProfileInfo, answer: _Profile) -> None:
    value = profile.values[value_named(profile, options.value)]
    say(f"{'self':>12} {'total':>12}  {value.title} ({value.name}), by line")
    for row in answer.lines:
        inclusive, own = format_value(row.total, value.unit), format_value(row.itself, value.unit)
        say(f"{own:>12} {inclusive:>12}  {row.file}:{row.line} {row.function}{KIND_WORDS[row.kind]}")
    say("")
    say(f"{'self':>12} {'':>12}  charged to")
    for each in answer.charged:
        words = _words(each.to, attribution_of(options), "no frame with a known line")
        say(f"{format_value(each.amount, value.unit):>12} {'':>12}  {words}")
    say(f"{format_value(answer.total, value.unit):>12} {'':>12}  in total")
    for warning in profile.warnings:
        # without this, a line that needed a pool would seem to be the one that keeps the memory
        if warning.code == "pools":
            say(f"note: {warning.message}")
