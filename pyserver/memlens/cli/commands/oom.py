"""Explain a snapshot's out-of-memory events."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.columns import say_paragraph
from memlens.cli.options import add_file, add_json, add_libraries
from memlens.cli.output import json_line
from memlens.packs import registry
from memlens.views.trace.oom.report import explained, report

EXAMPLES = ("memlens oom samples/train.pickle",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    answers, oom_marks, info = ask(
        options, lambda snapshot: (explained(snapshot), registry.ooms().marks(snapshot), snapshot.info)
    )
    if options.json:
        json_line(answers)
        return 0
    for line in report(answers, oom_marks, info):
        say_paragraph(line)
    return 0
