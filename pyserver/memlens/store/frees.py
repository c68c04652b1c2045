"""Where allocations were freed: the stack of a free, which is never confused with that of the allocation."""

import numpy as np

from memlens.arrays import U32
from memlens.model.timeline import stacks_of_frees
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device


def freed_stacks(snapshot: Snapshot, device: Device) -> U32:
    """The stack with which the free of each allocation was recorded, 0 for none; see :func:`stacks_of_frees`.

    There is an item for each allocation of the whole device, even if ``device`` is narrowed by a filter.
    """

    def find() -> U32:
        count = device.whole.info.allocations
        if snapshot.manifest.frees_repeat:
            return np.zeros(count, np.uint32)
        return stacks_of_frees(device.event_action, device.event_owner, device.event_stack, count)

    return snapshot.keep(f"{device.info.device}.freed_stacks", find)
