"""Reads a file that changes while it is read: between any two lines of its format's reader.

    python -m tests.fuzz.changing [--most READINGS] FILE…

Each line of ``memlens/formats`` and of packs that is executed is a moment at which the file is cut off, or overwritten
from a third on with zeros, with noise, or with its own bytes moved by some; then reading goes on. It must end, with
whatever result: no pass may rely on what an earlier one saw in a file that is mapped. Prints a line before each reading
and a last one, so that whoever started this knows what was read when it hung or crashed.
"""

import argparse
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from tests.fuzz.targets import quiet, scratch

from memlens import formats, packs
from memlens.errors import MemlensError
from memlens.formats.containers import open_source

READERS = (str(Path(formats.__file__).parent), str(Path(packs.__file__).parent))
Moment = tuple[str, int]
Change = Callable[[Path, bytes], None]


def overwritten(path: Path, data: bytes, rest: bytes) -> None:
    """Put other bytes in place of the last ones of a file."""
    with path.open("r+b") as file:
        file.seek(len(data) - len(rest))
        file.write(rest)


def cut(path: Path, data: bytes) -> None:
    """Cut a file off."""
    os.truncate(path, len(data) // 3)


def zeros(path: Path, data: bytes) -> None:
    """Overwrite with zeros."""
    overwritten(path, data, bytes(len(data) - len(data) // 3))


def noise(path: Path, data: bytes) -> None:
    """Overwrite with bytes of no meaning."""
    overwritten(path, data, random.Random(5).randbytes(len(data) - len(data) // 3))


def moved(path: Path, data: bytes) -> None:
    """Overwrite with what was there, moved by seven bytes: true parts in false places."""
    rest = data[len(data) // 3 :]
    overwritten(path, data, rest[7:] + rest[:7])


def ones(path: Path, data: bytes) -> None:
    """Overwrite every eighth byte with the largest one, so that numbers become large."""
    rest = bytearray(data[len(data) // 3 :])
    rest[::8] = b"\xff" * len(rest[::8])
    overwritten(path, data, bytes(rest))


CHANGES: tuple[Change, ...] = (cut, zeros, noise, moved, ones)


def read(path: Path, folder: Path, on_line: Callable[[Moment], object], of: tuple[str, ...] = READERS) -> str:
    """Read a file, and return what came of it, in a word.

    ``on_line`` gets each line of a reader that is executed, until it returns True.
    """

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(of):
            return None
        if event == "line" and on_line((name, frame.f_lineno)) is True:
            sys.settrace(None)
            return None
        return trace

    with open_source(path, folder, quiet) as source:
        sys.settrace(trace)
        try:
            return type(formats.read(source, folder, quiet)).__name__
        except (MemlensError, MemoryError) as error:
            return type(error).__name__
        finally:
            sys.settrace(None)


def moments_of(path: Path, folder: Path) -> list[Moment]:
    """The lines that are executed when a file is read, each once, in the order of their first execution."""
    seen: dict[Moment, None] = {}
    read(path, folder, seen.setdefault)
    return list(seen)


def readings(path: Path, most: int) -> Iterator[str]:
    """Read a copy of a file with each change at each moment, or ``most`` times: at moments that are evenly apart, with
    one change each, in turn.

    Yields what is about to be read, and what came of it.
    """
    data = path.read_bytes()
    with scratch() as folder:
        copy = folder / path.name
        copy.write_bytes(data)
        moments = moments_of(copy, folder)
        step = max(1, -(-len(moments) // most))
        for number, moment in enumerate(moments[::step]):
            for change in CHANGES if step == 1 else (CHANGES[number % len(CHANGES)],):
                yield f"{path.name} {Path(moment[0]).name}:{moment[1]} {change.__name__}"
                copy.unlink()
                copy.write_bytes(data)
                changed = False

                def at(line: Moment, moment: Moment = moment, change: Change = change) -> bool:
                    nonlocal changed
                    if line == moment and not changed:
                        changed = True
                        change(copy, data)
                    return changed

                try:
                    word = read(copy, folder, at, (moment[0],))
                except Exception as error:  # noqa: BLE001 - it ends the reading process, which reports it
                    word = f"{type(error).__name__}: {error}"
                yield f"-> {word}"


def main() -> None:
    """Read each file in all ways."""
    parser = argparse.ArgumentParser(description="Read files that change while they are read.")
    parser.add_argument("--most", type=int, default=sys.maxsize)
    parser.add_argument("files", type=Path, nargs="+")
    options = parser.parse_args()
    count = 0
    for path in options.files:
        for line in readings(path, options.most):
            count += line.startswith("->")
            print(line, flush=True)
    print(f"done {count}")


if __name__ == "__main__":
    main()
