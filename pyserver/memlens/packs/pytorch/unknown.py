"""Invalid values in a snapshot: what is inferred from other records instead, and warnings about the rest.

Writers fill fields with -1 (2^64-1 if unsigned), None, NaN, text or nothing. Such a value affects only its own record:
a size is taken from other events of the same memory, a block's address from its neighbours, and only what can't be used
at all is left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from memlens.arrays import U32, U64
from memlens.model.info import FileWarning, device_phrase
from memlens.model.timeline import Blocks, Column
from memlens.packs.pytorch.kernels import torch_pickle as kernel
from memlens.texts import Text, phrase, plural
from memlens.units import counted

MOST_BYTES = 1 << 50
"""The largest possible size. Only the request of an out-of-memory event may be any number."""

_NEED_MEMORY = 4
"""The scanner's first actions: alloc, free_requested, free_completed and free."""
_PIECES = ("segment_alloc", "segment_free", "segment_map", "segment_unmap")

OddCounts = Counter[tuple[str, str]]
"""How often a kind of record had an unusable value, by its name and the field's."""

_LEFT_OUT = phrase("left out")
_NEIGHBOURS = phrase("it follows from the blocks beside them, and they are left out where it doesn't")
_MEANING: dict[tuple[str, str], Text] = {
    ("event", ""): phrase("left out, as no event stood there"),
    ("event", "action"): phrase("shown as unknown, and what they did to memory isn't counted"),
    ("event", "addr"): _LEFT_OUT,
    (
        "event",
        "size",
    ): phrase("it is that of other events of the same memory, and they are left out where it has none"),
    ("event", "time_us"): phrase("shown at the time of the event before them"),
    ("event", "stream"): phrase("counted for the default stream"),
    ("event", "frames"): phrase("shown without a stack"),
    ("oom event", "size"): phrase("how much was requested is not known"),
    ("frame", ""): phrase("left out, as no frame stood there"),
    ("frame", "filename"): phrase("shown without a file"),
    ("frame", "line"): phrase("shown without a line"),
    ("frame", "name"): phrase("shown without a name"),
    ("block", ""): phrase("left out, as no block stood there"),
    ("block", "size"): _NEIGHBOURS,
    ("block", "address"): _NEIGHBOURS,
    ("block", "requested_size"): phrase("their whole size is shown"),
    ("block", "state"): phrase("taken as inactive"),
    ("block", "frames"): phrase("shown without a stack"),
    ("segment", ""): phrase("left out, as no segment stood there"),
    ("segment", "address"): phrase("it follows from their blocks, and they are left out where it doesn't"),
    ("segment", "total_size"): phrase("it follows from their blocks where all of these are known"),
    ("segment", "device"): _LEFT_OUT,
    ("segment", "stream"): phrase("counted for the default stream"),
    ("segment", "blocks"): phrase("what lay in them is not known"),
    ("annotation", ""): phrase("left out, as no annotation stood there"),
    ("annotation", "device"): phrase("shown on every device"),
    ("annotation", "name"): _LEFT_OUT,
    ("annotation", "stage"): _LEFT_OUT,
    ("annotation", "time_us"): _LEFT_OUT,
}
_TOP_LEVEL = "top level"
_REPEATED = "repeated"


def odd_warnings(odd: OddCounts) -> list[FileWarning]:
    """A sentence for each field with impossible values."""
    found = []
    for (record, field), count in sorted(odd.items()):
        if not count:
            continue
        if record == _TOP_LEVEL:
            said = phrase(
                "The file's '{field}' is not what a snapshot has there, and is treated as missing.",
                field=field,
            )
        elif field == _REPEATED:
            said = phrase(
                plural(
                    count,
                    "{records} is listed again: counted once.",
                    "{records} are listed again: counted once.",
                ),
                records=_records(record, count),
            )
        else:
            said = phrase(
                plural(count, "{records} has {lack}: {means}.", "{records} have {lack}: {means}."),
                records=_records(record, count),
                lack=phrase("no usable {field}", field=field) if field else phrase("no usable record"),
                means=_MEANING.get((record, field), phrase("taken as not recorded")),
            )
        found.append(FileWarning("odd-values", said))
    return found


def _records(record: str, n: int) -> Text:
    match record:
        case "event":
            return phrase(plural(n, "{n} event", "{n} events"), n=n)
        case "oom event":
            return phrase(plural(n, "{n} oom event", "{n} oom events"), n=n)
        case "frame":
            return phrase(plural(n, "{n} frame", "{n} frames"), n=n)
        case "block":
            return phrase(plural(n, "{n} block", "{n} blocks"), n=n)
        case "segment":
            return phrase(plural(n, "{n} segment", "{n} segments"), n=n)
        case "annotation":
            return phrase(plural(n, "{n} annotation", "{n} annotations"), n=n)
        case _:
            return Text(counted(n, record))


def odd_top_level(odd: OddCounts, field: str) -> None:
    """Count a value at the top level that should be a list."""
    odd[_TOP_LEVEL, field] = 1


def segments_once(rows: U32, odd: OddCounts) -> U32:
    """Rows of segments without those that came before: a pickle may list one, with all its blocks, without end."""
    _, first = np.unique(rows, return_index=True)
    odd["segment", _REPEATED] += len(rows) - len(first)
    return rows[np.sort(first)]


def usable_events(events: Column, rows: U32, actions: Sequence[str], blocks: Blocks, odd: OddCounts) -> U32:
    """The usable rows of a device's trace, in order; missing sizes that other records have are written to ``events``.

    ``actions`` are the scanner's, ``blocks`` the device's live ones. Invalid values are counted in ``odd``.
    """
    if not len(events):
        return rows
    size, address = events["size"], events["addr"]
    suspects = np.flatnonzero((size < 0) | (size > MOST_BYTES) | (address == kernel.UNKNOWN_ADDRESS))
    if not len(suspects):
        return rows
    action = events["action"]
    oom = [number for number, name in enumerate(actions) if name == "oom"]
    pieces = [number for number, name in enumerate(actions) if name in _PIECES]
    mine = rows[np.isin(rows, suspects)]
    asked = np.isin(action[mine], oom)
    odd["oom event", "size"] += int(np.count_nonzero(size[mine[asked]] < 0))
    needs = (action[mine] < _NEED_MEMORY) | np.isin(action[mine], pieces)
    # the size and the address of other events aren't used
    other = mine[~needs]
    address[other[address[other] == kernel.UNKNOWN_ADDRESS]] = 0
    other = mine[~needs & ~asked]
    size[other[(size[other] < 0) | (size[other] > MOST_BYTES)]] = 0
    mine = mine[needs]
    lost = address[mine] == kernel.UNKNOWN_ADDRESS
    unsized = (size[mine] < 0) | (size[mine] > MOST_BYTES)
    odd["event", "addr"] += int(np.count_nonzero(lost))
    odd["event", "size"] += int(np.count_nonzero(unsized))
    size[mine[unsized]] = kernel.UNKNOWN_SIZE
    if bool((unsized & ~lost).any()):
        _sizes_of_lives(events, rows, blocks)
    unusable = mine[lost | (size[mine] < 0)]
    return rows[~np.isin(rows, unusable)]


def _sizes_of_lives(events: Column, rows: U32, blocks: Blocks) -> None:
    """Set missing sizes of events from other events of the same allocation, or from its block at the end."""
    memory = rows[(events["action"][rows] < _NEED_MEMORY) & (events["addr"][rows] != kernel.UNKNOWN_ADDRESS)]
    if not len(memory):
        return
    memory = memory[np.argsort(events["addr"][memory], kind="stable")]
    action, address = events["action"][memory], events["addr"][memory]
    # an allocation's events at its address: from its alloc, or after the free of the previous one
    first = np.append(True, address[1:] != address[:-1]) | (action == 0)
    first[1:] |= action[:-1] >= 2
    starts = np.flatnonzero(first)
    sizes = np.maximum.reduceat(events["size"][memory], starts)
    last_of_address = np.append(address[starts[1:]] != address[starts[:-1]], True)
    order = np.argsort(blocks.address, kind="stable")
    if len(order):
        places = np.minimum(np.searchsorted(blocks.address[order], address[starts]), len(order) - 1)
        here = order[places]
        held = (sizes < 0) & last_of_address & (blocks.address[here] == address[starts])
        sizes[held] = blocks.requested[here[held]]
    of_event = np.repeat(sizes, np.diff(np.append(starts, len(memory))))
    unknown = events["size"][memory] < 0
    events["size"][memory[unknown]] = of_event[unknown]


def complete_segments(
    segments: Column,
    blocks: Column,
    shown: U32,
    starts: U64,
    block_rows: U32,
    odd: OddCounts,
) -> tuple[U32, U64, U32]:
    """Set missing addresses and sizes of segments and blocks from each other, since blocks tile their segment.

    ``shown`` are rows of segments; the blocks of segment ``s`` are ``block_rows[starts[s]:starts[s + 1]]``. Returns the
    three without segments whose address stays unknown and without blocks whose address does. Invalid values are counted
    in ``odd``.
    """
    segments["total"][segments["total"] > MOST_BYTES] = kernel.UNKNOWN_SIZE
    blocks["size"][blocks["size"] > MOST_BYTES] = kernel.UNKNOWN_SIZE
    blocks["requested"][blocks["requested"] > MOST_BYTES] = kernel.UNKNOWN_SIZE
    odd["segment", "address"] += int(np.count_nonzero(segments["address"][shown] == kernel.UNKNOWN_ADDRESS))
    odd["segment", "total_size"] += int(np.count_nonzero(segments["total"][shown] < 0))
    odd["block", "size"] += int(np.count_nonzero(blocks["size"][block_rows] < 0))
    odd["block", "state"] += int(np.count_nonzero(blocks["state"][block_rows] == 0))
    for segment in shown.tolist():
        mine = block_rows[int(starts[segment]) : int(starts[segment + 1])]
        has_address = blocks["has_address"][mine]
        missing = has_address == 0
        whole = segments["address"][segment] != kernel.UNKNOWN_ADDRESS and segments["total"][segment] >= 0
        if not whole or bool((blocks["size"][mine] < 0).any()):
            _tile(segments[segment : segment + 1], blocks, mine)
            continue
        sizes = blocks["size"][mine].astype(np.uint64)
        if int(sizes.sum()) == int(segments["total"][segment]):
            # the oldest allocation in a free block's history may be one of a block that it was merged with
            missing |= has_address == kernel.ADDRESS_OF_HISTORY
        if bool(missing.any()):
            ends = np.cumsum(sizes, dtype=np.uint64) + segments["address"][segment]
            blocks["address"][mine] = np.where(missing, ends - sizes, blocks["address"][mine])
            blocks["has_address"][mine] = 1
    unknown = blocks["requested"] < 0
    blocks["requested"][unknown] = blocks["size"][unknown]
    known = shown[segments["address"][shown] != kernel.UNKNOWN_ADDRESS]
    owners = np.repeat(np.arange(len(segments)), np.diff(starts).astype(np.int64))
    usable = (blocks["size"][block_rows] >= 0) & (blocks["has_address"][block_rows] != 0)
    usable &= np.isin(owners, known)
    before = np.append(0, np.cumsum(usable)).astype(np.uint64)
    return known, before[starts.astype(np.int64)], block_rows[usable]


def _tile(segment: Column, blocks: Column, mine: U32) -> None:
    """Compute missing addresses and sizes of one segment and its blocks."""
    sizes = [None if size < 0 else size for size in blocks["size"][mine].tolist()]
    has_address, addresses = blocks["has_address"][mine].tolist(), blocks["address"][mine].tolist()
    # the start of each block, then the end of the segment
    edges: list[int | None] = [a if known else None for a, known in zip(addresses, has_address, strict=True)]
    edges.append(None)
    address, total = int(segment["address"][0]), int(segment["total"][0])
    if edges[0] is None and address != kernel.UNKNOWN_ADDRESS:
        edges[0] = address
    if address != kernel.UNKNOWN_ADDRESS and total >= 0:
        edges[-1] = address + total
    for at, size in enumerate(sizes):
        begin = edges[at]
        if edges[at + 1] is None and begin is not None and size is not None:
            edges[at + 1] = begin + size
    for at, size in reversed(list(enumerate(sizes))):
        end = edges[at + 1]
        if edges[at] is None and end is not None and size is not None:
            edges[at] = end - size
    for row, begin, end in zip(mine.tolist(), edges, edges[1:], strict=False):
        if begin is not None and 0 <= begin < kernel.UNKNOWN_ADDRESS:
            blocks["address"][row], blocks["has_address"][row] = begin, 1
        if (
            blocks["size"][row] < 0
            and begin is not None
            and end is not None
            and 0 <= end - begin <= MOST_BYTES
        ):
            blocks["size"][row] = end - begin
    first, last = edges[0], edges[-1]
    if address == kernel.UNKNOWN_ADDRESS and first is not None and 0 <= first < kernel.UNKNOWN_ADDRESS:
        address = first
        segment["address"] = first
    if total < 0 and len(mine) and last is not None and 0 <= last - address <= MOST_BYTES:
        segment["total"] = last - address


def overlap_warnings(
    device: int, starts: Column, sizes: Column, block_starts: Column, block_sizes: Column, owners: Column
) -> list[FileWarning]:
    """Warnings about segments and blocks of a device at addresses that others have, and blocks outside of theirs.

    ``owners`` are the segments of the blocks.
    """
    name, found = device_phrase(device), []
    segments = _overlapping(starts, sizes)
    if segments:
        said = phrase(
            "Segments of {device} that overlap with another: {n}. Memory that they share counts for each.",
            device=name,
            n=segments,
        )
        found.append(FileWarning("overlapping-segments", said, device))
    blocks = _overlapping(block_starts, block_sizes)
    if blocks:
        said = phrase(
            "Blocks of {device} that overlap with another: {n}. Memory that they share counts for each.",
            device=name,
            n=blocks,
        )
        found.append(FileWarning("overlapping-blocks", said, device))
    ends = _ends(block_starts, block_sizes)
    outside = (block_starts < owners["address"]) | (ends > _ends(owners["address"], owners["total"]))
    outside &= owners["total"] >= 0
    if bool(outside.any()):
        said = phrase(
            "Blocks of {device} that are not within their segment: {n}.",
            device=name,
            n=int(np.count_nonzero(outside)),
        )
        found.append(FileWarning("blocks-outside", said, device))
    return found


def _overlapping(starts: Column, sizes: Column) -> int:
    """The number of ranges of addresses that begin before an earlier one ends."""
    order = np.argsort(starts, kind="stable")
    ends = np.maximum.accumulate(_ends(starts[order], sizes[order]))
    return int(np.count_nonzero((starts[order][1:] < ends[:-1]) & (sizes[order][1:] > 0)))


def _ends(starts: Column, sizes: Column) -> Column:
    """Where ranges end, no later than the last address."""
    room = np.uint64(kernel.UNKNOWN_ADDRESS) - starts
    ends: Column = starts + np.minimum(np.maximum(sizes, 0).astype(np.uint64), room)
    return ends


def scanned(counts: Iterable[tuple[str, str, int]]) -> OddCounts:
    """The scanner's counts, without fields that the tables mark as unknown."""
    marked_in_tables = {
        ("event", "size"), ("event", "addr"), ("block", "size"), ("block", "state"), ("segment", "address"),
        ("segment", "total_size"),
    }  # fmt: skip
    found: OddCounts = Counter()
    for record, field, count in counts:
        if (record, field) not in marked_in_tables:
            # torch 2.0 keeps a block's allocations in its history
            found["block" if record == "history" else record, field] += count
    return found
