"""V8's sampling heap profiles, ``.heapprofile``: a tree of functions with the bytes that their stacks hold, estimated.

``node --heap-prof``, "Allocation sampling" in Chrome's Memory panel and the inspector's ``HeapProfiler.stopSampling``
write them. Source: ``HeapProfiler.SamplingHeapProfile`` of V8's ``include/js_protocol.pdl``, and
``src/profiler/sampling-heap-profiler.cc``, which already scales what it sampled.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.json_faults import decoded
from memlens.formats.stacks import Numbers
from memlens.model.frames import Frames, SourceFrame, profiled_frame
from memlens.model.info import FileWarning, ValueType
from memlens.model.profile import MOST_VALUE, Profile, StackTree, sums_fit
from memlens.packs.api import JsonFormat
from memlens.packs.v8.places import path_of
from memlens.packs.v8.source_maps import SourceMaps
from memlens.progress import Report
from memlens.texts import phrase

KIND = "v8-sampling"

VALUES = [
    ValueType("selfSize", "bytes", "live", phrase("Live, estimated")),
    ValueType("samples", "count", "other", phrase("Samples")),
]
_HEAD = re.compile(
    rb'\{\s*"(?:head"\s*:\s*\{\s*"(?:callFrame|selfSize|id|children)"|samples"\s*:\s*\[\s*\{\s*"size")'
)
_ANONYMOUS = "(anonymous)"

_Bytes = Annotated[float, Meta(ge=0, le=MOST_VALUE)]
"""An integer of any size, as JavaScript writes it in JSON."""
_Number = Annotated[int, Meta(ge=-1, le=0xFFFFFFFF)]


class _CallFrame(Struct):
    """A function; lines and columns count from 0, -1 if they aren't known."""

    functionName: str = ""  # noqa: N815 - the keys in the file
    url: str = ""
    lineNumber: _Number = -1  # noqa: N815
    columnNumber: _Number = -1  # noqa: N815


class _Node(Struct):
    callFrame: _CallFrame  # noqa: N815
    selfSize: _Bytes = 0  # noqa: N815
    id: int = 0
    children: "list[_Node]" = []


class _Sample(Struct):
    nodeId: int = 0  # noqa: N815


class _File(Struct):
    head: _Node
    samples: list[_Sample] = []


def sniff(head: bytes) -> bool:
    """Whether the first bytes are a JSON object with a sampling profile's first keys."""
    return _HEAD.match(head.lstrip()) is not None


_CPU = phrase("it is a CPU profile of V8, not a memory profile")
JSON = JsonFormat(
    sniff=sniff,
    is_object=lambda has: has("head", b'"callFrame"'),
    others=(
        (frozenset(("nodes", "startTime")), _CPU),
        (frozenset(("nodes", "timeDeltas")), _CPU),
        (frozenset(("mappings", "sources")), phrase("it is a source map")),
    ),
)


def read(source: Source, _scratch: Path, report: Report) -> Profile:
    """Read a profile: see :class:`memlens.formats.Reader`."""
    file = decoded(source.data, _File, phrase("a sampling heap profile of V8"))
    report("reading", 0.5)
    numbers: Numbers[SourceFrame] = Numbers()
    maps = SourceMaps(source.tools.source_folders, only_folders=source.tools.only_folders)
    parents, frames, sizes, rows = [0], [0], [file.head.selfSize], {file.head.id: 0}
    for row, (node, parent) in enumerate(_below(file.head), 1):
        parents.append(parent)
        frames.append(numbers[_frame(node.callFrame, maps)])
        sizes.append(node.selfSize)
        rows[node.id] = row
    counts = np.zeros(len(sizes), np.int64)
    lost = 0
    for sample in file.samples:
        if sample.nodeId in rows:
            counts[rows[sample.nodeId]] += 1
        else:
            lost += 1
    values = [np.array(sizes).astype(np.int64), counts]
    if not sums_fit(values):
        raise DamagedSnapshotError(phrase("The sum of the values is too large"))
    used = np.flatnonzero(values[0] + counts)
    has_samples = bool(counts.any())
    return Profile(
        KIND, Frames(list(numbers), np.zeros(2, np.uint64), np.empty(0, np.uint32)),
        VALUES if has_samples else VALUES[:1], 0, used.astype(np.uint32),
        [column[used] for column in values[: 1 + has_samples]],
        settings={"profile": "heap"}, warnings=_warnings(len(used), lost, len(sizes) - len(rows)),
        tree=StackTree(np.array(parents, np.uint32), np.array(frames, np.uint32)),
    )  # fmt: skip


def _below(head: _Node) -> Iterator[tuple[_Node, int]]:
    """All nodes but the head, each with its parent's row, in file order; rows count from 1."""
    waiting = [(node, 0) for node in reversed(head.children)]
    row = 0
    while waiting:
        node, parent = waiting.pop()
        row += 1
        yield node, parent
        waiting += [(child, row) for child in reversed(node.children)]


def _frame(call: _CallFrame, maps: SourceMaps) -> SourceFrame:
    """The position of the function, in the original source if the script has a map."""
    path, line = path_of(call.url), call.lineNumber + 1
    mapped = maps.of(path)
    if mapped is not None and line > 0:
        path, line = mapped.original(line - 1, max(call.columnNumber, 0)) or (path, line)
    return profiled_frame(path, line, call.functionName or _ANONYMOUS)


def _warnings(samples: int, lost: int, repeated: int) -> list[FileWarning]:
    warnings = []
    if lost:
        said = phrase("Samples left out because their stacks are not in the file: {n}.", n=lost)
        warnings.append(FileWarning("lost-samples", said))
    if repeated:
        said = phrase(
            "Stacks with the number of another: {n}. Samples count for the last one with their number.",
            n=repeated,
        )
        warnings.append(FileWarning("equal-ids", said))
    if not samples:
        said = phrase("The file has no samples: nothing that was recorded is still alive.")
        return [*warnings, FileWarning("no-samples", said)]
    said = phrase(
        "Sampled: V8 estimated the bytes from samples, at an interval that the file doesn't have (by default "
        "32 KiB in DevTools, 512 KiB with --heap-prof). Lines are those where functions begin."
    )
    return [*warnings, FileWarning("sampled", said)]
