"""Print why an object of a heap dump is alive: paths to it from roots."""

import argparse
from typing import get_args

from memlens.cli import merged_paths
from memlens.cli.ask import ask
from memlens.cli.least_cut import least_cut_lines
from memlens.cli.object_words import chosen_number, place, reference_words, words
from memlens.cli.options import HOLDER, add_file, add_json, add_libraries, add_object, positive
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.model.graph import RETAINING, Strength
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import counted, format_bytes
from memlens.views.heap.paths.to_object import Path
from memlens.views.heap.paths.with_cut import PathsToObject, paths_to_object
from memlens.views.heap.retained.left_out import parsed

_MOST_PATHS = 3


EXAMPLES = ("memlens paths tests/fixtures/heap/sessions.hprof.zst --of type:Sessions",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_object(command, nargs="?")
    command.add_argument(
        "--of", metavar="FILTER",
        help="instead of one object: the paths to all objects that match this filter, merged by types and references, "
        "as in the view: 'type:=Session'",
    )  # fmt: skip
    command.add_argument("--markdown", action="store_true", help="with --of: print Markdown")
    command.add_argument(
        "--through", action="append", choices=get_args(Strength),
        help="follow references of this strength besides strong ones; may be repeated (default: soft)",
    )  # fmt: skip
    command.add_argument(
        "--without", action="append", metavar=HOLDER,
        help="leave out what TYPE.NAME, .NAME of any type, all objects of a TYPE or the object @ID refer to, to see "
        "what else holds the object; may be repeated",
    )  # fmt: skip
    command.add_argument(
        "--top", type=positive, metavar="N",
        help="print only the first N paths (default 3), or with --of the N largest steps (default 40)",
    )  # fmt: skip
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    if (options.object is None) == (options.of is None):
        raise UsageError(phrase("paths takes the ID of an object, or a filter with --of"))
    if options.of is not None:
        return merged_paths.run(options)
    if options.markdown:
        raise UsageError(phrase("--markdown is for --of"))
    without = options.without or []

    def question(snapshot: Snapshot) -> tuple[str, PathsToObject]:
        left_out = [parsed(snapshot, text) for text in without]
        through, most = options.through or RETAINING, options.top or _MOST_PATHS
        return snapshot.info.kind, paths_to_object(
            snapshot, chosen_number(snapshot, options), most, through, left_out
        )

    kind, answer = ask(options, question)
    if options.json:
        json_line(answer)
        return 0
    _print(answer, without, kind)
    for line in () if answer.least_cut is None else least_cut_lines(answer.least_cut, kind):
        say(line)
    return 0


def _print(answer: PathsToObject, without: list[str], kind: str) -> None:
    row, left = answer.object, answer.without
    if left is not None:
        outside = f" and {format_bytes(left.freed_native_bytes)} native" if left.freed_native_bytes else ""
        freed = f"{format_bytes(left.freed_bytes)}{outside} in {counted(left.freed_objects, 'object')}"
        say(f"without {', '.join(without)}: {freed if left.freed_objects else 'nothing'} would be freed")
    if not answer.paths and left is not None and row.distance is not None:
        say(
            f"Nothing else holds {words(row, kind)}: it would be freed, with the {format_bytes(row.retained_bytes)} "
            "that it retains"
        )
    elif not answer.paths:
        say(f"No root reaches {words(row, kind)}")
    for number, path in enumerate(answer.paths, 1):
        say(f"path {number}, {counted(path.length, 'step')}:")
        _print_path(path, kind)
    if answer.paths and not answer.complete:
        say("There are further paths: use --top")


def _print_path(path: Path, kind: str) -> None:
    kinds = ", ".join(dict.fromkeys(root.kind for root in path.roots)) or "root"
    say(f"  {kinds}: {words(path.root, kind)}{place(path.root)}")
    for number, step in enumerate(path.steps):
        if path.left_out and number == len(path.steps) // 2:
            say(f"  … {path.left_out:,} steps …")
        say(f"  -> {reference_words(step, kind)}{place(step.object)}")
