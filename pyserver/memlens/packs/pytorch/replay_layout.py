"""The blocks that a device had reserved before its trace began."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I32, I64, U8, U32, U64, Mask
from memlens.kernels.trace import allocator
from memlens.store.trace.device import Device
from memlens.views.selection.columns import NEVER
from memlens.views.trace.allocator.blocks import SMALL_MOST_BYTES

_RANGE_BYTES = 1 << 41
"""More than any device has: the assumed size of an expandable segment's address range."""
_FREE, _LIVE, _UNMAPPED, _FIRST, _EXPANDABLE = 0, 1, 2, 4, 8


def layout(
    device: Device, spans: npt.NDArray[Any], arenas: I32, rows: U32, block_sizes: I64
) -> tuple[U64, I64, I32, U8, U32] | None:
    """The blocks that were reserved before the first event, by address, as ``Replay.begin`` takes them.

    ``arenas`` are those of the ``spans`` if they are of large pools; ``rows`` were live before the first event, by
    address, with blocks of ``block_sizes`` bytes. None if they contradict each other.
    """
    first = np.flatnonzero(spans["start"] == 0)
    held = spans[first]
    starts = held["address"].astype(np.uint64)
    stops = starts + held["size"].astype(np.uint64)
    if bool((stops[:-1] > starts[1:]).any()):
        return None
    arena = arenas[first].copy()
    expandable = held["flags"] & allocator.EXPANDABLE != 0
    arena += held["flags"] & allocator.SMALL != 0
    # a block may lie in several parts that were mapped one after the other
    begins_another = np.ones(len(held), np.bool_)
    begins_another[1:] = (
        ~(expandable[1:] & expandable[:-1]) | (arena[1:] != arena[:-1]) | (stops[:-1] != starts[1:])
    )
    wholes = np.flatnonzero(begins_another)
    stops = stops[np.append(wholes[1:], len(held)) - 1] if len(held) else stops
    starts, arena, expandable = starts[wholes], arena[wholes], expandable[wholes]
    addresses = device.address[rows].astype(np.uint64)
    sizes = block_sizes.astype(np.uint64)
    of = np.searchsorted(starts, addresses, "right").astype(np.int64) - 1
    if len(rows) and (bool((of < 0).any()) or bool((addresses + sizes > stops[of]).any())):
        return None
    # up to a mebibyte after a large block belongs to it, since the allocator doesn't split off so little
    ends = addresses + sizes
    following = np.full(len(rows), 0, np.uint64)
    if len(rows):
        following[:-1] = np.where(of[:-1] == of[1:], addresses[1:], stops[of[:-1]])
        following[-1] = stops[of[-1]]
        if bool((ends > following).any()):
            return None
        rest = following - ends
        takes = (rest <= SMALL_MOST_BYTES) & (arena[of] & 1 == 0) & ~expandable[of]
        ends[takes] = following[takes]
        _extend(
            device, rows, ends, np.flatnonzero(~takes & (rest > 0) & (arena[of] & 1 == 0) & ~expandable[of])
        )
    lead = _gaps(starts, stops, addresses, ends, of)
    unmapped = _unmapped(starts, stops, arena, expandable)
    at = np.concatenate((addresses, lead[0], unmapped[0]))
    lengths = np.concatenate((ends - addresses, lead[1], unmapped[1]))
    numbers = np.concatenate((arena[of], arena[lead[2]], unmapped[2]))
    marks = np.concatenate(
        (
            np.where(expandable[of], _LIVE | _EXPANDABLE, _LIVE),
            np.where(expandable[lead[2]], _FREE | _EXPANDABLE, _FREE),
            np.full(len(unmapped[0]), _UNMAPPED | _EXPANDABLE),
        )
    ).astype(np.uint8)
    whose = np.concatenate((rows, np.full(len(lead[0]) + len(unmapped[0]), NEVER, np.uint32)))
    order = np.argsort(at, kind="stable")
    begins = np.isin(at, np.concatenate((starts[~expandable], unmapped[3])))
    marks[begins] |= _FIRST
    return (
        np.ascontiguousarray(at[order]),
        np.ascontiguousarray(lengths[order].astype(np.int64)),
        np.ascontiguousarray(numbers[order].astype(np.int32)),
        np.ascontiguousarray(marks[order]),
        np.ascontiguousarray(whose[order].astype(np.uint32)),
    )


def _extend(device: Device, rows: U32, ends: U64, some: npt.NDArray[np.intp]) -> None:
    """Extend some blocks by the remainder that wasn't split off, up to the next allocation or free block."""
    order = np.lexsort((device.start, device.address))
    later = order[device.start[order] > 0]
    addresses, at = np.unique(device.address[later], return_index=True)
    starts = device.start[later][at]
    first = np.searchsorted(addresses, ends[some], "left")
    last = np.searchsorted(addresses, ends[some] + np.uint64(SMALL_MOST_BYTES), "right")
    for block, low, high in zip(some.tolist(), first.tolist(), last.tolist(), strict=True):
        if low < high:
            earliest = low + int(np.argmin(starts[low:high]))
            if starts[earliest] <= device.end[rows[block]]:
                ends[block] = addresses[earliest]


def _gaps(starts: U64, stops: U64, addresses: U64, ends: U64, of: I64) -> tuple[U64, U64, I64]:
    """The free parts of segments: start, length and segment."""
    edges_from = np.concatenate((starts, ends))
    edges_of = np.concatenate((np.arange(len(starts)), of))
    order = np.lexsort((edges_from, edges_of))
    begin, segment = edges_from[order], edges_of[order]
    # before the first block of a segment, between two, and after the last
    until = np.concatenate((addresses, stops))
    until_of = np.concatenate((of, np.arange(len(starts))))
    until = until[np.lexsort((until, until_of))]
    some = until > begin
    return begin[some], (until - begin)[some], segment[some].astype(np.int64)


def _unmapped(starts: U64, stops: U64, arena: I32, expandable: Mask) -> tuple[U64, U64, I32, U64]:
    """Addresses of expandable segments without memory, and where these segments begin.

    The file doesn't say how long the segments are: mapped parts of one arena with no other memory between them are
    of one, which goes on as far as nothing else begins.
    """
    found: list[tuple[int, int, int]] = []
    begins: list[int] = []
    for number in range(len(starts)):
        if not expandable[number]:
            continue
        is_next = number > 0 and bool(expandable[number - 1]) and arena[number - 1] == arena[number]
        if not is_next or int(starts[number]) - int(stops[number - 1]) > _RANGE_BYTES:
            begins.append(int(starts[number]))
        stop = int(stops[number])
        beyond = int(starts[number + 1]) if number + 1 < len(starts) else stop + _RANGE_BYTES
        length = min(beyond - stop, _RANGE_BYTES)
        if length > 0:
            found.append((stop, length, int(arena[number])))
    columns = np.array(found, np.uint64).reshape(-1, 3)
    return (
        columns[:, 0],
        columns[:, 1],
        columns[:, 2].astype(np.int32),
        np.array(begins, np.uint64),
    )
