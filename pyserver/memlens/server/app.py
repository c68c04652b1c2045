"""The language server: ``create_server`` registers the handlers, ``main`` serves stdin and stdout."""

import os
import signal
import sys
from typing import BinaryIO

from lsprotocol import types

from memlens import limits
from memlens.server.fleet_lines import FleetLines
from memlens.server.handlers import (
    code_lens,
    compare,
    editor,
    fleet,
    hover,
    libraries,
    named,
    objects,
    redact,
    snapshots,
    sources,
    sql,
    views,
    workspace,
)
from memlens.server.heap_lines import HeapLines
from memlens.server.log import configure_logging
from memlens.server.sessions.children import abandon_all
from memlens.server.sessions.opened import end_verifying
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.sources import Sources
from memlens.server.wire import Protocol, Server, make_converter, own_version
from memlens.sources.finder import Finder
from memlens.sources.notebooks import Notebooks


def create_server() -> Server:
    """Create a server with all handlers registered."""
    server = Server(
        "memlens",
        own_version(),
        text_document_sync_kind=types.TextDocumentSyncKind.None_,
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
    sources.register(server, configuration, files)
    heaps = HeapLines(registry, files)
    fleets = FleetLines(configuration, files)
    fleet.register(server, fleets)
    libraries.register(server, configuration, registry)
    redact.register(server)
    objects.register(server, configuration, registry, files, heaps, finder)
    editor.register(server, files, heaps, Notebooks(finder))
    hover.register(server, configuration, files, heaps, fleets)
    code_lens.register(server, configuration, files, heaps, fleets)
    return server


def main() -> int:
    """Serve LSP on stdin and stdout until the client ends it or disconnects. Logs go to stderr."""
    configure_logging()
    limits.share_one_heap()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave_at_once)
    server = create_server()
    limits.freeze_objects_later()
    try:
        server.start_io(sys.stdin.buffer, _own_stdout())
    finally:
        abandon_all()
        end_verifying()
    return 0


def _own_stdout() -> BinaryIO:
    """The stream for messages. From now on everything else that prints uses stderr and can't garble them."""
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return stream


def _leave_at_once(number: int, _frame: object) -> None:
    """End without waiting for the thread that reads stdin; child processes are ended first."""
    abandon_all()
    os._exit(128 + number)
