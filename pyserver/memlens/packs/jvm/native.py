"""Memory outside of the heap that the objects of a Java heap dump own, as far as objects say how much it is.

The runtime frees such memory by a phantom reference that refers to the owner and to an object that knows the address
and the size:

- Android: ``sun.misc.Cleaner``, whose ``thunk`` is a ``NativeAllocationRegistry$CleanerThunk``; its registry has the
  ``size`` of each allocation. ahat, Android's own tool, counts the same way. Since Android 10 the lowest bit of
  ``size`` says that it was allocated by malloc; like ahat, this counts it as a byte.
- Java: ``java.nio.DirectByteBuffer$Deallocator`` and ``sun.nio.ch.FileChannelImpl$Unmapper`` (of mapped files).
- A ``DirectByteBuffer`` that has neither, nor is a part of another buffer, was made by native code or, as Netty does,
  without a cleaner: it has its ``capacity``. Left out are those of the runtime itself in every program (the file of the
  JDK's classes and its counters), and Android's, which have their bytes in an array in the heap.

Sources: ``AhatClassInstance.java`` of ART, ``java/nio/Direct-X-Buffer.java.template`` and
``sun/nio/ch/FileChannelImpl.java`` of OpenJDK.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64
from memlens.model.graph import MOST_BYTES, MOST_NATIVE_BYTES, NATIVE_DTYPE, NONE
from memlens.packs.jvm.fields import Fields
from memlens.packs.jvm.kernels import hprof_references as kernel

_REGISTRY = "libcore.util.NativeAllocationRegistry"
_THUNK = f"{_REGISTRY}$CleanerThunk"
_DEALLOCATOR = "java.nio.DirectByteBuffer$Deallocator"
_UNMAPPER = "sun.nio.ch.FileChannelImpl$Unmapper"


def natives_of(fields: Fields, *, android: bool) -> tuple[npt.NDArray[Any], int]:
    """Rows of NATIVE_DTYPE, and how many impossible sizes are left out: negative, or beyond any memory."""
    owners, sizes = _cleaned_up(fields)
    if not android:
        buffers = _uncleaned_buffers(fields)
        owners = np.concatenate((owners, buffers))
        sizes = np.concatenate((sizes, fields.integers(buffers, "capacity")))
    possible = (sizes >= 0) & (sizes < MOST_NATIVE_BYTES)
    if float(sizes[possible].sum(dtype=np.float64)) >= MOST_BYTES:
        possible[:] = False
    impossible = len(sizes) - int(np.count_nonzero(possible))
    owners, sizes = owners[possible], sizes[possible]
    objects, of = np.unique(owners, return_inverse=True)
    sums = np.zeros(len(objects), np.int64)
    np.add.at(sums, of, sizes)
    rows = np.empty(len(objects), NATIVE_DTYPE)
    rows["object"], rows["bytes"] = objects, sums
    return rows[sums > 0], impossible


def _cleaned_up(fields: Fields) -> tuple[I64, I64]:
    """The owners of memory that a phantom reference will free, and the sizes."""
    is_thunk = fields.types(_THUNK)
    is_freeing = is_thunk | fields.types(_DEALLOCATOR, _UNMAPPER)
    if not is_freeing.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    stored = fields.references
    phantom = np.flatnonzero(stored.kind == kernel.PHANTOM_REFERENT)
    # each has one, but damaged files have several
    cleaners, first = np.unique(
        np.searchsorted(stored.start, phantom.astype(np.uint64), side="right") - 1, return_index=True
    )
    phantom = phantom[first]
    place, rows = fields.references_of(cleaners)
    # one that has run is taken out of the list of all cleaners, and refers to itself instead of a neighbour
    has_run = fields.targets(cleaners, "next") == cleaners
    chosen = is_freeing[fields.type_of[stored.target[rows]]] & ~has_run[place]
    owners = stored.target[phantom[place[chosen]]].astype(np.int64)
    means = stored.target[rows[chosen]].astype(np.int64)
    kinds = fields.type_of[means]
    sizes = fields.integers(means, "size")
    of_android = is_thunk[kinds]
    registries = fields.targets(means[of_android], "this$0")
    is_registry = fields.types(_REGISTRY)
    known = registries != NONE
    known[known] = is_registry[fields.type_of[registries[known]]]
    sizes[of_android] = np.where(known, fields.integers(np.where(known, registries, NONE), "size"), 0)
    # where sizes aren't kept for each buffer, or it was freed by hand
    plain = ~of_android
    sizes = np.where(plain & (sizes == 0), fields.integers(means, "capacity"), sizes)
    sizes[plain & (fields.integers(means, "address", absent=1) == 0)] = 0
    return owners, sizes


def _uncleaned_buffers(fields: Fields) -> I64:
    """Direct buffers whose memory no cleaner frees and that are no part of another buffer or segment of memory."""
    buffers = fields.instances("java.nio.DirectByteBuffer")
    if not len(buffers):
        return buffers
    held = fields.targets(buffers, "cleaner", "att", "viewedBuffer", "segment") != NONE
    owning: I64 = buffers[~held & ~np.isin(buffers, _of_the_runtime(fields))]
    return owning


def _of_the_runtime(fields: Fields) -> I64:
    """The buffers that the virtual machine itself made, and those that these are parts of."""
    views = np.concatenate([
        fields.targets(fields.instances(*names), field)
        for names, field in (
            (("jdk.internal.jimage.BasicImageReader",), "memoryMap"),
            (("sun.misc.PerfCounter", "jdk.internal.perf.PerfCounter"), "lb"),
        )
    ])  # fmt: skip
    return np.concatenate((views, fields.targets(views, "att")))
