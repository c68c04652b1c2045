"""Print all out-of-memory events in order of time."""

import argparse
from datetime import UTC, datetime

from memlens.cli.options import add_folder, add_json, add_top_or_all
from memlens.cli.output import json_line, say
from memlens.fleet.database import reading
from memlens.fleet.questions.ooms import ooms
from memlens.model.info import device_phrase
from memlens.units import format_time

_TOP = 50


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_folder(command)

    add_json(command)
    add_top_or_all(command, _TOP)


def run(options: argparse.Namespace) -> int:
    with reading(options.folder) as fleet:
        rows = ooms(fleet, options.top or (None if options.json else _TOP))
    if options.json:
        json_line(rows)
        return 0
    if not rows:
        say("No snapshot holds an out-of-memory event.")
    for row in rows:
        when = "at an unknown time"
        if row.unix_us is not None:
            when = f"{datetime.fromtimestamp(row.unix_us / 1e6, UTC):%Y-%m-%d %H:%M:%S.%f} UTC"
            when += f", {format_time(row.after_first_us)} after the first" if row.after_first_us else ""
        say(f"{row.name}, {device_phrase(row.device)}, {when}")
        say(f"  {row.text}")
        if row.line:
            say(f"  asked for at {row.file}:{row.line} {row.function}")
    return 0
