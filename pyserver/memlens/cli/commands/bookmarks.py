"""Print the bookmarks of a trace or a heap dump, with their notes.

They are kept in the view: moments of a trace, or objects, types and groups of a heap dump.
"""

import argparse

from memlens.cli.ask import ask
from memlens.cli.options import add_file, add_json, add_libraries
from memlens.cli.output import json_line, say
from memlens.model.info import GraphInfo
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes
from memlens.views.heap.listing.bookmarks import (
    HeapBookmark,
    HeapBookmarksAnswer,
    heap_bookmark_name,
    heap_bookmarks,
)
from memlens.views.trace.bookmarks import (
    BookmarksAnswer,
    PlacedBookmark,
    allocation_name,
    bookmarks,
    moment_name,
)

EXAMPLES = ("memlens bookmarks samples/train.pickle",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    answer, listed = ask(options, _bookmarks)
    if options.json:
        json_line(answer)
        return 0
    if not listed:
        say("No bookmarks. Set one in the view, by K.")
    for about, note, figures in listed:
        say(about + (f": {note}" if note else ""))
        say(f"  {figures}")
    return 0


def _bookmarks(
    snapshot: Snapshot,
) -> tuple[BookmarksAnswer | HeapBookmarksAnswer, list[tuple[str, str, str]]]:
    """The bookmarks, and the words for each: what it marks, its note, and figures."""
    if isinstance(snapshot.info, GraphInfo):
        kind, found = snapshot.info.kind, heap_bookmarks(snapshot)
        return found, [(heap_bookmark_name(each, kind), each.note, _sizes(each)) for each in found.bookmarks]
    placed = bookmarks(snapshot)
    return placed, [
        (f"{each.device_name}, {moment_name(each)}", each.note, _live(each)) for each in placed.bookmarks
    ]


def _live(one: PlacedBookmark) -> str:
    live = f"{format_bytes(one.at.live_bytes)} in {counted(one.at.live_count, 'allocation')} live"
    selected = f"; selected: {name}" if (name := allocation_name(one)) else ""
    return live + selected


def _sizes(one: HeapBookmark) -> str:
    retained = "" if one.retained_bytes is None else f"{format_bytes(one.retained_bytes)} retained, "
    return f"{retained}{format_bytes(one.shallow_bytes)} shallow"
