"""DHAT's profiles: JSON of valgrind's ``--tool=dhat``, and of the Rust crate dhat.

Source of the format: ``dhat/docs/dh-manual.xml`` of valgrind, section "File format", version 2.
"""

import re
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct, ValidationError

from memlens.arrays import I64, rows_of
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.json_faults import converted, fault
from memlens.formats.scanning import run_through
from memlens.formats.stacks import distinct_frames, with_inlined
from memlens.model.frames import Frames
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import MOST_VALUE, Column, Profile, sums_fit
from memlens.packs.api import JsonFormat
from memlens.packs.native.kernels import dhat_json as kernel
from memlens.packs.native.valgrind_frames import valgrind_frames, without_words_of_the_stack
from memlens.progress import Report
from memlens.texts import Text, phrase
from memlens.units import shortened

KIND = "dhat"
VERSION = 2

_ROOT = 0
"""The number of ``[root]`` in the table of frames, which is not in stacks."""

_ERRORS = {
    kernel.TRUNCATED: phrase(
        "The JSON is truncated: DHAT writes it when the program ends, and was probably interrupted"
    ),
    kernel.TOO_DEEP: phrase("The JSON is nested far deeper than DHAT's"),
}
_MOST_WORD = 100
_FIELD = re.compile(r"`\$\.(\w+)")
"""The field that an error of msgspec names."""


class _Header(Struct):
    """The fields beside the program points. ``tg`` and ``te`` are the times of the peak and of the end, in ``tu``."""

    dhatFileVersion: int  # noqa: N815 - the key in the file
    mode: str
    verb: str = "Allocated"
    bklt: bool = True
    bkacc: bool = False
    bu: str = "byte"
    bsu: str = "bytes"
    bksu: str = "blocks"
    tu: str = ""
    cmd: str = ""
    pid: int = 0
    te: int = 0
    tg: int | None = None


def sniff(head: bytes) -> bool:
    """Whether the first bytes are a JSON object with DHAT's version."""
    return head.lstrip()[:1] == b"{" and b'"dhatFileVersion"' in head


JSON = JsonFormat(sniff=sniff, is_object=lambda has: has("dhatFileVersion", b""))


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile: see :class:`memlens.formats.Reader`."""
    scanner = _scan(source, report)
    header, table = _rest(scanner, source)
    points = rows_of(scanner.take("points"))
    sequence = np.asarray(scanner.take("stack_frames"))
    if len(sequence) and int(sequence.max()) >= len(table):
        raise DamagedSnapshotError(
            phrase(
                "A stack refers to frame {frame}, but the file has only {count}",
                frame=int(sequence.max()),
                count=len(table),
            )
        )
    parsed, sizes, warnings = valgrind_frames(table, source)
    frames, numbers = distinct_frames(parsed)
    starts, places = with_inlined(np.asarray(scanner.take("stack_starts")), sequence, sizes)
    whole = without_words_of_the_stack(Frames(frames, starts, numbers[places]))
    types, fields, default = _values(header)
    values = [points[name] for name in fields]
    if not sums_fit(values):
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    return Profile(
        KIND, whole, types, default, np.arange(1, len(points) + 1, dtype=np.uint32), values,
        sizes=_sizes(points) if header.bu == "byte" else None,
        settings=_settings(header), warnings=[*_warnings(header, len(points)), *_impossible(header, points), *warnings],
    )  # fmt: skip


def _scan(source: Source, report: Report) -> kernel.Scanner:
    scanner = kernel.Scanner(source.data)
    status = run_through(scanner, source, report)
    if status == kernel.NO_MEMORY:
        raise MemoryError
    if status != kernel.OK:
        if status == kernel.SYNTAX:
            raise fault(source.data, scanner.error_offset, phrase("a profile of DHAT"))
        message = _ERRORS.get(status)
        if message is None:
            field = kernel.FIELD_NAMES[scanner.error_field]
            message = phrase("The field '{field}' of a program point is missing or invalid", field=field)
        raise DamagedSnapshotError(message, offset=scanner.error_offset)
    return scanner


def _rest(scanner: kernel.Scanner, source: Source) -> tuple[_Header, list[str]]:
    """Decode the header and the table of frames."""
    spans = scanner.span()
    table = spans.pop("ftbl", None)
    known = {name: spans[name] for name in _Header.__struct_fields__ if name in spans}
    text = b",".join(
        b'"%b":%b' % (name.encode(), source.data[start:end]) for name, (start, end) in known.items()
    )
    try:
        header = _shortened(converted(b"{%b}" % text, _Header))
    except (ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        wrong = _FIELD.search(str(error))
        raise DamagedSnapshotError(
            phrase("The file's header is not DHAT's: {reason}", reason=str(error)),
            offset=known[wrong[1]][0] if wrong and wrong[1] in known else None,
        ) from error
    if header.dhatFileVersion < VERSION:
        raise NotASnapshotError(
            phrase(
                "The file has version {version} of DHAT's format, from valgrind before 3.17; Memlens reads version "
                "{known}",
                version=header.dhatFileVersion,
                known=VERSION,
            ),
            advice=phrase(
                "Record it again with a newer valgrind, or open it in the dh_view.html of the one that wrote it."
            ),
        )
    if table is None or not scanner.has_points:
        missing = "table of frames" if table is None else "list of program points"
        raise DamagedSnapshotError(phrase("The file has no {missing}", missing=missing))
    try:
        return header, converted(source.data[table[0] : table[1]], list[str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedSnapshotError(
            phrase("The table of frames is damaged: {reason}", reason=str(error)), offset=table[0]
        ) from error


def _shortened(header: _Header) -> _Header:
    """Shorten the texts that are used within sentences; the command line is not."""
    names = ("mode", "verb", "bu", "bsu", "bksu", "tu")
    return msgspec.structs.replace(
        header, **{name: shortened(getattr(header, name), _MOST_WORD) for name in names}
    )


def _in_all(verb: str) -> Text:
    return phrase("Allocated in total") if verb == "Allocated" else phrase("{verb} in total", verb=verb)


def _done(header: _Header) -> Text:
    if (header.bksu, header.verb) == ("blocks", "Allocated"):
        return phrase("Blocks allocated")
    return Text(f"{header.bksu.capitalize()} {header.verb.lower()}")


def _values(header: _Header) -> tuple[list[ValueType], list[str], int]:
    """Return the types of the values, their fields, and the number of the default one."""
    unit, units = ("bytes", "bytes") if header.bu == "byte" else (header.bsu, header.bsu)
    found = [
        ("tb", ValueType("total_bytes" if unit == "bytes" else "total", units, "total", _in_all(header.verb))),
        ("tbk", ValueType("total_blocks", "count", "total", _done(header))),
    ]  # fmt: skip
    if header.bklt:
        time = header.tu or "time"
        found += [
            ("gb", ValueType("peak_bytes", unit, "peak", phrase("Live at the peak"))),
            ("gbk", ValueType("peak_blocks", "count", "peak", phrase("Blocks live at the peak"))),
            ("eb", ValueType("end_bytes", unit, "end", phrase("Live at the end"))),
            ("ebk", ValueType("end_blocks", "count", "end", phrase("Blocks live at the end"))),
            (
                "mb",
                ValueType(
                    "max_bytes", unit, "other", phrase("Most live at once, each stack at its own time")
                ),
            ),
            (
                "mbk",
                ValueType(
                    "max_blocks", "count", "other", phrase("Most blocks at once, each stack at its own time")
                ),
            ),
            ("tl", ValueType("lifetimes", time, "other", phrase("Lifetimes of all blocks, added up"))),
        ]
    if header.bkacc:
        found += [
            ("rb", ValueType("read_bytes", unit, "other", phrase("Read from the blocks"))),
            ("wb", ValueType("written_bytes", unit, "other", phrase("Written to the blocks"))),
        ]
    fields = [field for field, _ in found]
    return [kind for _, kind in found], fields, fields.index("gb") if header.bklt else 0


def _sizes(points: Column) -> I64:
    """Return the size of each point's blocks, 0 if unknown. Counts of accesses per byte exist if sizes are equal."""
    one = np.where(points["tbk"] == 1, points["tb"], 0)
    return np.where(points["histogram"] > 0, points["histogram"].astype(np.int64), one)


def _settings(header: _Header) -> dict[str, str | int]:
    settings: dict[str, str | int] = {
        "command": header.cmd, "pid": header.pid, "mode": header.mode, "time_unit": header.tu,
    }  # fmt: skip
    if not _has_impossible_times(header):
        settings["end_time"] = header.te
        if header.tg is not None:
            settings["peak_time"] = header.tg
    return settings


def _has_impossible_times(header: _Header) -> bool:
    peak = 0 if header.tg is None else header.tg
    return not 0 <= peak <= MOST_VALUE or not 0 <= header.te <= MOST_VALUE or 0 < header.te < peak


def _impossible(header: _Header, points: Column) -> list[FileWarning]:
    warnings = []
    if _has_impossible_times(header):
        said = phrase(
            "The times of the peak and of the end are impossible, and left out: {peak}, {end}.",
            peak=str(header.tg),
            end=str(header.te),
        )
        warnings.append(FileWarning("impossible-times", said))
    pairs = (("gb", "tb"), ("eb", "tb"), ("mb", "tb"), ("gbk", "tbk"), ("ebk", "tbk"), ("mbk", "tbk"))
    wrong = np.any([points[part] > points[whole] for part, whole in pairs], axis=0)
    if header.bklt and wrong.any():
        said = phrase(
            "Program points with more live at some time than they ever allocated: {n}, the first is number "
            "{first} of the file. Their figures are shown as recorded.",
            n=int(np.count_nonzero(wrong)),
            first=int(np.flatnonzero(wrong)[0]) + 1,
        )
        warnings.append(FileWarning("contradictory-points", said))
    return warnings


def _warnings(header: _Header, points: int) -> list[FileWarning]:
    warnings = []
    if header.dhatFileVersion > VERSION:
        said = phrase(
            "The file has version {version} of DHAT's format; Memlens knows version {known} and shows what it "
            "recognises.",
            version=str(header.dhatFileVersion),
            known=str(VERSION),
        )
        warnings.append(FileWarning("newer-version", said))
    if not points:
        said = phrase("The file has no program points: nothing was recorded.")
        warnings.append(FileWarning("no-samples", said))
    if header.mode == "rust-heap":
        said = phrase("Recorded by the Rust crate dhat, which records allocations in Rust but no accesses.")
        warnings.append(FileWarning("rust-heap", said))
    if not header.bklt and header.bu == "byte":
        said = phrase(
            "Recorded with --mode={mode}: what was {verb}, not what was live.",
            mode=header.mode,
            verb=header.verb.lower(),
        )
        warnings.append(FileWarning("not-live", said))
    return warnings
