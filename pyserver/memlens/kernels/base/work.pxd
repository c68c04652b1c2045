# cython: language_level=3
"""How far long work is, and whether it is still wanted (see the .pyx)."""

cdef enum:
    STOPPED = -3            # a status of kernels beside -1, which is "without memory"
    LOOK_EVERY = 1 << 15    # objects; fewer take no longer than a frame on a screen


cdef class Work:
    cdef int stopped
    cdef double done
    cdef double first       # what part of the work is being done
    cdef double last

    cdef int look(self, double done) noexcept nogil


cdef inline int look(Work work, size_t at, size_t count, int before, int after) noexcept nogil:
    """STOPPED if the work is no longer wanted, else 0.

    ``at`` of ``count`` items of a loop are done, which begins with ``before`` and ends with ``after`` per cent of the
    work.
    """
    return work.look((before + <double> (after - before) * at / (count if count else 1)) / 100)
