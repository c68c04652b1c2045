"""``memlens bookmarks``: the moments of a trace that were bookmarked, with their notes."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.output import json_line, say
from memlens.units import counted, format_bytes
from memlens.views.trace.bookmarks import allocation_name, bookmarks, moment_name


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    answer = ask(options, bookmarks)
    if options.json:
        json_line(answer)
        return 0
    if not answer.bookmarks:
        say("No bookmarks. Set one in the view, by K at a moment of the timeline.")
    for each in answer.bookmarks:
        live = f"{format_bytes(each.at.live_bytes)} in {counted(each.at.live_count, 'allocation')} live"
        say(f"{each.device_name}, {moment_name(each)}" + (f": {each.note}" if each.note else ""))
        say(f"  {live}" + (f"; selected: {name}" if (name := allocation_name(each)) else ""))
    return 0
