"""``memlens lsp``: the language server."""

import argparse

from memlens.server.app import main as serve


def run(_options: argparse.Namespace) -> int:
    """Serve until the client disconnects, and return the exit status."""
    return int(serve() or 0)
