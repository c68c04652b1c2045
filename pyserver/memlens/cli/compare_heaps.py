"""``memlens compare`` for heap dumps: two of them, or a series of more."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from memlens.cli.ask import ask
from memlens.cli.object_words import place, words
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.export.markdown import place_of
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import counted, format_bytes, format_change
from memlens.views.compare.heaps import HeapComparison, HeapSeries, compare_heaps, series
from memlens.views.findings.ahead import MOST_FINDINGS, findings
from memlens.views.findings.answers import Figure, SnapshotFinding
from memlens.views.findings.compared import FindingChange, FindingsComparison, compared, lacking
from memlens.views.findings.table import compared_with

T = TypeVar("T")

_MOST_HOLDERS = 10
_CHANGES: dict[FindingChange, str] = {
    "new": " (new)", "gone": " (gone)", "grown": "", "shrunk": "", "same": "",
}  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Compare the dumps of the arguments, and return the exit status."""
    if options.by == "finding":
        return _run_findings(options)

    def answer(opened: list[Snapshot]) -> tuple[str, HeapComparison | HeapSeries]:
        kind = opened[0].info.kind
        if len(opened) > 2:
            return kind, series(opened, options.search, options.top)
        return kind, compare_heaps(opened[0], opened[1], options.search, options.top)

    kind, found = _ask_all(options, [options.before, options.after, *options.more], [], answer)
    if options.json:
        json_line(found)
    elif isinstance(found, HeapSeries):
        _print_series(found)
    else:
        _print(found, kind)
    return 0


def _run_findings(options: argparse.Namespace) -> int:
    """Compare the findings of two dumps."""
    if options.more:
        raise UsageError(phrase("Findings can only be compared between two heap dumps"))

    answer = compare_findings(options, options.before, options.after)
    rows = [row for row in answer.rows if row.has(options.search)][: options.top]
    if options.json:
        json_line(replace(answer, rows=rows))
        return 0
    say(f"{'before':>10} {'after':>10} {'difference':>11}  finding")
    for row in rows:
        say(
            f"{_figure(row.before_figure):>10} {_figure(row.after_figure):>10} "
            f"{format_change(row.difference):>11}  {row.title}{_CHANGES[row.change]}: {row.shown.text}"
        )
        if row.shown.line is not None:
            say(f"{'':35}{place_of(row.shown.line)}")
    if not rows:
        say("neither dump has such findings" if options.search else "neither dump has findings")
    return 0


def compare_findings(options: argparse.Namespace, before_path: Path, after_path: Path) -> FindingsComparison:
    """The findings of two dumps, with what either has too little of for a finding that the other has."""

    def found(snapshot: Snapshot) -> tuple[int, list[SnapshotFinding]]:
        return graph_of(snapshot.info).reachable_bytes, findings(snapshot, None, MOST_FINDINGS).findings

    (before_bytes, before), (after_bytes, after) = (
        ask(options, found, path) for path in (before_path, after_path)
    )
    new, gone = lacking(compared(before, after))
    little_before = ask(options, lambda snapshot: compared_with(snapshot, new, after_bytes), before_path)
    little_after = ask(options, lambda snapshot: compared_with(snapshot, gone, before_bytes), after_path)
    return compared(before, after, little_before, little_after)


def _figure(figure: Figure | None) -> str:
    return "-" if figure is None else str(figure)


def _ask_all(
    options: argparse.Namespace,
    paths: list[Path],
    opened: list[Snapshot],
    question: Callable[[list[Snapshot]], T],
) -> T:
    """Open all files, and answer the question while all of them are open."""
    if len(opened) == len(paths):
        return question(opened)
    return ask(
        options,
        lambda snapshot: _ask_all(options, paths, [*opened, snapshot], question),
        paths[len(opened)],
    )


def _print(answer: HeapComparison, kind: str) -> None:
    before, after = answer.before, answer.after
    say(f"before: {counted(before.objects, 'object')}, {format_bytes(before.shallow_bytes)}")
    say(f"after: {counted(after.objects, 'object')}, {format_bytes(after.shallow_bytes)}")
    if after.only_bytes is not None and before.only_bytes is not None:
        say(f"new: {counted(after.only_objects or 0, 'object')}, {format_bytes(after.only_bytes)}")
        say(f"gone: {counted(before.only_objects or 0, 'object')}, {format_bytes(before.only_bytes)}")
    else:
        say("matched by type: object ids aren't stable between these dumps")
    say(f"{'retained':>12} {'difference':>12} {'count':>10} {'difference':>11}  type")
    for row in answer.types:
        native = (row.after_native_retained_bytes or 0) - (row.before_native_retained_bytes or 0)
        outside = f", {format_change(native)} native" if native else ""
        say(
            f"{format_bytes(row.after_retained_bytes):>12} "
            f"{format_change(row.after_retained_bytes - row.before_retained_bytes):>12} {row.after_count:>10,} "
            f"{row.after_count - row.before_count:>+11,}  {row.type}{outside}{_turnover(row.new, row.gone)}"
        )
    if answer.holders:
        say("what holds new objects:")
    for holder in answer.holders[:_MOST_HOLDERS]:
        say(
            f"  {words(holder.object, kind)} holds {counted(holder.new_objects, 'new object')}, "
            f"{format_bytes(holder.new_bytes)}{place(holder.object)}"
        )
    if answer.paths:
        say("what grew, by the types of what dominates it:")
    for path in answer.paths[:_MOST_HOLDERS]:
        native = (path.after_native_retained_bytes or 0) - (path.before_native_retained_bytes or 0)
        outside = f" and {format_change(native)} native" if native else ""
        say(
            f"  {format_change(path.after_retained_bytes - path.before_retained_bytes)}{outside} in "
            f"{path.after_objects:,} (before {path.before_objects:,}): {' > '.join(map(str, path.path))}"
        )


def _turnover(new: int | None, gone: int | None) -> str:
    return f" ({new:,} new, {gone:,} gone)" if new is not None and gone is not None and (new or gone) else ""


def _print_series(answer: HeapSeries) -> None:
    say(f"objects: {', '.join(f'{count:,}' for count in answer.objects)}")
    say(f"shallow size: {', '.join(map(format_bytes, answer.shallow_bytes))}")
    say("retained in each dump, and the count in the last:")
    for row in answer.types:
        grows = ", grows throughout" if row.grows else ""
        say(f"  {', '.join(map(format_bytes, row.retained_bytes))}; {row.counts[-1]:,}  {row.type}{grows}")
