# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The base class of readers that scan text line by line."""

from libc.stdint cimport uint8_t
from libc.string cimport memchr

cdef enum:
    OK
    MORE


cdef class LineScan(Scan):
    """Scans lines. A subclass defines ``line``, and ``finish`` if something is left to do at the end of the file."""

    cdef int line(self, size_t at, size_t end, bint is_whole) noexcept nogil:
        """Read the line from ``at`` to its line break at ``end``; ``is_whole`` is False for a last line without one.

        Return 0 to continue, 1 to stop reading, or -1 after ``fail``.
        """
        return 0

    cdef int finish(self) noexcept nogil:
        """Called after the last line. Return 0, or -1 after ``fail``."""
        return 0

    cdef int run_to(self, size_t limit) noexcept nogil:
        cdef size_t at = self.position, end
        cdef const uint8_t *line_break
        cdef int status = 0
        while at < self.length and status == 0:
            self.position = at
            if at >= limit:
                return MORE
            line_break = <const uint8_t *> memchr(self.data + at, 0x0A, self.length - at)
            end = line_break - self.data if line_break != NULL else self.length
            status = self.line(at, end, line_break != NULL)
            at = end + 1
        if status < 0:
            return self.error
        self.position = self.length
        return OK if self.finish() == 0 else self.error
