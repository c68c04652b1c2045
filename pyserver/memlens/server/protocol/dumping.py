"""Heap dumps of running processes and of pages, and recordings of their allocations."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.dumping.options import PageType
from memlens.server.protocol.base import Count


class ProcessesParams(Struct, frozen=True):
    """Nothing: the answer is about the server's machine and user."""


class ProcessRow(Struct, frozen=True):
    """A process whose heap can be dumped. ``ending`` is what names of such dumps end in, with the dot.

    ``recordings`` are the ways in which its allocations can be recorded, none if they can't.
    """

    pid: Count
    runtime: str
    name: str
    command: str
    resident_bytes: Count
    ending: str
    recordings: list["RecordingRow"]


class PageRow(Struct, frozen=True):
    """A page of a browser, or a worker, whose heap can be dumped and whose allocations can be recorded.

    ``program`` is its name in requests, ``browser`` the address where its browser is debugged, and ``ending`` what
    names of its dumps end in, with the dot.
    """

    program: str
    type: PageType
    name: str
    url: str
    browser: str
    ending: str
    recordings: list["RecordingRow"]


class RecordingRow(Struct, frozen=True):
    """A way of recording allocations: what it is called, what it shows and costs, and what names of files end in."""

    title: str
    detail: str
    ending: str
    sampling: bool


class ProcessesResult(Struct, frozen=True):
    """The largest processes first, and the pages of those that are browsers, as far as these are debugged."""

    processes: list[ProcessRow]
    pages: list[PageRow]


class DumpParams(Struct, frozen=True):
    """Write the heap of a program into the file ``out``, which is replaced if it exists.

    That is a process, by its id in digits, or a page.

    Cancelling this request removes what was written. Progress comes as ``memlens/progress`` notifications with that
    ``view``, in which the stage is how much is written.
    """

    program: str
    out: str
    view: str


class DumpResult(Struct, frozen=True):
    """Nothing more: the file is whole."""


class RecordParams(Struct, frozen=True):
    """Record the allocations of a program into the file ``out``, for ``seconds`` or until they are stopped.

    ``sampling`` only estimates what each stack holds. Otherwise as ``memlens/dump``; the stage is how long it has run.
    """

    program: str
    out: str
    view: str
    sampling: bool
    seconds: Annotated[float, Meta(gt=0)] | None


class StopRecordingParams(Struct, frozen=True):
    """Stop the recording whose progress goes to that view, and write it."""

    view: str


class StopRecordingResult(Struct, frozen=True):
    """Nothing: the recording's own request is answered when the file is whole."""
