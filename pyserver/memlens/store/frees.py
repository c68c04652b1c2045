"""Where allocations were freed: the stack of a free, which is never confused with that of the allocation."""

import numpy as np

from memlens.arrays import U32
from memlens.model.timeline import stacks_of_frees
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device


def freed_stacks(snapshot: Snapshot, device: Device) -> U32:
    """The stack with which the free of each allocation was recorded, 0 for none; see :func:`stacks_of_frees`.

    There is an item for each allocation of the whole device, even if ``device`` is narrowed by a filter.
    """
    return _freed_stacks(snapshot, device.info.device)


@kept
def _freed_stacks(snapshot: Snapshot, number: int) -> U32:
    device = snapshot.device(number)
    if snapshot.manifest.frees_repeat:
        return np.zeros(device.info.allocations, np.uint32)
    return stacks_of_frees(
        device.event_action, device.event_owner, device.event_stack, device.info.allocations
    )
