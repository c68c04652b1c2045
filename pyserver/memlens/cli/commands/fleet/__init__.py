"""``memlens fleet``: many snapshots on many machines, and questions about all of them."""

import argparse
from importlib import import_module


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    folder = "internal" if options.what == "reader" else "commands.fleet"
    status: int = import_module(f"memlens.cli.{folder}.{options.what}").run(options)
    return status
