"""``memlens lines``: the source lines that allocated the most, and what is charged to no line."""

import argparse
from typing import assert_never

from memlens.cli.ask import ask
from memlens.cli.attribution import attribution_of, self_words, with_attribution
from memlens.cli.output import json_line, say
from memlens.model.attribution import Attribution
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.units import KIND_WORDS, format_bytes, format_value
from memlens.views.lines.charged import ChargedFigures, ChargedTo, charged_allocations, charged_amounts
from memlens.views.lines.totals import top_lines, top_profile_lines
from memlens.views.selection.profile_sets import value_named


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    return ask(options, lambda snapshot: _lines(snapshot, options))


def _lines(snapshot: Snapshot, options: argparse.Namespace) -> int:
    match snapshot.info:
        case TimelineInfo():
            _of_timeline(snapshot, options)
        case ProfileInfo():
            _of_profile(snapshot, snapshot.info, options)
        case _:
            assert_never(snapshot.info)
    return 0


def _of_timeline(snapshot: Snapshot, options: argparse.Namespace) -> None:
    attribution = attribution_of(options)
    rows = top_lines(snapshot, options.top, attribution)
    charged, total = charged_allocations(snapshot, attribution)
    if options.json:
        json_line(with_attribution(options, {"lines": rows, "charged": charged, "total": total}))
        return
    say(
        f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'self total':>10}  line ({self_words(options)})"
    )
    for row in rows:
        say(
            f"{format_bytes(row.live_at_peak_bytes):>10} {format_bytes(row.total_bytes):>10} {row.count:>10,} "
            f"{format_bytes(row.live_at_end_bytes):>10} {format_bytes(row.self_total_bytes):>10}  "
            f"{row.file}:{row.line} {row.function}{KIND_WORDS[row.kind]}"
        )
    say("")
    say(f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'':>10}  charged to")
    for each in charged:
        say(f"{_figures(each)} {'':>10}  {_words(each.to, attribution, 'only C++ frames')}")
    say(f"{_figures(total)} {'':>10}  in all")


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


def _of_profile(snapshot: Snapshot, profile: ProfileInfo, options: argparse.Namespace) -> None:
    attribution, number = attribution_of(options), value_named(profile, options.value)
    value = profile.values[number]
    rows = top_profile_lines(snapshot, number, options.top, attribution)
    charged, total = charged_amounts(snapshot, number, attribution)
    if options.json:
        answer = {"value": value.name, "lines": rows, "charged": charged, "total": total}
        json_line(with_attribution(options, answer))
        return
    say(f"{'total':>12} {'self':>12}  {value.title} ({value.name}), by line ({self_words(options)})")
    for row in rows:
        inclusive, own = format_value(row.total, value.unit), format_value(row.itself, value.unit)
        say(f"{inclusive:>12} {own:>12}  {row.file}:{row.line} {row.function}{KIND_WORDS[row.kind]}")
    say("")
    say(f"{'':>12} {'self':>12}  charged to")
    for each in charged:
        words = _words(each.to, attribution, "no frame with a known line")
        say(f"{'':>12} {format_value(each.amount, value.unit):>12}  {words}")
    say(f"{'':>12} {format_value(total, value.unit):>12}  in all")
    for warning in profile.warnings:
        # without it the lines that needed a pool read as those that keep the memory
        if warning.code == "pools":
            say(f"note: {warning.message}")
