"""Takes a heap dump of a running process or a page, or records its allocations, by the means of its runtime."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memlens.dumping import place
from memlens.dumping.errors import DumpError
from memlens.dumping.options import Cost, Options, Recording
from memlens.dumping.processes import Process
from memlens.dumping.programs import Program, named
from memlens.dumping.runtimes import dumped_titles, kinds, titles
from memlens.errors import BadRequestError
from memlens.formats import HEAP_DUMPS
from memlens.packs import registry
from memlens.store.files.output import Output
from memlens.texts import phrase
from memlens.units import plain

Recorder = Callable[[Path, Recording, Callable[[], bool], Callable[[int, float | None], None]], None]


class Taken(NamedTuple):
    """A dump that was taken."""

    program: Program
    bytes: int
    seconds: float
    cost: Cost | None
    """What the runtime says that it took, if it does."""


def output_of(out: Path, *, force: bool) -> Output:
    """The file of a dump or a recording, which is never written over a snapshot of another kind."""
    return Output(out.absolute(), (), force, (*HEAP_DUMPS, *registry.recorded_formats()), private=True)


def take(name: str, out: Path, options: Options, report: Callable[[int, float | None], None]) -> Taken:
    """Write the heap of a process or page into the file ``out``, whole or not at all, readable only by this user.

    The program has a name of :func:`programs.named`. ``report`` gets the bytes written so far, and how much is done, 0
    to 1, where that is known. Raises :class:`DumpError`, BadRequestError, FullDiskError, OSError.
    """
    output = output_of(out, force=options.force)
    output.check()
    found = named(name)
    kind = kinds()[found.runtime.kind] if isinstance(found, Process) and found.runtime else None
    is_known = not isinstance(found, Process) or kind is not None
    if not options.texts and is_known and (kind is None or not kind.can_omit_texts):
        raise BadRequestError(
            phrase(
                "Only {runtimes} dumps can be written without texts",
                runtimes=titles(lambda each: each.can_omit_texts),
            ),
            advice=phrase("`memlens redact` writes any dump again without its values."),
        )
    if not options.live and (kind is None or not kind.can_write_garbage):
        raise BadRequestError(
            phrase(
                "Only {runtimes} dumps can include garbage",
                runtimes=titles(lambda each: each.can_write_garbage),
            )
        )
    began = time.monotonic()
    with place.writing(output, found.pid if isinstance(found, Process) else None) as file:
        cost = _written(found, file, options, report)
        written = file.stat().st_size
    return Taken(found, written, time.monotonic() - began, cost)


def record(
    name: str,
    out: Path,
    options: Recording,
    stopped: Callable[[], bool],
    report: Callable[[int, float | None], None],
) -> Taken:
    """Record the allocations of a process or a page until ``stopped``, which is asked again and again.

    The file and ``report``, from then on, are as in :func:`take`, and so are errors.
    """
    output = output_of(out, force=options.force)
    output.check()
    found = named(name)
    write = _recorder(found)
    if write is None:
        runtimes = titles(lambda each: each.record is not None).replace(", ", " or ")
        raise BadRequestError(
            phrase(
                "{name} is not a page and doesn't run on {runtimes}: allocations can only be "
                "recorded for these",
                   name=plain(found.name), runtimes=runtimes),
            advice=phrase("Take several heap dumps and compare them: memlens dump PID OUT --every 10 --count 5"),
        )  # fmt: skip
    began = time.monotonic()
    with place.writing(output, found.pid if isinstance(found, Process) else None) as file:
        write(file, options, stopped, report)
        written = file.stat().st_size
    return Taken(found, written, time.monotonic() - began, None)


def _written(
    found: Program, file: Path, options: Options, report: Callable[[int, float | None], None]
) -> Cost | None:
    def grown(size: int, fraction: float | None = None) -> None:
        report(size, fraction)

    if not isinstance(found, Process):
        found.write(file, options, grown)
        return None
    dump = None if found.runtime is None else kinds()[found.runtime.kind].dump
    if dump is None:
        raise _unknown(found)
    return dump.load()(found, file, options, grown)


def _recorder(found: Program) -> Recorder | None:
    """What records a program's allocations, where something does."""
    if not isinstance(found, Process):
        return found.record
    part = None if found.runtime is None else kinds()[found.runtime.kind].record
    return None if part is None else partial(part.load(), found)


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
