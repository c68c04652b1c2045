"""The allocator's memory pool of an allocation."""

import numpy as np

from memlens.arrays import U16, U32, U64
from memlens.model.timeline import ACTIONS, NEVER
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device

NOT_RECORDED = 0
"""The pool's number if the file doesn't record it."""

_SEGMENT_ALLOC = ACTIONS.index("segment_alloc")


def pool_name(snapshot: Snapshot, pool: int) -> str:
    """A pool's name: ``default``, else its id as ``1.0``; ``unknown`` where the file doesn't record it."""
    if pool == NOT_RECORDED:
        return "unknown"
    first, second = snapshot.manifest.pools[pool]
    return "default" if (first, second) == (0, 0) else f"{first}.{second}"


def pools_of(snapshot: Snapshot, device: Device) -> U16:
    """Each allocation's pool, as an index of the manifest's ``pools``, 0 if the file doesn't record it.

    Events of newer recorders name it. Otherwise the final segments do, for allocations that are in one of them and not
    older: an earlier segment at the same addresses may have had another pool.
    """
    number = device.info.device
    pools = np.zeros(len(device.start), np.uint16)
    started = device.start > 0
    pools[started] = device.event_pool[device.start[started] - 1]
    segments = snapshot.trace.segments
    segments = segments[(segments["device"] == number) & (segments["total"] > 0)]
    segments = segments[np.argsort(segments["address"], kind="stable")]
    unknown = np.flatnonzero(pools == NOT_RECORDED)
    if not len(segments) or not len(unknown):
        return pools
    since = _made_at(device, segments["address"])
    address = device.address[unknown]
    place = np.searchsorted(segments["address"], address, "right").astype(np.int64) - 1
    before = np.maximum(place, 0)
    # addresses may lie above 2**63, so differences are taken without signs
    inside = (place >= 0) & (
        address - segments["address"][before] < segments["total"][before].astype(np.uint64)
    )
    same = (device.start[unknown] >= since[before]) | (device.end[unknown] == NEVER)
    pools[unknown] = np.where(inside & same, segments["pool"][before], NOT_RECORDED)
    return pools


def _made_at(device: Device, addresses: U64) -> U32:
    """The moment at which the last segment at each of some sorted addresses was made; 0 before the trace."""
    since = np.zeros(len(addresses), np.uint32)
    events = np.flatnonzero(device.event_action == _SEGMENT_ALLOC)
    made = device.event_address[events]
    place = np.minimum(np.searchsorted(addresses, made), len(addresses) - 1)
    known = addresses[place] == made
    np.maximum.at(since, place[known], (events[known] + 1).astype(np.uint32))
    return since
