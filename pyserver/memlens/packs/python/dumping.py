"""Heap dumps of CPython 3.14 and later: by this Python if it has the same version, else by the process's own."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import memlens
from memlens import dump
from memlens.dumping import linux
from memlens.dumping.errors import DumpError, out_of_reach
from memlens.dumping.options import Cost, Options
from memlens.dumping.processes import Process
from memlens.dumping.tools import run
from memlens.programs import is_ours
from memlens.remote_dump import RemoteDumpError, cost_of, remote_heap, summary
from memlens.texts import as_text, phrase


def write(process: Process, file: Path, options: Options, report: Callable[[int], None]) -> Cost:
    """Write the heap into ``file``, and return the cost. Raises :class:`DumpError`."""
    took = _written(process, file, options, report)
    return Cost(took._asdict(), summary(took))


def _written(process: Process, file: Path, options: Options, report: Callable[[int], None]) -> dump.Cost:
    pid, texts, timeout_s = process.pid, options.texts, options.timeout_s
    minor = None if process.runtime is None else process.runtime.version
    own = hasattr(sys, "remote_exec") and minor in (None, sys.version_info.minor)
    if sys.platform == "linux" and not own and process.runtime is not None and process.runtime.is_dumped:
        if not linux.sees(pid, Path("/")):
            raise DumpError(
                phrase(
                    "Process {pid} runs in a container, on a Python that isn't installed here", pid=str(pid)
                ),
                advice=phrase("Run python3.{minor} -m memlens.remote_dump PID OUT there.", minor=str(minor)),
            )
        return _by(_own_interpreter(pid), pid, file, texts=texts, timeout_s=timeout_s, report=report)
    try:
        return remote_heap(pid, file, texts=texts, timeout_s=timeout_s)
    except RemoteDumpError as error:
        raise DumpError(as_text(str(error)), advice=as_text(error.advice)) from error


def _own_interpreter(pid: int) -> str:
    """Return the process's program if this user may run it: root mustn't run files of other users."""
    program = linux.program(pid)
    try:
        is_same = (linux.PROC / str(pid) / "exe").samefile(program)
        is_own = is_same and linux.user_of(pid) == os.geteuid()
    except OSError as error:
        raise out_of_reach(pid, error) from error
    if not is_own and not is_ours(Path(program)):
        raise DumpError(
            phrase(
                "Process {pid} runs on a Python that other users can change: {program}",
                pid=str(pid),
                program=program,
            ),
            advice=phrase(
                "Run `memlens dump` as the user of the process, or call memlens.dump.heap(path) in the program itself."
            ),
        )
    return program


def _by(
    program: str, pid: int, file: Path, *, texts: bool, timeout_s: float, report: Callable[[int], None]
) -> dump.Cost:
    """Let another Python write the heap; it needs only its standard library."""
    options = ["--json", "--timeout", f"{timeout_s}", *([] if texts else ["--no-texts"])]
    library = {
        "PYTHONPATH": str(Path(memlens.__file__).parents[1]),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    said = run([program, "-m", "memlens.remote_dump", str(pid), str(file), *options], file, report, library)
    try:
        answer = json.loads(said.last)
        if "error" in answer:
            raise DumpError(as_text(answer["error"]), advice=as_text(answer["advice"]))
        return cost_of(answer)
    except (ValueError, TypeError, KeyError) as error:
        raise DumpError(as_text(f"{program}: {said.last}")) from error
