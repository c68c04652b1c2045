"""An out-of-memory event in sentences: what the figures prove, and what would have helped if they show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memlens.packs.pytorch import operators
from memlens.packs.pytorch.oom_replays import EXPANDABLE, OutOfReplaysError, Replays
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import MIB, format_bytes
from memlens.views.answers import Frame, Gap
from memlens.views.selection.changes import Changes
from memlens.views.selection.terms import Term
from memlens.views.trace.oom.answers import (
    Finding,
    FreePlace,
    HoldingLine,
    OomAnswer,
    PinnedSegment,
    PinningLine,
    Retry,
    Verdict,
    Why,
)
from memlens.views.trace.oom.places import marked, place_name

LEAST_SPLIT_LIMIT_BYTES = 21 * MIB
"""``max_split_size_mb`` must be more than 20 (kLargeBuffer of CUDAAllocatorConfig)."""

_LINES_TO_TRY = 3
_FRACTION = "per_process_memory_fraction:"

_ELSEWHERE: dict[Why, Text] = {
    "other_stream": phrase("in segments of other streams"),
    "other_pool": phrase("in segments of private pools (CUDA graphs or MemPool) that are not the request's"),
    "other_size_class": phrase("in segments of the other size class (up to 1 MiB, and above)"),
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
    """Free bytes in segments outside of private pools."""
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
    replays: Callable[[Sequence[str]], Replays | None] = lambda _: None
    """Replays with the named settings, or with those that may help; None if unknown."""
    peak_with: Callable[[Changes], int | None] = lambda _: None
    """The reserved bytes with changes; None if the request still fails, or if unknown. Raises OutOfReplaysError."""
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


def asked_by(frame: Frame | None, functions: Sequence[str]) -> Text:
    """The origin of a request in words; ``functions`` are those of its stack, innermost first."""
    if frame is not None:
        line = marked(f"{frame.file}:{frame.line} {frame.function}", frame.source)
        return phrase("requested at {line}", line=line)
    if not functions:
        return phrase("no stack was recorded for the request")
    outermost = operators.operator_of(functions)
    if outermost is not None:
        innermost = next(
            name for function in functions if (name := operators.operator_of([function])) is not None
        )
        if innermost == outermost:
            return phrase(
                "no Python frame was recorded for the request; the outermost operator is {outermost}",
                outermost=outermost,
            )
        return phrase(
            "no Python frame was recorded for the request; the outermost operator is {outermost}, the innermost "
            "{innermost}",
            outermost=outermost,
            innermost=innermost,
        )
    named = [function for function in functions if function and not operators.is_recorder(function)]
    if not named:
        return phrase("no Python frame was recorded for the request")
    return phrase(
        "no Python frame was recorded for the request; the innermost native function is {function}",
        function=named[0],
    )


def headline(case: Case) -> Text:
    """The event in one sentence."""
    asked = (
        phrase("{size} were requested", size=format_bytes(case.size_bytes)) if case.size_known
        else phrase("An unknown amount was requested")
    )  # fmt: skip
    free = (
        phrase("the file doesn't say what the device had free") if case.device_free_bytes is None
        else phrase("the device had {size} free", size=format_bytes(case.device_free_bytes))
    )  # fmt: skip
    if not case.segments_known:
        return phrase("{asked} and {free}; the file has no segments.", asked=asked, free=free)
    reserved = format_bytes(case.gap.reserved_bytes)
    place = case.usable
    if place.pieces == 0:
        return phrase(
            "{asked} and {free}; of {reserved} reserved nothing was free for such a request.",
            asked=asked, free=free, reserved=reserved,
        )  # fmt: skip
    pieces = (
        phrase("in one piece") if place.pieces == 1
        else phrase("in {n} pieces, the largest {size}", n=place.pieces, size=format_bytes(place.largest_bytes))
    )  # fmt: skip
    return phrase(
        "{asked} and {free}; of {reserved} reserved {usable} were free for it {pieces}.",
        asked=asked, free=free, reserved=reserved, usable=format_bytes(place.bytes), pieces=pieces,
    )  # fmt: skip


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
    in_segments, reserved = format_bytes(case.free_bytes), format_bytes(case.gap.reserved_bytes)
    usable = case.usable
    match case.verdict:
        case "too_large":
            all_free = case.device_free + case.free_bytes
            reach = case.device_free + case.gap.reserved_bytes
            text = phrase(
                "The request is larger than all that was free: {free} on the device and {in_segments} in segments come "
                "to {whole}, {missing} too little.",
                free=free, in_segments=in_segments, whole=format_bytes(all_free),
                missing=format_bytes(case.size_bytes - all_free),
            )  # fmt: skip
            if case.size_bytes > reach:
                alone = phrase(
                    "Even with nothing else live in this process it wouldn't have fitted: {free} free and {reserved} "
                    "reserved come to {whole}.",
                    free=free, reserved=reserved, whole=format_bytes(reach),
                )  # fmt: skip
                text = in_a_row([text, alone], " ")
        case "fragmented":
            text = phrase(
                "Enough was free, but not in one piece: {usable} in {n} pieces of at most {largest}, and "
                "{free} on the device: {together} in total, for a request of {size}.",
                usable=format_bytes(usable.bytes), n=usable.pieces, largest=format_bytes(usable.largest_bytes),
                free=free, together=format_bytes(usable.bytes + case.device_free), size=size,
            )  # fmt: skip
        case "elsewhere":
            text = phrase(
                "Enough was free in all, but not where the request could use it: {usable} of {in_segments} free in "
                "segments, and {free} on the device.",
                usable=format_bytes(usable.bytes), in_segments=in_segments, free=free,
            )  # fmt: skip
        case "driver_step":
            text = phrase(
                "The {free} free on the device would have held the request itself, but the allocator asks "
                "the driver for {asked} at once, and no piece of {size} was free in segments.",
                free=free, asked=format_bytes(case.driver_bytes), size=size,
            )  # fmt: skip
        case "limit":
            text = phrase(
                "The device had enough free ({free}; the allocator would have requested {asked}), so it was "
                "not the device that was full. What limited it, such as "
                "torch.cuda.set_per_process_memory_fraction, is not in the file.",
                free=free, asked=format_bytes(case.driver_bytes),
            )  # fmt: skip
        case "unexplained":
            text = phrase(
                "According to the trace, a free piece of {size} at {address} was large enough. So blocks "
                "were larger than the trace shows, or the request belonged to another pool.",
                size=format_bytes(usable.largest_bytes), address=usable.largest_address,
            )  # fmt: skip
        case _:
            what = phrase("what the device had free") if case.size_known else phrase("how much was requested")
            text = phrase(
                "The file doesn't say {what}, so it is unknown why the driver gave nothing.", what=what
            )
    return Finding(case.verdict.replace("_", "-"), text, advice=False)


def _elsewhere(case: Case) -> Finding | None:
    parts = []
    for why, where in _ELSEWHERE.items():
        place = case.places.get(why)
        if place is not None:
            parts.append(
                phrase(
                    "{size} {where}, the largest piece {largest} (large enough)"
                    if place.largest_bytes >= case.size_bytes
                    else "{size} {where}, the largest piece {largest}",
                    size=format_bytes(place.bytes), where=where, largest=format_bytes(place.largest_bytes),
                )
            )  # fmt: skip
    if not parts:
        return None
    text = phrase("Free, but not usable for this request: {places}.", places=in_a_row(parts, "; "))
    if "other_pool" in case.places and not case.event_pool_known:
        taken = phrase("The file doesn't name the request's pool; the default one is assumed.")
        text = in_a_row([text, taken], " ")
    return Finding("not-for-it", text, advice=False)


def _pending(case: Case) -> Finding | None:
    if not case.gap.pending_bytes:
        return None
    text = phrase(
        "{size} were freed by the program but still waited for work on other streams (record_stream).",
        size=format_bytes(case.gap.pending_bytes),
    )
    return Finding("pending", text, advice=False)


def _returned(case: Case) -> Finding | None:
    if not case.returned_segments:
        return None
    text = phrase(
        plural(
            case.returned_segments,
            "Right before, the allocator had given {size} in {n} segment back to the driver, and it was not enough.",
            "Right before, the allocator had given {size} in {n} segments back to the driver, and it was not enough.",
        ),
        size=format_bytes(case.returned_bytes), n=case.returned_segments,
    )  # fmt: skip
    return Finding("given-back", text, advice=False)


def _rest(case: Case) -> Finding | None:
    place = case.places.get("rest")
    if place is None:
        return None
    text = phrase(
        "{size} are remainders of at most 1 MiB after blocks of large segments, which the allocator doesn't split off.",
        size=format_bytes(place.bytes),
    )
    return Finding("rest", text, advice=False)


def _retry(case: Case) -> Finding | None:
    if case.retry is None:
        if not case.events_after:
            return None
        text = phrase(
            "The trace goes on for {n} events, but no allocation of this size succeeded in it.",
            n=case.events_after,
        )
        return Finding("went-on", text, advice=False)
    retry = case.retry
    later = retry.event - case.event
    text = phrase(
        plural(
            later,
            "An allocation of the same size succeeded {n} event later, {where}{failed}.",
            "An allocation of the same size succeeded {n} events later, {where}{failed}.",
        ),
        n=later,
        where=phrase("from the same stack") if retry.same_stack else phrase("from another stack"),
        failed=phrase(", after {n} more failures", n=retry.failures_between)
        if retry.failures_between
        else "",
    )
    return Finding("retry-succeeded", text, advice=False, allocation=retry.allocation)


# --- what would have helped ------------------------------------------------------------------------------------------


def _line_to_look_at(case: Case) -> Finding | None:
    if case.verdict in ("limit", "unexplained") or not case.lines:
        return None
    line = case.lines[0]
    live = max(sum(other.bytes for other in case.lines), 1)
    missing = case.size_bytes - case.device_free - case.free_bytes
    beside: Text | str = ""
    if missing > 0:
        beside = phrase(
            "; that is more than the {size} by which the request exceeded all that was free"
            if line.bytes >= missing
            else "; that is less than the {size} by which the request exceeded all that was free",
            size=format_bytes(missing),
        )  # fmt: skip
    text = phrase(
        plural(
            line.count,
            "{line} held the most: {size} in {n} allocation, {share} of what was live{beside}.",
            "{line} held the most: {size} in {n} allocations, {share} of what was live{beside}.",
        ),
        line=place_name(line.frame, line.operator), size=format_bytes(line.bytes), n=line.count,
        share=f"{line.bytes / live:.0%}", beside=beside,
    )  # fmt: skip
    return Finding("largest-line", text, advice=True, frame=line.frame, allocation=line.largest_allocation)


def _enough(case: Case) -> Finding | None:
    """The first of the largest lines half of which, or else all of which, would have been enough."""
    try:
        return _enough_of(case)
    except OutOfReplaysError:
        text = phrase(
            "It was not tried which lines would have been enough: many requests before this one failed for "
            "other lines."
        )
        return Finding("not-tried", text, advice=True)


def _enough_of(case: Case) -> Finding | None:
    if case.verdict in ("limit", "unexplained", "unknown"):
        return None
    for line in case.lines[:_LINES_TO_TRY]:
        frame = line.frame
        if frame is None or not frame.file or not frame.line:
            continue
        term = str(Term("by", ":", (f"={frame.file}:{frame.line}",)))
        name = place_name(frame, line.operator)
        text: Text | None = None
        if (peak := case.peak_with(Changes(halve=(term,)))) is not None:
            text = phrase(
                "Half of what {line} allocates would have been enough: replayed with that, the trace reserves {size} "
                "at the peak.",
                line=name,
                size=format_bytes(peak),
            )
        elif (peak := case.peak_with(Changes(without=(term,)))) is not None:
            text = phrase(
                "Without what {line} allocates the request gets its memory: replayed without it, the trace reserves "
                "{size} at the peak.",
                line=name,
                size=format_bytes(peak),
            )
        if text is not None:
            return Finding("enough", text, advice=True, frame=frame, allocation=line.largest_allocation)
    return None


def _pinning_line(case: Case) -> Finding | None:
    if case.verdict not in ("fragmented", "elsewhere") or not case.pinning:
        return None
    line = case.pinning[0]
    text = phrase(
        plural(
            line.count,
            "{n} block from {line}, {size}, lies in {segments} in which {free} are free{alone}.",
            "{n} blocks from {line}, {size}, lie in {segments} in which {free} are free{alone}.",
        ),
        n=line.count, line=place_name(line.frame, line.operator), size=format_bytes(line.bytes),
        segments=phrase(plural(line.segments, "{n} split segment", "{n} split segments"), n=line.segments),
        free=format_bytes(line.pinned_bytes),
        alone=phrase(
            "; {size} of that in segments that no other line holds", size=format_bytes(line.alone_bytes)
        ) if line.alone_bytes else "",
    )  # fmt: skip
    return Finding("pinning-line", text, advice=True, frame=line.frame, allocation=line.largest_allocation)


def _expandable(case: Case) -> Finding | None:
    if case.expandable or case.device_free_bytes is None:
        return None
    replayed = case.replays(())
    if replayed is not None and EXPANDABLE not in replayed.peaks:
        return None
    peak = None if replayed is None or not replayed.is_proof else replayed.peaks[EXPANDABLE]
    if peak is not None:
        text = phrase(
            "With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True the request gets its memory: replayed with it, the "
            "trace reserves {size} at the peak.",
            size=format_bytes(peak),
        )
        return Finding("expandable-segments", text, advice=True)
    if case.verdict not in ("fragmented", "elsewhere"):
        return None
    free = case.shared_free_bytes
    if case.size_bytes > case.device_free + free:
        return None
    state = (
        phrase("expandable_segments was off.") if case.expandable is False
        else phrase("expandable_segments is not recorded in the file.")
    )  # fmt: skip
    helps = phrase(
        "With PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True free memory is given back and taken by pages ({page} "
        "for such a request) instead of whole segments, so free pieces can serve one request together: here {free} in "
        "segments and {on_device} on the device for {size}, less what is lost to pages that are partly used.",
        page="2 MiB" if case.size_bytes <= MIB else "20 MiB", free=format_bytes(free),
        on_device=format_bytes(case.device_free), size=format_bytes(case.size_bytes),
    )  # fmt: skip
    return Finding("expandable-segments", in_a_row([state, helps], " "), advice=True)


def _other_setting(case: Case) -> Finding | None:
    """The best setting with which the request succeeds, where expandable segments don't help."""
    replayed = None if case.device_free_bytes is None else case.replays(())
    if replayed is None or not replayed.is_proof:
        return None
    through = replayed.peaks
    if not through or EXPANDABLE in through or _split_limit(case) is not None:
        return None
    best = min(through, key=lambda words: through[words])
    text = phrase(
        "With PYTORCH_CUDA_ALLOC_CONF={settings} the request gets its memory: replayed with it, the trace reserves "
        "{size} at the peak.",
        settings=_set_by("expandable_segments:False" if best == "default" else best, replayed.capacity_bytes),
        size=format_bytes(through[best]),
    )
    return Finding("other-setting", text, advice=True)


def _set_by(settings: str, capacity_bytes: int) -> Text | str:
    """How settings are set in all versions: those before 2.10 don't read the fraction from the environment.

    Replays have a fraction of the memory that could be reserved, PyTorch one of the whole device.
    """
    parts = settings.split(",")
    fraction = next((part for part in parts if part.startswith(_FRACTION)), None)
    if fraction is None:
        return settings
    allowed = int(capacity_bytes * float(fraction.removeprefix(_FRACTION)))
    return phrase(
        "{settings} and {call}",
        settings=",".join(part for part in parts if part != fraction),
        call=f"torch.cuda.set_per_process_memory_fraction({allowed} / torch.cuda.mem_get_info()[1])",
    )


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
    setting = f"max_split_size_mb:{limit // MIB}"
    replayed = case.replays((setting,))
    if replayed is not None and setting not in replayed.peaks:
        return None
    text = phrase(
        plural(
            segment.block_count,
            "The segment of {size} at {address} would hold the request, but {n} block of at most {largest} "
            "({blocks} in total) splits it. max_split_size_mb:{limit_mb} forbids cutting such blocks from "
            "free ones of {limit} or more.",
            "The segment of {size} at {address} would hold the request, but {n} blocks of at most {largest} "
            "({blocks} in total) split it. max_split_size_mb:{limit_mb} forbids cutting such blocks from "
            "free ones of {limit} or more.",
        ),
        size=format_bytes(segment.size_bytes), address=segment.address, n=segment.block_count,
        largest=format_bytes(_block_bytes(segment)), blocks=format_bytes(segment.block_bytes),
        limit_mb=str(limit // MIB), limit=format_bytes(limit),
    )  # fmt: skip
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
    shared = case.gap.wholly_free_bytes - case.private_idle_bytes
    private: Text | str = ""
    if case.private_idle_bytes:
        private = phrase(
            "; {size} of that belongs to private pools, which keep it",
            size=format_bytes(case.private_idle_bytes),
        )
    enough: Text | str = ""
    if shared and case.device_free + shared >= case.driver_bytes:
        enough = phrase(
            "; {size} with the {free} free on the device would be enough: torch.cuda.empty_cache() before "
            "the request gives such segments back; garbage_collection_threshold does so automatically",
            size=format_bytes(shared), free=format_bytes(case.device_free),
        )  # fmt: skip
    text = phrase(
        "{size} of segments held no block at all and had not been given back{private}{enough}.",
        size=format_bytes(case.gap.wholly_free_bytes), private=private, enough=enough,
    )  # fmt: skip
    return Finding("wholly-free", text, advice=True)


def _no_setting(case: Case) -> Finding | None:
    replayed = None if case.verdict == "limit" else case.replays(())
    if case.verdict == "too_large" and _exceeds_all(case) and (replayed is None or not replayed.peaks):
        text = phrase(
            "No setting of the allocator would have helped: less must be live, or the request must be smaller."
        )
        return Finding("no-setting-helps", text, advice=True)
    if replayed is None or not replayed.all_fail or _split_limit(case) is not None:
        return None
    text = phrase(
        "Replayed with {settings}, the request or an earlier one fails as well: less must be live, or the request must "
        "be smaller."
        if any(replayed.failed.values())
        else "Replayed with {settings}, the request fails as well: less must be live, or the request must be smaller.",
        settings=in_a_row(replayed.tried, ", "),
    )
    return Finding("no-setting-helps", text, advice=True)


def _exceeds_all(case: Case) -> bool:
    """Whether there is too little memory even for an allocator without gaps and rounding."""
    return (
        case.segments_known
        and case.gap.requested_bytes + case.size_bytes > case.gap.reserved_bytes + case.device_free
    )


_ADVICE: tuple[Callable[[Case], Finding | None], ...] = (
    _no_setting, _expandable, _other_setting, _enough, _pinning_line, _split_limit, _wholly_free, _line_to_look_at,
)  # fmt: skip


def helps(answer: OomAnswer) -> Text | None:
    """A setting or a limit that would have helped by itself, in a sentence."""
    texts = {finding.code: finding.text for finding in answer.findings if finding.advice}
    if "expandable-segments" in texts:
        together = answer.shared_free_bytes + (answer.device_free_bytes or 0)
        if answer.verdict not in ("fragmented", "elsewhere") or together < answer.requested_bytes:
            return texts["expandable-segments"]
        return phrase(
            "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: {free} was free in segments, but not where the "
            "request could use it.",
            free=format_bytes(answer.shared_free_bytes),
        )
    if answer.verdict == "limit":
        return phrase("The device had enough free: look for a limit such as set_per_process_memory_fraction.")
    if "no-setting-helps" in texts and "enough" in texts:
        return phrase("{enough} By itself, no allocator setting would have helped.", enough=texts["enough"])
    return next(
        (texts[code] for code in ("other-setting", "max-split-size", "enough") if code in texts), None
    )
