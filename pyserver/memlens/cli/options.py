"""Arguments that several commands have, and how their values are parsed."""

import argparse
import math
import re
import time
from pathlib import Path, PurePath

from memlens.local_paths import is_url
from memlens.units import object_id, whole_number

PROFILE_VALUE = (
    "profiles only: the value, by its name in `memlens info` "
    "or as live, peak, total, count, temporary or leaked"
)
FIRST_DEVICE = "the device (default: the one that the view shows first)"
PROGRAM = (
    "a process id; a page as HOST:PORT of its browser's debugging, with /ID if there are several (the beginning is "
    "enough); or the page's own address, http://…"
)
HOLDER = "HOLDER"
"""What stands for objects that refer to others, which are no filter."""
STDIN = "-"
"""The argument that stands for stdin."""
_SNAPSHOT = "a file, - for stdin, or a URL (https, s3, gs, az, ssh) where fsspec is installed"


class Elsewhere(str):
    """A snapshot among the arguments that isn't a local file: ``-`` or a URL."""

    __slots__ = ()


def snapshot(text: str) -> Path | Elsewhere:
    """Parse the argument that names a snapshot."""
    return Elsewhere(text) if text == STDIN or is_url(text) else Path(text)


def not_here(options: argparse.Namespace) -> list[Elsewhere]:
    """Return the snapshots among the options that aren't local files."""
    values = [
        each for value in vars(options).values() for each in (value if isinstance(value, list) else [value])
    ]
    return [each for each in values if isinstance(each, Elsewhere)]


def positive(text: str) -> int:
    """Parse a number of more than 0."""
    value = whole_number(text)
    if value is None or not 0 < value < 2**62:
        raise argparse.ArgumentTypeError(f"{text} is not a number more than 0 and less than 2^62")
    return value


def size_bytes(text: str) -> int:
    """Parse a size: ``85899345920``, ``80GiB``, ``80 GB``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(?:([KMGT])(i?)B?|B?)", text, re.IGNORECASE)
    if found is None or not 0 < float(found[1]) < 2**60:
        raise argparse.ArgumentTypeError(f"{text} is not a size: write it as 80GiB, or in bytes")
    power = 0 if found[2] is None else "KMGT".index(found[2].upper()) + 1
    is_decimal = power and not found[3] and text[-1] in "bB"
    return round(float(found[1]) * (1000 if is_decimal else 1024) ** power)


def seconds(text: str) -> float:
    """Parse a duration in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 2**31:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return value


def object_number(text: str) -> int:
    """Parse the id or the address of an object in a heap dump."""
    value = object_id(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text} is not the id or the address of an object")
    return value


def add_file(command: argparse.ArgumentParser) -> None:
    """Add the snapshot that a command is about."""
    command.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)


def add_files(command: argparse.ArgumentParser) -> None:
    """Add the snapshots, one at least, each of which a command is about."""
    command.add_argument("files", type=snapshot, metavar="FILE", nargs="+", help=_SNAPSHOT)


def add_object(command: argparse.ArgumentParser, nargs: str | None = None) -> None:
    """Add the object of a heap dump that a command is about."""
    command.add_argument(
        "object", type=object_number, metavar="ID", nargs=nargs,
        help="the object's id or address in the file, such as 5143, @5143 or 0x7f00",
    )  # fmt: skip
    command.add_argument(
        "--by-number", action="store_true", help="take ID as the object's number in the file, counted from 0"
    )


def add_folder(command: argparse.ArgumentParser) -> None:
    """Add the folder of a fleet's summaries."""
    command.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the summaries")


def add_out(command: argparse.ArgumentParser) -> None:
    """Add the page or picture to write, and what it is of."""
    command.add_argument("-o", "--out", type=Path, metavar="OUT", help="the file to write, instead of stdout")
    add_device(command)
    add_force(command)


def add_device(command: argparse.ArgumentParser, help_text: str = FIRST_DEVICE) -> None:
    """Add ``--device``."""
    command.add_argument("--device", type=int, metavar="N", help=help_text)


def add_filter(command: argparse.ArgumentParser, help_text: str = "") -> None:
    """Add ``--filter``."""
    command.add_argument(
        "--filter", default="", metavar="TEXT",
        help=help_text
        or "use only the allocations that match this filter, as in the view; `memlens filter` lists the terms",
    )  # fmt: skip


def add_top(command: argparse.ArgumentParser, default: int, what: str = "N") -> None:
    """Add ``--top`` with its default; ``what`` names the rows that it counts."""
    command.add_argument(
        "--top", type=positive, default=default, metavar="N",
        help=f"print only the first {what} (default {default})",
    )  # fmt: skip


def add_top_or_all(command: argparse.ArgumentParser, default: int) -> None:
    """Add ``--top``, without which texts have ``default`` rows and JSON has all."""
    command.add_argument(
        "--top", type=positive, metavar="N", help=f"print only the first N (default {default}; as JSON all)"
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print JSON")


def add_force(
    command: argparse.ArgumentParser,
    help_text: str = "overwrite OUT if it exists, unless it is what is read, an archive, or another kind of snapshot",
) -> None:
    """Add ``--force``."""
    command.add_argument("--force", action="store_true", help=help_text)


def add_libraries(command: argparse.ArgumentParser) -> None:
    """Add ``--libraries``, and the options of whatever reads files: :func:`add_symbols`."""
    command.add_argument(
        "--libraries", action="append", metavar="PATTERN",
        help="treat matching paths or functions as library code, or with a leading ! as your own; may be "
        "repeated, and the last match decides",
    )  # fmt: skip
    add_symbols(command)


def add_symbols(command: argparse.ArgumentParser) -> None:
    """Add ``--symbols``, and the options of the cache."""
    command.add_argument(
        "--symbols", type=Path, action="append", metavar="DIR",
        help="look in this folder for the binaries of a native program and their debug files, to name its addresses; "
        "may be repeated (default: those of MEMLENS_SYMBOLS; then beside the profile, and where the program ran)",
    )  # fmt: skip
    add_cache(command)


def add_cache(command: argparse.ArgumentParser) -> None:
    """Add the options of the cache of archives."""
    command.add_argument("--cache-dir", type=Path, help="the folder of the archives")
    command.add_argument(
        "--cache-limit", type=positive, metavar="BYTES", help="the maximum total size of all archives"
    )


def add_long_work(command: argparse.ArgumentParser) -> None:
    """Add how a command reports progress, and how it runs beside another process."""
    command.add_argument("--progress", choices=("auto", "json", "none"), default="auto",
                         help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip
    command.add_argument("--background", action="store_true", help="run with low priority")
    command.add_argument("--parent", type=positive, metavar="PID",
                         help="end when this process, which must be the parent, ends")  # fmt: skip


def add_archive(command: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that the server runs on an archive."""
    command.add_argument("archive", type=Path, help="an archive's folder, as `memlens ingest` prints it")
    add_long_work(command)
    add_libraries(command)


def add_form(command: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--csv``, the forms of a query's rows."""
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all rows as an array of objects")
    form.add_argument("--csv", action="store_true", help="print all rows as comma-separated values")


def add_program_options(command: argparse.ArgumentParser) -> None:
    """Add how long to wait for a running program, and ``--json``."""
    add_force(command)
    command.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS",
                         help="how long to wait for an answer (default: 60)")  # fmt: skip
    add_json(command)
    add_long_work(command)


def name_at_this_time(program: str, unnamed: str) -> str:
    """The default for a file or folder, without an ending: what is recorded, and when."""
    base = re.sub(r"[^\w.-]+", "-", PurePath(program).stem).strip("-.") or unnamed
    return f"{base}-{time.strftime('%Y%m%d-%H%M%S')}"
