"""Run the language server on stdin and stdout."""

import argparse
import gc

EXAMPLES = ("memlens lsp",)


def add_arguments(_command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""


def run(_options: argparse.Namespace) -> int:
    """Serve until the client disconnects, and return the exit status."""
    # what imports create is permanent: collections would go through it ten times meanwhile, and at each later one
    gc.disable()
    # imported here, because the parser of all commands imports this module
    from memlens.server.app import main as serve

    gc.freeze()
    gc.enable()
    return int(serve() or 0)
