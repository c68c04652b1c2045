# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Paths from roots to an object; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push_u32
from memlens.kernels.graph.columns cimport NO_NUMBER, OUT_OF_RANGE, fail
from memlens.kernels.graph.left_out cimport LeftOut


cdef class PathSearch:
    """Searches backwards from an object for roots, the nearest first. Each object is passed through once.

    References that are ``left_out`` aren't followed.

    So the first path is the shortest, and each further one is the shortest to another root that avoids going through an
    object twice, as heap analysers list "paths to GC roots". Numbers in ``back_start`` and ``back`` are checked when
    they are used.
    """

    cdef const uint64_t[::1] back_start
    cdef const uint32_t[::1] back
    cdef const uint8_t[::1] back_kind, follows, is_root
    cdef LeftOut left_out
    cdef uint32_t *towards      # the next object on the way to the one that is explained
    cdef Vector queue
    cdef size_t first           # of the queue that isn't passed through yet
    cdef uint64_t at, end       # references to the last that was, which are still to be looked at
    cdef size_t objects
    cdef uint32_t item
    cdef bint is_begun

    def __cinit__(
        self,
        const uint64_t[::1] back_start,
        const uint32_t[::1] back,
        const uint8_t[::1] back_kind,
        const uint8_t[::1] follows,
        const uint8_t[::1] is_root,
        uint32_t item,
        LeftOut left_out=None,
    ):
        vector_init(&self.queue, 4)
        self.back_start, self.back, self.back_kind = back_start, back, back_kind
        self.follows, self.is_root = follows, is_root
        self.objects = is_root.shape[0]
        self.left_out = left_out
        if left_out is not None and left_out.objects != self.objects:
            raise ValueError("what is left out is of another graph")
        self.item = item
        # nearly all of it is never touched, so calloc's untouched pages cost nothing: 0 is "not seen"
        self.towards = <uint32_t *> calloc(self.objects + 1, 4)
        if self.towards == NULL or vector_push_u32(&self.queue, item) < 0:
            raise MemoryError
        self.towards[item] = item + 1

    def __dealloc__(self):
        free(self.towards)
        vector_free(&self.queue)

    def next_path(self, size_t most):
        """The next path as ``uint32`` numbers of objects, from a root to the object; None when there is no other.

        ``most`` bounds how many objects are looked at; once they are used up, None is returned as well, and
        :attr:`is_complete` is False. Raises MemoryError, and IndexError for a column with a number that is out of
        range.
        """
        cdef uint32_t source, one = self.item
        cdef uint64_t references = self.back.shape[0]
        cdef size_t looked = 0
        cdef bint leaves_out = self.left_out is not None
        # a root may itself be held by another, so the object's being one ends nothing
        cdef bint found = not self.is_begun and self.is_root[self.item] != 0
        cdef uint32_t item = (<uint32_t *> self.queue.data)[self.first - 1] if self.first else NO_NUMBER
        cdef int status = 0
        cdef Vector path
        self.is_begun = True
        vector_init(&path, 4)
        with nogil:
            # roots are found in the order in which they enter the queue, so the others of it needn't be passed before
            while not found and status == 0:
                if self.at == self.end:
                    if self.first == self.queue.count or looked == most:
                        break
                    item = (<uint32_t *> self.queue.data)[self.first]
                    self.first += 1
                    looked += 1
                    if not self.back_start[item] <= self.back_start[item + 1] <= references:
                        status = OUT_OF_RANGE
                        break
                    self.at, self.end = self.back_start[item], self.back_start[item + 1]
                while self.at < self.end:
                    source = self.back[self.at]
                    self.at += 1
                    if source >= self.objects:
                        status = OUT_OF_RANGE
                        break
                    if self.towards[source] == 0 and self.follows[self.back_kind[self.at - 1]]:
                        if leaves_out and not self.left_out.is_kept(source, item, &self.follows[0]):
                            continue
                        self.towards[source] = item + 1
                        status = vector_push_u32(&self.queue, source)
                        if status < 0:
                            break
                        if self.is_root[source]:
                            one, found = source, True
                            break
            if found and status == 0:
                status = vector_push_u32(&path, one)
                while one != self.item and status == 0:
                    one = self.towards[one] - 1
                    status = vector_push_u32(&path, one)
        if status < 0 or not found:
            vector_free(&path)
            return fail(status)
        return column_of(&path, b"I")

    @property
    def is_complete(self):
        """Whether everything that holds the object has been looked at."""
        return self.first >= self.queue.count and self.at == self.end
