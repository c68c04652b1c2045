"""What Linux says of its processes: proc(5)."""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from memlens.dumping.errors import DumpError, out_of_reach
from memlens.dumping.runtimes import Runtime, by_libraries, by_program, kinds
from memlens.texts import phrase

PROC = Path("/proc")

_LISTENING = "0A"


def own() -> Iterator[int]:
    """The ids of the user's processes; the root user's are everybody's."""
    user = os.geteuid()
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                owner = entry.stat().st_uid
            except OSError:
                continue
            if user in (0, owner):
                yield int(entry.name)


def check(pid: int) -> None:
    """Raise :class:`DumpError` for a process that doesn't exist, has ended, is stopped or belongs to another user."""
    number = str(pid)
    try:
        state = status(pid)["State"][:1]
    except OSError as error:
        raise DumpError(
            phrase("There is no process {pid}", pid=number),
            advice=phrase("`memlens dump` without a process id lists those that can be dumped."),
        ) from error
    if state == "Z":
        raise DumpError(
            phrase("Process {pid} has ended, and is waiting for its parent to notice", pid=number),
            advice=phrase("Try another process."),
        )
    owner = user_of(pid)
    if os.geteuid() not in (0, owner):
        raise DumpError(
            phrase("Process {pid} belongs to the user {user}", pid=number, user=user_name(owner)),
            advice=phrase("Run `memlens dump` as that user, or as root."),
        )
    if state in "Tt":
        raise DumpError(
            phrase("Process {pid} is stopped, and can't answer", pid=number),
            advice=phrase("Resume it (kill -CONT {pid}, or in its debugger) and try again.", pid=number),
        )


def described(pid: int) -> tuple[Runtime | None, tuple[str, ...], int]:
    """Return a process's runtime, arguments and resident bytes. Raises OSError if it has ended."""
    words = (PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    arguments = tuple(os.fsdecode(word) for word in words)
    # a process of the kernel or a zombie has no memory
    resident = int(status(pid).get("VmRSS", "0").split()[0]) << 10
    runtime = by_program(program(pid))
    # a program of any name may have a runtime in it, and those of several runtimes have one name
    if runtime is None or kinds()[runtime.kind].libraries or runtime.lacks_version:
        found = by_libraries(_libraries(pid))
        # an interpreter that a program of another runtime has in it is not what it runs on
        if found is not None and (
            runtime is None or found.kind == runtime.kind or kinds()[found.kind].libraries is not None
        ):
            runtime = found
    return runtime, arguments, resident


def status(pid: int) -> dict[str, str]:
    """Return the fields of /proc/PID/status."""
    lines = (PROC / str(pid) / "status").read_text("utf-8", "replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def program(pid: int) -> str:
    """Return the path of a process's program, as the process sees it; empty if unknown."""
    try:
        return str((PROC / str(pid) / "exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""


def _libraries(pid: int) -> set[str]:
    try:
        lines = (PROC / str(pid) / "maps").read_text("utf-8", "replace").splitlines()
    except OSError:
        return set()
    return {line.rpartition("/")[2] for line in lines if "/" in line}


def is_alive(pid: int) -> bool:
    """Whether a process still runs."""
    try:
        return status(pid)["State"][:1] not in "ZX"
    except (OSError, KeyError):
        return False


def catches(pid: int, signal_number: int) -> bool:
    """Whether a process has a handler of its own for a signal, which would end it otherwise."""
    return bool(int(status(pid)["SigCgt"], 16) >> (signal_number - 1) & 1)


def inner_pid(pid: int) -> int:
    """Return a process's own id, which differs in a container."""
    return int(status(pid).get("NSpid", str(pid)).split()[-1])


def user_of(pid: int) -> int:
    """Return a process's effective user id."""
    return int(status(pid)["Uid"].split()[1])


def group_of(pid: int) -> int:
    """Return a process's effective group id."""
    return int(status(pid)["Gid"].split()[1])


def user_name(user: int) -> str:
    """Return a user's name, or the number if it has none here."""
    import pwd  # which Windows lacks

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def root_of(pid: int) -> Path:
    """Return the folder that is / for a process, which is another one in a container."""
    return PROC / str(pid) / "root"


@contextlib.contextmanager
def temporary_folder(pid: int) -> Iterator[Path]:
    """The folder that is /tmp for a process, by a path that leads nowhere else meanwhile.

    In a container it may be a link, which would be followed to a folder of this machine. Raises :class:`DumpError`.
    """
    flags = os.O_PATH | os.O_DIRECTORY
    try:
        opened = os.open(root_of(pid) / "tmp", flags if sees(pid, Path("/")) else flags | os.O_NOFOLLOW)
    except OSError as error:
        raise out_of_reach(pid, error) from error
    try:
        yield PROC / "self/fd" / str(opened)
    finally:
        os.close(opened)


def sees(pid: int, folder: Path) -> bool:
    """Whether a folder is the same for a process, by the same path."""
    try:
        return (root_of(pid) / folder.relative_to("/")).samefile(folder)
    except FileNotFoundError:
        return False
    except PermissionError as error:
        raise out_of_reach(pid, error) from error


def shares_network(pid: int) -> bool:
    """Whether a process's loopback addresses are those of this process."""
    try:
        return (PROC / str(pid) / "ns/net").readlink() == (PROC / "self/ns/net").readlink()
    except OSError:
        return True


def listening(pid: int) -> set[tuple[str, int]]:
    """Return the TCP addresses at which a process waits for connections."""
    sockets = set()
    try:
        for entry in (PROC / str(pid) / "fd").iterdir():
            try:
                target = str(entry.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
    except OSError:
        return set()
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (PROC / str(pid) / "net" / table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for words in map(str.split, lines):
            if words[3] == _LISTENING and words[9] in sockets:
                found.add(_address(words[1]))
    return found


def _address(text: str) -> tuple[str, int]:
    """Read an address of /proc/net/tcp: words of the machine's own byte order in hexadecimal digits, and the port."""
    digits, _, port = text.partition(":")
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    data = struct.pack(f"={len(words)}I", *words)
    host = socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, data)
    # what listens everywhere also listens here
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), int(port, 16)  # noqa: S104 - compared, not bound
