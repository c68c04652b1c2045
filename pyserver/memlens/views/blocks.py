"""What the trace does not say outright of an allocation's block: its size, and when its free was requested."""

import numpy as np
import numpy.typing as npt

from memlens.kernels import timeline as kernel
from memlens.store.snapshot import Device, Snapshot
from memlens.views.columns import NEVER, device_of

# kMinBlockSize of c10/cuda/CUDACachingAllocator.cpp: blocks are multiples of it
LEAST_BLOCK_BYTES = 512


def block_sizes(snapshot: Snapshot, device: int) -> npt.NDArray[np.int64]:
    """The block size of each of a device's allocations in bytes.

    The file tells it only of blocks that are live at its end. Elsewhere it is the request rounded up as the
    allocator does: to 512 bytes.
    """

    def make() -> npt.NDArray[np.int64]:
        own = device_of(snapshot, device)
        return np.where(own.rounded > 0, own.rounded, rounded_up(own.size))

    return snapshot.derived(f"{device}.block_sizes", make)


def rounded_up(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Requests rounded to blocks as ``round_size`` of the allocator does by default."""
    rounded = np.maximum(sizes + (LEAST_BLOCK_BYTES - 1) & -LEAST_BLOCK_BYTES, LEAST_BLOCK_BYTES)
    return np.asarray(rounded, np.int64)


def pending_moments(snapshot: Snapshot, device: int) -> npt.NDArray[np.uint32]:
    """The moment from which each of a device's allocations waits for its free to complete; NEVER for those that don't.

    An allocation is pending from this moment until its end. Of one that was live before the trace and whose free
    completes without a request in the trace, the request was before the trace, unless the trace has no requests.
    """
    return snapshot.derived(f"{device}.pending", lambda: _pending(snapshot, device_of(snapshot, device)))


def _pending(snapshot: Snapshot, device: Device) -> npt.NDArray[np.uint32]:
    pending = np.full(len(device.start), NEVER, np.uint32)
    requests = np.flatnonzero(device.event_action == kernel.FREE_REQUESTED)
    owners = snapshot.column(f"{device.info.device}.event_owner")[requests]
    known = owners < len(pending)
    # the first request counts, so it is written last
    pending[owners[known][::-1]] = (requests[known][::-1] + 1).astype(np.uint32)
    unknown = pending == NEVER
    before = device.flags & kernel.BEFORE_TRACE != 0
    if len(requests):
        pending[unknown & before & (device.end != NEVER)] = 0
    waits = unknown & (device.flags & kernel.PENDING_FREE != 0)
    pending[waits] = np.where(before[waits], 0, device.info.events)
    return pending
