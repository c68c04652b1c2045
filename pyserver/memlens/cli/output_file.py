"""Writing the file that a command was given. Nothing is lost by it: see :mod:`memlens.store.files.output`."""

import argparse
import sys
from pathlib import Path

from memlens.api.archives import files_in_filter
from memlens.cli.output import say
from memlens.cli.parsers import UsageError
from memlens.store.files.output import Output
from memlens.texts import phrase


def write_or_say(options: argparse.Namespace, text: str) -> None:
    """Write text to the file ``--out`` and print its path; without one print the text, line by line."""
    if options.out is not None:
        write_file(output_of(options, options.out), text.encode())
        return
    for line in text.removesuffix("\n").split("\n"):
        say(line)


def check_out(options: argparse.Namespace) -> None:
    """Raise :class:`memlens.errors.BadRequestError` before the work if the file ``--out`` can't be written."""
    if options.out is not None:
        output_of(options, options.out).check()
    elif sys.stdout.isatty() and not getattr(options, "markdown", False):
        raise UsageError(
            phrase(
                "memlens {command} makes a file for browsers, which a terminal can't show",
                command=options.command,
            ),
            advice=phrase("Write it to a file: -o OUT."),
        )


def write_file(output: Output, data: bytes) -> None:
    """Write a file completely or not at all, and print its path."""
    output.write(data)
    say(output.path)


def output_of(options: argparse.Namespace, path: Path, *formats: str) -> Output:
    """A file that a command writes, in one of the ``formats`` of snapshots or in none, and what it reads."""
    named = (getattr(options, name, None) for name in ("file", "diff", "before"))
    inputs = [each for each in named if isinstance(each, Path)]
    # other dumps that a filter names
    inputs += files_in_filter(filter_of(options), options.file)
    return Output(path, tuple(inputs), options.force, formats)


def filter_of(options: argparse.Namespace) -> str:
    """The filter among the arguments: ``--filter``, or ``--of`` of ``memlens paths``."""
    of_paths = options.of if options.command == "paths" else None
    return getattr(options, "filter", None) or of_paths or ""
