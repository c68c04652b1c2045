"""Print what was live over time in each snapshot, aligned."""

import argparse

import msgspec

from memlens.cli.options import add_folder, add_json, add_top_or_all, positive
from memlens.cli.output import json_line, say
from memlens.fleet.database import reading
from memlens.fleet.questions.curves import curves
from memlens.units import counted, format_bytes, format_time

_BLOCKS = " ▁▂▃▄▅▆▇█"

_TOP = 100


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_folder(command)

    add_json(command)
    command.add_argument(
        "--align", choices=("start", "clock", "step"), default="start",
        help="what is at one place: times since the first event, times by the clock, or steps (default start)",
    )  # fmt: skip
    command.add_argument(
        "--columns", type=positive, default=60, metavar="N", help="columns of the axis (default 60)"
    )
    add_top_or_all(command, _TOP)


def run(options: argparse.Namespace) -> int:
    with reading(options.folder) as fleet:
        answer = curves(fleet, options.align, options.columns)
    if options.json:
        json_line(msgspec.structs.replace(answer, curves=answer.curves[: options.top]))
        return 0
    top = options.top or _TOP
    highest = max((value or 0 for curve in answer.curves for value in curve.highest_bytes), default=0)
    length = answer.x1 - answer.x0
    extent = format_time(length) if answer.unit == "microseconds" else f"{length:,.0f} {answer.unit}"
    say(f"{counted(len(answer.curves), 'curve')} over {extent}; a full block is {format_bytes(highest)}")
    for curve in answer.curves[:top]:
        blocks = "".join(
            "·" if value is None else _BLOCKS[-(-value * (len(_BLOCKS) - 1) // max(highest, 1))]
            for value in curve.highest_bytes
        )
        say(f"{blocks} {format_bytes(curve.peak_bytes):>10}  {curve.name}")
    if len(answer.curves) > top:
        say(f"and {counted(len(answer.curves) - top, 'curve')} more: use --top")
    if answer.left_out:
        say(f"{counted(answer.left_out, 'snapshot')} can't be put on this axis")
    return 0
