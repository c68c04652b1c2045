"""``memlens lines``: the source lines that allocated the most, and what is charged to no line.

For a heap dump without stacks, the lines that define what retains most: classes and functions.
"""

import argparse
from typing import assert_never

from msgspec import Struct

from memlens.cli.ask import ask
from memlens.cli.attribution import attribution_of, self_words, with_attribution, without_stacks
from memlens.cli.output import json_line, say
from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.units import KIND_WORDS, SOURCE_WORDS, format_bytes, format_value
from memlens.views.answers import SourceLine
from memlens.views.graph.lines import HeapLine, largest_lines
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
    lines: list[HeapLine]


def _answer(snapshot: Snapshot, options: argparse.Namespace) -> _Timeline | _Profile | _Definitions:
    info, attribution = snapshot.info, attribution_of(options)
    match info:
        case GraphInfo(allocations=None):
            without_stacks(options, "--value", "--any-code")
            return _Definitions(largest_lines(snapshot, options.top))
        case TimelineInfo():
            lines = top_lines(snapshot, options.top, attribution)
            return _Timeline(lines, *charged_allocations(snapshot, attribution))
        case ProfileInfo() | GraphInfo():
            value = value_named(profile_of(info), options.value)
            rows = top_profile_lines(snapshot, value, options.top, attribution)
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
            f"{row.file}:{row.line} {row.name}"
        )


def _print_timeline(options: argparse.Namespace, answer: _Timeline) -> None:
    say(
        f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'self total':>10}  line ({self_words(options)})"
    )
    for row in answer.lines:
        say(
            f"{format_bytes(row.live_at_peak_bytes):>10} {format_bytes(row.total_bytes):>10} {row.count:>10,} "
            f"{format_bytes(row.live_at_end_bytes):>10} {format_bytes(row.self_total_bytes):>10}  "
            f"{row.file}:{row.line} {row.function}{KIND_WORDS[row.kind]}{SOURCE_WORDS[row.source]}"
        )
    say("")
    say(f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'':>10}  charged to")
    for each in answer.charged:
        words = _words(each.to, attribution_of(options), "no Python frame with a known line")
        say(f"{_figures(each)} {'':>10}  {words}")
    say(f"{_figures(answer.total)} {'':>10}  in total")


def _figures(sums: ChargedFigures) -> str:
    return (
        f"{format_bytes(sums.live_at_peak_bytes):>10} {format_bytes(sums.total_bytes):>10} {sums.count:>10,} "
        f"{format_bytes(sums.live_at_end_bytes):>10}"
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
    say(f"{'total':>12} {'self':>12}  {value.title} ({value.name}), by line ({self_words(options)})")
    for row in answer.lines:
        inclusive, own = format_value(row.total, value.unit), format_value(row.itself, value.unit)
        say(f"{inclusive:>12} {own:>12}  {row.file}:{row.line} {row.function}{KIND_WORDS[row.kind]}")
    say("")
    say(f"{'':>12} {'self':>12}  charged to")
    for each in answer.charged:
        words = _words(each.to, attribution_of(options), "no frame with a known line")
        say(f"{'':>12} {format_value(each.amount, value.unit):>12}  {words}")
    say(f"{'':>12} {format_value(answer.total, value.unit):>12}  in total")
    for warning in profile.warnings:
        # without this, a line that needed a pool would seem to be the one that keeps the memory
        if warning.code == "pools":
            say(f"note: {warning.message}")
