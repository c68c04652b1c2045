# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What readers of text have in common that scan it line by line."""

from libc.stdint cimport uint8_t
from libc.string cimport memchr

cdef enum:
    OK
    MORE


cdef class LineScan(Scan):
    """Scans lines. A reader defines ``line``, and ``finish`` if the end of the file says something."""

    cdef int line(self, size_t at, size_t end, bint is_whole) noexcept nogil:
        """Read a line, without its break; 0, 1 if nothing after it is to be read, or -1 after ``fail``.

        ``is_whole`` is False for a last line without a break.
        """
        return 0

    cdef int finish(self) noexcept nogil:
        """Called after the last line; 0, or -1 after ``fail``."""
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
