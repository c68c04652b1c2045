"""Heap snapshots of Node.js: SIGUSR1 opens its inspector, which takes one and sends it in pieces.

Beside ``v8.writeHeapSnapshot`` in the process that takes 3% more of its memory (3.2 GB at most for a file of 470 MB),
says how far it is, and writes the file as this user, whatever the process may write and wherever it runs.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memlens.dumping import linux
from memlens.dumping.errors import DumpError, ended, no_answer
from memlens.dumping.inspector import Address, Inspector, InspectorError, session
from memlens.texts import phrase

POLL_S = 0.1
_LATE_S = 5.0
"""How long an inspector is waited for, and then for that it closes, once it is no longer needed."""

_DEFAULT_PORT = 9229
_PORT_OPTION = re.compile(r"--(?:inspect|inspect-brk|inspect-wait|inspect-port|debug-port)=(?:.*:)?(\d+)")
_ANY_PORT = 0
_PID = "process.pid"
_CLOSE = "process.getBuiltinModule ? process.getBuiltinModule('inspector').close() : process._debugEnd()"


def write(
    pid: int,
    arguments: tuple[str, ...],
    file: Path,
    *,
    timeout_s: float,
    report: Callable[[int, float | None], None],
) -> None:
    """Write a heap snapshot into ``file``, and leave the inspector as it was.

    ``report`` gets the bytes written so far, and before there are any how much of the heap V8 has gone through, 0 to 1.
    Raises :class:`DumpError`.
    """
    with explained(pid), inspected(pid, arguments, timeout_s) as inspector, file.open("wb") as output:
        if not received(inspector, pid, "HeapProfiler.takeHeapSnapshot", output.write, timeout_s, report):
            raise DumpError(
                phrase("Process {pid} sent no heap snapshot", pid=str(pid)),
                advice=phrase("Call v8.writeHeapSnapshot() in the program."),
            )


@contextlib.contextmanager
def explained(pid: int) -> Iterator[None]:
    """Say of a connection that was closed what it means."""
    try:
        yield
    except InspectorError as error:
        if not is_alive(pid):
            raise ended(pid) from error
        raise DumpError(
            phrase("Process {pid} closed the connection before its heap was written", pid=str(pid)),
            advice=phrase("Perhaps the program closed its inspector; try again."),
        ) from error


def received(
    inspector: Inspector,
    pid: int,
    method: str,
    write_piece: Callable[[bytes], int],
    timeout_s: float,
    report: Callable[[int, float | None], None],
) -> int:
    """Have a snapshot sent by a method of the inspector, and write its pieces; return the bytes, 0 if it refused."""
    asked, written = inspector.send(method, reportProgress=True), 0
    has_begun, deadline = False, time.monotonic() + timeout_s
    while (message := inspector.receive(POLL_S)) is None or message.id != asked:
        if message is None:
            if not is_alive(pid):
                raise ended(pid)
            if not has_begun and time.monotonic() > deadline:
                raise busy(pid, timeout_s)
            continue
        has_begun = True
        if message.params.chunk:
            written += write_piece(message.params.chunk.encode())
            report(written, None)
        elif message.params.total:
            report(0, message.params.done / message.params.total)
    return 0 if message.error is not None else written


@contextlib.contextmanager
def inspected(pid: int, arguments: tuple[str, ...], timeout_s: float) -> Iterator[Inspector]:
    """A session with the process itself, whose inspector is opened for that, and closed again, unless it was open."""
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
                            inspector.value(_CLOSE, 0 if sys.exc_info()[0] else timeout_s)
                    return
            _wait(pid, ports, deadline, timeout_s)
    except BaseException:
        if not is_found:
            _close_later(pid, before, ports)
        raise


def _wait(pid: int, ports: set[int], deadline: float, timeout_s: float) -> None:
    """Wait a little for the inspector. Raises :class:`DumpError` if it won't be opened, or not before the deadline."""
    if not is_alive(pid):
        raise ended(pid)
    if time.monotonic() > deadline:
        raise _not_opened(pid, ports, timeout_s)
    time.sleep(POLL_S)


def _opened(pid: int, before: set[Address] | None, ports: set[int]) -> list[Address]:
    """Where the inspector may have been opened: on Linux what the process has begun to listen at."""
    now = _listening(pid)
    return _candidates(now, ports) if now is None or before is None else sorted(now - before)


def _close_later(pid: int, before: set[Address] | None, ports: set[int]) -> None:
    """Have the process close its inspector when it comes to it: whoever reaches that can make it run anything.

    The session is kept until then, as Node.js may lose what a session that has ended asked for.
    """
    guarded = f"process.pid === {_inner_pid(pid)} && ({_CLOSE})"
    deadline, was_open = time.monotonic() + _LATE_S, False
    while is_alive(pid) and time.monotonic() < deadline:
        opened = _opened(pid, before, ports)
        if was_open and not opened:
            return
        for address in opened:
            with session(address) as inspector, contextlib.suppress(InspectorError):
                if inspector is not None:
                    was_open = True
                    inspector.value(guarded, max(deadline - time.monotonic(), POLL_S))
        time.sleep(POLL_S)


@contextlib.contextmanager
def _found(pid: int, addresses: list[Address], timeout_s: float) -> Iterator[Inspector | None]:
    """A session with the process at one of the addresses; never with another process."""
    for address in addresses:
        with session(address) as inspector:
            if inspector is None:
                continue
            own = inspector.value(_PID, timeout_s)
            if own is None:
                raise busy(pid, timeout_s)
            if own == _inner_pid(pid):
                yield inspector
                return
    yield None


def busy(pid: int, timeout_s: float) -> DumpError:
    """The error for a program that doesn't answer."""
    advice = phrase("Its main thread may be in a long call; allow more time with --timeout.")
    return no_answer(pid, timeout_s, advice)


def _open(pid: int, arguments: tuple[str, ...]) -> None:
    """Make Node.js open its inspector."""
    if sys.platform == "win32":
        # the equivalent of the signal is a function of Node.js itself
        command = [arguments[0], "-e", f"process._debugProcess({pid})"]
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
        # the signal would end it
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
        return no_answer(pid, timeout_s, advice)
    return DumpError(
        phrase(
            "Process {pid} can't open its inspector: another program uses port {port}",
            pid=str(pid),
            port=str(taken),
        ),
        advice=phrase("End that program's debugging, or start this one with --inspect-port=0."),
    )


def _is_taken(port: int) -> bool:
    with session(("127.0.0.1", port)) as inspector:
        return inspector is not None


def _named_ports(arguments: tuple[str, ...]) -> set[int]:
    """The ports at which the inspector may listen, by the command line."""
    return {int(match[1]) for word in arguments if (match := _PORT_OPTION.fullmatch(word))} or {_DEFAULT_PORT}


def _candidates(listening: set[Address] | None, ports: set[int]) -> list[Address]:
    """Where the inspector may be open; nothing else that the process listens at is asked."""
    if listening is None:
        return [("127.0.0.1", port) for port in sorted(ports)]
    return sorted(address for address in listening if address[1] in ports or _ANY_PORT in ports)


def _listening(pid: int) -> set[Address] | None:
    return linux.listening(pid) if sys.platform == "linux" else None


def _inner_pid(pid: int) -> int:
    return linux.inner_pid(pid) if sys.platform == "linux" else pid


def is_alive(pid: int) -> bool:
    """Whether the process is still there."""
    # elsewhere the connection ends with the process
    return linux.is_alive(pid) if sys.platform == "linux" else True
