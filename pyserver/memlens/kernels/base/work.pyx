# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How far long work is, and whether it is still wanted. One thread does the work, others may ask and stop it.

A kernel calls ``look`` every few ten thousand objects and ends with the status that it returns; that takes no lock, so
nothing waits for it.
"""

cdef extern from *:
    """
    // another thread sets it, so no loop may keep it in a register
    static inline int memlens_read_anew(const int *flag) { return *(const volatile int *) flag; }
    """
    int read_anew "memlens_read_anew"(const int *flag) noexcept nogil


cdef class Work:
    """Work that can be stopped before it begins and at any time after."""

    def __cinit__(self):
        self.last = 1

    cdef int look(self, double done) noexcept nogil:
        """Say that a fraction of the work is done; STOPPED if the rest is no longer wanted, else 0."""
        if read_anew(&self.stopped):
            return STOPPED
        done = self.first + (self.last - self.first) * (done if done < 1 else 1)
        if done > self.done:
            self.done = done
        return 0

    def within(self, double first, double last):
        """What begins now is this part of the work."""
        self.first, self.last = first, last

    def report(self, double done) -> bool:
        """Say that a fraction of this part is done. Whether the rest is still wanted."""
        return self.look(done) == 0

    def stop(self):
        """Let the work end soon, without a result."""
        self.stopped = 1

    @property
    def is_stopped(self) -> bool:
        """Whether the result is no longer wanted."""
        return read_anew(&self.stopped) != 0

    @property
    def fraction(self) -> float:
        """How much of it is done, 0 to 1. It never goes back."""
        return self.done
