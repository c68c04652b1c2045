"""Small files that stand for much: what each command takes of them, by the file's bytes.

    npm run fuzz -- --growth [--out figures.json] [SHAPE …]

Every generator of ``shapes.py`` makes a file, and every command is run on it in a process of its own. A fault is a
command that ends by an exception or a signal, or takes more than a fixed amount and a factor of the file's bytes: of
processor time, memory, disk (archive and written file) or output.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.fuzz.shapes import SHAPES, Shape

from memlens import cli

COMMANDS: tuple[str, ...] = (
    "ingest", "info", "info --json", "findings", "findings --json", "lines", "lines --json", "lines --csv", "types",
    "types --json", "threads", "threads --json", "paths --by-number 1", "object --by-number 1",
    "object --by-number 1 --json",
    "stack 0", "stack 0 --json", "flame", "flame --folded", "flame --json", "flame --bottom-up --folded",
    "flame --tree paths --folded", "report -o OUT", "report --markdown", "picture --of flame -o OUT",
    "picture --of dominators -o OUT", "export --pprof OUT", "export --speedscope OUT", "export --snapviewer OUT.zip",
    "sql FILE SELECT count(*) FROM stack_frames", "sql FILE SELECT count(*) FROM objects",
    "sql FILE SELECT count(*) FROM refs", "sql FILE SELECT * FROM frames LIMIT 1", "compare FILE FILE",
    "compare FILE FILE --json", "compare FILE FILE --by stack", "check --max-peak 0 --max-leaked 0 --top 100000",
    "check FILE --against FILE --max-peak 0 --json", "baseline -o OUT", "oom", "what-if",
    "redact FILE OUT", "redact --rename --mapping OUT.names FILE OUT",
)  # fmt: skip
"""``OUT`` is a new file, ``FILE`` the one that is tried, which otherwise is the last argument."""

KILLED_S = 60
"""The processor time, and the bytes below, at which a command is stopped: so that a fault is found without its cost."""
KILLED_BYTES = 4 << 30
KILLED_FILE_BYTES = 1 << 30


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    seconds: float
    memory_bytes: int
    disk_bytes: int
    printed_bytes: int


LEAST = Cost(10.0, 400_000_000, 10_000_000, 5_000_000)
"""What a command may take whatever the size of its file."""
PER_BYTE = Cost(5e-7, 32, 20, 1)
"""What it may take besides for each byte that it reads, uncompressed; a comparison reads its file twice.

A frame has some 20 bytes in the most compact formats (massif, a place of pprof), and in memory a Python object with its
names. What a million frames in 17 MB take is a tenth below that. On disk a stack's frame is a row of SQL's tables and
one of its index, of 21 bytes together: real profiles of Go, with two bytes for it, take 12 to 15 times their bytes.
"""

REFERENCES_PER_BYTE = Cost(0, 0, 12, 0)
"""What the table of references may take besides: one has two bytes or more (.gcdump), and a row with two indexes 55."""

FOLDED_PER_BYTE = Cost(0, 0, 0, 10)
"""What folded stacks may take besides: a line has all names of a stack, each of which a file may have in one byte."""


@dataclass(frozen=True)
class Tried:
    """A command on a file of a shape, its cost, and what is wrong with it."""

    shape: str
    file_bytes: int
    command: str
    status: int
    cost: Cost
    fault: str = ""
    has_references: bool = False
    """Whether SQL's table of references has been made by then."""


def tried(name: str, shape: Shape, commands: tuple[str, ...] = COMMANDS) -> Iterator[Tried]:
    """Run commands on a file of a shape."""
    with tempfile.TemporaryDirectory(prefix="memlens-growth-") as made:
        folder = Path(made)
        path = folder / f"small.{shape.suffix}"
        _make(shape, path)
        has_references = False
        for command in commands:
            has_references |= command.endswith("FROM refs")
            one = replace(_run(name, path, command, folder), has_references=has_references)
            yield replace(one, fault=_fault(one))


def _make(shape: Shape, path: Path) -> None:
    """Make a file in a process of its own: this one's memory counts as its children's."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            path.write_bytes(shape.make(shape.size))
            status = 0
        except BaseException:  # noqa: BLE001 it is printed
            traceback.print_exc()
        finally:
            os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError(f"{path.name} wasn't made")


def _run(name: str, path: Path, command: str, folder: Path) -> Tried:
    written, printed, errors = folder / "out", folder / "printed", folder / "errors"
    first, *rest = command.split(" ", 2 if command.startswith("sql") else -1)
    rest = [str(path) if each == "FILE" else each.replace("OUT", str(written)) for each in rest]
    if str(path) not in rest:
        rest.insert(0, str(path))
    arguments = [first, *rest] if first == "redact" else [first, *rest, "--cache-dir", str(folder / "cache")]
    child = os.fork()
    if child == 0:
        _become(arguments, printed, errors)
    _, status, used = os.wait4(child, 0)
    # what is written is the archive with its tables, and the file
    disk = sum(each.stat().st_size for each in (folder / "cache").rglob("*") if each.is_file())
    for each in folder.glob("out*"):
        disk += each.stat().st_size
        each.unlink()
    said = errors.read_text("utf-8", "replace")
    cost = Cost(
        round(used.ru_utime + used.ru_stime, 2),
        used.ru_maxrss * 1024,
        disk,
        printed.stat().st_size + len(said),
    )
    fault = said.strip().rsplit("\n", 1)[-1][:200] if "Traceback" in said or "internal" in said else ""
    return Tried(name, path.stat().st_size, command, os.waitstatus_to_exitcode(status), cost, fault)


def _become(arguments: list[str], printed: Path, errors: Path) -> None:
    """Run a command instead of this process, within limits."""
    import resource  # which Windows lacks

    status = 70
    try:
        os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (KILLED_S, KILLED_S))
        resource.setrlimit(resource.RLIMIT_AS, (KILLED_BYTES, KILLED_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (KILLED_FILE_BYTES, KILLED_FILE_BYTES))
        # under pytest they are others
        sys.stdout, sys.stderr = (
            open(each, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            for each in (1, 2)
        )
        status = cli.main(arguments)
        sys.stdout.flush()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 what a command ends by is what is tried
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _fault(one: Tried) -> str:
    found = [one.fault] if one.fault else []
    read_bytes = one.file_bytes * (1 + one.command.count("FILE FILE"))
    if one.status < 0 or one.status == 70:
        found.append(f"ended with {one.status}")
    more_per_byte = Cost(0, 0, 0, 0)
    if "--folded" in one.command:
        more_per_byte = FOLDED_PER_BYTE
    elif one.has_references:
        more_per_byte = REFERENCES_PER_BYTE
    for what, took, *allowed in zip(
        asdict(one.cost),
        *(asdict(cost).values() for cost in (one.cost, LEAST, PER_BYTE, more_per_byte)),
        strict=True,
    ):
        if took > allowed[0] + sum(allowed[1:]) * read_bytes:
            found.append(f"{what} {took:,}")
    return "; ".join(found)


def main(arguments: list[str]) -> int:
    """Try each shape and print a table; 0 when there was no fault."""
    parser = argparse.ArgumentParser(
        prog="npm run fuzz -- --growth", description=(__doc__ or "").split("\n", 1)[0]
    )
    parser.add_argument("shapes", nargs="*", help="only these")
    parser.add_argument("--out", type=Path, help="write every figure there as JSON")
    options = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        print("growth is measured on Linux alone", file=sys.stderr)
        return 1
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    every: list[Tried] = []
    for name in options.shapes or SHAPES:
        started = time.monotonic()
        mine = list(tried(name, SHAPES[name]))
        every += mine
        worst = {what: max((asdict(one.cost)[what], one.command) for one in mine) for what in asdict(LEAST)}
        print(
            f"{name} ({mine[0].file_bytes:,} bytes, {time.monotonic() - started:.0f} s): "
            + "; ".join(f"{what} {value:,} ({command})" for what, (value, command) in worst.items()),
            flush=True,
        )
        for one in mine:
            if one.fault:
                print(f"    {one.command}: {one.fault}", flush=True)
    faults = sum(bool(one.fault) for one in every)
    print(f"{len(every):,} commands on {len({one.shape for one in every})} files: {faults} faults")
    if options.out:
        options.out.write_text(json.dumps([asdict(one) for one in every], indent=1))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
