"""``memlens dump``: writes the heap of a running Python process into a file."""

import argparse

from memlens.cli.output import json_line, say
from memlens.errors import MemlensError
from memlens.remote_dump import RemoteDumpError, remote_heap, summary


class DumpError(MemlensError):
    """The process can't be reached, or can't write its heap."""

    code = "dump"


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    try:
        cost = remote_heap(options.pid, options.out, texts=not options.no_texts, timeout_s=options.timeout)
    except RemoteDumpError as error:
        raise DumpError(str(error), advice=error.advice) from error
    if options.json:
        json_line(cost._asdict())
    else:
        say(summary(options.out, cost))
    return 0
