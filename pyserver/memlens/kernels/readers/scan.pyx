# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The base class of readers that scan a mapped file in steps, so that they can report progress and be cancelled."""


cdef class Scan:
    """Scans ``data``. A subclass defines ``run_to``; the first of its statuses are OK (0) and MORE (1)."""

    def __cinit__(self, const uint8_t[::1] data, *_):
        self.bytes = data
        self.length = data.shape[0]
        self.data = &data[0] if self.length else NULL

    cdef int fail(self, int error, size_t at) noexcept nogil:
        """Record the first error, and return -1."""
        if self.error == 0:
            self.error = error
            self.error_offset = at
        return -1

    cdef int run_to(self, size_t limit) noexcept nogil:
        """Scan until at least ``limit`` bytes have been read; return a status, or -1 after ``fail``."""
        return 0

    @property
    def offset(self) -> int:
        """The number of bytes that have been read and won't be read again."""
        return self.position

    def run(self, size_t limit) -> int:
        """Continue until at least ``limit`` bytes have been read. Returns OK at the end, else MORE or an error."""
        cdef int status
        with nogil:
            status = self.run_to(limit)
        return self.error if status < 0 else status
