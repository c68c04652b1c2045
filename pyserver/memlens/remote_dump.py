"""Writes the heap of another Python process into a file, for CPython 3.14 and later. Both must have the same version.

``sys.remote_exec`` makes the other process run a script with the source of ``memlens/dump.py``, so that it needs
nothing of Memlens. Only the standard library is used here, so that ``python3.14 -m memlens.remote_dump PID OUT`` works
even if Memlens itself runs on another Python.
"""

import argparse
import contextlib
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlens import dump

_POLL_S = 0.05
_MOST_STATUS_BYTES = 1 << 16

_RUN = """
import json, os, types
try:
    module = types.ModuleType("memlens.dump")
    exec(compile(source, name, "exec"), module.__dict__)
    answer = {"cost": list(module.heap(out, texts=texts))}
except BaseException as error:
    answer = {"error": f"{type(error).__name__}: {error}"}
try:
    with open(status + ".partial", "x", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(status + ".partial", status)
except OSError:
    pass  # nobody waits for it any more
"""

_SCRIPT = "exec(compile({run!r}, {name!r}, 'exec'), {given!r})\n"
_NAME = "<memlens dump>"
"""The file name of all code that runs in the other process; frames with it are left out."""


class RemoteDumpError(Exception):
    """The heap of the other process couldn't be written. ``advice`` says what to do."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(message)
        self.advice = advice


def remote_heap(process_id: int, path: Path, *, texts: bool = True, timeout_s: float = 60.0) -> dump.Cost:
    """Write the heap of a process into the file ``path``, and return what that took.

    The process writes it when it next runs Python code; a call that waits in C, such as ``time.sleep``, delays that.
    Raises :class:`RemoteDumpError`, also if it takes more than ``timeout_s`` seconds.
    """
    remote_exec = getattr(sys, "remote_exec", None)
    if remote_exec is None:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise RemoteDumpError(
            f"Python {own} can't reach into another process: that needs Python 3.14 on both sides",
            "Run python3.14 -m memlens.remote_dump PID OUT, or call memlens.dump.heap(path) in the program itself.",
        )
    out = path.absolute()
    if not out.parent.is_dir():
        raise RemoteDumpError(f"There is no folder {out.parent}", "Choose another file.")
    with tempfile.TemporaryDirectory(prefix="memlens-") as folder:
        # the process may belong to another user
        Path(folder).chmod(0o755)
        script, status = Path(folder, "script.py"), out.with_name(f"{out.name}.{os.getpid()}.status")
        source = Path(dump.__file__).read_text("utf-8")
        given = {"source": source, "name": _NAME, "out": str(out), "status": str(status), "texts": texts}
        script.write_text(_SCRIPT.format(run=_RUN, name=_NAME, given=given), "utf-8")
        script.chmod(0o644)
        try:
            remote_exec(process_id, str(script))
        except (OSError, RuntimeError, ValueError) as error:
            raise RemoteDumpError(
                f"Process {process_id} can't be reached: {error}",
                "It must run the same version of Python, 3.14 or later, and you must be allowed to trace it"
                f"{_restricted()}.",
            ) from error
        try:
            return _answer(process_id, status, timeout_s)
        except BaseException:
            _forget(process_id)
            raise


def _forget(process_id: int) -> None:
    """Have a process that didn't answer run nothing, in place of the script that is removed.

    Else it looked for that later, and ran what another user had put in its place.
    """
    # unless it has ended
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        sys.remote_exec(process_id, os.devnull)  # pyrefly: ignore[missing-attribute]


def _restricted() -> str:
    """Linux's switch by which only a parent or root may trace a process, which is on in Ubuntu."""
    try:
        restricted = Path("/proc/sys/kernel/yama/ptrace_scope").read_text("ascii").strip() != "0"
    except OSError:
        restricted = False
    return (
        " (ptrace), here as root, since /proc/sys/kernel/yama/ptrace_scope isn't 0"
        if restricted
        else " (ptrace)"
    )


def _answer(process_id: int, status: Path, timeout_s: float) -> dump.Cost:
    deadline = time.monotonic() + timeout_s
    while (said := _said(process_id, status)) is None:
        if not Path(f"/proc/{process_id}").exists() and Path("/proc/self").exists():
            raise RemoteDumpError(
                f"Process {process_id} ended before its heap was written", "Try another process."
            )
        if time.monotonic() > deadline:
            raise RemoteDumpError(
                f"Process {process_id} did not write its heap within {timeout_s:g} s",
                "It runs no Python code now, as while it waits in a system call; allow more time by --timeout.",
            )
        time.sleep(_POLL_S)
    status.unlink()
    try:
        answer = json.loads(said)
        reason = answer.get("error")
        if reason is None:
            return cost_of(dict(zip(dump.Cost._fields, answer["cost"], strict=True)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _strange(process_id) from error
    raise RemoteDumpError(
        f"Process {process_id} could not write its heap: {reason}",
        "Choose a file that it may write.",
    )


def _said(process_id: int, status: Path) -> bytes | None:
    """What the process has written, None before that. It may be another user's, who may put anything there."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        opened = os.open(status, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _strange(process_id) from error
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise _strange(process_id)
        return os.read(opened, _MOST_STATUS_BYTES)
    finally:
        os.close(opened)


def _strange(process_id: int) -> RemoteDumpError:
    return RemoteDumpError(
        f"Process {process_id} answered otherwise than it should", "Try again, or another process."
    )


def cost_of(answer: Mapping[str, Any]) -> dump.Cost:
    """The cost of a dump, as another process reports it. Raises ValueError or TypeError for anything else."""
    cost = dump.Cost(**answer)
    for name, each in cost._asdict().items():
        is_number = isinstance(each, int) or (name == "seconds" and isinstance(each, float))
        if not is_number and not (each is None and name == "peak_bytes"):
            raise TypeError(name)
    return cost


def summary(cost: dump.Cost) -> str:
    """Return a sentence about a dump: what is in it, and what writing it took."""
    grown = "" if cost.peak_bytes is None else f", {cost.peak_bytes / 2**20:.1f} MiB more memory meanwhile"
    return (
        f"{cost.objects:,} objects, {cost.references:,} references, {cost.file_bytes / 2**20:.1f} MiB; "
        f"the process stood still for {cost.seconds:.2f} s{grown}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Run this file's own command line, and return its exit status."""
    parser = argparse.ArgumentParser(prog="memlens.remote_dump", description="Write a Python process's heap.")
    parser.add_argument("pid", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--no-texts", action="store_true", help="leave out the text of strings and numbers")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        cost = remote_heap(options.pid, options.out, texts=not options.no_texts, timeout_s=options.timeout)
    except RemoteDumpError as error:
        if options.json:
            sys.stdout.write(json.dumps({"error": str(error), "advice": error.advice}) + "\n")
        else:
            said = f"{error}. {error.advice}"
            # the other process may have chosen the words
            sys.stderr.write("".join(each if each.isprintable() else "?" for each in said) + "\n")
        return 1
    said = json.dumps(cost._asdict()) if options.json else f"{options.out}: {summary(cost)}"
    sys.stdout.write(said + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
