"""What the trace does not record about an allocation's block: its size, and when its free was requested."""

import numpy as np

from memlens.arrays import I64, U32
from memlens.kernels.trace import allocator
from memlens.kernels.trace import timeline as kernel
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.selection.columns import NEVER, device_of
from memlens.views.trace.allocator.segments import segments_of, span_of_allocations

# kMinBlockSize of c10/cuda/CUDACachingAllocator.cpp: blocks are multiples of it
LEAST_BLOCK_BYTES = 512
# kSmallSize: requests up to it are of the small pool, and a rest of a large block is split off only above it
SMALL_MOST_BYTES = 1 << 20
# kRoundUpPowerOfTwoIntervals of c10/core/AllocatorConfig.h, and the power at which the first of them starts
POWER_INTERVALS = 16
_FIRST_POWER = 20
_POWERS = 1 << np.arange(62, dtype=np.int64)


@kept
def block_sizes(snapshot: Snapshot, device: int) -> I64:
    """The block size of each of a device's allocations in bytes.

    The file has it only for blocks that are live at its end. For others it is the request rounded up by
    :func:`rounded_up`; a block of the large pool gets the whole free block that it was put into if less than a mebibyte
    of that would have been left, which the allocator does not split off (``should_split``; expandable segments always
    split). For allocations from before the trace that free block isn't known, so the rounded request is used.
    """
    own = device_of(snapshot, device)
    return np.where(own.rounded > 0, own.rounded, inferred_sizes(snapshot, own))


def inferred_block_size(snapshot: Snapshot, device: Device, row: int) -> int | None:
    """The size of an allocation's block in bytes by the allocator's rules, None where no allocator's blocks are known.

    A block is never smaller than its request: where it would be, these rules aren't the allocator's.
    """
    number = device.info.device
    if not len(segments_of(snapshot, number)):
        return None
    found = int(block_sizes(snapshot, number)[row if device.rows is None else device.rows[row]])
    return found if found >= int(device.size[row]) else None


def inferred_sizes(snapshot: Snapshot, own: Device) -> I64:
    """Block sizes only by the allocator's rules."""
    if bool((own.rounded % LEAST_BLOCK_BYTES != 0).any()):
        # blocks of arbitrary sizes come from a profile of the CPU, whose allocator doesn't round
        return np.asarray(own.size)
    sizes = rounded_up(own.size, divisions_of(snapshot))
    spans = segments_of(snapshot, own.info.device)
    if not len(spans):
        return sizes
    large = np.flatnonzero(sizes > SMALL_MOST_BYTES)
    span = span_of_allocations(snapshot, own.info.device)[large]
    whole = span != NEVER
    whole[whole] = spans["flags"][span[whole]] & allocator.EXPANDABLE == 0
    large, span = large[whole], span[whole]
    addresses, places = np.unique(own.address[large], return_inverse=True)
    stops = spans["address"] + np.minimum(spans["size"].astype(np.uint64), ~spans["address"])
    starts, ends = own.start[large], own.end[large]
    room = np.empty(len(large), np.int64)
    allocator.room_of_blocks(
        places.astype(np.uint32), starts, ends, np.argsort(ends, kind="stable").astype(np.uint32), addresses,
        np.ascontiguousarray(stops[span]), room,
    )  # fmt: skip
    left = room - sizes[large]
    most = snapshot.manifest.settings.get("max_split_size", -1)
    kept_whole = sizes[large] >= most if isinstance(most, int) and most > 0 else np.zeros(len(large), bool)
    fills = (starts > 0) & (left >= 0) & ((left <= SMALL_MOST_BYTES) | kept_whole)
    sizes[large[fills]] = room[fills]
    return sizes


def divisions_of(snapshot: Snapshot) -> I64:
    """The setting ``roundup_power2_divisions``: for requests of 1 MiB and less than 2 MiB, of 2 to 4 MiB, and so on.

    Smaller requests use the first number, larger ones the last. The file has them by the interval's start in MiB.
    """
    setting = snapshot.manifest.settings.get("roundup_power2_divisions")
    found = np.zeros(POWER_INTERVALS, np.int64)
    if isinstance(setting, dict):
        for interval in range(POWER_INTERVALS):
            value = setting.get(str(1 << interval))
            if isinstance(value, int) and 1 < value < 1 << 31:
                found[interval] = value
    return found


def rounded_up(sizes: I64, divisions: I64) -> I64:
    """Requests rounded to blocks as in the allocator's ``round_size``.

    They are rounded up to 512 bytes; and if ``roundup_power2_divisions`` divides the interval between two powers of two
    that contains a request, and the request is more than 512 bytes times their number, up to the next division. If the
    number of divisions isn't a power of two, the power below it is used.
    """
    rounded = np.maximum(sizes + (LEAST_BLOCK_BYTES - 1) & -LEAST_BLOCK_BYTES, LEAST_BLOCK_BYTES)
    if divisions.any():
        powers = np.searchsorted(_POWERS, np.maximum(sizes, 1), "right") - 1
        parts = divisions[np.clip(powers - _FIRST_POWER, 0, POWER_INTERVALS - 1)]
        divided = np.flatnonzero((parts > 1) & (sizes > LEAST_BLOCK_BYTES * parts))
        part_powers = np.searchsorted(_POWERS, parts[divided], "right") - 1
        steps = _POWERS[powers[divided] - part_powers]
        rounded[divided] = sizes[divided] + (steps - 1) & -steps
    return np.asarray(rounded, np.int64)


@kept
def pending_moments(snapshot: Snapshot, device: int) -> U32:
    """Return the moment from which each allocation of a device waits for its free to complete; NEVER for others.

    An allocation is pending from this moment until its end. If it was live before the trace and its free completes
    without a request in the trace, the request was before the trace, unless the trace has no requests.
    """
    own = device_of(snapshot, device)
    pending = np.full(len(own.start), NEVER, np.uint32)
    requests = np.flatnonzero(own.event_action == kernel.FREE_REQUESTED)
    owners = own.event_owner[requests]
    known = owners < len(pending)
    # the first request wins, so it is written last
    pending[owners[known][::-1]] = (requests[known][::-1] + 1).astype(np.uint32)
    unknown = pending == NEVER
    before = own.flags & kernel.BEFORE_TRACE != 0
    if len(requests):
        pending[unknown & before & (own.end != NEVER)] = 0
    waits = unknown & (own.flags & kernel.PENDING_FREE != 0)
    pending[waits] = np.where(before[waits], 0, own.info.events)
    return pending
