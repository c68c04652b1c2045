"""``memlens filter``: how filters are written, from the one table of their terms."""

import argparse

from memlens.cli.filter_page import page, text
from memlens.cli.output import output_columns, say


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    for line in (page() if options.markdown else text(output_columns())).splitlines():
        say(line)
    return 0
