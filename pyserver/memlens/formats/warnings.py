"""Warnings that count what a file lacks, or what can't be true in it, shared by the readers of several formats."""

from collections.abc import Callable

from memlens.model.info import FileWarning
from memlens.texts import Text, phrase

_SAID: dict[str, Callable[[int], Text]] = {
    "impossible_lines": lambda n: phrase("Frames with an impossible line, shown without one: {n}.", n=n),
    "impossible_times": lambda n: phrase(
        "Times earlier than the one before them, drawn at that time: {n}.", n=n
    ),
    "impossible_figures": lambda n: phrase("Negative memory figures, counted as 0: {n}.", n=n),
    "impossible_rows": lambda n: phrase("Rows left out because a size or a count is impossible: {n}.", n=n),
    "unknown_frees": lambda n: phrase(
        "Frees of memory whose allocation is not in the recording, left out: {n}.", n=n
    ),
    "reused_addresses": lambda n: phrase(
        "Allocations at an address that was not freed before: {n}. The earlier one is counted as leaked.", n=n
    ),
    "unequal_figures": lambda n: phrase(
        "Rows with more in use than was ever allocated, or with bytes but no allocations: {n}. They "
        "are counted as recorded.",
        n=n,
    ),
    "unread_frames": lambda n: phrase("Frames that can't be parsed, shown as written in the file: {n}.", n=n),
    "shortened_stacks": lambda n: phrase("Stacks cut because they are too long: {n}.", n=n),
    "unread_stacks": lambda n: phrase("Stacks that aren't text, left out: {n}.", n=n),
    "impossible_mappings": lambda n: phrase("Mappings of binaries that end before they begin: {n}.", n=n),
    "impossible_block_sizes": lambda n: phrase("Sizes of blocks below 0, left out: {n}.", n=n),
    "bad_lines": lambda n: phrase("Lines left out because they are not objects: {n}.", n=n),
    "dangling": lambda n: phrase("References left out because their objects are not in the file: {n}.", n=n),
    "missing_roots": lambda n: phrase("Roots left out because their objects are not in the file: {n}.", n=n),
    "circular_classes": lambda n: phrase(
        "Cycles of superclasses: {n}. One class of each inherits nothing.", n=n
    ),
    "duplicate_ids": lambda n: phrase(
        "Objects at the address of an earlier one: {n}. References lead to the earlier one.", n=n
    ),
    "equal_ids": lambda n: phrase(
        "Objects with the id of another: {n}. Comparisons may take one for the other.", n=n
    ),
    "lost_stacks": lambda n: phrase(
        "Objects whose place in the allocation trace is not in the file: {n}. They are shown without a stack.",
        n=n,
    ),
    "unknown_sizes": lambda n: phrase(
        "Objects with an impossible size: {n}. They are counted with 0 B.", n=n
    ),
    "unknown_numbers": lambda n: phrase(
        "Impossible lengths, generations, lines and other numbers of objects, left out: {n}.", n=n
    ),
    "short_instances": lambda n: phrase("Objects that are shorter than their class's fields: {n}.", n=n),
    "missing_superclasses": lambda n: phrase(
        "Classes whose superclass is not in the file: {n}. They inherit nothing.", n=n
    ),
    "missing_fields": lambda n: phrase(
        "References whose field is not in the file: {n}. They are shown without a name.", n=n
    ),
    "unknown_roots": lambda n: phrase(
        "Roots of a kind that Memlens doesn't know: {n}. They are shown as unknown.", n=n
    ),
    "unknown_spaces": lambda n: phrase(
        "Objects in a heap that Memlens doesn't know: {n}. They are shown in an unknown heap.", n=n
    ),
    "surplus_bytes": lambda n: phrase("Bytes after the end of the dump, which were not read: {n}.", n=n),
    "other_count": lambda n: phrase("The file's own count of its objects is wrong: it says {n}.", n=n),
    "lost_addresses": lambda n: phrase("Objects without an address: {n}.", n=n),
    "impossible_multipliers": lambda n: phrase(
        "Sampled objects with an impossible multiplier: {n}. Each counts as one.", n=n
    ),
    "unknown_settings": lambda n: phrase(
        "Impossible times, process ids and other facts about the recording, left out: {n}.", n=n
    ),
    "unknown_classes": lambda n: phrase("Objects whose class is not in the file: {n}.", n=n),
    "shortened_texts": lambda n: phrase("Strings shown without their end: {n}.", n=n),
    "unknown_records": lambda n: phrase("Records of an unknown kind, which were skipped: {n}.", n=n),
    "impossible_natives": lambda n: phrase(
        "Native memory left out because its size is impossible: {n}.", n=n
    ),
    "plain_stacks": lambda n: phrase(
        "Places shown without their native functions, because the stacks of all share far more than the file has: {n}.",
        n=n,
    ),
    "empty_samples": lambda n: phrase("Samples that say nothing, left out: {n}.", n=n),
    "shared_names": lambda n: phrase(
        "Methods shown with only the end of their class's name, because many share a long one: {n}.", n=n
    ),
    "shared_stacks": lambda n: phrase(
        "Threads whose frames are left out because others have the same long stack: {n}.", n=n
    ),
}


def counted_warnings(**counts: int) -> list[FileWarning]:
    """A warning for each count that isn't 0; names are codes of warnings, with ``_`` for ``-``."""
    return [FileWarning(name.replace("_", "-"), _SAID[name](n)) for name, n in counts.items() if n]
