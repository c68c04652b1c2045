"""Threads of a heap dump with their whole stacks, and the first variables of each frame."""

from collections.abc import Iterator

from msgspec import Struct

from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.threads import (
    StackRow,
    ThreadRow,
    VariableRow,
    check_thread,
    stack,
    thread_row,
    threads,
    variables,
)
from memlens.views.heap.objects.rows import MOST_ROWS


class PartWithVariables(Struct, frozen=True):
    """A part of a thread's stack, with its variables."""

    row: StackRow
    variables: list[VariableRow]
    variables_total: int


class ThreadWithStack(Struct, frozen=True):
    """A thread with its stack."""

    row: ThreadRow
    stack: list[PartWithVariables]


class ThreadsWithStacks(Struct, frozen=True):
    """The threads that retain most, of ``total``."""

    threads: list[ThreadWithStack]
    total: int


def threads_with_stacks(snapshot: Snapshot, filter_text: str, limit: int, most: int) -> ThreadsWithStacks:
    """Return the first threads, with at most ``most`` variables of each frame. Raises :class:`BadRequestError`."""
    found = threads(snapshot, filter_text, 0, limit)
    return ThreadsWithStacks(
        [ThreadWithStack(row, list(_parts(snapshot, row.thread, filter_text, most))) for row in found.rows],
        found.total,
    )


def thread_with_stack(snapshot: Snapshot, thread: int, most: int) -> ThreadWithStack:
    """Return a thread by its number. Raises :class:`BadRequestError`."""
    row = thread_row(snapshot, check_thread(snapshot, thread))
    return ThreadWithStack(row, list(_parts(snapshot, thread, "", most)))


def _parts(snapshot: Snapshot, thread: int, filter_text: str, most: int) -> Iterator[PartWithVariables]:
    for row in stack(snapshot, thread, filter_text, 0, MOST_ROWS).rows:
        found = variables(snapshot, thread, row.part, row.depth, filter_text, 0, most)
        yield PartWithVariables(row, found.rows, found.total)
