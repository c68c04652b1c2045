"""Replay a trace with other settings of its allocator, or with some allocations changed.

It prints what would have been live and reserved at the peak, and whether memory would have run out. The figures are
only as good as the replay with the recorded settings, whose exactness is printed first. With ``--beside OTHER --sizes
64,96,128`` it says instead what size 128 needs, by traces of sizes 64 (the other) and 96, and with ``--sizes 96``
alone which batch certainly fits. See [What would have helped](what-if.md).
"""

import argparse
import re

from memlens.cli.ask import ask
from memlens.cli.columns import Row, say_paragraph, say_tables
from memlens.cli.options import add_device, add_file, add_json, add_libraries, size_bytes, snapshot
from memlens.cli.output import json_line
from memlens.cli.parsers import UsageError
from memlens.texts import phrase
from memlens.units import counted, format_bytes
from memlens.views.selection.changes import Changes
from memlens.views.trace.how_large import HowLarge, asked_in, at_least, how_large
from memlens.views.trace.how_large_words import GROWTH_WORDS, at_least_said, sizes_said
from memlens.views.trace.oom.places import place_name
from memlens.views.trace.what_if import Run, WhatIf, what_if
from memlens.views.trace.what_if_words import (
    assumption,
    computed_again,
    conclusion,
    exactness,
    fragmentation,
    largest,
)

EXAMPLES = ("memlens what-if samples/train.pickle",)
_MOST_PINNING = 5


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_device(command)
    command.add_argument(
        "--capacity",
        type=size_bytes,
        metavar="BYTES",
        help="the memory that could be reserved, as 80GiB (default: by the first out-of-memory event)",
    )
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME:VALUE[,NAME:VALUE]",
        help="settings to try, as a value of PYTORCH_CUDA_ALLOC_CONF; may be repeated (default: some that may help)",
    )
    command.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="TERM",
        help="leave out the allocations that match this filter; may be repeated",
    )
    command.add_argument(
        "--halve",
        action="append",
        default=[],
        metavar="TERM",
        help="give these half as many bytes, as if they were bfloat16 instead of float32",
    )
    command.add_argument(
        "--free-at-once",
        action="append",
        default=[],
        metavar="TERM",
        help="free these before the next event",
    )
    command.add_argument(
        "--recompute",
        action="append",
        default=[],
        metavar="TERM",
        help="free what these hold for the backward pass, and compute it again there (activation checkpointing)",
    )
    command.add_argument(
        "--beside",
        type=snapshot,
        metavar="OTHER",
        help="a trace of the same program with a smaller batch, sequence or model, to say how large it may be",
    )
    command.add_argument(
        "--sizes",
        type=_sizes,
        metavar="[OTHER,]THIS[,SIZE]…",
        help="this trace's size, to say which larger one fits; with --beside that of the other before it, and more to "
        "work out",
    )
    add_json(command)
    add_libraries(command)


def _sizes(text: str) -> list[int]:
    parts = text.split(",")
    if not all(re.fullmatch(r"[1-9]\d{0,11}", part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text} are no sizes: write them as 64 or 64,96,128")
    return [int(part) for part in parts]


def run(options: argparse.Namespace) -> int:
    if options.beside is not None or options.sizes is not None:
        return _run_sizes(options)
    found = ask(
        options,
        lambda snapshot: what_if(
            snapshot,
            options.device,
            settings=options.set,
            changes=Changes(
                without=(*options.without,),
                halve=(*options.halve,),
                free_at_once=(*options.free_at_once,),
                recompute=(*options.recompute,),
            ),
            capacity_bytes=options.capacity,
        ),
    )
    if options.json:
        json_line(found)
    else:
        _print(found, is_asked=options.capacity is not None)
    return 0


def _run_sizes(options: argparse.Namespace) -> int:
    if options.set or options.without or options.halve or options.free_at_once or options.recompute:
        raise UsageError(phrase("--sizes applies to traces as recorded, without changes"))
    if options.sizes is None or (options.beside is None) != (len(options.sizes) == 1):
        raise UsageError(
            phrase(
                "--sizes takes the trace's size alone, or with --beside the sizes of both traces and "
                "those to predict"
            )
        )
    if options.beside is None:
        (size,) = options.sizes
        alone = ask(options, lambda snapshot: at_least(snapshot, options.device, size, options.capacity))
        if options.json:
            json_line(alone)
        else:
            for each in (f"{exactness(alone.calibration)}.", *at_least_said(alone)):
                say_paragraph(str(each))
        return 0
    smaller = ask(options, lambda snapshot: asked_in(snapshot, options.device), options.beside)
    small, large, *others = options.sizes
    found = ask(
        options,
        lambda snapshot: how_large(
            snapshot, options.device, smaller, (small, large), others, options.capacity
        ),
    )
    if options.json:
        json_line(found)
    else:
        _print_sizes(found, small, large)
    return 0


def _print_sizes(found: HowLarge, small: int, large: int) -> None:
    say_paragraph(f"{exactness(found.calibration)}.")
    for each in sizes_said(found, small):
        say_paragraph(str(each))
    table = [Row(("allocated", "reserved"), "size")]
    for row in found.rows:
        cells = [
            format_bytes(least) if least == most else f"{format_bytes(least)} to {format_bytes(most)}"
            for least, most in (
                (row.peak_allocated_bytes, row.most_allocated_bytes),
                (row.peak_reserved_bytes, row.most_reserved_bytes),
            )
        ]
        table.append(Row(cells, f"{row.size:,}{' (recorded)' if row.recorded else ''}"))
    lines = [Row((f"at {small:,}", f"at {large:,}"), "line, and how it grows")]
    for line in found.lines:
        cells = [format_bytes(line.smaller_bytes), format_bytes(line.bytes)]
        lines.append(Row(cells, f"{line.name}: {GROWTH_WORDS[line.growth]}"))
    say_tables(table, lines)


def _print(found: WhatIf, *, is_asked: bool) -> None:
    say_paragraph(f"{exactness(found.calibration)}.")
    if found.calibration.reason is not None:
        return
    if found.capacity_bytes is not None:
        basis = (
            "as asked"
            if is_asked
            else "what was reserved and free when memory ran out, if the driver and other processes had as much by "
            "any setting"
        )
        say_paragraph(f"At most {format_bytes(found.capacity_bytes)} could be reserved: {basis}.")
    elif all(row.out_of_memory is None for row in found.rows):
        say_paragraph(
            "The file doesn't say how much memory there was: give it with --capacity to know what would have failed."
        )
    if (said := assumption(found)) is not None:
        say_paragraph(f"{said}")
    if (said := conclusion(found)) is not None:
        say_paragraph(str(said))
    said = fragmentation(found)
    for more in (largest(found), computed_again(found), said):
        if more is not None:
            say_paragraph(str(more))
    table = [Row(("allocated", "reserved"), "settings")]
    for row in found.rows:
        cells = [format_bytes(each) for each in (row.peak_allocated_bytes, row.peak_reserved_bytes)]
        table.append(Row(cells, f"{_name(row)}{_outcome(row)}"))
    pinning = [Row(("free", "blocks"), "lines with blocks in segments that are partly free")]
    if said and found.fragmentation is not None:
        for line in found.fragmentation.pinning[:_MOST_PINNING]:
            cells = [format_bytes(each) for each in (line.pinned_bytes, line.bytes)]
            name = place_name(line.frame, line.operator)
            pinning.append(Row(cells, f"{name}, in {counted(line.segments, 'segment')}"))
    say_tables(*(each for each in (table, pinning) if len(each) > 1))


def _name(row: Run) -> str:
    changes = [
        f"{said} {' and '.join(terms)}"
        for said, terms in (
            ("without", row.changes.without),
            ("half", row.changes.halve),
            ("freed at once", row.changes.free_at_once),
            ("computed again", row.changes.recompute),
        )
        if terms
    ]
    return ", ".join((row.settings, *changes))


def _outcome(row: Run) -> str:
    failure = row.out_of_memory
    if failure is None:
        return ""
    missing = "" if failure.missing_bytes is None else f", {format_bytes(failure.missing_bytes)} missing"
    if failure.event < 0:
        return f": out of memory before the first event{missing}"
    return f": out of memory at event {failure.event + 1:,} ({format_bytes(failure.asked_bytes)} requested{missing})"
