"""Reserved memory that nothing uses at the end of the trace: split segments, and segments without a block."""

from collections.abc import Iterator

import numpy as np

from memlens.kernels.trace.allocator import EXPANDABLE
from memlens.texts import Text, phrase, plural
from memlens.units import MIB, format_bytes
from memlens.views.findings.answers import Evidence, Figure, LineLink
from memlens.views.findings.groups import line_link
from memlens.views.findings.trace.case import LEAST_EVENTS, TraceCase
from memlens.views.findings.writing import Ranked, amount, base_line, linked, made, percent
from memlens.views.selection.columns import NEVER, frame
from memlens.views.trace.allocator.state import INACTIVE, AllocatorState, state_at

LEAST_BYTES = 64 * MIB
SPLIT_SHARE = 0.1
IDLE_SHARE = 0.2


def fragmentation(case: TraceCase) -> Iterator[Ranked]:
    """At least a tenth of what is reserved at the end of the trace, and 64 MiB, is free in segments that other blocks
    split, so that it can't be given back; and the line with blocks in the most of that.
    """
    if not case.info.reserved_at_end_bytes:
        return
    state = _state(case)
    reserved = case.info.reserved_at_end_bytes
    segments = state.segments
    split = np.flatnonzero((segments["active"] > 0) & (segments["flags"] & EXPANDABLE == 0))
    free = int((segments["size"] - segments["active"])[split].sum())
    if free < max(LEAST_BYTES, SPLIT_SHARE * reserved):
        return
    query = (
        f"SELECT sum(total_bytes - active_bytes) FROM segments WHERE device = {case.number} AND NOT expandable "
        "AND active_bytes > 0"
    )
    figure = Figure(free, "bytes", "inactive_split", query)
    evidence = Evidence("state", case.at(case.info.events))
    link, holder = _holder(case, state, split)
    sentence = phrase(
        "{free} of {reserved} reserved ({share}) is free but fragmented when the snapshot is taken{holder}. "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets such pieces be used together.",
        free=amount(figure, evidence), reserved=amount(case.reserved_figure(), evidence),
        share=percent(free, reserved), holder=holder,
    )  # fmt: skip
    finding = made("fragmentation", phrase("Fragmentation"), sentence, figure, evidence, link)
    yield Ranked(0.6 * free / reserved, finding)


def idle_segments(case: TraceCase) -> Iterator[Ranked]:
    """At least a fifth of what is reserved at the end of the trace, and 64 MiB, lies in segments without a block."""
    if not case.info.reserved_at_end_bytes:
        return
    state = _state(case)
    reserved = case.info.reserved_at_end_bytes
    segments = state.segments
    idle = (segments["active"] == 0) & (segments["flags"] & EXPANDABLE == 0)
    unused = int(segments["size"][idle].sum())
    if unused < max(LEAST_BYTES, IDLE_SHARE * reserved):
        return
    query = (
        f"SELECT sum(total_bytes) FROM segments WHERE device = {case.number} AND NOT expandable "
        "AND active_bytes = 0"
    )
    figure = Figure(unused, "bytes", "wholly_free", query)
    evidence = Evidence("state", case.at(case.info.events))
    count = int(np.count_nonzero(idle))
    sentence = phrase(
        "{unused} of {reserved} reserved ({share}) is unused when the snapshot is taken: {segments} without an "
        "allocation, kept by the allocator. torch.cuda.empty_cache() gives them back to other processes.",
        unused=amount(figure, evidence), reserved=amount(case.reserved_figure(), evidence),
        share=percent(unused, reserved), segments=phrase(plural(count, "{n} segment", "{n} segments"), n=count),
    )  # fmt: skip
    finding = made("idle_segments", phrase("Cached and unused"), sentence, figure, evidence)
    # after a run nearly everything is unused
    yield Ranked((0.4 if case.info.events < LEAST_EVENTS else 0.15) * unused / reserved, finding)


def _state(case: TraceCase) -> AllocatorState:
    return case.snapshot.keep(
        f"{case.number}.findings.state", lambda: state_at(case.snapshot, case.number, case.info.events)
    )


def _holder(
    case: TraceCase, state: AllocatorState, split: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> tuple[LineLink | None, Text | str]:
    """The line that has blocks in the segments with the most free memory together."""
    free = state.segments["size"] - state.segments["active"]
    blocks = state.blocks[(state.blocks["state"] != INACTIVE) & np.isin(state.blocks["segment"], split)]
    labels = case.snapshot.stacks.label[blocks["stack"]]
    blocks, labels = blocks[labels != NEVER], labels[labels != NEVER]
    if not len(blocks):
        return None, ""
    pairs = np.unique(np.stack((labels.astype(np.int64), blocks["segment"].astype(np.int64))), axis=1)
    frames, group = np.unique(pairs[0], return_inverse=True)
    sums = np.bincount(group, free[pairs[1]])
    best = int(np.argmax(sums))
    number = int(frames[best])
    place = frame(case.snapshot.frames.rows([number])[number], int(case.snapshot.frames.source[number]))
    link = line_link(case.snapshot, place)
    if link is None:
        return None, ""
    touched = int(np.count_nonzero(group == best))
    return link, phrase(
        plural(
            len(split),
            "; {touched} of {n} such segment, with {size} of it, also holds blocks of {line}",
            "; {touched} of {n} such segments, with {size} of it, also hold blocks of {line}",
        ),
        line=linked(base_line(link), line=link), touched=touched, n=len(split),
        size=format_bytes(int(sums[best])),
    )  # fmt: skip
