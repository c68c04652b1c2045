"""Answer language models: run an MCP server on stdin and stdout.

See [language models](language-models.md).
"""

import argparse
from pathlib import Path

from memlens.cli.options import add_libraries
from memlens.errors import FileError
from memlens.server.mcp import main as serve
from memlens.texts import phrase

EXAMPLES = ("memlens mcp",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--root", type=Path, action="append", metavar="DIR",
        help="read only files in this folder; may be repeated. Default: the client's own roots, else "
        "the folder in which it starts the server",
    )  # fmt: skip
    command.add_argument(
        "--values", action="store_true",
        help="allow a model to ask for what objects contain: the text of strings, and the values of fields",
    )  # fmt: skip
    add_libraries(command)


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
