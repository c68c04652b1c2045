"""``memlens object``: an object of a heap dump, what it refers to, and what refers to it."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.output import json_line, say
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes, shortened
from memlens.views.graph.objects import ObjectAnswer, describe, number_of
from memlens.views.graph.rows import MOST_ROWS, ObjectRow, ReferenceRow
from memlens.views.graph.types import TypeRow

_WIDEST_NAME = 80


def chosen_number(snapshot: Snapshot, options: argparse.Namespace) -> int:
    """Return the number of the object that the arguments select. Raises :class:`BadRequestError`."""
    if options.by_number:
        return int(options.object)
    return number_of(snapshot, options.object)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    top = min(options.top, MOST_ROWS)
    answer = ask(options, lambda snapshot: describe(snapshot, chosen_number(snapshot, options), top))
    if options.json:
        json_line(answer)
    else:
        _print(answer)
    return 0


def words(row: ObjectRow) -> str:
    """Describe an object in a few words: ``Session @5143``."""
    name = shortened(row.name, _WIDEST_NAME)
    return f"{row.type} @{row.id}" + (f" {name!r}" if name and name != row.type else "")


def place(row: ObjectRow | TypeRow) -> str:
    """Return where an object or a type is defined, as a suffix of its description."""
    if row.file is None:
        return ""
    return f", defined in {row.file}" if row.line is None else f", defined at {row.file}:{row.line}"


def _print(answer: ObjectAnswer) -> None:
    row = answer.object
    say(f"{words(row)}{place(row)}")
    for flag in row.flags:
        say(flag)
    reached = (
        "no root reaches it" if row.distance is None else f"{counted(row.distance, 'reference')} from a root"
    )
    say(f"{format_bytes(row.shallow_bytes)} shallow, {format_bytes(row.retained_bytes)} retained, {reached}")
    if row.native_retained_bytes:
        say(
            f"{format_bytes(row.native_bytes or 0)} outside of the heap, "
            f"{format_bytes(row.native_retained_bytes)} retained of that"
        )
    for root in answer.roots:
        say(f"root: {root.kind}{f', {root.detail}' if root.detail else ''}")
    _print_rest(answer.roots_total - len(answer.roots))
    if answer.dominator is not None:
        say(f"dominated by {words(answer.dominator)}")
    for field in answer.fields:
        say(f"  {field.name} = {shortened(field.value, _WIDEST_NAME)}")
    _print_rest(answer.fields_total - len(answer.fields))
    _print_references("refers to", answer.references, answer.references_total)
    _print_references("referred to by", answer.referrers, answer.referrers_total)
    if answer.dominated:
        say(f"dominates {counted(answer.dominated_total, 'object')}:")
        for below in answer.dominated:
            say(f"  {words(below)}, {format_bytes(below.retained_bytes)} retained")
    if answer.allocated:
        say("allocated by:")
        for frame in answer.allocated:
            say(f"  {frame.file}:{frame.line} {frame.function}" if frame.line else f"  {frame.function}")


def _print_rest(count: int) -> None:
    if count:
        say(f"  and {count:,} more")


def _print_references(title: str, rows: list[ReferenceRow], total: int) -> None:
    if not total:
        return
    say(f"{title} {counted(total, 'object')}:")
    for row in rows:
        say(f"  {reference_words(row)}")
    if total > len(rows):
        say(f"  and {total - len(rows):,} more: use --top")


def reference_words(row: ReferenceRow) -> str:
    """Describe a reference and its other end."""
    weakness = "" if row.strength == "strong" else f", {row.strength}"
    return f"{row.name} ({row.kind}{weakness}): {words(row.object)}, {format_bytes(row.object.retained_bytes)} retained"
