"""``memlens mcp``: an MCP server, which answers language models' questions about snapshots."""

import argparse

from memlens.errors import FileError
from memlens.server.mcp import main as serve
from memlens.texts import phrase


def run(options: argparse.Namespace) -> int:
    """Serve until the client disconnects, and return the exit status."""
    roots = options.root or ()
    for root in roots:
        if not root.is_dir():
            raise FileError(phrase("--root {path} is not a folder", path=root))
    return serve(
        options.libraries or (),
        options.cache_dir,
        options.cache_limit,
        roots,
        values=options.values,
        symbols=options.symbols or (),
    )
