"""``memlens paths --of``: why all objects that fit a filter are alive, as the tree of their merged paths."""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import asdict

from memlens.cli.ask import ask
from memlens.cli.least_cut import least_cut_lines
from memlens.cli.object_words import words
from memlens.cli.output import json_line, say
from memlens.export.markdown import code
from memlens.model.graph import RETAINING
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes
from memlens.views.heap.listing.lists import fitting
from memlens.views.heap.paths.least_cut import LeastCutAnswer, is_asked, least_cut
from memlens.views.heap.paths.merged import PathBranch, PathBranchesAnswer, largest_branches
from memlens.views.heap.retained.left_out import WithoutAnswer, parsed

_MOST_STEPS = 40


class _Answer(NamedTuple):
    kind: str
    branches: PathBranchesAnswer
    without: WithoutAnswer | None
    cut: LeastCutAnswer | None


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""

    def question(snapshot: Snapshot) -> _Answer:
        left_out = tuple(parsed(snapshot, text) for text in options.without or ())
        most = options.top or _MOST_STEPS
        through = options.through or RETAINING
        return _Answer(
            snapshot.info.kind,
            *largest_branches(snapshot, options.of, None, most, through, left_out),
            least_cut(snapshot, fitting(snapshot, options.of, None, None))
            if is_asked(through, left_out)
            else None,
        )

    answer = ask(options, question)
    if options.json:
        json_line(asdict(answer.branches) | {"without": answer.without, "least_cut": answer.cut})
        return 0
    for line in _markdown(answer) if options.markdown else _text(answer):
        say(line)
    return 0


def _text(answer: _Answer) -> Iterator[str]:
    yield from _head(answer)
    if answer.branches.rows:
        yield f"{'retained':>11} {'objects':>11} {'freed':>11}"
    for row, depth in _depth_first(answer.branches.rows):
        freed = "" if row.freed_bytes is None else format_bytes(row.freed_bytes)
        yield (
            f"{format_bytes(row.bytes):>11} {row.objects:>11,} {freed:>11} {' ' * depth}"
            f"{f'{row.name}: ' if row.name else ''}{_target(row, answer.kind)}"
        )
    if answer.cut is not None:
        yield from least_cut_lines(answer.cut, answer.kind)


def _markdown(answer: _Answer) -> Iterator[str]:
    yield from _head(answer)
    yield ""
    for row, depth in _depth_first(answer.branches.rows):
        freed = (
            "" if row.freed_bytes is None else f"; without it {format_bytes(row.freed_bytes)} would be freed"
        )
        name = f"{code(row.name)}: " if row.name else ""
        yield (
            f"{'  ' * depth}- {name}{code(_target(row, answer.kind))}, {counted(row.objects, 'object')} of "
            f"{format_bytes(row.bytes)}{freed}"
        )


def _target(row: PathBranch, kind: str) -> str:
    """What a step leads to: a type, or where it is one object, that."""
    return words(row.example, kind) if row.targets == 1 else row.type


def _head(answer: _Answer) -> Iterator[str]:
    found = answer.branches
    yield (
        f"The shortest paths from roots to {counted(found.explained, 'object')} that retain "
        f"{format_bytes(found.bytes)}"
    )
    if answer.without is not None:
        freed = (
            f"{format_bytes(answer.without.freed_bytes)} in {counted(answer.without.freed_objects, 'object')}"
        )
        yield f"Without what is left out, {freed} would be freed"
    for count, why in (
        (found.left_out, "left out, beyond the most that are merged"),
        (found.unreachable, "that no root reaches"),
        (found.freed, "that only what is left out keeps alive"),
    ):
        if count:
            yield f"and {counted(count, 'object')} {why}"
    if found.steps > len(found.rows):
        yield f"The {len(found.rows):,} largest of {found.steps:,} steps: --top prints more"


def _depth_first(rows: list[PathBranch]) -> Iterator[tuple[PathBranch, int]]:
    """Steps with how many are above each, the largest first below each."""
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
