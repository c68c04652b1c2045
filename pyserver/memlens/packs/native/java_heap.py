"""Heap profiles of Java programs in text, ``--- heapz 1 ---``: rows of addresses, followed by the addresses' names.

Source: ``profile/legacy_java_profile.go`` of google/pprof, which reads them too. The addresses are numbers assigned by
the recorder, so no binary is needed to name them. The sampling rate is not in the file; like pprof, Memlens assumes a
sample every 512 KiB.
"""

import re
from pathlib import Path

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.stacks import distinct_frames
from memlens.formats.warnings import counted_warnings
from memlens.model.frames import MOST_LINE, Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning
from memlens.model.profile import Profile, sums_fit
from memlens.packs.native.heap_text import ERRORS, LIVE, sampling_scale, scaled
from memlens.packs.native.kernels import heap_text as kernel
from memlens.progress import Report
from memlens.texts import phrase, plural
from memlens.units import format_bytes

KIND = "java-heap"

_RATE_BYTES = 512 << 10
_HEAD_BYTES = 4096
_NATIVE_METHOD = -2
_FIRST = re.compile(rb"--- heapz (?P<version>\d{1,9}) ---[ \t]*\r?\n")
_ATTRIBUTE = re.compile(rb"[ \t]*(?:(?P<name>\w[\w ]*?) *= *(?P<text>\w[\w ]*?))?[ \t]*\r?\n")
_NAME = re.compile(rb"^[ \t]*0x([0-9a-fA-F]{1,16})[ \t]+([^\n]*)$", re.MULTILINE)
_HELD = re.compile(r"(?P<function>.*)\s\((?P<place>.*)\)")
"""Only for names that end with a parenthesis: each part matches then where it is tried first, however long it is."""
_NUMBER = re.compile(r"-?\d+")


def sniff(head: bytes) -> bool:
    """Whether the first line is that of a Java heap profile."""
    return _FIRST.match(head) is not None


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile: see :class:`memlens.formats.Reader`."""
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
    if not sums_fit([rows["count"], rows["bytes"], *values]):
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    addresses = np.asarray(scanner.take("addresses")).tolist()
    names = _names(source, scanner.maps)
    lineless = sum(_has_wrong_line(names.get(address, "")) for address in addresses)
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
        warnings=[
            *_warnings(unnamed, len(addresses), cut=scanner.cut or source.data[-1:] != b"\n"),
            *counted_warnings(impossible_lines=lineless),
        ],
    )  # fmt: skip


def _after_head(head: bytes) -> int:
    """Return where the rows begin. Raises :class:`NotASnapshotError` if the profile is not a Java heap in bytes."""
    first = _FIRST.match(head)
    if first is None:  # sniff has seen it in the same bytes
        raise DamagedSnapshotError(phrase("The first line is not that of a heap profile"))
    if int(first["version"]) != 1:
        raise NotASnapshotError(
            phrase(
                "The profile has version {version} of its format (--- heapz {version} ---), which is not supported: "
                "Memlens reads version 1",
                version=int(first["version"]),
            )
        )
    at = first.end()
    while (attribute := _ATTRIBUTE.match(head, at)) is not None:
        name, text = ((attribute[part] or b"").decode("ascii", "replace") for part in ("name", "text"))
        known = {"format": "java", "resolution": "bytes"}.get(name, text)
        if text != known:
            raise NotASnapshotError(
                phrase(
                    "The heap profile has '{name} = {value}', but Memlens reads only '{name} = {known}'",
                    name=name,
                    value=text[:40],
                    known=known,
                ),
                advice=phrase("Open it with pprof (of google/pprof, or go tool)."),
            )
        at = attribute.end()
    return at


def _names(source: Source, start: int) -> dict[int, str]:
    """Return the names of addresses. If an address has two names, the last one counts, as in pprof."""
    if not start:
        return {}
    return {
        int(line[1], 16): line[2].rstrip(b" \t\r").decode("utf-8", "replace")
        for line in _NAME.finditer(source.data, start)
    }


def _frame(address: int, name: str) -> SourceFrame:
    """Parse ``com.foo.Bar.baz (Bar.java:34)``, ``memcpy (/lib/libc.so.6)``, or a state of the JVM such as ``GC``."""
    held = _HELD.fullmatch(name) if name.endswith(")") else None
    if held is None:
        return profiled_frame("", 0, name or f"0x{address:x}")
    file, line = _file_and_line(held["place"])
    if line:
        number = int(line) if len(line) < 11 else 0
        return profiled_frame(_path(held["function"], file), number, held["function"])
    return profiled_frame("", 0, held["function"], held["place"])


def _file_and_line(place: str) -> tuple[str, str]:
    """Return both parts of ``Bar.java:34``; both are empty where it is anything else."""
    file, _, line = place.rpartition(":")
    return (file, line) if file and _NUMBER.fullmatch(line) else ("", "")


def _has_wrong_line(name: str) -> bool:
    """Whether a frame has a line that no file has; native methods have -2, others without a line -1."""
    held = _HELD.fullmatch(name) if name.endswith(")") else None
    line = _file_and_line(held["place"])[1] if held is not None else ""
    return bool(line) and not (len(line) < 11 and _NATIVE_METHOD <= int(line) <= MOST_LINE)


def _path(function: str, file: str) -> str:
    """Return the file in the folders of its package, which distinguish it from others of the same name.

    Classes begin with an upper-case letter and packages don't; without a class the package's end is unknown.
    """
    *package, _ = function.split(".")
    ends = [number for number, part in enumerate(package) if part[:1].isupper()]
    return "/".join((*package[: ends[0]], file)) if ends and "/" not in file else file


def _warnings(unnamed: int, addresses: int, *, cut: bool) -> list[FileWarning]:
    said = phrase(
        "Sampled; the file does not say how often. Figures are estimates for a sample every {size} on average, as in "
        "pprof.",
        size=format_bytes(_RATE_BYTES),
    )
    warnings = [FileWarning("sampled", said)]
    if cut:
        warnings.append(
            FileWarning(
                "cut-file",
                phrase("The file is truncated: its last stack may lack callers, and names are missing."),
            )
        )
    elif unnamed:
        said = phrase(
            plural(
                unnamed,
                "{n} of {all} has no name in the file, only a number.",
                "{n} of {all} have no name in the file, only a number.",
            ),
            n=unnamed,
            all=phrase(plural(addresses, "{n} location", "{n} locations"), n=addresses),
        )
        warnings.append(FileWarning("no-symbols", said))
    return warnings
