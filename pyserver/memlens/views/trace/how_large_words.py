"""Writes the answers of :mod:`memlens.views.trace.how_large` as sentences."""

from collections.abc import Iterator

from msgspec import Struct

from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.trace.how_large import AtLeast, Growth, HowLarge

GROWTH_WORDS: dict[Growth, str] = {
    "constant": "constant",
    "linear": "in proportion",
    "quadratic": "with the square",
    "otherwise": "unknown",
}


def sizes_said(found: HowLarge, small: int) -> Iterator[Text]:
    """Return sentences on what grows, how certain that is, and the largest size that fits."""
    shares = found.shares
    yield phrase(
        "{constant} of the allocated bytes are constant, {linear} grow in proportion to the size, "
        "{quadratic} with its square, and for {otherwise} that isn't known.",
        **{name: f"{share:.0%}" for name, share in shares.items()},
    )
    yield phrase(
        "Predicted from the larger trace, the smaller one would peak at {size}; it peaked at {recorded}.",
        size=format_bytes(found.check_bytes),
        recorded=format_bytes(found.checked_bytes),
    )
    if found.reserved_before_bytes:
        yield phrase(
            "{size} were reserved before the trace began. They are taken to be the same for each size.",
            size=format_bytes(found.reserved_before_bytes),
        )
    if found.capacity_bytes is None:
        return
    capacity = format_bytes(found.capacity_bytes)
    if found.largest is None:
        yield phrase("Not even size {small} certainly fits into {capacity}.", small=small, capacity=capacity)
    elif found.possible is None or found.possible <= found.largest:
        yield phrase("Sizes of up to {size} fit into {capacity}.", size=found.largest, capacity=capacity)
    else:
        yield phrase(
            "Sizes of up to {size} certainly fit into {capacity}, and up to {most} if what isn't known is constant.",
            size=found.largest,
            capacity=capacity,
            most=found.possible,
        )


class AtLeastAnswer(Struct, frozen=True):
    """The largest size that fits by one trace, in sentences."""

    found: AtLeast
    said: list[Text]


class HowLargeAnswer(Struct, frozen=True):
    """What grows between two traces and the largest size that fits, with its sentences."""

    found: HowLarge
    said: list[Text]


def at_least_said(found: AtLeast) -> Iterator[Text]:
    """Return sentences on what fits according to one trace, and the assumptions behind it."""
    capacity = format_bytes(found.capacity_bytes)
    if found.largest is None:
        yield phrase(
            "Not even size {size} certainly fits into {capacity}.", size=found.size, capacity=capacity
        )
        return
    yield phrase(
        "Sizes of up to {size} fit into {capacity} if nothing grows faster than in proportion, as with the batch.",
        size=found.largest,
        capacity=capacity,
    )
    yield phrase(
        "Of {peak} at the peak {constant} are taken to be the same for each size: parameters, optimizer states, "
        "gradients and what was there before the trace. More may fit.",
        peak=format_bytes(found.peak_bytes),
        constant=format_bytes(found.constant_bytes),
    )
