"""``memlens export``: a device's trace for another tool."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.progress import reporter
from memlens.export import snapviewer


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    report = reporter("auto")
    ask(options, lambda snapshot: snapviewer(snapshot, options.device, options.snapviewer, report))
    report("done", 1.0)
    print(options.snapviewer)
    return 0
