"""``memlens mcp``: an MCP server, which answers language models' questions about snapshots."""

import argparse

from memlens.server.mcp import main as serve


def run(options: argparse.Namespace) -> int:
    """Serve until the client disconnects, and return the exit status."""
    return serve(options.libraries or (), options.cache_dir, options.cache_limit)
