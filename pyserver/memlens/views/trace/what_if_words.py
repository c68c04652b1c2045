"""What a replay comes to, in sentences."""

from msgspec import Struct

from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes
from memlens.views.trace.what_if import Calibration, Run, WhatIf

NOTICEABLE = 0.01
"""A setting that changes the peak by a smaller share isn't worth a sentence."""


class WhatIfAnswer(Struct, frozen=True):
    """What replays came to; ``exactness`` and ``conclusion`` are sentences, the latter None without a replay."""

    found: WhatIf
    exactness: Text
    conclusion: Text | None


def said(found: WhatIf) -> WhatIfAnswer:
    """What replays came to, with its sentences."""
    return WhatIfAnswer(found, exactness(found.calibration), conclusion(found))


def exactness(found: Calibration) -> Text:
    """How exactly the replay reproduces the trace, or why it can't be replayed."""
    if found.reason is not None:
        return phrase("This trace can't be replayed: {reason}", reason=found.reason)
    if found.exact:
        allocations = phrase(
            plural(found.addresses, "the {n} allocation", "all {n} allocations"), n=found.addresses
        )
        if not found.segments:
            return phrase("The replay reproduces {allocations} of the trace", allocations=allocations)
        return phrase(
            "The replay reproduces {segments} and {allocations} of the trace",
            segments=phrase(plural(found.segments, "the {n} segment", "all {n} segments"), n=found.segments),
            allocations=allocations,
        )
    share = abs(found.peak_reserved_bytes / found.recorded_peak_reserved_bytes - 1)
    return phrase(
        "The replay differs by {share} at the peak, and reproduces {equal} of {all} allocations of the trace",
        share=f"{share:.2%}",
        equal=found.addresses_equal,
        all=found.addresses,
    )


def conclusion(found: WhatIf) -> Text | None:
    """What would have been different; None where the trace can't be replayed."""
    recorded, *tried = found.rows
    if not tried:
        return None
    if tried[0].without:
        return _without(recorded, tried[0])
    if recorded.out_of_memory is not None:
        through = [row for row in tried if row.out_of_memory is None]
        if not through:
            return phrase("Memory would have run out with each of these settings.")
        best = min(through, key=_reserved)
        return phrase(
            "With {settings} it would have fitted, with {size} reserved at the peak.",
            settings=best.settings,
            size=format_bytes(best.peak_reserved_bytes),
        )
    best = min(tried, key=_reserved)
    if best.peak_reserved_bytes > recorded.peak_reserved_bytes * (1 - NOTICEABLE):
        return phrase("None of these settings would have reserved noticeably less.")
    return phrase(
        "With {settings} {size} would have been reserved at the peak instead of {before}.",
        settings=best.settings,
        size=format_bytes(best.peak_reserved_bytes),
        before=format_bytes(recorded.peak_reserved_bytes),
    )


def _without(recorded: Run, row: Run) -> Text:
    """What is different without some allocations."""
    failure = row.out_of_memory
    if failure is not None and failure.missing_bytes is not None:
        return phrase(
            "Without these allocations memory would still have run out: at event {event} {missing} were missing.",
            event=failure.event,
            missing=format_bytes(failure.missing_bytes),
        )
    if failure is not None:
        return phrase(
            "Without these allocations memory would still have run out, at event {event}.",
            event=failure.event,
        )
    if recorded.out_of_memory is not None:
        return phrase(
            "Without these allocations it would have fitted, with {size} reserved at the peak.",
            size=format_bytes(row.peak_reserved_bytes),
        )
    return phrase(
        "Without these allocations {size} would have been reserved at the peak instead of {before}.",
        size=format_bytes(row.peak_reserved_bytes),
        before=format_bytes(recorded.peak_reserved_bytes),
    )


def _reserved(row: Run) -> int:
    return row.peak_reserved_bytes
