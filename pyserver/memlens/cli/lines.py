"""``memlens lines``: the source lines that allocated the most."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.progress import json_line
from memlens.units import format_bytes, plain
from memlens.views.lines import top_lines


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    rows = ask(options, lambda snapshot: top_lines(snapshot, options.top))
    if options.json:
        json_line(rows)
        return 0
    print(f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'self':>10}  line")
    for row in rows:
        print(
            f"{format_bytes(row.live_at_peak_bytes):>10} {format_bytes(row.total_bytes):>10} {row.count:>10,} "
            f"{format_bytes(row.live_at_end_bytes):>10} {format_bytes(row.self_total_bytes):>10}  "
            f"{plain(row.file)}:{row.line} {plain(row.function)}"
        )
    return 0
