"""Print an object of a heap dump: what it refers to, and what refers to it."""

import argparse
from pathlib import Path

from memlens.cli.ask import ask
from memlens.cli.object_words import WIDEST_NAME, chosen_number, place, reference_words, words
from memlens.cli.options import add_file, add_force, add_json, add_libraries, add_object, add_top
from memlens.cli.output import json_line, say
from memlens.cli.output_file import output_of
from memlens.units import counted, format_bytes, shortened
from memlens.views.heap.listing.one_object import ObjectAnswer, describe
from memlens.views.heap.objects.contents import whole_contents
from memlens.views.heap.objects.rows import MOST_ROWS, ReferenceRow

EXAMPLES = ("memlens object tests/fixtures/heap/sessions.hprof.zst 100 --by-number",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_object(command)
    command.add_argument(
        "--contents", type=Path, metavar="OUT",
        help="write all elements of an array of numbers, or the whole text of a string, to a file instead",
    )  # fmt: skip
    add_force(command)
    add_top(command, 20)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    if options.contents is not None:
        output = output_of(options, options.contents)
        output.check()
        output.write(
            ask(options, lambda snapshot: whole_contents(snapshot, chosen_number(snapshot, options)))
        )
        return 0
    top = min(options.top, MOST_ROWS)
    kind, answer = ask(
        options,
        lambda snapshot: (snapshot.info.kind, describe(snapshot, chosen_number(snapshot, options), top)),
    )
    if options.json:
        json_line(answer)
    else:
        _print(answer, kind)
    return 0


def _print(answer: ObjectAnswer, kind: str) -> None:
    row = answer.object
    say(f"{words(row, kind)}{place(row)}")
    for flag in row.flags:
        say(flag)
    reached = "unreachable" if row.distance is None else f"{counted(row.distance, 'reference')} from a root"
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
        say(f"dominated by {words(answer.dominator, kind)}")
    for field in answer.fields:
        say(f"  {field.name} = {shortened(field.value, WIDEST_NAME)}")
    _print_rest(answer.fields_total - len(answer.fields))
    _print_contents(answer, kind)
    _print_references("refers to", answer.references, answer.references_total, kind)
    _print_references("referred to by", answer.referrers, answer.referrers_total, kind)
    if answer.dominated:
        say(f"dominates {counted(answer.dominated_total, 'object')}:")
        for below in answer.dominated:
            say(f"  {words(below, kind)}, {format_bytes(below.retained_bytes)} retained")
    if answer.allocated:
        say("allocated by:")
        for frame in answer.allocated:
            say(f"  {frame.file}:{frame.line} {frame.function}" if frame.line else f"  {frame.function}")


def _print_contents(answer: ObjectAnswer, kind: str) -> None:
    if not answer.contents_total:
        return
    say(f"contains {counted(answer.contents_total, 'element')}:")
    for row in answer.contents:
        name = shortened(row.name, WIDEST_NAME)
        say(f"  {name}: {words(row.object, kind)}, {format_bytes(row.object.retained_bytes)} retained")
    _print_rest(answer.contents_total - len(answer.contents))


def _print_rest(count: int) -> None:
    if count:
        say(f"  and {count:,} more")


def _print_references(title: str, rows: list[ReferenceRow], total: int, kind: str) -> None:
    if not total:
        return
    say(f"{title} {counted(total, 'object')}:")
    for row in rows:
        say(f"  {reference_words(row, kind)}")
    if total > len(rows):
        say(f"  and {total - len(rows):,} more: use --top")
