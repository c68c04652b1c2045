"""The language server: ``create_server`` registers the handlers, ``main`` serves stdin and stdout."""

import sys

from memlens import limits
from memlens.server import lsp  # before others, which import LSP's types as well
from memlens.server.handlers import (
    code_lens,
    compare,
    dumping,
    editor,
    explain,
    fleet,
    hover,
    libraries,
    named,
    objects,
    redact,
    snapshots,
    sources,
    sql,
    tools,
    views,
    workspace,
)
from memlens.server.placed_lines import PlacedLines
from memlens.server.process import begin_serving
from memlens.server.sessions.children import abandon_all
from memlens.server.sessions.opened import end_verifying
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.sources import Sources
from memlens.server.transport import Protocol, Server, make_converter, quieten_pygls
from memlens.sources.finder import Finder
from memlens.sources.notebooks import Notebooks
from memlens.version import own_version


def create_server() -> Server:
    """Create a server with all handlers registered."""
    server = Server(
        "memlens",
        own_version(),
        text_document_sync_kind=lsp.types.TextDocumentSyncKind.None_,
        protocol_cls=Protocol,
        converter_factory=make_converter,
    )
    configuration = Configuration()
    finder = Finder()
    registry = Registry(configuration, finder)
    files = Sources(configuration, registry, finder)

    workspace.register(server, configuration, registry, finder)
    snapshots.register(server, registry)
    named.register(server, configuration, registry)
    views.register(server, registry)
    compare.register(server, registry)
    sql.register(server, registry)
    tools.register(server, registry)
    lines = PlacedLines(files)
    sources.register(server, configuration, files, lines)
    fleet.register(server, files)
    libraries.register(server, configuration, registry, finder)
    redact.register(server)
    dumping.register(server)
    explain.register(server)
    objects.register(server, configuration, registry, files, lines, finder)
    editor.register(server, files, lines, Notebooks(finder))
    hover.register(server, configuration, lines)
    code_lens.register(server, configuration, files, lines)
    return server


def main() -> int:
    """Serve LSP on stdin and stdout until the client ends it or disconnects. Logs go to stderr."""
    stdout = begin_serving()
    quieten_pygls()
    server = create_server()
    limits.freeze_objects_later()
    try:
        server.start_io(sys.stdin.buffer, stdout)
    finally:
        abandon_all()
        end_verifying()
    return 0
