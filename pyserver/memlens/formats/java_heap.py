"""Heap profiles of Java programs in text, ``--- heapz 1 ---``: rows of addresses, and below them what each is called.

Source: ``profile/legacy_java_profile.go`` of google/pprof, which reads them too. The addresses are numbers that the
recorder gave out, so no binary is needed to name them. A file tells nothing of how it was sampled; like pprof we take
it that the recorder took a sample every 512 KiB.
"""

import re
from pathlib import Path

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.heap_text import ERRORS, LIVE, sampling_scale, scaled
from memlens.formats.scanning import run_through
from memlens.formats.stacks import distinct_frames
from memlens.kernels.readers import heap_text as kernel
from memlens.model.frames import Frames, SourceFrame, profiled_frame
from memlens.model.info import Notice
from memlens.model.profile import Profile, fits
from memlens.progress import Report
from memlens.units import format_bytes, part_has

KIND = "java-heap"

_RATE_BYTES = 512 << 10
_HEAD_BYTES = 4096
_FIRST = re.compile(rb"--- heapz (?P<version>\d{1,9}) ---[ \t]*\r?\n")
_ATTRIBUTE = re.compile(rb"[ \t]*(?:(?P<name>[\w ]+?) *= *(?P<text>[\w ]+?))?[ \t]*\r?\n")
_NAME = re.compile(rb"^[ \t]*0x([0-9a-fA-F]{1,16})[ \t]+([^\n]*?)[ \t\r]*$", re.MULTILINE)
_PLACE = re.compile(r"(?P<function>.*)\s+\((?P<file>.+):(?P<line>-?\d+)\)")
_BINARY = re.compile(r"(?P<function>.*)\s+\((?P<path>.*)\)")


def sniff(head: bytes) -> bool:
    """Whether the first line is such a profile's."""
    return _FIRST.match(head) is not None


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile; ``report`` gets ``("reading", fraction)``.

    Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, or MemoryError.
    """
    start = _after_head(source.head(_HEAD_BYTES))
    scanner = kernel.Scanner(source.data, start, kernel.JAVA)
    status = run_through(scanner, source, report, start=start)
    if status == kernel.NO_MEMORY:
        raise MemoryError
    if status != kernel.OK:
        raise DamagedSnapshotError(ERRORS[status], offset=scanner.error_offset)
    rows = np.asarray(scanner.take("rows"))
    scale = sampling_scale(rows["count"], rows["bytes"], _RATE_BYTES)
    values = [scaled(rows[name], scale, exact=False) for name in ("count", "bytes")]
    if not fits([rows["count"], rows["bytes"], *values]):
        raise DamagedSnapshotError("The figures add up to more than can be counted")
    addresses = np.asarray(scanner.take("addresses")).tolist()
    names = _names(source, scanner.maps)
    frames, numbers = distinct_frames(_frame(address, names.get(address, "")) for address in addresses)
    unnamed = len(addresses) - sum(address in names for address in addresses)
    return Profile(
        KIND,
        Frames(
            frames, np.asarray(scanner.take("stack_starts")), numbers[np.asarray(scanner.take("stack_addresses"))]
        ),
        [*LIVE], len(LIVE) - 1, rows["stack"].astype(np.uint32), values,
        sizes=np.where(rows["count"] == 1, rows["bytes"], 0).astype(np.int64),
        settings={"profile": "java", "sampling_rate_bytes": _RATE_BYTES},
        notices=_notices(unnamed, len(addresses), cut=scanner.cut or source.data[-1:] != b"\n"),
    )  # fmt: skip


def _after_head(head: bytes) -> int:
    """Where the rows begin. Raises :class:`NotASnapshotError` for what is no heap of Java in bytes."""
    first = _FIRST.match(head)
    if first is None:  # only the whole first line tells a profile, see sniff
        raise DamagedSnapshotError("The first line is no heap profile's")
    if int(first["version"]) != 1:
        raise NotASnapshotError(
            f"The profile is of version {int(first['version'])} of its format (--- heapz {int(first['version'])} ---), "
            "which Memlens doesn't know: it reads version 1"
        )
    at = first.end()
    while (found := _ATTRIBUTE.match(head, at)) is not None:
        name, text = ((found[part] or b"").decode("ascii", "replace") for part in ("name", "text"))
        known = {"format": "java", "resolution": "bytes"}.get(name, text)
        if text != known:
            raise NotASnapshotError(
                f"The heap profile says '{name} = {text[:40]}', and Memlens reads '{name} = {known}'",
                advice="Open it with pprof (of google/pprof, or go tool).",
            )
        at = found.end()
    return at


def _names(source: Source, start: int) -> dict[int, str]:
    """What addresses are called. Where one is named twice the last one counts, as pprof has it."""
    if not start:
        return {}
    return {
        int(found[1], 16): found[2].decode("utf-8", "replace") for found in _NAME.finditer(source.data, start)
    }


def _frame(address: int, name: str) -> SourceFrame:
    """A frame: ``com.foo.Bar.baz (Bar.java:34)``, ``memcpy (/lib/libc.so.6)``, or a state of the machine as ``GC``."""
    found = _PLACE.fullmatch(name)
    if found is not None:
        line = int(found["line"]) if len(found["line"]) < 11 else 0
        return profiled_frame(_path(found["function"], found["file"]), line, found["function"])
    found = _BINARY.fullmatch(name)
    if found is not None:
        return profiled_frame("", 0, found["function"], found["path"])
    return profiled_frame("", 0, name or f"0x{address:x}")


def _path(function: str, file: str) -> str:
    """The file with the folders that its package names, by which it is told from others of its name.

    Packages begin with a lower-case letter and classes don't; without a class there is no telling the package's end.
    """
    *package, _ = function.split(".")
    ends = [number for number, part in enumerate(package) if part[:1].isupper()]
    return "/".join((*package[: ends[0]], file)) if ends and "/" not in file else file


def _notices(unnamed: int, addresses: int, *, cut: bool) -> list[Notice]:
    """What the file could not tell."""
    message = (
        f"Sampled, every {format_bytes(_RATE_BYTES)} on average as pprof takes it, for the file doesn't say: what is "
        "shown is what the samples stand for."
    )
    found = [Notice("sampled", message)]
    if cut:
        found.append(
            Notice("cut-file", "The file breaks off: its last stack may lack callers, and names are missing.")
        )
    elif unnamed:
        message = f"{part_has(unnamed, addresses, 'location')} no name, only an address: the file doesn't name them."
        found.append(Notice("no-symbols", message))
    return found
