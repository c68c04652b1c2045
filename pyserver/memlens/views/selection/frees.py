"""The line that freed an allocation: the one that the stack of its free is charged to."""

import numpy as np

from memlens.arrays import U32
from memlens.model.timeline import NEVER
from memlens.store.frees import freed_stacks
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device


def stacks_that_freed(snapshot: Snapshot, device: Device) -> U32:
    """The stack that freed each of a device's rows, narrowed or not; 0 if it is unknown or nothing did."""
    found = freed_stacks(snapshot, device)
    return found if device.rows is None else found[device.rows]


def lines_that_freed(snapshot: Snapshot, device: Device) -> U32:
    """The frame of the line that freed each of a device's rows, NEVER for none."""
    stacks = stacks_that_freed(snapshot, device)
    return np.where(stacks == 0, np.uint32(NEVER), snapshot.stacks.label[stacks])
