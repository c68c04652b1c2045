"""The packets of a Perfetto trace that readers use, including those in compressed packets."""

import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from memlens.formats.errors import DamagedSnapshotError
from memlens.model.graph import Column
from memlens.packs.android.failure import int32
from memlens.packs.android.kernels import perfetto as kernel
from memlens.texts import phrase

Buffer = bytes | memoryview

DAMAGED = -1
"""The state of a packet whose compressed packets can't be read."""


class Message(NamedTuple):
    """A packet's field, as :data:`kernel.PACKET_FORMAT` has it, and the bytes that it is in."""

    data: Buffer
    start: int
    end: int
    sequence: int
    pid: int
    place: int
    continued: bool
    has: int


def messages_of(data: Buffer, rows: Column, most: int) -> Iterator[Message]:
    """The relevant packets of a trace, with those of compressed ones in their place."""
    for start, end, sequence, pid, index, continued, has in rows.tolist():
        if has != kernel.COMPRESSED:
            yield Message(data, start, end, sequence, int32(pid), index, bool(continued), has)
            continue
        try:
            inflated = zlib.decompressobj().decompress(bytes(data[start:end]), max(most, 1))
        except zlib.error:
            yield Message(data, start, end, sequence, 0, 0, continued=False, has=DAMAGED)
            continue
        most -= len(inflated)
        if most <= 0:
            raise DamagedSnapshotError(
                phrase("The trace's compressed packets become larger than any trace"), offset=start
            )
        inner = kernel.Packets(inflated)
        if inner.run(len(inflated)) == kernel.NO_MEMORY:
            raise MemoryError
        found = np.asarray(inner.take("packets"))
        yield from messages_of(inflated, found[found["has"] != kernel.COMPRESSED], most)


def of_kind(messages: Iterable[Message], kind: int) -> Iterator[tuple[Buffer, int, int]]:
    """The messages of a kind: bytes, start and end."""
    return ((each.data, each.start, each.end) for each in messages if each.has == kind)
