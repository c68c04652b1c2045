"""``memlens paths --of``: why all objects that fit a filter are alive, as the tree of their merged paths."""

import argparse
from collections.abc import Iterator

from memlens.cli.ask import ask
from memlens.cli.least_cut import least_cut_lines
from memlens.cli.object_words import words
from memlens.cli.output import json_line, say
from memlens.export.markdown import code
from memlens.model.graph import RETAINING
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes
from memlens.views.heap.paths.merged import PathBranch
from memlens.views.heap.paths.with_cut import PathsToObjects, paths_to_objects
from memlens.views.heap.retained.left_out import parsed

_MOST_STEPS = 40


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""

    def question(snapshot: Snapshot) -> tuple[str, PathsToObjects]:
        left_out = [parsed(snapshot, text) for text in options.without or ()]
        through, most = options.through or RETAINING, options.top or _MOST_STEPS
        return snapshot.info.kind, paths_to_objects(snapshot, options.of, most, through, left_out)

    kind, answer = ask(options, question)
    if options.json:
        json_line(answer)
        return 0
    for line in _markdown(answer, kind) if options.markdown else _text(answer, kind):
        say(line)
    return 0


def _text(answer: PathsToObjects, kind: str) -> Iterator[str]:
    yield from _head(answer)
    if answer.rows:
        yield f"{'retained':>11} {'objects':>11} {'freed':>11}"
    for row, depth in _depth_first(answer.rows):
        freed = "" if row.freed_bytes is None else format_bytes(row.freed_bytes)
        yield (
            f"{format_bytes(row.bytes):>11} {row.objects:>11,} {freed:>11} {' ' * depth}"
            f"{f'{row.name}: ' if row.name else ''}{_target(row, kind)}"
        )
    if answer.least_cut is not None:
        yield from least_cut_lines(answer.least_cut, kind)


def _markdown(answer: PathsToObjects, kind: str) -> Iterator[str]:
    yield from _head(answer)
    yield ""
    for row, depth in _depth_first(answer.rows):
        freed = (
            "" if row.freed_bytes is None else f"; without it {format_bytes(row.freed_bytes)} would be freed"
        )
        name = f"{code(row.name)}: " if row.name else ""
        yield (
            f"{'  ' * depth}- {name}{code(_target(row, kind))}, {counted(row.objects, 'object')} of "
            f"{format_bytes(row.bytes)}{freed}"
        )


def _target(row: PathBranch, kind: str) -> str:
    """The target of a step: a type, or the object if there is only one."""
    return words(row.example, kind) if row.targets == 1 else row.type


def _head(answer: PathsToObjects) -> Iterator[str]:
    yield (
        f"The shortest paths from roots to {counted(answer.explained, 'object')} that retain "
        f"{format_bytes(answer.bytes)}"
    )
    if answer.without is not None:
        freed = (
            f"{format_bytes(answer.without.freed_bytes)} in {counted(answer.without.freed_objects, 'object')}"
        )
        yield f"Without what is left out, {freed} would be freed"
    for count, why in (
        (answer.left_out, "left out, beyond the most that are merged"),
        (answer.unreachable, "that no root reaches"),
        (answer.freed, "that only what is left out keeps alive"),
    ):
        if count:
            yield f"and {counted(count, 'object')} {why}"
    if answer.steps > len(answer.rows):
        yield f"The {len(answer.rows):,} largest of {answer.steps:,} steps: --top prints more"


def _depth_first(rows: list[PathBranch]) -> Iterator[tuple[PathBranch, int]]:
    """Steps and their depths in preorder, the largest child first."""
    below: dict[int, list[PathBranch]] = {}
    for row in rows:
        below.setdefault(row.above, []).append(row)
    todo = [(row, 0) for row in sorted(below.get(0, ()), key=_size)]
    while todo:
        row, depth = todo.pop()
        yield row, depth
        todo += [(each, depth + 1) for each in sorted(below.get(row.node, ()), key=_size)]


def _size(row: PathBranch) -> tuple[int, int, int]:
    return row.bytes, row.objects, -row.node
