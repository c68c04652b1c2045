"""Print each snapshot's peak, the outliers, and by which lines they differ from the median."""

import argparse

import msgspec

from memlens.cli.options import add_folder, add_json, add_top_or_all
from memlens.cli.output import json_line, say
from memlens.fleet.database import reading
from memlens.fleet.questions.peaks import PeaksAnswer, peaks
from memlens.units import counted, format_bytes, format_change

_TOP = 20


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_folder(command)

    add_json(command)
    command.add_argument("--sort", choices=("peak", "name", "rank", "time"), default="peak")
    add_top_or_all(command, _TOP)


def run(options: argparse.Namespace) -> int:
    with reading(options.folder) as fleet:
        answer = peaks(fleet, options.sort)
    if options.json:
        json_line(msgspec.structs.replace(answer, rows=answer.rows[: options.top]))
    else:
        _print(answer, options.top or _TOP)
    return 0


def _print(answer: PeaksAnswer, top: int) -> None:
    if answer.median is not None:
        say(
            f"{counted(len(answer.rows), 'snapshot')}, {counted(answer.outliers, 'outlier')}; median peak "
            f"{format_bytes(answer.median_bytes)} ({answer.median}), median absolute deviation "
            f"{format_bytes(answer.deviation_bytes)}"
        )
        say(f"{'rank':>6} {'peak':>10} {'to median':>10} {'at end':>10} {'ooms':>5}  snapshot")
    for row in answer.rows[:top]:
        rank = "" if row.rank is None else f"{row.rank:,}"
        at_end = "" if row.end_bytes is None else format_bytes(row.end_bytes)
        say(
            f"{rank:>6} {format_bytes(row.peak_bytes):>10} {format_change(row.from_median_bytes):>10} {at_end:>10} "
            f"{row.ooms:>5,}  {row.name}{', outlier' if row.outlier else ''}"
        )
        for line in row.lines:
            place = f"{line.file}:{line.line} {line.function}" if line.line else "no line"
            say(f"{'':>6} {format_bytes(line.bytes):>10} {format_change(line.difference_bytes):>10}  {place}")
    if len(answer.rows) > top:
        say(f"and {counted(len(answer.rows) - top, 'snapshot')} more: use --top")
    for problem in answer.problems:
        say(f"{problem.status}: {problem.name}: {problem.problem}")
