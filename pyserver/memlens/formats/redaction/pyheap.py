"""PyHeap's dumps: the objects' representations are left out, as if it had been told to write none.

The mark is a bit of the flags in the header.
"""

import struct

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.pyheap import REMOVED_FLAG, WITH_TEXTS, Head, names_of_types
from memlens.formats.redacted import Removed
from memlens.formats.redaction.output import Output, pour
from memlens.kernels.readers import python_redaction
from memlens.progress import Report


def redact(source: Source, output: Output, _removed: Removed, report: Report) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    source.unpack()
    head = Head.of(source)
    flags = struct.pack(">Q", head.flags & ~WITH_TEXTS | REMOVED_FLAG)
    output.write(source.data[: head.flags_at] + flags + source.data[head.flags_at + len(flags) : head.end])
    objects = python_redaction.PyHeap(
        source.data,
        head.end,
        head.count,
        np.array(head.containers, np.uint64),
        np.array(head.common, np.uint64),
        bool(head.flags & WITH_TEXTS),
    )
    for _ in pour(objects, output):
        report("writing", objects.offset / source.length)
    names = None if objects.is_cut else names_of_types(source, objects.offset)
    if names is None:
        return objects.offset
    output.write(source.data[objects.offset : names[1]])
    return None
