"""Write what limits need to know of a snapshot, in a few kilobytes, for ``memlens check --against``.

It has figures and the names of lines, functions and types that hold the most, and nothing of what objects contain. It
also has what the limits of the arguments or of ``memlens.toml`` or ``pyproject.toml`` are about. See [check](check.md).
"""

import argparse
from pathlib import Path

from memlens.cli.check_options import add_limits, limits_of
from memlens.cli.commands.check import measured_base
from memlens.cli.options import add_file, add_force, add_libraries
from memlens.cli.output_file import output_of, write_file
from memlens.views.check.baseline import encoded

EXAMPLES = ("memlens baseline samples/train.pickle -o base.json",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument("-o", "--out", type=Path, metavar="OUT", required=True, help="the file to write")
    add_force(command)
    add_limits(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    output = output_of(options, options.out)
    output.check()
    write_file(output, encoded(measured_base(options, options.file, limits_of(options))))
    return 0
