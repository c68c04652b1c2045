"""Takes a heap dump of a running process, or records its allocations, by the means of its runtime."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memlens import dump
from memlens.dumping import dotnet, java, node, node_recording, place, python
from memlens.dumping.errors import DumpError
from memlens.dumping.processes import Process, process
from memlens.dumping.runtimes import NAMES, Kind
from memlens.errors import BadRequestError
from memlens.texts import phrase


class Options(NamedTuple):
    """How a dump is taken."""

    texts: bool = True
    """With the text of strings and numbers; without is for Python alone."""
    live: bool = True
    """Only what roots reach; otherwise with garbage, for Java alone."""
    timeout_s: float = 60.0
    """How long to wait for the process to answer; for Python, also to have written."""
    force: bool = False
    """Overwrite the file."""


class Taken(NamedTuple):
    """A dump that was taken."""

    process: Process
    bytes: int
    seconds: float
    cost: dump.Cost | None
    """What Python says that it took."""


def take(pid: int, out: Path, options: Options, report: Callable[[int, float | None], None]) -> Taken:
    """Write the heap of a process into the file ``out``, whole or not at all, readable only by this user.

    ``report`` gets the bytes written so far, and how much is done, 0 to 1, where that is known. Raises
    :class:`DumpError`, BadRequestError, FullDiskError, OSError.
    """
    out = out.absolute()
    place.check(out, force=options.force)
    found = process(pid)
    kind = None if found.runtime is None else found.runtime.kind
    if not options.texts and kind not in (Kind.PYTHON, None):
        raise BadRequestError(
            phrase("Only Python's dumps are written without texts"),
            advice=phrase("`memlens redact` writes any dump again without its values."),
        )
    if not options.live and kind is not Kind.JAVA:
        raise BadRequestError(phrase("Only Java's dumps are written with garbage"))
    began = time.monotonic()
    with place.writing(out, pid) as file:
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
    pid: int,
    out: Path,
    options: Recording,
    stopped: Callable[[], bool],
    report: Callable[[int, float | None], None],
) -> Taken:
    """Record the allocations of a Node.js process until ``stopped``, which is asked again and again.

    The file and ``report``, from then on, are as in :func:`take`, and so are errors.
    """
    out = out.absolute()
    place.check(out, force=options.force)
    found = process(pid)
    if found.runtime is None or found.runtime.kind is not Kind.NODE:
        raise BadRequestError(
            phrase("Process {pid} ({name}) isn't Node.js, the only runtime whose allocations are recorded",
                   pid=str(pid), name=found.name),
            advice=phrase("Take several heap dumps and compare them: memlens dump PID OUT --every 10 --count 5"),
        )  # fmt: skip
    began = time.monotonic()
    with place.writing(out, pid) as file:
        if options.sampling:
            node_recording.sampling(pid, found.arguments, file, timeout_s=options.timeout_s, stopped=stopped)
        else:
            node_recording.timeline(
                pid, found.arguments, file, timeout_s=options.timeout_s, stopped=stopped, report=report
            )
        written = file.stat().st_size
    return Taken(found, written, time.monotonic() - began, None)


def _written(
    found: Process, file: Path, options: Options, report: Callable[[int, float | None], None]
) -> dump.Cost | None:
    pid, timeout_s = found.pid, options.timeout_s

    def grown(size: int) -> None:
        report(size, None)

    match found.runtime:
        case (Kind.JAVA, _):
            java.write(pid, found.arguments, file, live=options.live, timeout_s=timeout_s, report=grown)
        case (Kind.NODE, _):
            node.write(pid, found.arguments, file, timeout_s=timeout_s, report=report)
        case (Kind.DOTNET, _):
            dotnet.write(pid, file, timeout_s=timeout_s, report=grown)
        case (Kind.PYTHON, minor):
            return python.write(pid, minor, file, texts=options.texts, timeout_s=timeout_s, report=grown)
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
                "Memlens can dump Java, Node.js, .NET, and Python 3.14 and later; see docs/recording.md for "
                "others."
            ),
        )
    advice = {
        Kind.RUBY: phrase(
            "Write it with ObjectSpace.dump_all, in the program or through rbtrace: see docs/ruby.md."
        ),
        Kind.OPENJ9: phrase("Its virtual machine can't write HPROF files; run the program on HotSpot."),
    }
    return DumpError(
        phrase("{runtime} heaps can't be dumped from outside", runtime=NAMES[found.runtime.kind]),
        advice=advice[found.runtime.kind],
    )
