"""Print how filters are written: their terms, with examples.

See [Filters](filter.md).
"""

import argparse

from memlens.cli.filter_page import page, text
from memlens.cli.output import output_columns, say

EXAMPLES = ("memlens filter",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--markdown", action="store_true", help="print Markdown")
    command.epilog = text(output_columns())


def run(options: argparse.Namespace) -> int:
    for line in (page() if options.markdown else text(output_columns())).splitlines():
        say(line)
    return 0
