"""The frames of a PyTorch snapshot, with those from its FX and forward fields inserted into the stacks."""

import re
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from memlens.arrays import U32, U64
from memlens.model.frames import (
    FORWARD,
    FX,
    LIBRARY,
    MOST_NAME,
    MOST_PATH,
    NATIVE,
    NATIVE_SUFFIXES,
    NO_FILE,
    USER,
    Frames,
    FxNode,
    SourceFrame,
    shortened_text,
)
from memlens.model.libraries import library_of
from memlens.model.timeline import Column
from memlens.packs.pytorch.fx_modules import module_names

_PROFILER_NAME = re.compile(r"^(?P<file>.+)\((?P<line>\d{1,9})\): (?P<function>.+)$", re.ASCII)
_COMPILED = frozenset(("the C library", "C++'s library", "CPython", "PyTorch's C++"))
_MOST_ADDED = 50_000_000
"""Limit on inserted frames, because a hostile file could fill memory; beyond it only recorded frames are shown."""


class Texts(Protocol):
    """The file's strings by id."""

    def __getitem__(self, row: int, /) -> str: ...


def source_frame(filename: str, line: int, name: str) -> SourceFrame:
    """Classify a frame of PyTorch as user code, library code or native code.

    The CPU profiler's frames have their file and line in the name, ``torch/nn/modules/linear.py(130): forward``, and
    the file name ``none`` (``torch.cuda._memory_viz._profile_to_snapshot``).
    """
    filename, name = shortened_text(filename, MOST_PATH), shortened_text(name, MOST_NAME)
    relative = False
    if filename in NO_FILE:
        place = _PROFILER_NAME.match(name)
        if place is None:
            return SourceFrame("", 0, name, NATIVE)
        filename, line, name = place["file"], int(place["line"]), place["function"]
        relative = True
        if filename in NO_FILE or filename.startswith("<built-in"):
            return SourceFrame("", 0, name, NATIVE)
    # Python frames always have a line
    if line <= 0 or filename.lower().endswith(NATIVE_SUFFIXES):
        return SourceFrame(filename, line, name, NATIVE)
    # the profiler cuts off the interpreter's prefixes
    library = library_of(filename, name, cut=relative)
    # C++ has headers without a suffix
    kind = NATIVE if library in _COMPILED else LIBRARY if library else USER
    return SourceFrame(filename, line, name, kind)


_TRACEBACK_LINE = re.compile(
    r'^\s*File "(?P<file>[^"\n]*)", line (?P<line>\d{1,9})(?:, in (?P<function>[^\n]*))?', re.MULTILINE
)
_MOST_TRACEBACK_LINES = 64


def traceback_frames(text: str) -> list[SourceFrame]:
    """Parse the lines ``File "x.py", line 12, in f`` of a traceback into frames, innermost first.

    ``fx_original_trace`` and each of ``forward_frames`` are such texts (``traceback.format_list``), outermost first.
    """
    lines = list(_TRACEBACK_LINE.finditer(text[:1_000_000]))[-_MOST_TRACEBACK_LINES:]
    return [
        source_frame(line["file"], int(line["line"]), (line["function"] or "").strip())
        for line in reversed(lines)
    ]


def frames_of(
    rows: Column,
    texts: Texts,
    starts: U64,
    sequence: U32,
    modules: tuple[U64, U32],
) -> Frames:
    """Convert the scanner's frame rows and stacks to the model's.

    A line of ``forward_frames`` (rows marked ``forward``, which the scanner puts outside of an event's own frames)
    becomes a frame of source FORWARD. For generated code with an ``fx_original_trace`` the frames of that trace are
    inserted as if it had called them: they are the code that it was generated from, which people want to see first.

    ``modules`` are the scanner's module stacks, ``(starts, string ids)``, for what ``nn_module_stack`` names.
    """
    frames: list[SourceFrame] = []
    sources = np.zeros(len(rows), np.uint8)
    for number, (file, name, line, forward) in enumerate(
        zip(*(rows[field].tolist() for field in ("file", "name", "line", "forward")), strict=True)
    ):
        if forward:
            sources[number] = FORWARD
            parsed = traceback_frames(texts[name])
            frames.append(parsed[0] if parsed else SourceFrame("", 0, texts[name].strip()[:200], NATIVE))
        else:
            frames.append(source_frame(texts[file], line, texts[name]))
    named = _named_modules(rows, texts, modules)
    nodes, traces = _fx(rows, texts, named)
    found = Frames(frames, starts, sequence, sources, nodes, named)
    return _with_traces(found, traces) if traces else found


def _named_modules(rows: Column, texts: Texts, modules: tuple[U64, U32]) -> dict[int, tuple[str, ...]]:
    """The modules of frames according to their FX node's ``nn_module_stack``, outermost first, by frame."""
    starts, ids = modules
    names: dict[int, tuple[str, ...]] = {}
    named = {}
    for frame in np.flatnonzero(rows["fx_modules"]).tolist():
        stack = int(rows["fx_modules"][frame])
        if stack not in names:
            names[stack] = module_names(
                [texts[i] for i in ids[int(starts[stack]) : int(starts[stack + 1])].tolist()]
            )
        if names[stack]:
            named[frame] = names[stack]
    return named


def _fx(
    rows: Column, texts: Texts, modules: Mapping[int, tuple[str, ...]]
) -> tuple[list[FxNode], dict[int, list[SourceFrame]]]:
    """The FX nodes of frames, and the frames of their original traces, innermost first, by frame."""
    fields = ("fx_op", "fx_name", "fx_target", "fx_info")
    named = np.flatnonzero(sum(rows[field].astype(np.int64) for field in (*fields, "fx_trace", "fx_modules")))
    nodes, traces = [], {}
    for frame in named.tolist():
        row = rows[frame]
        node = FxNode(frame, *(texts[int(row[field]) - 1] if row[field] else "" for field in fields))
        nodes.append(
            node if node.info or frame not in modules else node._replace(info=" / ".join(modules[frame]))
        )
        if row["fx_trace"]:
            trace = traceback_frames(texts[int(row["fx_trace"]) - 1])
            if trace:
                traces[frame] = trace
    return nodes, traces


def _with_traces(found: Frames, traces: Mapping[int, list[SourceFrame]]) -> Frames:
    """Stacks with the ``traces`` of their frames inserted, each on the inner side of its frame."""
    # lines of a trace whose node names its modules are distinct frames, because their modules are known already
    numbers: dict[tuple[SourceFrame, bool], int] = {}
    added: list[int] = []
    first, counts = np.zeros((2, len(found.frames)), np.int64)
    for frame, trace in traces.items():
        first[frame], counts[frame] = len(added), len(trace)
        named = frame in found.modules
        added += [numbers.setdefault((line, named), len(found.frames) + len(numbers)) for line in trace]
    here = np.flatnonzero(counts[found.sequence])
    more = counts[found.sequence[here]]
    total = int(more.sum())
    if total > _MOST_ADDED:
        return found
    # the traces of all occurrences, concatenated
    offsets = np.arange(total) - np.repeat(np.cumsum(more) - more, more)
    values = np.asarray(added, np.uint32)[np.repeat(first[found.sequence[here]], more) + offsets]
    sequence = np.insert(found.sequence, np.repeat(here, more), values)
    before = np.zeros(len(found.sequence) + 1, np.uint64)
    np.cumsum(counts[found.sequence], out=before[1:], dtype=np.uint64)
    return Frames(
        [*found.frames, *(line for line, _ in numbers)],
        found.starts + before[found.starts.astype(np.int64)],
        sequence,
        np.concatenate((found.sources, np.full(len(numbers), FX, np.uint8))),
        found.fx_nodes,
        {**found.modules, **{number: () for (_, named), number in numbers.items() if named}},
    )
