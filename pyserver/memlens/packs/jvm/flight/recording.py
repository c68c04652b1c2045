"""Recordings of running Java programs, by Java Flight Recorder, which the virtual machine has built in.

``JFR.start`` and ``JFR.stop`` are commands of the virtual machine, which ``jcmd`` sends as well. Before it writes a
recording with ``path-to-gc-roots`` it pauses once, to look for what holds the objects that it sampled.
"""

import os
import re
import sys
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from memlens.dumping import place
from memlens.dumping.errors import DumpError
from memlens.dumping.options import Recording
from memlens.dumping.processes import Process
from memlens.packs.jvm.dumping import command
from memlens.store.files.processes import is_running
from memlens.texts import phrase
from memlens.units import shortened

_POLL_S = 0.1
_MOST_REASON = 500
_SETTINGS = "memory.jfc"
_OURS = re.compile(r'\bname="?(memlens-(\d{1,9})-\d{1,20})\b')
_MOST_ABANDONED = 16
_VERSION = re.compile(r"^JDK (\d+)", re.MULTILINE)
_SAMPLES_FROM = 16
"""The first Java with ``jdk.ObjectAllocationSample``."""
_OLDER_EVENTS = ("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB")
_STARTED, _STOPPED = "Started recording", "Stopped recording"


def settings_of(version: str) -> bytes:
    """The settings of a recording, by what the virtual machine says of its version."""
    settings = resources.files("memlens.packs.jvm.flight").joinpath(_SETTINGS).read_bytes()
    known = _VERSION.search(version)
    if known is None or int(known[1]) >= _SAMPLES_FROM:
        return settings
    # newer ones have these events as well, which cost more than samples
    older = "".join(
        f'  <event name="jdk.{name}"><setting name="enabled">true</setting>'
        '<setting name="stackTrace">true</setting></event>\n'
        for name in _OLDER_EVENTS
    )
    end = b"</configuration>"
    return settings.replace(end, older.encode() + end)


def record(
    process: Process,
    file: Path,
    options: Recording,
    stopped: Callable[[], bool],
    report: Callable[[int, float | None], None],
) -> None:
    """Record until ``stopped``, and write ``file``. Raises :class:`DumpError`."""

    def grown(written: int) -> None:
        report(written, None)

    def ask(text: str) -> str:
        return command(process, text, file, options.timeout_s, grown)

    settings = settings_of(ask("VM.version"))
    name = f"memlens-{os.getpid()}-{file.parent.stat().st_ino}"
    with place.written_by(process.pid, file, beside={_SETTINGS: settings}) as path:
        _check(path)
        _stop_abandoned(ask)
        folder = path.rpartition("/" if sys.platform != "win32" else "\\")[0]
        said = ask(f'JFR.start name={name} settings="{folder}/{_SETTINGS}" path-to-gc-roots=true')
        if _STARTED not in said:
            raise _refused(process, said)
        is_written = False
        try:
            while not stopped():
                time.sleep(_POLL_S)
            said = ask(f'JFR.stop name={name} filename="{path}"')
            is_written = _STOPPED in said
        finally:
            if not is_written:
                # also after Ctrl+C: nothing of it stays in the process
                ask(f"JFR.stop name={name}")
        if not is_written:
            raise _refused(process, said)


def _stop_abandoned(ask: Callable[[str], str]) -> None:
    """Stop recordings whose ``memlens record`` was killed: they would go on for as long as the virtual machine runs."""
    found = dict(_OURS.findall(ask("JFR.check")))
    for name, pid in list(found.items())[:_MOST_ABANDONED]:
        if not is_running(int(pid)):
            ask(f"JFR.stop name={name}")


def _check(path: str) -> None:
    """Raise DumpError for a path that commands of the virtual machine can't have."""
    if re.search(r'["\n\r]', path):
        raise DumpError(
            phrase("A Java virtual machine accepts no path with quotes or line breaks"),
            advice=phrase("Choose another file."),
        )


def _refused(process: Process, said: str) -> DumpError:
    reason = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return DumpError(
        phrase(
            "Process {pid} could not be recorded: {reason}",
            pid=str(process.pid),
            reason=shortened(reason, _MOST_REASON) or phrase("no message"),
        ),
        advice=phrase("Java Flight Recorder is in HotSpot of Java 11 and later, with the module jdk.jfr."),
    )
