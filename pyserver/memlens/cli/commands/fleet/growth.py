"""Print the lines and types that grow over a series of snapshots."""

import argparse

from memlens.cli.options import add_folder, add_json, add_top
from memlens.cli.output import json_line, say
from memlens.fleet.database import reading
from memlens.fleet.questions.growth import Kind, growth
from memlens.units import counted, format_bytes


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_folder(command)

    add_json(command)
    command.add_argument("--order", choices=("name", "time"), default="name",
                         help="what orders the series (default: the names, numbers in them as numbers)")  # fmt: skip
    command.add_argument("--of", choices=("lines", "types"), help="what grows (default: both)")
    command.add_argument("--match", default="", metavar="GLOB", help="only snapshots with such a name")
    add_top(command, 20)


def run(options: argparse.Namespace) -> int:
    kinds: dict[str | None, tuple[Kind, ...]] = {
        None: ("line", "type"),
        "lines": ("line",),
        "types": ("type",),
    }
    with reading(options.folder) as fleet:
        answer = growth(fleet, options.order, kinds[options.of], options.match, options.top)
    if options.json:
        json_line(answer)
        return 0
    say(
        f"{counted(len(answer.snapshots), 'snapshot')}, from {answer.snapshots[0]} to {answer.snapshots[-1]}; "
        "lines by what is live at the end, types by what they retain"
    )
    say(f"{'a snapshot':>10} {'first':>10} {'last':>10} {'rises':>7}  what")
    for row in answer.rows:
        place = f"{row.file}:{row.line}" if row.line else ""
        what = " ".join(
            part for part in (f"type {row.name}" if row.kind == "type" else row.name, place) if part
        )
        say(
            f"{format_bytes(round(row.slope_bytes)):>10} {format_bytes(row.first_bytes):>10} "
            f"{format_bytes(row.last_bytes):>10} {row.rises:>3,}/{len(row.points) - 1:<3,}  {what}"
        )
    return 0
