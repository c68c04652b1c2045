"""Heap dumps of .NET, by Microsoft's dotnet-gcdump."""

from collections.abc import Callable
from pathlib import Path

from memlens.dumping.errors import DumpError
from memlens.dumping.options import Options
from memlens.dumping.processes import Process
from memlens.dumping.tools import run
from memlens.programs import program
from memlens.texts import phrase

_TOOL = "dotnet-gcdump"


def write(process: Process, file: Path, options: Options, report: Callable[[int], None]) -> None:
    """Write a ``.gcdump`` into ``file``. Raises :class:`DumpError`."""
    tool = program(_TOOL) or program(_TOOL, str(Path.home() / ".dotnet" / "tools"))
    if tool is None:
        raise DumpError(
            phrase(".NET heap dumps are taken by dotnet-gcdump, which isn't installed here"),
            advice=phrase("Install it: dotnet tool install --global dotnet-gcdump"),
        )
    # it adds this ending to files without it
    made = file.with_name(f"{file.name}.gcdump")
    command = [
        str(tool),
        "collect",
        "--process-id",
        str(process.pid),
        "--output",
        str(made),
        "--timeout",
        f"{max(1, round(options.timeout_s))}",
    ]
    said = run(command, made, report)
    if said.status or not made.exists():
        raise DumpError(
            phrase(
                "dotnet-gcdump could not dump process {pid}: {reason}", pid=str(process.pid), reason=said.last
            ),
            advice=phrase(
                "Run it as the user of the process, with the same TMPDIR, and with --timeout for large heaps."
            ),
        )
    made.replace(file)
