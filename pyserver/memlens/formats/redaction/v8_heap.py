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
from memlens.formats.v8_sections import MARK_FIELD, NAMED_BY_INDEX, OF_SCOPES, Sections, check
from memlens.kernels.readers import v8_redaction as kernel
from memlens.progress import Report, part_of
from memlens.texts import phrase

_TEXTS = ("string", "concatenated string", "sliced string", "regexp", "String")
_NUMBERS = ("number", "bigint")
_STRINGS = "strings"
_STEP_BYTES = 4 << 20
_SURVEYED = 0.5
"""The share of the work that is done when it is known what uses each string."""


def redact(source: Source, output: Output, removed: Removed, report: Report) -> None:
    """Write the snapshot. One that is truncated can't be read, since its strings are at the end."""
    source.unpack()
    parts = Sections(source)
    for needed in ("nodes", "edges", _STRINGS):
        if needed not in parts.spans:
            raise NotASnapshotError(
                phrase("The snapshot has no {section}", section=needed),
                advice=phrase(
                    "Join the snapshot's parts into one file first, as Julia's assemble_snapshot does."
                ),
            )
    rewritten = _survey(source, parts, removed, part_of(report, 0.0, _SURVEYED))
    write = part_of(report, _SURVEYED, 1.0)
    between = b"{"
    for section, (start, end) in sorted(parts.spans.items(), key=lambda each: each[1]):
        filler = rewritten.get(section)
        if section != "snapshot" and filler is None and not kernel.is_of_numbers(source.data, start, end):
            continue  # no writer that is known has text in another place
        if section in OF_SCOPES:
            continue  # objects have the ids of scopes as numbers, which are removed
        output.write(between + msgspec.json.encode(section) + b":")
        between = b",\n"
        if section == "snapshot":
            output.write(_marked(source.data[start:end], removed))
        elif filler is not None:
            output.write(b"[")
            for _ in pour(filler, output):
                source.release(filler.offset)
                write("writing", filler.offset / source.length)
            output.write(b"]")
        else:
            for at in range(start, end, _STEP_BYTES):
                output.write(source.data[at : min(at + _STEP_BYTES, end)])
                source.release(at)
                write("writing", at / source.length)
    output.write(b"}")


def _survey(
    source: Source, parts: Sections, removed: Removed, report: Report
) -> dict[str, kernel.Names | kernel.Strings]:
    """Find out what uses each string; return what writes the sections that aren't copied."""
    meta, spans = parts.header.meta, parts.spans
    strings = kernel.Strings(source.data, *spans[_STRINGS])
    check(run_through(strings, source, report, spans[_STRINGS][0]), strings.error_offset, source.data)
    uses = np.zeros(strings.count, np.uint8)
    uses[np.asarray(strings.take_fixed())] = kernel.FIXED

    def names(section: str, fields: list[str], name: str, kinds: list[int]) -> kernel.Names:
        start, end = spans[section]
        if name not in fields or (len(kinds) > 1 and "type" not in fields):
            raise DamagedSnapshotError(
                phrase("The header doesn't say what the {section} consist of", section=section), offset=start
            )
        of_type = fields.index("type") if len(kinds) > 1 else -1
        known = np.zeros(256, np.uint8)
        known[: len(kinds[:256])] = kinds[:256]
        reader = kernel.Names(source.data, start, end, len(fields), of_type, fields.index(name), known, uses)
        check(run_through(reader, source, report, start), reader.error_offset, source.data)
        return reader

    if not meta.node_types or not meta.edge_types:
        raise DamagedSnapshotError(phrase("The header's {what} are not a heap snapshot's", what="node_types"))
    contents = _TEXTS + (() if removed == CONTENTS else _NUMBERS)
    use = {"native": kernel.NODE | kernel.NAME} | dict.fromkeys(contents, kernel.VALUE)
    nodes = names(
        "nodes", meta.node_fields, "name", [use.get(name, kernel.NAME) for name in meta.node_types[0]]
    )
    named = [0 if name in NAMED_BY_INDEX else kernel.NAME for name in meta.edge_types[0]]
    names("edges", meta.edge_fields, "name_or_index", named)
    for name in (
        ("name", "script_name") if "trace_function_infos" in spans and meta.trace_function_info_fields else ()
    ):
        names("trace_function_infos", meta.trace_function_info_fields, name, [kernel.NAME])
    numbers = _numbers(uses)
    nodes.write(spans["nodes"][0], numbers)
    strings.write(spans[_STRINGS][0], uses, numbers)
    return {"nodes": nodes, _STRINGS: strings}


def _numbers(uses: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The number of each text for objects that have it as their content: one after all others, if it is a name, too."""
    numbers = np.arange(len(uses), dtype=np.uint32)
    both = (uses & kernel.VALUE != 0) & (uses & kernel.NAME != 0) & (uses & kernel.FIXED == 0)
    numbers[both] = len(uses) + np.arange(int(both.sum()), dtype=np.uint32)
    return numbers


def _marked(header: bytes, removed: Removed) -> bytes:
    field = msgspec.json.encode({MARK_FIELD: mark_of(removed)})
    return header.rstrip()[:-1] + b"," + field[1:]
