"""``memlens fleet growth``: what grows over a series of snapshots."""

import argparse

from memlens.cli.fleet_arguments import TOP_GROWTH
from memlens.cli.output import json_line, say
from memlens.fleet.database import reading
from memlens.fleet.questions.growth import Kind, growth
from memlens.units import counted, format_bytes


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    kinds: dict[str | None, tuple[Kind, ...]] = {
        None: ("line", "type"),
        "lines": ("line",),
        "types": ("type",),
    }
    with reading(options.folder) as fleet:
        answer = growth(fleet, options.order, kinds[options.of], options.match, options.top or TOP_GROWTH)
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
