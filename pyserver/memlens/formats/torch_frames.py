"""The frames of a PyTorch snapshot, with those that only its FX and forward fields tell set into the stacks."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from memlens.model.frames import (
    FORWARD,
    FX,
    NATIVE,
    Frames,
    FxNode,
    SourceFrame,
    source_frame,
    traceback_frames,
)
from memlens.model.timeline import Column

_MOST_ADDED = 50_000_000
"""Frames set into stacks; beyond it a hostile file could fill memory, and the recorded frames are shown alone."""


class Texts(Protocol):
    """The file's strings by id."""

    def __getitem__(self, row: int, /) -> str: ...


def frames_of(
    rows: Column, texts: Texts, starts: npt.NDArray[np.uint64], sequence: npt.NDArray[np.uint32]
) -> Frames:
    """The scanner's frame rows and stacks as the model's.

    A line of ``forward_frames`` (rows marked ``forward``, which the scanner puts outside of an event's own frames)
    becomes a frame of source FORWARD. Generated code that tells its ``fx_original_trace`` gets the frames of that
    trace set in as if it had called them: they are the code that it was generated from, so they are what a person
    wants to see first.
    """
    frames: list[SourceFrame] = []
    sources = np.zeros(len(rows), np.uint8)
    for number, (file, name, line, forward) in enumerate(
        zip(*(rows[field].tolist() for field in ("file", "name", "line", "forward")), strict=True)
    ):
        if forward:
            sources[number] = FORWARD
            told = traceback_frames(texts[name])
            frames.append(told[0] if told else SourceFrame("", 0, texts[name].strip()[:200], NATIVE))
        else:
            frames.append(source_frame(texts[file], line, texts[name]))
    nodes, traces = _fx(rows, texts)
    found = Frames(frames, starts, sequence, sources, nodes)
    return _with_traces(found, traces) if traces else found


def _fx(rows: Column, texts: Texts) -> tuple[list[FxNode], dict[int, list[SourceFrame]]]:
    """The FX nodes that frames tell of, and the frames of their original traces, innermost first, by frame."""
    fields = ("fx_op", "fx_name", "fx_target", "fx_info")
    told = np.flatnonzero(sum(rows[field].astype(np.int64) for field in (*fields, "fx_trace")))
    nodes, traces = [], {}
    for frame in told.tolist():
        row = rows[frame]
        nodes.append(FxNode(frame, *(texts[int(row[field]) - 1] if row[field] else "" for field in fields)))
        if row["fx_trace"]:
            trace = traceback_frames(texts[int(row["fx_trace"]) - 1])
            if trace:
                traces[frame] = trace
    return nodes, traces


def _with_traces(found: Frames, traces: Mapping[int, list[SourceFrame]]) -> Frames:
    """Stacks with the ``traces`` of their frames set in, each on the inner side of its frame."""
    numbers: dict[SourceFrame, int] = {}
    added: list[int] = []
    first, counts = np.zeros((2, len(found.frames)), np.int64)
    for frame, trace in traces.items():
        first[frame], counts[frame] = len(added), len(trace)
        added += [numbers.setdefault(line, len(found.frames) + len(numbers)) for line in trace]
    here = np.flatnonzero(counts[found.sequence])
    more = counts[found.sequence[here]]
    total = int(more.sum())
    if total > _MOST_ADDED:
        return found
    # the trace of each occurrence, one after the other
    offsets = np.arange(total) - np.repeat(np.cumsum(more) - more, more)
    values = np.asarray(added, np.uint32)[np.repeat(first[found.sequence[here]], more) + offsets]
    sequence = np.insert(found.sequence, np.repeat(here, more), values)
    before = np.zeros(len(found.sequence) + 1, np.uint64)
    np.cumsum(counts[found.sequence], out=before[1:], dtype=np.uint64)
    return Frames(
        [*found.frames, *numbers],
        found.starts + before[found.starts.astype(np.int64)],
        sequence,
        np.concatenate((found.sources, np.full(len(numbers), FX, np.uint8))),
        found.fx_nodes,
    )
