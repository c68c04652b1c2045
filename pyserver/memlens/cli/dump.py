"""``memlens dump``: writes the heap of a running process into a file, or lists the processes that can be dumped."""

import argparse
import signal

from memlens import limits
from memlens.cli.output import json_line, message_line, say
from memlens.cli.progress import reporter
from memlens.dumping.processes import Process, dumpable
from memlens.dumping.runtimes import NAMES
from memlens.dumping.take import Options, Taken, take
from memlens.errors import BadRequestError
from memlens.remote_dump import summary
from memlens.texts import phrase
from memlens.units import format_bytes


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    if options.pid is None:
        return _list(options)
    if options.out is None:
        raise BadRequestError(phrase("There is no file to write to"), advice=phrase("memlens dump PID OUT"))
    if options.parent:
        # not at once: Node.js' inspector is to be closed first
        limits.end_with(options.parent, signal.SIGTERM)
    report = reporter(options.progress)

    def grown(size: int, fraction: float | None) -> None:
        report(format_bytes(size) if size else "", fraction)

    asked = Options(not options.no_texts, not options.all, options.timeout, options.force)
    taken = take(options.pid, options.out, asked, grown)
    report("done", 1.0)
    if options.progress == "json":
        message_line({"type": "done", "archive": str(options.out), "note": None})
    elif options.json:
        json_line({"file": str(options.out), **_described(taken.process), **_cost(taken)})
    elif taken.cost is not None:
        say(summary(options.out, taken.cost))
    else:
        name = phrase("the process") if taken.process.runtime is None else NAMES[taken.process.runtime.kind]
        say(f"{options.out}: {format_bytes(taken.bytes)} of {name}, in {taken.seconds:.2f} s")
    return 0


def _list(options: argparse.Namespace) -> int:
    found = dumpable()
    if options.json:
        json_line([_described(each) for each in found])
        return 0
    if not found:
        say("No process of yours can be dumped: none runs on Java, Node.js, .NET, or Python 3.14 and later")
    for each in found:
        kind = _described(each)["runtime"]
        say(f"{each.pid:>8}  {kind:<7} {format_bytes(each.resident_bytes):>9}  {each.command}")
    return 0


def _described(each: Process) -> dict[str, object]:
    kind = None if each.runtime is None else each.runtime.kind.value
    return {"pid": each.pid, "runtime": kind, "resident_bytes": each.resident_bytes, "command": each.command}


def _cost(taken: Taken) -> dict[str, object]:
    if taken.cost is not None:
        return taken.cost._asdict()
    return {"file_bytes": taken.bytes, "seconds": round(taken.seconds, 3)}
