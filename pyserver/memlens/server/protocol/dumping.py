"""Heap dumps of running processes."""

from msgspec import Struct

from memlens.server.protocol.base import Count, Requests


class ProcessesParams(Struct, frozen=True):
    """Nothing: the answer is about the machine on which the server runs, and its user."""


class ProcessRow(Struct, frozen=True):
    """A process whose heap can be dumped. ``ending`` is what names of such dumps end in, ``.hprof``."""

    pid: Count
    runtime: str
    name: str
    command: str
    resident_bytes: Count
    ending: str


class ProcessesResult(Struct, frozen=True):
    """The largest first."""

    processes: list[ProcessRow]


class DumpParams(Struct, frozen=True):
    """Write the heap of a process into the file ``out``, which is replaced if it exists.

    Cancelling this request removes what was written. Progress comes as ``memlens/progress`` notifications with that
    ``view``, in which the stage is how much is written.
    """

    pid: Count
    out: str
    view: str


class DumpResult(Struct, frozen=True):
    """Nothing more: the file is whole."""


REQUESTS: Requests = {
    "memlens/processes": (ProcessesParams, ProcessesResult),
    "memlens/dump": (DumpParams, DumpResult),
}
