"""``memlens types``: the types of a heap dump's objects."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.object import place
from memlens.cli.output import json_line, say
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes
from memlens.views.graph.listing import HeapOrder, heap_types
from memlens.views.graph.rows import MOST_ROWS
from memlens.views.graph.types import TypesAnswer, types
from memlens.views.selection.filters import quoted


def _answer(snapshot: Snapshot, options: argparse.Namespace, top: int) -> TypesAnswer:
    if options.since is None and options.until is None and not options.filter.strip():
        return types(snapshot, options.order, options.search, 0, top)
    terms = [options.filter, *(f"type:{quoted(word)}" for word in options.search.split())]
    if options.since is not None:
        terms.append(f"since:{options.since:g}")
    if options.until is not None:
        terms.append(f"until:{options.until:g}")
    order: HeapOrder = "name" if options.order == "type" else options.order
    found = heap_types(snapshot, " ".join(terms), order, None, "package", 0, top, reverse=False)
    return TypesAnswer(found.rows, found.offset, found.total, found.objects, found.shallow_bytes)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    top = min(options.top, MOST_ROWS)
    answer = ask(options, lambda snapshot: _answer(snapshot, options, top))
    if options.json:
        json_line(answer)
        return 0
    if not answer.total:
        say("no type fits")
        return 0
    has_native = any(row.native_bytes is not None for row in answer.types)
    native = f" {'native':>12}" if has_native else ""
    has_unreachable = any(row.unreachable_count for row in answer.types)
    lost = f" {'unreachable':>12}" if has_unreachable else ""
    say(f"{'retained':>12} {'shallow':>12}{native} {'count':>12}{lost}  type")
    for row in answer.types:
        about = place(row)
        if row.estimated_count is not None and row.estimated_shallow_bytes is not None:
            about += f", about {row.estimated_count:,} and {format_bytes(row.estimated_shallow_bytes)} in the program"
        native = f" {format_bytes(row.native_bytes):>12}" if row.native_bytes is not None else ""
        lost = f" {row.unreachable_count:>12,}" if has_unreachable else ""
        say(
            f"{format_bytes(row.retained_bytes):>12} {format_bytes(row.shallow_bytes):>12}{native} {row.count:>12,}"
            f"{lost}  {row.type}{about}"
        )
    if has_unreachable:
        say("unreachable: how many of them no root reaches; --filter=-unreachable leaves them out")
    left = answer.total - len(answer.types)
    if left:
        say(f"and {counted(left, 'type')} more: use --top")
    return 0
