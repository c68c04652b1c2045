"""Reserved memory that nothing uses: split segments at the peak, and at the end segments without a block."""

from collections.abc import Iterator

import numpy as np

from memlens.kernels.trace.allocator import EXPANDABLE
from memlens.packs.pytorch.oom_replays import EXPANDABLE as EXPANDED
from memlens.packs.pytorch.oom_replays import peaks_with
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase, plural
from memlens.units import MIB, format_bytes
from memlens.views.findings.answers import Evidence, Figure, LineLink
from memlens.views.findings.groups import line_link
from memlens.views.findings.trace.case import LEAST_EVENTS, TraceCase
from memlens.views.findings.writing import Ranked, amount, base_line, linked, made, percent
from memlens.views.naming.pools import NOT_RECORDED
from memlens.views.selection.columns import NEVER, frame
from memlens.views.trace.allocator.state import INACTIVE, AllocatorState, state_at
from memlens.views.trace.oom.pinning import held_blocks, pins, split_segments
from memlens.views.trace.what_if import NOTICEABLE

LEAST_BYTES = 64 * MIB
SPLIT_SHARE = 0.2
IDLE_SHARE = 0.2


def fragmentation(case: TraceCase) -> Iterator[Ranked]:
    """At least a fifth of what is reserved, and 64 MiB, is free in segments that other blocks split, so that it can't
    be given back; and the line with blocks in the most of that. At least half of it is outside of the largest piece.

    At the peak, because what a run leaves after its activations are gone disturbs nobody; for a snapshot without a
    trace, when it was taken.
    """
    state = _state(case)
    segments = state.segments
    split = split_segments(state)
    free = int((segments["size"] - segments["active"])[split].sum())
    reserved = state.reserved_bytes
    if not reserved or free < max(LEAST_BYTES, SPLIT_SHARE * reserved):
        return
    pieces = state.blocks[(state.blocks["state"] == INACTIVE) & np.isin(state.blocks["segment"], split)]
    if int(pieces["size"].max(initial=0)) * 2 > free:
        return
    at_end = case.info.events < LEAST_EVENTS
    query = (
        f"SELECT sum(total_bytes - active_bytes) FROM segments WHERE device = {case.number} AND NOT expandable "
        "AND active_bytes > 0"
    )
    figure = Figure(free, "bytes", "inactive_split", query if at_end else "")
    evidence = Evidence("state", case.at(state.moment))
    # no table has the segments of another moment, so that these amounts have no query
    whole = amount(case.reserved_figure(), evidence) if at_end else format_bytes(reserved)
    part = amount(figure, evidence) if at_end else linked(format_bytes(free), evidence=evidence)
    link, holder = _holder(case, state, split)
    sentence = phrase(
        "{free} of {reserved} reserved ({share}) is free but fragmented {when}{holder}.{advice}",
        free=part, reserved=whole, share=percent(free, reserved), advice=_expanded(case),
        when=phrase("when the snapshot is taken") if at_end else phrase("at the peak"), holder=holder,
    )  # fmt: skip
    finding = made("fragmentation", phrase("Fragmentation"), sentence, figure, evidence, link)
    yield Ranked(0.6 * free / reserved, finding)


def _expanded(case: TraceCase) -> Text | str:
    """Whether expandable segments would have reserved less; nothing where they wouldn't have."""
    found = peaks_with(case.snapshot, case.number, EXPANDED)
    if found is None:
        return phrase(" PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets such pieces be used together.")
    recorded, peak = found
    if peak > recorded * (1 - NOTICEABLE):
        return ""
    return phrase(
        " With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True {size} would have been reserved at the peak instead of "
        "{recorded}.",
        size=format_bytes(peak),
        recorded=format_bytes(recorded),
    )


def idle_segments(case: TraceCase) -> Iterator[Ranked]:
    """At least a fifth of what is reserved at the end of the trace, and 64 MiB, lies in segments without a block, or is
    free in expandable ones; and apart from that what is so in private pools.

    A note after a run, when nearly everything is unused; a finding of a snapshot without a trace.
    """
    if not case.info.reserved_at_end_bytes:
        return
    state = _at_end(case.snapshot, case.number, case.info.events)
    segments = state.segments
    expandable = segments["flags"] & EXPANDABLE != 0
    pools = case.snapshot.manifest.pools
    # unrecorded pools aren't known to be private
    own = [number for number, pool in enumerate(pools) if number != NOT_RECORDED and tuple(pool) != (0, 0)]
    private = np.isin(segments["pool"], own)
    idle = (segments["active"] == 0) | expandable
    unused = segments["size"] - segments["active"]
    for of_private, chosen in ((False, idle & ~private), (True, idle & private)):
        found = int(unused[chosen].sum())
        if found >= max(LEAST_BYTES, IDLE_SHARE * case.info.reserved_at_end_bytes):
            yield _idle(case, found, int(np.count_nonzero(chosen)), is_private=of_private)


def _idle(case: TraceCase, unused: int, count: int, *, is_private: bool) -> Ranked:
    reserved = case.info.reserved_at_end_bytes or 0
    query = (
        f"SELECT sum(total_bytes - active_bytes) FROM segments WHERE device = {case.number} "
        f"AND (expandable OR active_bytes = 0) AND coalesce(pool, '0:0') {'<>' if is_private else '='} '0:0'"
    )
    figure = Figure(unused, "bytes", "wholly_free", query)
    evidence = Evidence("state", case.at(case.info.events))
    sentence = phrase(
        "{unused} of {reserved} reserved ({share}) is unused when the snapshot is taken, in {segments} of {pool}. "
        "{advice}",
        unused=amount(figure, evidence), reserved=amount(case.reserved_figure(), evidence),
        share=percent(unused, reserved), segments=phrase(plural(count, "{n} segment", "{n} segments"), n=count),
        pool=phrase("private pools") if is_private else phrase("the allocator's cache"),
        advice=phrase(
            "torch.cuda.empty_cache() can't give it back while the CUDA graph or the MemPool that has it lives."
        ) if is_private
        else phrase("torch.cuda.empty_cache() gives what is unused back to other processes."),
    )  # fmt: skip
    after_run = case.info.events >= LEAST_EVENTS
    finding = made(
        "idle_segments", phrase("Cached and unused"), sentence, figure, evidence,
        is_note=after_run and not is_private,
    )  # fmt: skip
    return Ranked((0.15 if after_run else 0.4) * unused / reserved, finding)


def _state(case: TraceCase) -> AllocatorState:
    """What was reserved at the peak, or when a snapshot without a trace was taken."""
    if case.info.events < LEAST_EVENTS:
        return _at_end(case.snapshot, case.number, case.info.events)
    return state_at(case.snapshot, case.number, case.info.peak_moment)


@kept
def _at_end(snapshot: Snapshot, number: int, events: int) -> AllocatorState:
    return state_at(snapshot, number, events)


def _holder(
    case: TraceCase, state: AllocatorState, split: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> tuple[LineLink | None, Text | str]:
    """The line that has blocks in the segments with the most free memory together."""
    held = held_blocks(state, split)
    labels = case.snapshot.stacks.label[held["stack"]].astype(np.int64)
    held, labels = held[labels != NEVER], labels[labels != NEVER]
    best = next(pins(state, held, labels, 1), None)
    if best is None:
        return None, ""
    place = frame(
        case.snapshot.frames.rows([best.label])[best.label], int(case.snapshot.frames.source[best.label])
    )
    link = line_link(case.snapshot, place)
    if link is None:
        return None, ""
    return link, phrase(
        plural(
            len(split),
            "; {touched} of {n} such segment, with {size} of it, also holds blocks of {line}",
            "; {touched} of {n} such segments, with {size} of it, also hold blocks of {line}",
        ),
        line=linked(base_line(link), line=link), touched=best.segments, n=len(split),
        size=format_bytes(best.free_bytes),
    )  # fmt: skip
