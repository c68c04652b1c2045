"""The inspector of a process of Node.js, which SIGUSR1 opens."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memlens.dumping import linux
from memlens.dumping.errors import DumpError, ended, no_answer, process_of
from memlens.dumping.options import Options, Recording
from memlens.dumping.processes import Process
from memlens.packs.v8.dumping.heap_profiler import (
    POLL_S,
    Inspected,
    Report,
    busy,
    explained,
    recorded,
    snapshot,
)
from memlens.packs.v8.dumping.inspector import Address, Inspector, InspectorError, session, targets
from memlens.programs import program
from memlens.texts import phrase

_LATE_S = 5.0
"""How long to wait for the inspector to open, and to close again when it is no longer needed."""

_CLOSED_S = 2.0
"""How long to wait for it to close when a dump or recording is cancelled.

Node.js 20 crashes now and then if a session ends just when it closes its inspector.
"""

_DEFAULT_PORT = 9229
_PORT_OPTION = re.compile(r"--(?:inspect|inspect-brk|inspect-wait|inspect-port|debug-port)=(?:.*:)?(\d+)")
_ANY_PORT = 0
_PID = "process.pid"
_CLOSE = "process.getBuiltinModule ? process.getBuiltinModule('inspector').close() : process._debugEnd()"


def write(process: Process, file: Path, options: Options, report: Report) -> None:
    """Write the heap of a process. Raises :class:`DumpError`."""
    with inspected(process.pid, process.arguments, options.timeout_s) as session:
        snapshot(session, file, report)


def record(
    process: Process, file: Path, options: Recording, stopped: Callable[[], bool], report: Report
) -> None:
    """Record the allocations of a process until ``stopped``. Raises :class:`DumpError`."""
    with inspected(process.pid, process.arguments, options.timeout_s) as session:
        recorded(session, file, options, stopped, report)


@contextlib.contextmanager
def inspected(pid: int, arguments: tuple[str, ...], timeout_s: float) -> Iterator[Inspected]:
    """Open a session with the process; its inspector is opened if necessary, and then closed again.

    Raises :class:`DumpError`, also in place of the InspectorError of the session.
    """

    def is_alive() -> bool:
        return _is_alive(pid)

    program = process_of(pid)
    with explained(program, is_alive), _session_of(pid, arguments, timeout_s) as inspector:
        yield Inspected(inspector, program, is_alive, timeout_s)


@contextlib.contextmanager
def _session_of(pid: int, arguments: tuple[str, ...], timeout_s: float) -> Iterator[Inspector]:
    ports = _named_ports(arguments)
    before = _listening(pid)
    with _found(pid, _candidates(before, ports), timeout_s) as inspector:
        if inspector is not None:
            yield inspector
            return
    _open(pid, arguments)
    deadline, is_found = time.monotonic() + timeout_s, False
    try:
        while True:
            with _found(pid, _opened(pid, before, ports), timeout_s) as inspector:
                if inspector is not None:
                    is_found = True
                    try:
                        yield inspector
                    finally:
                        # also after Ctrl+C: the process closes it once it has finished the snapshot
                        with contextlib.suppress(InspectorError):
                            inspector.value(_CLOSE, _CLOSED_S if sys.exc_info()[0] else timeout_s)
                    return
            _wait(pid, ports, deadline, timeout_s)
    except BaseException:
        if not is_found:
            _close_later(pid, before, ports)
        raise


def _wait(pid: int, ports: set[int], deadline: float, timeout_s: float) -> None:
    """Wait a little for the inspector. Raises :class:`DumpError` if it won't be opened, or not before the deadline."""
    if not _is_alive(pid):
        raise ended(process_of(pid))
    if time.monotonic() > deadline:
        raise _not_opened(pid, ports, timeout_s)
    time.sleep(POLL_S)


def _opened(pid: int, before: set[Address] | None, ports: set[int]) -> list[Address]:
    """Addresses at which the inspector may be open: on Linux, those at which the process began to listen."""
    now = _listening(pid)
    return _candidates(now, ports) if now is None or before is None else sorted(now - before)


def _close_later(pid: int, before: set[Address] | None, ports: set[int]) -> None:
    """Have the process close its inspector when it can: whoever connects can make the process run anything.

    The session stays open until then, as Node.js may drop requests of a closed session.
    """
    guarded = f"process.pid === {_inner_pid(pid)} && ({_CLOSE})"
    deadline, was_open = time.monotonic() + _LATE_S, False
    while _is_alive(pid) and time.monotonic() < deadline:
        opened = _opened(pid, before, ports)
        if was_open and not opened:
            return
        for address in opened:
            with _node_at(address) as inspector, contextlib.suppress(InspectorError):
                if inspector is not None:
                    was_open = True
                    inspector.value(guarded, max(deadline - time.monotonic(), POLL_S))
        time.sleep(POLL_S)


@contextlib.contextmanager
def _found(pid: int, addresses: list[Address], timeout_s: float) -> Iterator[Inspector | None]:
    """A session with the process at one of the addresses; never with another process."""
    for address in addresses:
        with _node_at(address) as inspector:
            if inspector is None:
                continue
            own = inspector.value(_PID, timeout_s)
            if own is None:
                raise busy(process_of(pid), timeout_s)
            if own == _inner_pid(pid):
                yield inspector
                return
    yield None


def _open(pid: int, arguments: tuple[str, ...]) -> None:
    """Make Node.js open its inspector."""
    if sys.platform == "win32":
        # the equivalent of the signal calls a function in Node.js: an administrator doesn't run another user's code
        node, own = program("node"), Path(arguments[0])
        if node is None and own.is_absolute() and not ctypes.windll.shell32.IsUserAnAdmin():
            node = own
        if node is None:
            raise DumpError(
                phrase("Process {pid} doesn't open its inspector: node was not found", pid=str(pid)),
                advice=phrase("Put the folder of Node.js on the PATH, or start the program with --inspect."),
            )
        command = [str(node), "-e", f"process._debugProcess({pid})"]
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603
        return
    if sys.platform == "linux":
        if not linux.shares_network(pid):
            raise DumpError(
                phrase("Process {pid} has its own network, as in a container", pid=str(pid)),
                advice=phrase(
                    "Run `memlens dump` there: nsenter -t {pid} -n memlens dump {pid} OUT", pid=str(pid)
                ),
            )
        catches = linux.catches(pid, signal.SIGUSR1)
    else:
        catches = not {"--disable-sigusr1", "--permission"} & set(arguments)
    if not catches:
        # the signal would terminate it
        raise DumpError(
            phrase("Process {pid} doesn't open its inspector on request", pid=str(pid)),
            advice=phrase("It has only just started, or was started with --disable-sigusr1 or --permission."),
        )
    os.kill(pid, signal.SIGUSR1)


def _not_opened(pid: int, ports: set[int], timeout_s: float) -> DumpError:
    taken = next((port for port in sorted(ports) if _is_taken(port)), None)
    if taken is None:
        advice = phrase(
            "The program may handle SIGUSR1 itself; start it with --inspect. If it is only busy it opens its "
            "inspector later, for all users of this machine: restart it where that matters."
        )
        return no_answer(process_of(pid), timeout_s, advice)
    return DumpError(
        phrase(
            "Process {pid} can't open its inspector: another program uses port {port}",
            pid=str(pid),
            port=str(taken),
        ),
        advice=phrase("End that program's debugging, or start this one with --inspect-port=0."),
    )


@contextlib.contextmanager
def _node_at(address: Address) -> Iterator[Inspector | None]:
    """Open a session with the process if its inspector listens at an address; else None."""
    node = next((each for each in targets(address) or [] if each.type == "node"), None)
    if node is None:
        yield None
        return
    with session(address, node.id) as inspector:
        yield inspector


def _is_taken(port: int) -> bool:
    with _node_at(("127.0.0.1", port)) as inspector:
        return inspector is not None


def _named_ports(arguments: tuple[str, ...]) -> set[int]:
    """The ports that the command line gives the inspector."""
    return {int(match[1]) for word in arguments if (match := _PORT_OPTION.fullmatch(word))} or {_DEFAULT_PORT}


def _candidates(listening: set[Address] | None, ports: set[int]) -> list[Address]:
    """Addresses at which the inspector may be open; no other port of the process is contacted."""
    if listening is None:
        return [("127.0.0.1", port) for port in sorted(ports)]
    return sorted(address for address in listening if address[1] in ports or _ANY_PORT in ports)


def _listening(pid: int) -> set[Address] | None:
    return linux.listening(pid) if sys.platform == "linux" else None


def _inner_pid(pid: int) -> int:
    return linux.inner_pid(pid) if sys.platform == "linux" else pid


def _is_alive(pid: int) -> bool:
    """Whether the process is still there."""
    # elsewhere the connection ends with the process
    return linux.is_alive(pid) if sys.platform == "linux" else True
