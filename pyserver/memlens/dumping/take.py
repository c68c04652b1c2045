"""Takes a heap dump of a running process or a page, or records its allocations, by the means of its runtime."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memlens import dump
from memlens.dumping import heap_profiler, java, place, python
from memlens.dumping.errors import DumpError
from memlens.dumping.pages import Page
from memlens.dumping.processes import Process
from memlens.dumping.programs import Program, inspected, is_recorded, named
from memlens.dumping.runtimes import Kind, dumped_titles, kinds
from memlens.errors import BadRequestError
from memlens.formats import HEAP_DUMPS
from memlens.store.files.output import Output
from memlens.texts import phrase
from memlens.units import plain


class Options(NamedTuple):
    """How a dump is taken."""

    texts: bool = True
    """With the text of strings and numbers; without is for Python alone."""
    live: bool = True
    """Only the reachable heap; otherwise with garbage, for Java alone."""
    timeout_s: float = 60.0
    """How long to wait for the process to answer; for Python, also to have written."""
    force: bool = False
    """Overwrite the file."""


class Taken(NamedTuple):
    """A dump that was taken."""

    program: Program
    bytes: int
    seconds: float
    cost: dump.Cost | None
    """What Python says that it took."""


def output_of(out: Path, *, force: bool) -> Output:
    """The file of a dump or a recording, which is never written over a snapshot of another kind."""
    return Output(out.absolute(), (), force, (*HEAP_DUMPS, "v8-sampling"), private=True)


def take(name: str, out: Path, options: Options, report: Callable[[int, float | None], None]) -> Taken:
    """Write the heap of a process or page into the file ``out``, whole or not at all, readable only by this user.

    The program has a name of :func:`programs.named`. ``report`` gets the bytes written so far, and how much is done, 0
    to 1, where that is known. Raises :class:`DumpError`, BadRequestError, FullDiskError, OSError.
    """
    output = output_of(out, force=options.force)
    output.check()
    found = named(name)
    kind = found.runtime.kind if isinstance(found, Process) and found.runtime else None
    is_known = isinstance(found, Page) or kind is not None
    if not options.texts and is_known and kind != Kind.PYTHON:
        raise BadRequestError(
            phrase("Only Python's dumps are written without texts"),
            advice=phrase("`memlens redact` writes any dump again without its values."),
        )
    if not options.live and kind != Kind.JAVA:
        raise BadRequestError(phrase("Only Java's dumps are written with garbage"))
    began = time.monotonic()
    with place.writing(output, found.pid if isinstance(found, Process) else None) as file:
        cost = _written(found, file, options, report)
        written = file.stat().st_size
    return Taken(found, written, time.monotonic() - began, cost)


class Recording(NamedTuple):
    """How allocations are recorded."""

    sampling: bool = False
    """Only estimates by stack, which costs little; otherwise every object, with the time at which it was allocated."""
    timeout_s: float = 60.0
    """How long to wait for the process to answer."""
    force: bool = False
    """Overwrite the file."""


def record(
    name: str,
    out: Path,
    options: Recording,
    stopped: Callable[[], bool],
    report: Callable[[int, float | None], None],
) -> Taken:
    """Record the allocations of a Node.js process or a page until ``stopped``, which is asked again and again.

    The file and ``report``, from then on, are as in :func:`take`, and so are errors.
    """
    output = output_of(out, force=options.force)
    output.check()
    found = named(name)
    if not is_recorded(found):
        raise BadRequestError(
            phrase("{name} is neither Node.js nor a page: only of these are allocations recorded",
                   name=plain(found.name)),
            advice=phrase("Take several heap dumps and compare them: memlens dump PID OUT --every 10 --count 5"),
        )  # fmt: skip
    began = time.monotonic()
    with place.writing(output, None) as file:
        with inspected(found, options.timeout_s) as session:
            if options.sampling:
                heap_profiler.sampling(session, file, stopped)
            else:
                heap_profiler.timeline(session, file, stopped, report)
        written = file.stat().st_size
    return Taken(found, written, time.monotonic() - began, None)


def _written(
    found: Program, file: Path, options: Options, report: Callable[[int, float | None], None]
) -> dump.Cost | None:
    timeout_s = options.timeout_s

    def grown(size: int) -> None:
        report(size, None)

    match found:
        case Page() | Process(runtime=(Kind.NODE, _)):
            with inspected(found, timeout_s) as session:
                heap_profiler.snapshot(session, file, report)
        case Process(pid, (Kind.JAVA, _), arguments):
            java.write(pid, arguments, file, live=options.live, timeout_s=timeout_s, report=grown)
        case Process(pid, (Kind.PYTHON, minor)):
            return python.write(pid, minor, file, texts=options.texts, timeout_s=timeout_s, report=grown)
        case Process(pid, (name, _)) if (dump := kinds()[name].dump) is not None:
            dump.load()(pid, file, timeout_s=timeout_s, report=grown)
        case _:
            raise _unknown(found)
    return None


def _unknown(found: Process) -> DumpError:
    if found.runtime is None:
        return DumpError(
            phrase(
                "Process {pid} ({name}) runs on no runtime whose heap can be dumped",
                pid=str(found.pid),
                name=found.name,
            ),
            advice=phrase(
                "Memlens can dump {runtimes}, and Python 3.14 and later; see docs/recording.md for others.",
                runtimes=dumped_titles(),
            ),
        )
    kind = kinds()[found.runtime.kind]
    return DumpError(
        phrase("{runtime} heaps can't be dumped from outside", runtime=kind.title), advice=kind.advice
    )
