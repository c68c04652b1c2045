"""Runs ``memlens ingest``, ``examine``, ``tables``, ``redact``, ``dump`` and ``record`` as child processes.

Their progress is forwarded, they are killed when cancelled, and their crashes are explained. Untrusted files are read
only by these processes, so this one survives whatever happens to them.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from memlens.child import (
    LINE_LIMIT_BYTES,
    STDERR_KEPT_BYTES,
    DoneLine,
    ErrorLine,
    IngestError,
    ProgressLine,
    died,
    environment,
    explain,
    oom_kills,
)
from memlens.child import (
    command as child_command,
)
from memlens.sources.paths import check_path
from memlens.store.files.cache import Cache, partial_folder
from memlens.store.files.disk import partial_file
from memlens.store.tables.fill import TABLES
from memlens.store.tables.schema import Part
from memlens.texts import Text, phrase
from memlens.views.examining import EXAMINED

logger = logging.getLogger(__name__)

ProgressListener = Callable[[str, float | None], None]


running: dict[asyncio.subprocess.Process, "Work"] = {}
"""The running children, each with what it does."""

_GRACE_S = 5.0
"""How long a child may take to undo what it did to other processes, before it is killed."""

_decode_line = msgspec.json.Decoder(ProgressLine | DoneLine | ErrorLine).decode


async def ingest(source: Path, cache: Cache, options: list[str], on_progress: ProgressListener) -> Path:
    """Read ``source`` into an archive and return its folder.

    When the calling task is cancelled, the child is killed and its unfinished folder removed before this
    returns. Raises IngestError.
    """
    folder = cache.folder_for(source)

    def remove(pid: int) -> None:
        remove_unfinished(folder, pid)

    work = Work(phrase("reading of the snapshot"), source, remove)
    return Path((await _run(work, ["ingest", *options], on_progress)).archive)


async def examine(archive: Path, options: list[str], on_progress: ProgressListener) -> None:
    """Make the findings of the heap dump in ``archive``; cancellation and errors are as in :func:`ingest`."""

    def remove(pid: int) -> None:
        for artefact in EXAMINED:
            artefact.partial(archive, pid).unlink(missing_ok=True)

    await _run(Work(phrase("search for findings"), archive, remove), ["examine", *options], on_progress)


async def fill_tables(archive: Path, part: Part, options: list[str], on_progress: ProgressListener) -> None:
    """Make a part of the tables for SQL in ``archive``; cancellation and errors are as in :func:`ingest`."""

    def remove(pid: int) -> None:
        TABLES[part].partial(archive, pid).unlink(missing_ok=True)

    work = Work(phrase("filling of the tables"), archive, remove)
    await _run(work, ["tables", "--part", part, *options], on_progress)


async def redact(
    source: Path, out: Path, on_progress: ProgressListener, mapping: Path | None = None
) -> DoneLine:
    """Write a heap dump without its values to ``out``, which is replaced if it exists.

    With a ``mapping``, its names get others, and that file leads back.

    Returns where the dump breaks off, if it does, and the mapping's file. Cancellation and errors are as in
    :func:`ingest`.
    """

    def remove(pid: int) -> None:
        for target in (out, *([] if mapping is None else [mapping])):
            partial_file(target.resolve(), pid).unlink(missing_ok=True)

    work = Work(phrase("writing of the dump"), source, remove)
    command = [
        "redact",
        str(out),
        "--force",
        *([] if mapping is None else ["--rename", "--mapping", str(mapping)]),
    ]
    return await _run(work, command, on_progress)


async def dump(program: str, out: Path, on_progress: ProgressListener) -> None:
    """Write the heap of another process, or of a page, to ``out``, which is replaced if it exists.

    Cancellation and errors are as in :func:`ingest`, but the child has time to undo what it asked of the process.
    """

    def remove(child: int) -> None:
        # the child follows links as well
        shutil.rmtree(partial_file(out.resolve(), child), ignore_errors=True)

    work = Work(phrase("writing of the dump"), program, remove, undoes=True)
    await _run(work, ["dump", str(out), "--force"], on_progress)


async def record(
    program: str,
    out: Path,
    on_progress: ProgressListener,
    *,
    sampling: bool,
    seconds: float | None,
    stop: asyncio.Event,
) -> None:
    """Record the allocations of another process, or of a page, into ``out``, for a time or until ``stop`` is set.

    Otherwise as :func:`dump`.
    """

    def remove(child: int) -> None:
        # the child follows links as well
        shutil.rmtree(partial_file(out.resolve(), child), ignore_errors=True)

    work = Work(phrase("recording of the allocations"), program, remove, undoes=True, stop=stop)
    command = ["record", str(out), "--force", *(["--sampling"] if sampling else [])]
    await _run(work, [*command, *([] if seconds is None else ["--for", f"{seconds:g}"])], on_progress)


class Work(NamedTuple):
    """The task of a child, for messages, and the path, process or page that it works on."""

    name: Text
    on: Path | str
    remove: Callable[[int], None]
    """Removes what a killed child has left, by its process id."""
    undoes: bool = False
    """Whether the child itself has something to undo when it is cancelled."""
    stop: asyncio.Event | None = None
    """Tells the child to finish sooner, by a line to its stdin."""


async def _run(work: Work, command: list[str], on_progress: ProgressListener) -> DoneLine:
    killed_before = oom_kills()
    name, *options = command
    own = ("--progress", "json", "--background", "--parent", str(os.getpid()))
    child = await start(child_command(name, *own, str(work.on), *options), listens=work.stop is not None)
    stopping = None if work.stop is None else asyncio.ensure_future(_stop(child, work.stop))
    running[child] = work
    finished = False
    try:
        outcome, errors = await asyncio.gather(_follow(child.stdout, on_progress), tail(child.stderr))
        status = await child.wait()
        finished = True
    finally:
        if not finished:
            # Shielded: a second cancellation must not leave a child or a folder behind.
            await asyncio.shield(asyncio.ensure_future(_abort(child, work)))
        if stopping is not None:
            stopping.cancel()
        del running[child]
    if errors:
        logger.log(
            logging.INFO if status == 0 else logging.WARNING, "%s of %s: %s", work.name, work.on, errors
        )
    match outcome:
        case DoneLine():
            # its outcome is final, even if it is killed while it ends
            return outcome
        case ErrorLine(problem):
            raise IngestError(problem)
    await asyncio.to_thread(work.remove, child.pid)
    raise IngestError(explain(work.name, status, errors, oom_killed=oom_kills() > killed_before))


def remove_unfinished(folder: Path, pid: int) -> None:
    """Remove the unfinished folder of a killed child, which is beside the archive's path until it is renamed."""
    shutil.rmtree(partial_folder(folder, pid), ignore_errors=True)


async def _stop(child: asyncio.subprocess.Process, stop: asyncio.Event) -> None:
    await stop.wait()
    if child.stdin is not None:
        with contextlib.suppress(ConnectionError):
            child.stdin.write(b"stop\n")
            await child.stdin.drain()


async def start(command: list[str], *, listens: bool) -> asyncio.subprocess.Process:
    """Start a child, with a stdin if it ``listens``. Raises IngestError, and BadRequestError for an impossible path."""
    for argument in command:
        check_path(argument)
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            env=environment(),
            limit=LINE_LIMIT_BYTES,
            # open as long as this process lives; that is how the child notices its end on systems without another way
            stdin=subprocess.DEVNULL if sys.platform == "linux" and not listens else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A new process group: everything that the child starts ends with it, and a ^C in our terminal reaches only
            # us.
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )
    except OSError as error:
        raise IngestError(
            died(phrase("The process that reads snapshots could not be started: {reason}", reason=str(error)))
        ) from error


async def _follow(
    output: asyncio.StreamReader | None, on_progress: ProgressListener
) -> DoneLine | ErrorLine | None:
    """Forward progress until the child closes its output; return its outcome, if it reported one."""
    outcome: DoneLine | ErrorLine | None = None
    while output is not None:
        try:
            text = await output.readline()
        except ValueError:
            logger.warning("a line of the ingest's output was too long and was skipped")
            continue
        if not text:
            break
        try:
            line = _decode_line(text)
        except msgspec.DecodeError:
            logger.warning("not a line of progress: %r", text[:200])
            continue
        if isinstance(line, ProgressLine):
            on_progress(line.stage, line.fraction)
        else:
            outcome = line
    return outcome


async def tail(errors: asyncio.StreamReader | None) -> str:
    """Read all of stderr, so that the child never blocks on it, and keep the end."""
    kept = b""
    while errors is not None and (piece := await errors.read(STDERR_KEPT_BYTES)):
        kept = (kept + piece)[-STDERR_KEPT_BYTES:]
    return kept.decode(errors="replace").strip()


async def _abort(child: asyncio.subprocess.Process, work: Work) -> None:
    if work.undoes and sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(child.wait(), _GRACE_S)
    kill(child)
    with contextlib.suppress(ProcessLookupError):
        await child.wait()
    await asyncio.to_thread(work.remove, child.pid)


def abandon_all() -> None:
    """Kill every child and remove its unfinished output, without waiting: for a server that must end at once.

    A child that has something to undo is only asked to end, and removes its output itself.
    """
    for child, work in running.items():
        if work.undoes and sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError):
                child.terminate()
            continue
        kill(child)
        work.remove(child.pid)


def kill(child: asyncio.subprocess.Process) -> None:
    """Kill the child and all processes that it started."""
    if child.returncode is not None:
        return  # its process id may already be in use again
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            child.kill()
        else:
            # The child leads its own group, so its process id is the group's.
            os.killpg(child.pid, signal.SIGKILL)
