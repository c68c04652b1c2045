"""``memlens paths``: why an object of a heap dump is alive."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.object import chosen_number, place, reference_words, words
from memlens.cli.output import json_line, say
from memlens.views.graph.paths import Path, PathsAnswer, paths


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    answer = ask(
        options,
        lambda snapshot: paths(
            snapshot, chosen_number(snapshot, options), options.top, options.through or ()
        ),
    )
    if options.json:
        json_line(answer)
    else:
        _print(answer)
    return 0


def _print(answer: PathsAnswer) -> None:
    if not answer.paths:
        say(f"No root reaches {words(answer.object)}")
    for number, path in enumerate(answer.paths, 1):
        say(f"path {number}, {path.length:,} steps:")
        _print_path(path)
    if answer.paths and not answer.complete:
        say("There are further paths: use --top")


def _print_path(path: Path) -> None:
    kinds = ", ".join(dict.fromkeys(root.kind for root in path.roots)) or "root"
    say(f"  {kinds}: {words(path.root)}{place(path.root)}")
    for number, step in enumerate(path.steps):
        if path.left_out and number == len(path.steps) // 2:
            say(f"  … {path.left_out:,} steps …")
        say(f"  -> {reference_words(step)}{place(step.object)}")
