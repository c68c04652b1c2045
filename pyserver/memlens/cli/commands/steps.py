"""Print the steps of a run and the lines that grow from step to step."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.columns import Piece, Row, say_paragraph, say_tables
from memlens.cli.options import add_device, add_file, add_filter, add_json, add_libraries, add_top
from memlens.cli.output import json_line, say
from memlens.units import SOURCE_WORDS, format_bytes
from memlens.views.trace.steps.finding import StepsAnswer
from memlens.views.trace.steps.growth import GrowthAnswer, GrowthRow
from memlens.views.trace.steps.whole import steps_and_growth

_TRENDS = {"every_step": "more after every step", "steady": "never less", "unsteady": "up and down"}


EXAMPLES = ("memlens steps samples/train.pickle",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_device(command)
    add_top(command, 10, "N growing lines")
    add_filter(command)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    found = ask(
        options, lambda snapshot: steps_and_growth(snapshot, options.device, options.top, options.filter)
    )
    if options.json:
        json_line(found)
    else:
        print_steps(found.steps, found.growth)
    return 0


def print_steps(found_steps: StepsAnswer, growing_lines: GrowthAnswer) -> None:
    """Print the table of steps and that of growing lines."""
    say_paragraph(found_steps.how.text)
    if found_steps.rows:
        say(f"{'peak':>10} {'at end':>10} {'allocated':>10} {'survivors':>10} {'kept':>10}  step")
    for step in found_steps.rows:
        figures = (
            step.peak_bytes, step.live_at_end_bytes, step.allocated_bytes, step.survivors_bytes, step.kept_bytes,
        )  # fmt: skip
        say(" ".join(f"{format_bytes(figure):>10}" for figure in figures) + f"  {step.name}")
    if growing_lines.rows:
        table = [Row(("grown", "per step", "at end"), "line")]
        for row in growing_lines.rows:
            cells = [format_bytes(each) for each in (row.grown_bytes, round(row.slope_bytes), row.last_bytes)]
            table.append(Row(cells, _place(row)))
        say_tables(table)


def _place(row: GrowthRow) -> list[Piece]:
    trend = Piece(f", {_TRENDS[row.trend]}")
    if row.frame is None:
        return [Piece("no stack"), trend]
    where = [Piece(row.frame.file, "path"), Piece(f":{row.frame.line} ")] if row.frame.line else []
    return [*where, Piece(row.frame.function, "name"), Piece(SOURCE_WORDS[row.frame.source].text), trend]
