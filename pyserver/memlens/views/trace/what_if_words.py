"""Writes the outcome of a replay as sentences."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import format_bytes
from memlens.views.trace.what_if import NOTICEABLE, Calibration, Run, WhatIf, When

CHANGES = {
    "without": phrase("Without these allocations"),
    "halve": phrase("With these allocations halved"),
    "free_at_once": phrase("With these allocations freed at once"),
    "recompute": phrase("With these allocations computed again"),
}


_WHEN: dict[When, Text] = {
    "out of memory": phrase("When memory ran out"),
    "most reserved": phrase("When most was reserved"),
    "peak": phrase("At the peak"),
}


class WhatIfAnswer(Struct, frozen=True):
    """The outcome of replays in sentences; all but ``exactness`` are None if there is nothing to say."""

    found: WhatIf
    exactness: Text
    assumption: Text | None
    conclusion: Text | None
    largest: Text | None
    again: Text | None
    fragmentation: Text | None


def said(found: WhatIf) -> WhatIfAnswer:
    """Return the outcome of replays with its sentences."""
    return WhatIfAnswer(
        found,
        exactness(found.calibration),
        assumption(found),
        conclusion(found),
        largest(found),
        computed_again(found),
        fragmentation(found),
    )


def exactness(found: Calibration) -> Text:
    """Return how exactly the replay reproduces the trace, or why it can't be replayed."""
    if found.reason is not None:
        return phrase("This trace can't be replayed: {reason}", reason=found.reason)
    if found.exact:
        allocations = phrase(
            plural(found.addresses, "the {n} allocation", "all {n} allocations"), n=found.addresses
        )
        if not found.segments:
            return phrase("The replay reproduces {allocations} of the trace", allocations=allocations)
        segments = phrase(plural(found.segments, "the {n} segment", "all {n} segments"), n=found.segments)
        if found.assumed is not None:
            return phrase(
                "With {settings}, which the file doesn't say, the replay reproduces {segments} and "
                "{allocations} of the trace",
                settings=found.assumed,
                segments=segments,
                allocations=allocations,
            )
        return phrase(
            "The replay reproduces {segments} and {allocations} of the trace",
            segments=segments,
            allocations=allocations,
        )
    share = abs(found.peak_reserved_bytes / found.recorded_peak_reserved_bytes - 1)
    return phrase(
        "The replay differs by {share} at the peak, and reproduces {segments} of {all_segments} segments and {equal} "
        "of {all} addresses of the trace",
        share=f"{share:.2%}",
        segments=found.segments_equal,
        all_segments=found.segments,
        equal=found.addresses_equal,
        all=found.addresses,
    )


def conclusion(found: WhatIf) -> Text | None:
    """Return what would have been different; None if the trace can't be replayed."""
    recorded, *tried = found.rows
    if not tried:
        return None
    if (recorded.out_of_memory is not None or tried[0].settings == recorded.settings) and any(
        _is_too_close(found, row) for row in tried
    ):
        return phrase("The replay isn't exact enough to say whether it would have fitted.")
    if tried[0].changes.kinds:
        return in_a_row([_changed(found, recorded, tried), *_fit(found, tried[0])], " ")
    # the recorded settings once more, where there is other memory
    again = tried[0] if tried[0].settings == recorded.settings else None
    if again is not None and again.out_of_memory is None and found.capacity_bytes is not None:
        text = phrase(
            "Into {capacity} it would have fitted, with {size} reserved at the peak.",
            capacity=format_bytes(found.capacity_bytes),
            size=format_bytes(again.peak_reserved_bytes),
        )
        # with one other setting the question is about that
        return in_a_row([text, *_with_setting(tried[1])], " ") if len(tried) == 2 else text
    if again is not None or recorded.out_of_memory is not None:
        through = [row for row in tried if row.out_of_memory is None]
        if not through:
            text = phrase("Memory would have run out with each of these settings.")
            one = again or (tried[0] if len(tried) == 1 else None)
            return text if one is None else in_a_row([text, *_missing(one)], " ")
        best = min(through, key=_reserved)
        return phrase(
            "With {settings} it would have fitted, with {size} reserved at the peak.",
            settings=best.settings,
            size=format_bytes(best.peak_reserved_bytes),
        )
    best = min(tried, key=lambda row: row.peak_reserved_bytes / max(found.reserved_without(row), 1))
    before = found.reserved_without(best)
    if before - best.peak_reserved_bytes < max(NOTICEABLE * before, found.calibration.uncertain_bytes):
        return phrase("None of these settings would have reserved noticeably less.")
    return phrase(
        "With {settings} {size} would have been reserved at the peak instead of {before}.",
        settings=best.settings,
        size=format_bytes(best.peak_reserved_bytes),
        before=format_bytes(before),
    )


def _is_too_close(found: WhatIf, row: Run) -> bool:
    """Whether a replay fits or fails by less than it may be wrong."""
    uncertain, failure = found.calibration.uncertain_bytes, row.out_of_memory
    if not uncertain or found.capacity_bytes is None:
        return False
    if failure is not None:
        return (failure.missing_bytes or 0) <= uncertain
    return found.capacity_bytes - row.peak_reserved_bytes < uncertain


def _fit(found: WhatIf, row: Run) -> Iterator[Text]:
    """How much is left of the memory that could be reserved."""
    if found.capacity_bytes is None or row.out_of_memory is not None:
        return
    left = found.capacity_bytes - row.peak_reserved_bytes
    if left:
        yield phrase(
            "Of the {capacity} that could be reserved, {left} would have been left.",
            capacity=format_bytes(found.capacity_bytes),
            left=format_bytes(left),
        )
    else:
        yield phrase("That is all that could be reserved.")


def _with_setting(row: Run) -> Iterator[Text]:
    """The outcome of one other setting where the recorded ones fit."""
    if row.out_of_memory is None:
        yield phrase(
            "With {settings} as well, with {size}.",
            settings=row.settings,
            size=format_bytes(row.peak_reserved_bytes),
        )
    else:
        yield phrase("With {settings} memory would have run out.", settings=row.settings)
        yield from _missing(row)


def _missing(row: Run) -> Iterator[Text]:
    """Where one replay fails, and by how much."""
    failure = row.out_of_memory
    if failure is None or failure.event < 0 or failure.missing_bytes is None:
        return
    yield phrase(
        "At event {event} {missing} were missing with {settings}.",
        event=failure.event + 1,
        missing=format_bytes(failure.missing_bytes),
        settings=phrase("the recorded settings") if row.settings == "recorded" else row.settings,
    )


def assumption(found: WhatIf) -> Text | None:
    """Return what is assumed of memory that was live before the first event; None if nothing is."""
    if not found.laid_out_anew:
        return None
    assumed = phrase(
        "What was live before the first event is assumed to have been allocated by the other settings as well."
    )
    anew, recorded = found.anew_peak_reserved_bytes, found.rows[0].peak_reserved_bytes
    if anew is None or anew > recorded * (1 - NOTICEABLE):
        return assumed
    return phrase(
        "{assumed} Without what was cached then, the recorded settings come to {size}.",
        assumed=assumed,
        size=format_bytes(anew),
    )


def largest(found: WhatIf) -> Text | None:
    """Return the line with the most bytes at the peak with the changes; None without changes."""
    if len(found.rows) < 2 or not found.rows[1].changes.kinds or not found.rows[1].largest:
        return None
    most = found.rows[1].largest[0]
    return phrase(
        "The largest at the peak is then {line}, with {size} of {all} allocated.",
        line=most.name,
        size=format_bytes(most.bytes),
        all=format_bytes(found.rows[1].peak_allocated_bytes),
    )


def computed_again(found: WhatIf) -> Text | None:
    """Return how much of the requested recomputation took place; None if none was requested."""
    again = found.again
    if again is None:
        return None
    return phrase(
        "{again} of {all} are held until the backward pass, and computed again in {layers}.",
        again=again.allocations,
        all=phrase(plural(again.of_allocations, "{n} allocation", "{n} allocations"), n=again.of_allocations),
        layers=phrase(plural(again.layers, "{n} layer", "{n} layers"), n=again.layers),
    )


def fragmentation(found: WhatIf) -> Text | None:
    """Reserved memory outside of blocks, if it is noticeable."""
    gaps = found.fragmentation
    if gaps is None or gaps.split_bytes + gaps.cached_bytes < NOTICEABLE * gaps.reserved_bytes:
        return None
    return phrase(
        "{when}, {active} of {reserved} reserved were in blocks, {split} free in segments with blocks, and {cached} in "
        "segments without any.",
        when=_WHEN[gaps.when],
        active=format_bytes(gaps.active_bytes),
        reserved=format_bytes(gaps.reserved_bytes),
        split=format_bytes(gaps.split_bytes),
        cached=format_bytes(gaps.cached_bytes),
    )


def _changed(found: WhatIf, recorded: Run, tried: Sequence[Run]) -> Text:
    """Return some changes as text: by the recorded settings, else by others with which nothing fails."""
    row = tried[0]
    kinds = row.changes.kinds
    how = CHANGES[kinds[0]] if len(kinds) == 1 else phrase("With these changes")
    failure = row.out_of_memory
    through = [each for each in tried if each.out_of_memory is None]
    if failure is not None and through:
        best = min(through, key=_reserved)
        return phrase(
            "{how} and {settings} it would have fitted, with {size} reserved at the peak.",
            how=how,
            settings=best.settings,
            size=format_bytes(best.peak_reserved_bytes),
        )
    if failure is not None and failure.event < 0:
        return phrase(
            "{how} memory would already have run out before the first event: {missing} were missing.",
            how=how,
            missing=format_bytes(failure.missing_bytes or 0),
        )
    if failure is not None and failure.missing_bytes is not None:
        return phrase(
            "{how} memory would still have run out: at event {event} {missing} were missing.",
            how=how,
            event=failure.event + 1,
            missing=format_bytes(failure.missing_bytes),
        )
    if failure is not None:
        return phrase(
            "{how} memory would still have run out, at event {event}.", how=how, event=failure.event + 1
        )
    if recorded.out_of_memory is not None:
        return phrase(
            "{how} it would have fitted, with {size} reserved at the peak.",
            how=how,
            size=format_bytes(row.peak_reserved_bytes),
        )
    if row.peak_reserved_bytes <= found.reserved_before_bytes:
        # whether the program needed as much before the trace is unknown
        return phrase(
            "{how} {size} would have been allocated at the peak instead of {before}. Already before the first event "
            "{reserved} were reserved.",
            how=how,
            size=format_bytes(row.peak_allocated_bytes),
            before=format_bytes(recorded.peak_allocated_bytes),
            reserved=format_bytes(found.reserved_before_bytes),
        )
    return phrase(
        "{how} {size} would have been reserved at the peak instead of {before}.",
        how=how,
        size=format_bytes(row.peak_reserved_bytes),
        before=format_bytes(found.reserved_without(row)),
    )


def _reserved(row: Run) -> int:
    return row.peak_reserved_bytes
