"""Heap dumps of HotSpot, by its own means.

On Linux this speaks HotSpot's attach protocol (``src/hotspot/os/posix/attachListener_posix.cpp`` of OpenJDK): a file
/tmp/.attach_pidN and SIGQUIT make the virtual machine listen at /tmp/.java_pidN, where it takes commands. That needs no
JDK, works into containers, and with a virtual machine of any version. Elsewhere a JDK's jcmd does it.
"""

import contextlib
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memlens.dumping import linux, place
from memlens.dumping.errors import DumpError, ended, no_answer, out_of_reach, process_of
from memlens.dumping.options import Options
from memlens.dumping.processes import Process
from memlens.dumping.tools import POLL_S, run, size_of
from memlens.programs import program
from memlens.texts import phrase
from memlens.units import shortened

_NO_ATTACH = "-XX:+DisableAttachMechanism"
_CREATED = "Heap dump file created"
_ANSWER_BYTES = 1 << 16
_MOST_ANSWER_BYTES = 1 << 20
"""What a virtual machine says has a few lines."""
_MOST_REASON = 500
_LONGEST_ARGUMENT = 1024
"""In bytes, ``AttachOperation::arg_length_max`` of OpenJDK."""


def write(process: Process, file: Path, options: Options, report: Callable[[int], None]) -> None:
    """Make the virtual machine write its heap into ``file``; ``report`` gets the bytes written so far.

    Raises :class:`DumpError`.
    """
    pid, live = process.pid, options.live
    _check_attachable(process)
    if sys.platform == "linux":
        with _attached(pid, options.timeout_s) as connection, place.written_by(pid, file) as path:
            _check_length(path)
            seen = linux.root_of(pid) / path.lstrip("/")
            said = _asked(connection, pid, ("dumpheap", path, "-live" if live else "-all", ""), seen, report)
    else:
        said = _by_jcmd(pid, file, live=live, report=report)
    if _CREATED not in said or not file.exists():
        raise _refused(pid, said)


def command(process: Process, text: str, file: Path, timeout_s: float, report: Callable[[int], None]) -> str:
    """Send a diagnostic command, as ``jcmd`` does, and return what the virtual machine says.

    Meanwhile ``report`` gets the bytes of ``file``, which it may be writing. Raises :class:`DumpError`.
    """
    _check_attachable(process)
    if sys.platform == "linux":
        with _attached(process.pid, timeout_s) as connection:
            return _asked(connection, process.pid, ("jcmd", text, "", ""), file, report)
    return run([_jcmd(), str(process.pid), *text.split(" ")], file, report).text


def _check_attachable(process: Process) -> None:
    if _NO_ATTACH in process.arguments:
        raise DumpError(
            phrase("Process {pid} was started with {option}", pid=str(process.pid), option=_NO_ATTACH),
            advice=phrase("Start it without that option, or with -XX:+HeapDumpOnOutOfMemoryError."),
        )


def _check_length(path: str) -> None:
    """Raise :class:`DumpError` for a path at which the virtual machine hangs up without a word."""
    if len(os.fsencode(path)) > _LONGEST_ARGUMENT:
        raise DumpError(
            phrase("A Java virtual machine accepts no path longer than {n} bytes", n=_LONGEST_ARGUMENT),
            advice=phrase("Choose another file."),
        )


def _refused(pid: int, said: str) -> DumpError:
    last = said.strip().rsplit("\n", 1)[-1]
    if "Permission denied" in said or "No such file" in said:
        advice = phrase(
            "The virtual machine writes the file itself: choose a folder that its user can enter, such as /tmp."
        )
    elif "No space left" in said:
        advice = phrase("Free some space on it, or write the file elsewhere.")
    else:
        advice = phrase("Try `jcmd {pid} GC.heap_dump FILE`.", pid=str(pid))
    return DumpError(
        phrase(
            "Process {pid} could not write its heap: {reason}",
            pid=str(pid),
            reason=shortened(last, _MOST_REASON) or "no message",
        ),
        advice=advice,
    )


@contextlib.contextmanager
def _attached(pid: int, timeout_s: float) -> Iterator[socket.socket]:
    """A connection to the virtual machine."""
    # its own /tmp, which is another one in a container or in a service with PrivateTmp
    inner = linux.inner_pid(pid)
    try:
        with linux.temporary_folder(pid) as folder:
            listener = folder / f".java_pid{inner}"
            deadline = time.monotonic() + timeout_s
            connection = _connected(pid, listener, deadline)
            if connection is None:
                connection = _woken(pid, folder / f".attach_pid{inner}", listener, timeout_s)
    except PermissionError as error:
        raise out_of_reach(pid, error) from error
    with connection:
        yield connection


def _connected(pid: int, listener: Path, deadline: float) -> socket.socket | None:
    """Connect to a virtual machine that listens already, and never to another process that took the name.

    Whoever listens there may accept nothing, which is waited for until the deadline.
    """
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.setblocking(False)
        advice = phrase("Remove that file, and try again.")
        seen = Path("/tmp", listener.name)  # noqa: S108 - of the process
        while True:
            try:
                connection.connect(str(listener))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                return None
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise DumpError(
                        phrase("What listens at {file} accepts no connection", file=seen), advice=advice
                    ) from error
                time.sleep(POLL_S)
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        peer = struct.unpack("3i", credentials)[0]
        if peer != pid:
            raise DumpError(
                phrase("Another process ({pid}) answers at {file}", file=seen, pid=str(peer)), advice=advice
            )
        stack.pop_all()
        return connection


def _woken(pid: int, request: Path, listener: Path, timeout_s: float) -> socket.socket:
    """Make the virtual machine listen, and connect."""
    if not linux.catches(pid, signal.SIGQUIT):
        # the signal would end it
        raise DumpError(
            phrase("The virtual machine of process {pid} doesn't accept requests", pid=str(pid)),
            advice=phrase("It has only just started; try again in a moment."),
        )
    # a file that is there is left over, or a link that leads to another
    request.unlink(missing_ok=True)
    opened = os.open(request, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o660)
    try:
        try:
            # HotSpot takes the request only from its own user
            os.fchown(opened, linux.user_of(pid), linux.group_of(pid))
        finally:
            os.close(opened)
        os.kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + timeout_s
        while (connection := _connected(pid, listener, deadline)) is None:
            if not linux.is_alive(pid):
                raise ended(process_of(pid))
            if time.monotonic() > deadline:
                raise no_answer(
                    process_of(pid),
                    timeout_s,
                    phrase("It may be busy, or may not accept requests; allow more time with --timeout."),
                )
            time.sleep(POLL_S)
        return connection
    finally:
        request.unlink(missing_ok=True)


def _asked(
    connection: socket.socket, pid: int, words: tuple[str, ...], file: Path, report: Callable[[int], None]
) -> str:
    """Send a command with its three arguments, and return what the virtual machine says once it is done."""
    answer = b""
    connection.settimeout(POLL_S)
    try:
        connection.sendall(b"\0".join([b"1", *map(os.fsencode, words), b""]))
        while True:
            try:
                piece = connection.recv(_ANSWER_BYTES)
            except TimeoutError:
                report(size_of(file))
                continue
            if not piece:
                break
            answer += piece
            if len(answer) > _MOST_ANSWER_BYTES:
                raise DumpError(
                    phrase("Process {pid} sent a longer answer than a virtual machine does", pid=str(pid)),
                    advice=phrase("It may be another program; the answer was discarded."),
                )
    except ConnectionError as error:
        raise ended(process_of(pid)) from error
    if not answer and not linux.is_alive(pid):
        raise ended(process_of(pid))
    # the first line is a status, which is 0 for some failures as well
    return answer.decode(errors="replace").partition("\n")[2]


def _by_jcmd(pid: int, file: Path, *, live: bool, report: Callable[[int], None]) -> str:
    return run([_jcmd(), str(pid), "GC.heap_dump", *([] if live else ["-all"]), str(file)], file, report).text


def _jcmd() -> str:
    jcmd = program("jcmd")
    home = os.environ.get("JAVA_HOME")
    if jcmd is None and home:
        jcmd = program("jcmd", str(Path(home, "bin")))
    if jcmd is None:
        raise DumpError(
            phrase("jcmd, which takes heap dumps and recordings of Java on this system, was not found"),
            advice=phrase("Put a JDK's bin folder on the PATH, or set JAVA_HOME."),
        )
    return str(jcmd)
