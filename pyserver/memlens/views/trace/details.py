"""An allocation's details: its stack, and its block's size by the allocator's rules."""

import msgspec

from memlens.store.snapshot import Snapshot
from memlens.views.answers import StackAnswer
from memlens.views.lines.stack import stack
from memlens.views.selection.columns import allocation_of
from memlens.views.trace.allocator.blocks import inferred_block_size


def details(snapshot: Snapshot, allocation: int, filter_text: str = "") -> StackAnswer:
    """:func:`stack`, with the block's size inferred if the file doesn't have it. Raises :class:`BadRequestError`."""
    answer = stack(snapshot, allocation, filter_text)
    if answer.allocation.rounded_bytes is not None:
        return answer
    device, row = allocation_of(snapshot, allocation)
    size = inferred_block_size(snapshot, device, row)
    return msgspec.structs.replace(answer, inferred_block_bytes=size)
