"""``memlens fleet``: many snapshots on many machines, and questions about all of them."""

import argparse
from importlib import import_module


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    name = "read" if options.what == "run" else options.what
    status: int = import_module(f"memlens.cli.fleets.{name}").run(options)
    return status
