"""V8's heap snapshots: each string that is not a name becomes "removed N" with its number.

Names are those of properties, variables, functions, classes, scripts and the engine's own objects. A string that is
also a name is written twice, so that it can't be told which objects have it as their content.
"""

import msgspec
import numpy as np
import numpy.typing as npt

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.redacted import CONTENTS, Removed, mark_of
from memlens.formats.redaction.output import Output, pour
from memlens.formats.scanning import run_through
from memlens.formats.v8_sections import MARK_FIELD, NAMED_BY_INDEX, Sections, check
from memlens.kernels.readers import v8_redaction as kernel
from memlens.progress import Report, part_of
from memlens.texts import phrase

_TEXTS = ("string", "concatenated string", "sliced string", "regexp", "String")
_NUMBERS = ("number", "bigint")
_STRINGS = "strings"
_WRITING = 0.5
"""The share of the work that is done when writing begins."""


def redact(source: Source, output: Output, removed: Removed, report: Report) -> None:
    """Write the snapshot. One that is truncated can't be read, since its strings are at the end."""
    source.unpack()
    parts = Sections(source)
    meta = parts.header.meta
    for needed in ("nodes", "edges", _STRINGS):
        if needed not in parts.spans:
            raise NotASnapshotError(
                phrase("The snapshot has no {section}", section=needed),
                advice=phrase("Of a snapshot in parts make one file first, as Julia's assemble_snapshot does."),
            )
    survey = part_of(report, 0.0, _WRITING)
    strings = kernel.Strings(source.data, *parts.spans[_STRINGS])
    check(run_through(strings, source, survey, parts.spans[_STRINGS][0]), strings.error_offset)
    uses = np.zeros(strings.count, np.uint8)
    uses[np.asarray(strings.take_fixed())] = kernel.FIXED
    values = _TEXTS + (() if removed == CONTENTS else _NUMBERS)
    node_kinds = [
        kernel.VALUE if name in values else kernel.NODE | kernel.NAME if name == "native" else kernel.NAME
        for name in meta.node_types[0]
    ]
    edge_kinds = [0 if name in NAMED_BY_INDEX else kernel.NAME for name in meta.edge_types[0]]

    def names(section: str, fields: list[str], kinds: list[int], name: str = "name") -> kernel.Names:
        start, end = parts.spans[section]
        known = np.zeros(256, np.uint8)
        known[: len(kinds[:256])] = kinds[:256]
        if name not in fields or (len(kinds) > 1 and "type" not in fields):
            raise DamagedSnapshotError(phrase("The snapshot has no {section}", section=section), offset=start)
        type_field = fields.index("type") if "type" in fields else -1
        reader = kernel.Names(source.data, start, end, len(fields), type_field, fields.index(name), known, uses)
        check(run_through(reader, source, survey, start), reader.error_offset)
        return reader

    nodes = names("nodes", meta.node_fields, node_kinds)
    names("edges", meta.edge_fields, edge_kinds, "name_or_index")
    if "trace_function_infos" in parts.spans and meta.trace_function_info_fields:
        for name in ("name", "script_name"):
            names("trace_function_infos", meta.trace_function_info_fields, [kernel.NAME], name)
    numbers = _numbers(uses)
    nodes.write(parts.spans["nodes"][0], numbers)
    strings.write(parts.spans[_STRINGS][0], uses, numbers)
    write = part_of(report, _WRITING, 1.0)
    between = b"{"
    for section, (start, end) in sorted(parts.spans.items(), key=lambda each: each[1]):
        if section not in ("snapshot", _STRINGS) and not kernel.is_of_numbers(source.data, start, end):
            continue  # no writer that is known has text in another place
        output.write(between + msgspec.json.encode(section) + b":")
        between = b",\n"
        if section == "snapshot":
            output.write(_marked(source.data[start:end], removed))
        elif section in ("nodes", _STRINGS):
            output.write(b"[")
            reader = nodes if section == "nodes" else strings
            for _ in pour(reader, output):
                source.release(reader.offset)
                write("writing", reader.offset / source.length)
            output.write(b"]")
        else:
            for at in range(start, end, _STEP_BYTES):
                output.write(source.data[at : min(at + _STEP_BYTES, end)])
                source.release(at)
                write("writing", at / source.length)
    output.write(b"}")


_STEP_BYTES = 4 << 20


def _numbers(uses: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The number of each text for objects that have it as their content: one after all others, if it is a name, too."""
    numbers = np.arange(len(uses), dtype=np.uint32)
    both = (uses & kernel.VALUE != 0) & (uses & kernel.NAME != 0) & (uses & kernel.FIXED == 0)
    numbers[both] = len(uses) + np.arange(int(both.sum()), dtype=np.uint32)
    return numbers


def _marked(header: bytes, removed: Removed) -> bytes:
    field = msgspec.json.encode({MARK_FIELD: mark_of(removed)})
    return header.rstrip()[:-1] + b"," + field[1:]
