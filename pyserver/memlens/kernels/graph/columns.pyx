# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Columns of a graph of objects that kernels take together."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t


cdef class References:
    """References in one direction, and which of them are followed: see ``columns.pxd``.

    ``follows`` has an item for each number of a byte. Raises ValueError for columns that don't fit each other.
    """

    def __cinit__(
        self,
        const uint64_t[::1] start,
        const uint32_t[::1] target,
        const uint8_t[::1] kind,
        const uint8_t[::1] follows,
    ):
        if start.shape[0] < 1 or kind.shape[0] != target.shape[0] or follows.shape[0] < 256:
            raise ValueError("a start for each object, a kind for each reference, an item for each kind")
        self._start, self._target, self._kind, self._follows = start, target, kind, follows
        self.graph.start, self.graph.follows = &start[0], &follows[0]
        self.graph.target = &target[0] if target.shape[0] else NULL
        self.graph.kind = &kind[0] if kind.shape[0] else NULL
        self.graph.objects, self.graph.references = start.shape[0] - 1, target.shape[0]


cdef class Sizes:
    """The bytes of each object, and those that it owns outside of the heap; ``native`` may be empty.

    Raises ValueError for columns that don't fit each other.
    """

    def __cinit__(self, const uint64_t[::1] shallow, const uint64_t[::1] native):
        if native.shape[0] and native.shape[0] != shallow.shape[0]:
            raise ValueError("native bytes of each object, or of none")
        self._shallow, self._native = shallow, native
        self.objects = shallow.shape[0]
        self.shallow = &shallow[0] if shallow.shape[0] else NULL
        self.native = &native[0] if native.shape[0] else NULL
