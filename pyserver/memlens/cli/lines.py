"""``memlens lines``: the source lines that allocated the most."""

import argparse
from typing import assert_never

from memlens.cli.ask import ask
from memlens.cli.attribution import attribution_of, self_words
from memlens.cli.output import json_line, say
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.units import format_bytes, format_value
from memlens.views.answers import SourceLine
from memlens.views.lines.totals import top_lines, top_profile_lines
from memlens.views.selection.profile_sets import value_named


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    info, rows = ask(
        options,
        lambda snapshot: (snapshot.info, top_lines(snapshot, options.top, attribution_of(options))),
    )
    match info:
        case TimelineInfo():
            return _of_timeline(options, rows)
        case ProfileInfo():
            return _of_profile(options, info)
        case _:
            assert_never(info)


def _of_timeline(options: argparse.Namespace, rows: list[SourceLine]) -> int:
    if options.json:
        json_line(rows)
        return 0
    say(
        f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'self total':>10}  line ({self_words(options)})"
    )
    for row in rows:
        say(
            f"{format_bytes(row.live_at_peak_bytes):>10} {format_bytes(row.total_bytes):>10} {row.count:>10,} "
            f"{format_bytes(row.live_at_end_bytes):>10} {format_bytes(row.self_total_bytes):>10}  "
            f"{row.file}:{row.line} {row.function}"
        )
    return 0


def _of_profile(options: argparse.Namespace, profile: ProfileInfo) -> int:
    number = value_named(profile, options.value)
    value = profile.values[number]
    rows = ask(
        options,
        lambda snapshot: top_profile_lines(snapshot, number, options.top, attribution_of(options)),
    )
    if options.json:
        json_line(rows)
        return 0
    say(f"{'total':>12} {'self':>12}  {value.title} ({value.name}), by line ({self_words(options)})")
    for row in rows:
        total, own = format_value(row.total, value.unit), format_value(row.itself, value.unit)
        say(f"{total:>12} {own:>12}  {row.file}:{row.line} {row.function}")
    for warning in profile.warnings:
        # without it the lines that needed a pool read as those that keep the memory
        if warning.code == "pools":
            say(f"note: {warning.message}")
    return 0
