"""Print the images of a heap dump, the largest first; those with the same pixels as one row."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.object_words import words
from memlens.cli.options import add_file, add_filter, add_json, add_libraries, add_top
from memlens.cli.output import json_line, say
from memlens.units import counted, format_bytes
from memlens.views.heap.images.gallery import GalleryAnswer, GalleryRow, gallery
from memlens.views.heap.objects.rows import MOST_ROWS

EXAMPLES = ("memlens images tests/fixtures/heap/sessions.hprof.zst",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument("--order", choices=("bytes", "freed"), default="bytes",
                         help="freed: first the images whose copies would free the most")  # fmt: skip
    add_filter(
        command,
        "print only the images that match this filter, as in the view: 'held-by:Cache', '-held-by:Cache'",
    )
    add_top(command, 30)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    top = min(options.top, MOST_ROWS)
    kind, answer = ask(
        options,
        lambda snapshot: (snapshot.info.kind, gallery(snapshot, options.filter, options.order, 0, top)),
    )
    if options.json:
        json_line(answer)
        return 0
    if not answer.images:
        say("no image matches the filter" if options.filter.strip() else "the dump has no images")
        return 0
    say(_sums(answer))
    say(f"{'heap':>12} {'native':>12} {'freed':>12} {'images':>8}  first")
    for row in answer.rows:
        sizes = (row.heap_bytes, row.native_bytes, row.freed_bytes)
        say(f"{' '.join(f'{format_bytes(size):>12}' for size in sizes)} {row.count:>8,}  {_first(row, kind)}")
    left = answer.total - len(answer.rows)
    if left:
        say(f"and {left:,} more: use --top")
    return 0


def _sums(answer: GalleryAnswer) -> str:
    native = f", {format_bytes(answer.native_bytes)} outside of it" if answer.native_bytes else ""
    text = f"{counted(answer.images, 'image')}: {format_bytes(answer.heap_bytes)} in the heap{native}"
    if not answer.freed_bytes:
        return text
    return f"{text}; one in place of equal ones would free {format_bytes(answer.freed_bytes)}"


def _first(row: GalleryRow, kind: str) -> str:
    layout = f", {row.image.layout}" if row.image.layout else ", no pixels in the dump"
    return f"{words(row.object, kind)}{layout}"
