"""What Memlens takes heap dumps of: processes, and pages of browsers, as people and the extension name them."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from memlens.dumping import node, pages
from memlens.dumping.heap_profiler import Inspected
from memlens.dumping.pages import Page
from memlens.dumping.processes import Process, dumpable, own, process
from memlens.dumping.runtimes import Kind

Program = Process | Page


class Listed(NamedTuple):
    """What can be dumped."""

    processes: list[Process]
    """The largest first."""
    pages: list[Page]


def listed() -> Listed:
    """Return the user's processes and pages on this machine that can be dumped."""
    processes = own()
    return Listed(dumpable(processes), pages.found(processes))


def named(name: str) -> Program:
    """Return the process with an id, or the page by one of its names. Raises DumpError, BadRequestError."""
    return process(int(name)) if name.isascii() and name.isdigit() else pages.named(name)


def is_recorded(program: Program) -> bool:
    """Whether its allocations can be recorded: V8's inspector does that."""
    return isinstance(program, Page) or (program.runtime is not None and program.runtime.kind == Kind.NODE)


@contextlib.contextmanager
def inspected(program: Program, timeout_s: float) -> Iterator[Inspected]:
    """A session with V8's inspector of a page or a process of Node.js. Raises DumpError."""
    opened = (
        pages.inspected(program, timeout_s)
        if isinstance(program, Page)
        else node.inspected(program.pid, program.arguments, timeout_s)
    )
    with opened as session:
        yield session
