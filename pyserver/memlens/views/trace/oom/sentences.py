"""An out-of-memory event in sentences: what the figures prove, and what would have helped if they show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memlens.model.frames import is_recorder, operator_of
from memlens.units import MIB, SOURCE_WORDS, format_bytes
from memlens.views.answers import Frame, Gap
from memlens.views.trace.oom.answers import (
    Finding,
    FreePlace,
    HoldingLine,
    PinnedSegment,
    PinningLine,
    Retry,
    Verdict,
    Why,
)

LEAST_SPLIT_LIMIT_BYTES = 21 * MIB
"""``max_split_size_mb`` must be more than 20 (kLargeBuffer of CUDAAllocatorConfig)."""

_ELSEWHERE: dict[Why, str] = {
    "other_stream": "in segments of other streams",
    "other_pool": "in segments of private pools (CUDA graphs or MemPool) that are not the request's",
    "other_size_class": "in segments of the other size class (up to 1 MiB, and above)",
}


@dataclass(slots=True)
class Case:
    """The figures of an event, see :class:`memlens.views.trace.oom.answers.OomAnswer`."""

    device: int
    event: int
    size_bytes: int
    """0 if unknown."""
    size_known: bool
    driver_bytes: int
    device_free_bytes: int | None
    gap: Gap
    segments_known: bool
    places: Mapping[Why, FreePlace]
    shared_free_bytes: int
    """What is free in segments that belong to no private pool."""
    private_idle_bytes: int
    """The bytes of private pools' segments without blocks."""
    event_pool_known: bool
    expandable: bool | None
    """Whether expandable_segments was on; None if the file doesn't say."""
    pinned: Sequence[PinnedSegment]
    pinning: Sequence[PinningLine]
    lines: Sequence[HoldingLine]
    returned_segments: int
    returned_bytes: int
    retry: Retry | None
    events_after: int
    verdict: Verdict = field(init=False)

    def __post_init__(self) -> None:
        self.verdict = self._verdict()

    @property
    def device_free(self) -> int:
        """What the device had free, 0 if unknown."""
        return self.device_free_bytes or 0

    @property
    def usable(self) -> FreePlace:
        """The free pieces that could serve such a request."""
        return self.places.get("usable", FreePlace("usable", 0, 0, 0, 0, "0x0"))

    @property
    def free_bytes(self) -> int:
        """All free bytes in segments."""
        return sum(place.bytes for place in self.places.values())

    def _verdict(self) -> Verdict:
        if not self.size_known:
            return "unknown"
        if self.segments_known and self.usable.largest_bytes >= self.size_bytes:
            return "unexplained"
        if self.device_free_bytes is None:
            return "unknown"
        if self.device_free_bytes >= self.driver_bytes:
            return "limit"
        if self.device_free_bytes >= self.size_bytes:
            return "driver_step"
        if self.size_bytes > self.device_free + self.free_bytes:
            return "too_large"
        if self.size_bytes > self.device_free + self.usable.bytes:
            return "elsewhere"
        return "fragmented"


def place_name(frame: Frame | None, operator: str | None) -> str:
    """The name of a line in a sentence."""
    if frame is None:
        return f"what was {operator}" if operator else "code whose stack is not in the file"
    if frame.file and frame.line:
        name = frame.file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name}:{frame.line} ({frame.function}){SOURCE_WORDS[frame.source]}"
    return operator or frame.function or "native code"


def asked_by(frame: Frame | None, functions: Sequence[str]) -> str:
    """The origin of a request in words; ``functions`` are those of its stack, innermost first."""
    if frame is not None:
        return f"asked for at {frame.file}:{frame.line} {frame.function}{SOURCE_WORDS[frame.source]}"
    if not functions:
        return "no stack was recorded for the request"
    text = "no Python frame was recorded for the request"
    outermost = operator_of(functions)
    if outermost is not None:
        innermost = next(name for function in functions if (name := operator_of([function])) is not None)
        within = "" if innermost == outermost else f", the innermost {innermost}"
        return f"{text}; the outermost operator is {outermost}{within}"
    named = [function for function in functions if function and not is_recorder(function)]
    return f"{text}; the innermost native function is {named[0]}" if named else text


def headline(case: Case) -> str:
    """The event in one sentence."""
    free = (
        "the file doesn't say what the device had free"
        if case.device_free_bytes is None
        else f"the device had {format_bytes(case.device_free_bytes)} free"
    )
    asked = f"{format_bytes(case.size_bytes)} were" if case.size_known else "An unknown amount was"
    text = f"{asked} asked for and {free}"
    if not case.segments_known:
        return f"{text}; the file has no segments."
    text += f"; of {format_bytes(case.gap.reserved_bytes)} reserved "
    place = case.usable
    if place.pieces == 0:
        return f"{text}nothing was free for such a request."
    pieces = "in one piece" if place.pieces == 1 else f"in {place.pieces:,} pieces"
    largest = "" if place.pieces == 1 else f", the largest {format_bytes(place.largest_bytes)}"
    return f"{text}{format_bytes(place.bytes)} were free for it {pieces}{largest}."


def findings(case: Case) -> list[Finding]:
    """Sentences about the figures, the most important first."""
    found = [_why(case)]
    for explain in (_elsewhere, _pending, _returned, _rest, _retry):
        finding = explain(case)
        if finding is not None:
            found.append(finding)
    for advise in _ADVICE:
        finding = advise(case)
        if finding is not None:
            found.append(finding)
    return found


def _why(case: Case) -> Finding:
    size, free = format_bytes(case.size_bytes), format_bytes(case.device_free)
    usable = case.usable
    match case.verdict:
        case "too_large":
            all_free = case.device_free + case.free_bytes
            text = (
                f"The request is larger than all that was free: {free} on the device and "
                f"{format_bytes(case.free_bytes)} in segments come to {format_bytes(all_free)}, "
                f"{format_bytes(case.size_bytes - all_free)} too little."
            )
            reach = case.device_free + case.gap.reserved_bytes
            if case.size_bytes > reach:
                text += (
                    f" Even with nothing else live in this process it wouldn't have fitted: {free} free and "
                    f"{format_bytes(case.gap.reserved_bytes)} reserved come to {format_bytes(reach)}."
                )
        case "fragmented":
            together = format_bytes(usable.bytes + case.device_free)
            text = (
                f"Enough was free, but not in one piece: {format_bytes(usable.bytes)} in {usable.pieces:,} "
                f"pieces of at most {format_bytes(usable.largest_bytes)}, and {free} on the device, "
                f"together {together} for a request of {size}."
            )
        case "elsewhere":
            text = (
                f"Enough was free in all, but not where the request could use it: {format_bytes(usable.bytes)} of "
                f"{format_bytes(case.free_bytes)} free in segments, and {free} on the device."
            )
        case "driver_step":
            text = (
                f"The {free} free on the device would have held the request itself, but for it the allocator asks the "
                f"driver for {format_bytes(case.driver_bytes)} at once, and no piece of {size} was free in segments."
            )
        case "limit":
            text = (
                f"The device had enough free ({free}; the allocator would have asked for "
                f"{format_bytes(case.driver_bytes)}), so it was not the device that was full. What forbade it, such "
                "as torch.cuda.set_per_process_memory_fraction, is not in the file."
            )
        case "unexplained":
            text = (
                f"By the trace a free piece of {format_bytes(usable.largest_bytes)} at {usable.largest_address} was "
                "large enough. So blocks were larger than the trace shows, or the request belonged to another pool."
            )
        case _:
            what = "what the device had free" if case.size_known else "how much was asked for"
            text = f"The file doesn't say {what}, so why the driver gave nothing is not known."
    return Finding(case.verdict.replace("_", "-"), text, advice=False)


def _elsewhere(case: Case) -> Finding | None:
    parts = []
    for why, words in _ELSEWHERE.items():
        place = case.places.get(why)
        if place is not None:
            fits = " (large enough)" if place.largest_bytes >= case.size_bytes else ""
            parts.append(
                f"{format_bytes(place.bytes)} {words}, the largest piece {format_bytes(place.largest_bytes)}{fits}"
            )
    if not parts:
        return None
    text = f"Free, but of no use to this request: {'; '.join(parts)}."
    if "other_pool" in case.places and not case.event_pool_known:
        text += " The file doesn't say the request's pool; it is taken to be the default one."
    return Finding("not-for-it", text, advice=False)


def _pending(case: Case) -> Finding | None:
    if not case.gap.pending_bytes:
        return None
    text = (
        f"{format_bytes(case.gap.pending_bytes)} were freed by the program but still waited for work on other streams "
        "(record_stream)."
    )
    return Finding("pending", text, advice=False)


def _returned(case: Case) -> Finding | None:
    if not case.returned_segments:
        return None
    text = (
        f"Right before, the allocator had given {format_bytes(case.returned_bytes)} in {case.returned_segments:,} "
        f"{'segment' if case.returned_segments == 1 else 'segments'} back to the driver, and it was not enough."
    )
    return Finding("given-back", text, advice=False)


def _rest(case: Case) -> Finding | None:
    place = case.places.get("rest")
    if place is None:
        return None
    text = (
        f"{format_bytes(place.bytes)} are remainders of at most 1 MiB after blocks of large segments, which the "
        "allocator doesn't split off."
    )
    return Finding("rest", text, advice=False)


def _retry(case: Case) -> Finding | None:
    if case.retry is None:
        if not case.events_after:
            return None
        text = f"The trace goes on for {case.events_after:,} events, but no allocation of this size succeeded in it."
        return Finding("went-on", text, advice=False)
    retry = case.retry
    later = retry.event - case.event
    failed = f", after {retry.failures_between:,} more failures" if retry.failures_between else ""
    where = "from the same stack" if retry.same_stack else "from another stack"
    text = (
        f"An allocation of the same size succeeded {later:,} {'event' if later == 1 else 'events'} later, "
        f"{where}{failed}."
    )
    return Finding("retry-succeeded", text, advice=False, allocation=retry.allocation)


# --- what would have helped ------------------------------------------------------------------------------------------


def _line_to_look_at(case: Case) -> Finding | None:
    if case.verdict in ("limit", "unexplained") or not case.lines:
        return None
    line = case.lines[0]
    live = max(sum(other.bytes for other in case.lines), 1)
    share = line.bytes / live
    text = (
        f"The most was held by {place_name(line.frame, line.operator)}: {format_bytes(line.bytes)} in "
        f"{line.count:,} {'allocation' if line.count == 1 else 'allocations'}, {share:.0%} of what was live"
    )
    missing = case.size_bytes - case.device_free - case.free_bytes
    if missing > 0:
        verb = "is more than" if line.bytes >= missing else "is less than"
        text += f"; that {verb} the {format_bytes(missing)} that were missing"
    return Finding(
        "largest-line", f"{text}.", advice=True, frame=line.frame, allocation=line.largest_allocation
    )


def _pinning_line(case: Case) -> Finding | None:
    if case.verdict not in ("fragmented", "elsewhere") or not case.pinning:
        return None
    line = case.pinning[0]
    text = (
        f"{line.count:,} {'block' if line.count == 1 else 'blocks'} from {place_name(line.frame, line.operator)}, "
        f"{format_bytes(line.bytes)}, {'lies' if line.count == 1 else 'lie'} in "
        f"{line.segments:,} split {'segment' if line.segments == 1 else 'segments'} in which "
        f"{format_bytes(line.pinned_bytes)} are free"
    )
    if line.alone_bytes:
        text += f"; {format_bytes(line.alone_bytes)} of that in segments that no other line holds"
    return Finding(
        "pinning-line", f"{text}.", advice=True, frame=line.frame, allocation=line.largest_allocation
    )


def _expandable(case: Case) -> Finding | None:
    if case.expandable or case.device_free_bytes is None or case.verdict not in ("fragmented", "elsewhere"):
        return None
    free = case.shared_free_bytes
    if case.size_bytes > case.device_free + free:
        return None
    state = "was off" if case.expandable is False else "is not recorded in the file"
    page = "2 MiB" if case.size_bytes <= MIB else "20 MiB"
    text = (
        f"expandable_segments {state}. With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True free memory is given "
        f"back and taken by pages ({page} for such a request) instead of whole segments, so free pieces can serve "
        f"one request together: here {format_bytes(free)} in segments and {format_bytes(case.device_free)} on the "
        f"device for {format_bytes(case.size_bytes)}, less what is lost to pages that are partly used."
    )
    return Finding("expandable-segments", text, advice=True)


def _split_limit(case: Case) -> Finding | None:
    """A segment that would have been free as a whole if no small block had been cut from it."""
    if case.expandable or case.verdict not in ("fragmented", "elsewhere") or case.size_bytes <= MIB:
        return None
    best: tuple[int, PinnedSegment] | None = None
    for segment in case.pinned:
        if not segment.large_enough or segment.expandable or not segment.blocks:
            continue
        # a block below the limit is never cut from a free block at or above the limit
        limit = max(LEAST_SPLIT_LIMIT_BYTES, (_block_bytes(segment) // MIB + 1) * MIB)
        if limit <= segment.size_bytes and (best is None or limit < best[0]):
            best = limit, segment
    if best is None:
        return None
    limit, segment = best
    text = (
        f"The segment of {format_bytes(segment.size_bytes)} at {segment.address} would hold the request, but "
        f"{segment.block_count:,} {'block' if segment.block_count == 1 else 'blocks'} of at most "
        f"{format_bytes(_block_bytes(segment))} ({format_bytes(segment.block_bytes)} in all) split it. "
        f"max_split_size_mb:{limit // MIB} forbids cutting such blocks from free ones of "
        f"{format_bytes(limit)} or more."
    )
    return Finding(
        "max-split-size",
        text,
        advice=True,
        frame=segment.blocks[0].label,
        allocation=segment.blocks[0].allocation,
    )


def _block_bytes(segment: PinnedSegment) -> int:
    return max((block.rounded_bytes or block.size_bytes for block in segment.blocks), default=0)


def _wholly_free(case: Case) -> Finding | None:
    if not case.gap.wholly_free_bytes or case.device_free_bytes is None or case.verdict == "limit":
        return None
    text = f"{format_bytes(case.gap.wholly_free_bytes)} of segments held no block at all and had not been given back"
    shared = case.gap.wholly_free_bytes - case.private_idle_bytes
    if case.private_idle_bytes:
        text += f"; {format_bytes(case.private_idle_bytes)} of them belong to private pools, which keep them"
    if shared and case.device_free + shared >= case.driver_bytes:
        text += (
            f"; {format_bytes(shared)} with the {format_bytes(case.device_free)} free on the device would be enough: "
            "torch.cuda.empty_cache() before the request gives such segments back, garbage_collection_threshold does "
            "it by itself"
        )
    return Finding("wholly-free", f"{text}.", advice=True)


def _no_setting(case: Case) -> Finding | None:
    if case.verdict != "too_large":
        return None
    text = "No setting of the allocator would have helped: less must be live, or the request must be smaller."
    return Finding("no-setting-helps", text, advice=True)


_ADVICE: tuple[Callable[[Case], Finding | None], ...] = (
    _no_setting, _expandable, _pinning_line, _split_limit, _wholly_free, _line_to_look_at,
)  # fmt: skip
