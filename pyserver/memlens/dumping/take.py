"""Takes a heap dump of a running process or a page, or records its allocations, by the means of its runtime."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memlens.dumping import heap_profiler, place
from memlens.dumping.errors import DumpError
from memlens.dumping.options import Cost, Options
from memlens.dumping.pages import Page
from memlens.dumping.processes import Process
from memlens.dumping.programs import Program, inspected, is_recorded, named
from memlens.dumping.runtimes import Kind, dumped_titles, kinds, titles
from memlens.errors import BadRequestError
from memlens.formats import HEAP_DUMPS
from memlens.store.files.output import Output
from memlens.texts import phrase
from memlens.units import plain


class Taken(NamedTuple):
    """A dump that was taken."""

    program: Program
    bytes: int
    seconds: float
    cost: Cost | None
    """What the runtime says that it took, if it does."""


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
    kind = kinds()[found.runtime.kind] if isinstance(found, Process) and found.runtime else None
    is_known = isinstance(found, Page) or kind is not None
    if not options.texts and is_known and (kind is None or not kind.can_omit_texts):
        raise BadRequestError(
            phrase(
                "Only dumps of {runtimes} are written without texts",
                runtimes=titles(lambda each: each.can_omit_texts),
            ),
            advice=phrase("`memlens redact` writes any dump again without its values."),
        )
    if not options.live and (kind is None or not kind.can_write_garbage):
        raise BadRequestError(
            phrase(
                "Only dumps of {runtimes} are written with garbage",
                runtimes=titles(lambda each: each.can_write_garbage),
            )
        )
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
) -> Cost | None:
    def grown(size: int) -> None:
        report(size, None)

    match found:
        case Page() | Process(runtime=(Kind.NODE, _)):
            with inspected(found, options.timeout_s) as session:
                heap_profiler.snapshot(session, file, report)
        case Process(runtime=(name, _)) if (dump := kinds()[name].dump) is not None:
            return dump.load()(found, file, options, grown)
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
                "Memlens can dump {runtimes}; see docs/recording.md for others.",
                runtimes=dumped_titles(),
            ),
        )
    kind = kinds()[found.runtime.kind]
    return DumpError(
        phrase("{runtime} heaps can't be dumped from outside", runtime=kind.title), advice=kind.advice
    )
