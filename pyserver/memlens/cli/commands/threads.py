"""Print a heap dump's threads: their frames, and what the variables of each retain."""

import argparse
from collections.abc import Iterator

from memlens.cli.ask import ask
from memlens.cli.object_words import words
from memlens.cli.options import add_file, add_filter, add_json, add_libraries, add_top, positive
from memlens.cli.output import json_line, say, say_lines
from memlens.units import counted, format_bytes, shortened
from memlens.views.heap.listing.thread_stacks import ThreadWithStack, threads_with_stacks
from memlens.views.heap.listing.threads import StackRow
from memlens.views.heap.objects.rows import MOST_ROWS

_WIDEST_NAME = 80


EXAMPLES = ("memlens threads tests/fixtures/heap/sessions.hprof.zst --top 5",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_filter(
        command,
        "print only the variables whose objects match this filter, as in the view: 'thread:main type:Session'",
    )
    command.add_argument(
        "--variables", type=positive, default=5, metavar="N",
        help="print only the first N variables of each frame (default 5)",
    )  # fmt: skip
    add_top(command, 10)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    top, most = (min(each, MOST_ROWS) for each in (options.top, options.variables))
    kind, answer = ask(
        options,
        lambda snapshot: (snapshot.info.kind, threads_with_stacks(snapshot, options.filter, top, most)),
    )
    if options.json:
        json_line(answer)
        return 0
    if not answer.total:
        say("no thread holds such objects" if options.filter.strip() else "the dump has no threads")
    say_lines(line for thread in answer.threads for line in _lines(thread, kind))
    left = answer.total - len(answer.threads)
    if left:
        say(f"and {counted(left, 'thread')} more: use --top")
    return 0


def _lines(thread: ThreadWithStack, kind: str) -> Iterator[str]:
    row = thread.row
    said = [row.name or f"thread {row.thread}", *([row.state] if row.state else [])]
    if row.request:
        said.append(f"handles {shortened(row.request, _WIDEST_NAME)}")
    if row.out_of_memory:
        said.append("ran out of memory")
    yield f"{', '.join(said)}: {format_bytes(row.retained_bytes)} retained"
    for part in thread.stack:
        yield f"{format_bytes(part.row.retained_bytes):>12}  {_words(part.row, kind)}"
        for variable in part.variables:
            name = f"{shortened(variable.name, _WIDEST_NAME)} = " if variable.name else ""
            yield (
                f"{format_bytes(variable.object.retained_bytes):>14}  {name}{words(variable.object, kind)}"
                f" ({variable.kind})"
            )
        left = part.variables_total - len(part.variables)
        if left:
            yield f"{'':>16}and {counted(left, 'variable')} more: use --variables"


def _words(row: StackRow, kind: str) -> str:
    match row.part:
        case "object":
            return f"the thread's object, {words(row.object, kind)}" if row.object else "the thread's object"
        case "thread locals":
            return "thread locals"
        case "no frame":
            return "held outside of frames"
        case "frame":
            if row.frame is None:
                return "a frame that isn't known"
            place = f", {row.frame.file}:{row.frame.line}" if row.frame.file and row.frame.line else ""
            return f"{row.frame.function}{place}"
