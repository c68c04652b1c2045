"""What Memlens takes heap dumps of: processes, and pages of browsers, as people and the extension name them."""

from collections.abc import Iterable
from typing import NamedTuple

from memlens.dumping.processes import Process, dumpable, own, process
from memlens.dumping.runtimes import kinds
from memlens.packs import registry
from memlens.packs.api import Page, RecordingKind

_SHORT_ID, _MOST_ID = 8, 100

Program = Process | Page


class Listed(NamedTuple):
    """What can be dumped."""

    processes: list[Process]
    """The largest first."""
    pages: list[Page]


def listed() -> Listed:
    """Return the user's processes and pages on this machine that can be dumped."""
    processes = own()
    return Listed(dumpable(processes), [*registry.pages().found(processes)])


def named(name: str) -> Program:
    """Return the process with an id, or the page by one of its names. Raises DumpError, BadRequestError."""
    return process(int(name)) if name.isascii() and name.isdigit() else registry.pages().named(name)


def short_targets(pages: Iterable[Page]) -> list[str]:
    """The shortest names of pages among them all by which :func:`named` finds each."""
    targets = [(page.browser, page.target.rpartition("/")[2]) for page in pages]
    length = next(
        (
            n
            for n in range(_SHORT_ID, _MOST_ID)
            if len({(at, own[:n]) for at, own in targets}) == len(targets)
        ),
        _MOST_ID,
    )
    return [f"{at}/{own[:length]}" for at, own in targets]


def recordings_of(program: Program) -> tuple[RecordingKind, ...]:
    """How a program's allocations can be recorded; none if they can't."""
    if not isinstance(program, Process):
        return registry.page_recordings()
    return () if program.runtime is None else kinds()[program.runtime.kind].recordings


def recording_of(program: Program, *, sampling: bool) -> RecordingKind | None:
    """The way of recording that is meant: the most detailed, or with ``sampling`` the one that costs least."""
    ways = recordings_of(program)
    return next((each for each in ways if each.sampling == sampling), ways[0] if ways else None)
