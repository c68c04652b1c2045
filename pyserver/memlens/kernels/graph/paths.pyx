# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Paths from roots to an object; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push, vector_push_u32
from memlens.kernels.graph.columns cimport NO_NUMBER, OUT_OF_RANGE, fail
from memlens.kernels.graph.left_out cimport LeftOut


cdef object way(const uint32_t *towards, uint32_t one, uint32_t item):
    """The objects from ``one`` to ``item`` as ``uint32``. Raises MemoryError.

    ``towards`` has of each object the number of the next one, plus 1.
    """
    cdef int status
    cdef Vector path
    vector_init(&path, 4)
    status = vector_push_u32(&path, one)
    while one != item and status == 0:
        one = towards[one] - 1
        status = vector_push_u32(&path, one)
    if status < 0:
        vector_free(&path)
        return fail(status)
    return column_of(&path, b"I")


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
        self.is_begun = True
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
        return way(self.towards, one, self.item) if found and status == 0 else fail(status)

    @property
    def is_complete(self):
        """Whether everything that holds the object has been looked at."""
        return self.first >= self.queue.count and self.at == self.end


cdef enum:
    MOST_ABOVE = 64         # dominators that are looked at to know whether an object is below another
    AS_MANY = 8            # references that take as long as an object


cdef struct Ahead:
    uint64_t key            # the length of the whole path, as far as is known, and then the latest first
    uint32_t item, behind   # the object, and how many references are behind it


cdef inline int heap_push(Vector *heap, Ahead entry) noexcept nogil:
    cdef size_t at = heap.count, up
    cdef Ahead *rows
    if vector_push(heap, &entry) < 0:
        return -1
    rows = <Ahead *> heap.data
    while at:
        up = (at - 1) >> 1
        if rows[up].key <= entry.key:
            break
        rows[at] = rows[up]
        at = up
    rows[at] = entry
    return 0


cdef inline Ahead heap_pop(Vector *heap) noexcept nogil:
    cdef Ahead *rows = <Ahead *> heap.data
    cdef Ahead first = rows[0], last = rows[heap.count - 1]
    cdef size_t at = 0, down
    heap.count -= 1
    while True:
        down = 2 * at + 1
        if down >= heap.count:
            break
        if down + 1 < heap.count and rows[down + 1].key < rows[down].key:
            down += 1
        if last.key <= rows[down].key:
            break
        rows[at] = rows[down]
        at = down
    if heap.count:
        rows[at] = last
    return first


cdef class WaySearch:
    """Searches backwards from an object for the shortest path from a root that avoids some objects.

    ``distance`` has the least number of references from a root to each object, NO_NUMBER where none leads there, so
    that the search (A*) keeps to what is near such a path. What the object dominates, as far as ``dominator`` says so
    within 64 steps, can't be on a path to it, and isn't looked at. ``avoided`` aren't passed through, and
    ``not_before`` aren't the last before the object. With ``passes_item`` a root that is the object itself is no path
    to it. None is longer than ``longest`` references. Numbers in the columns are checked when they are used.
    """

    cdef const uint64_t[::1] back_start
    cdef const uint32_t[::1] back, distance, dominator
    cdef const uint8_t[::1] back_kind, follows, is_root
    cdef uint32_t *towards      # the next object on the way, and 1; 0 where there is none
    cdef uint32_t *behind       # how many references that are from the object, and 1
    cdef Vector heap
    cdef set not_before
    cdef size_t objects
    cdef uint64_t pushed
    cdef uint32_t item
    cdef uint32_t longest
    cdef bint passes_item, skips

    def __cinit__(
        self,
        const uint64_t[::1] back_start,
        const uint32_t[::1] back,
        const uint8_t[::1] back_kind,
        const uint8_t[::1] follows,
        const uint8_t[::1] is_root,
        const uint32_t[::1] distance,
        const uint32_t[::1] dominator,
        uint32_t item,
        avoided=(),
        not_before=(),
        bint passes_item=False,
        uint32_t longest=NO_NUMBER,
    ):
        cdef Ahead first
        vector_init(&self.heap, sizeof(Ahead))
        self.back_start, self.back, self.back_kind = back_start, back, back_kind
        self.follows, self.is_root, self.distance, self.dominator = follows, is_root, distance, dominator
        self.objects = is_root.shape[0]
        if <size_t> distance.shape[0] != self.objects or <size_t> dominator.shape[0] != self.objects:
            raise ValueError("the columns are of several graphs")
        if item >= self.objects:
            raise IndexError("there is no such object")
        self.item, self.not_before, self.passes_item = item, set(not_before), passes_item
        self.longest = longest
        # nearly all of it is never touched, as above
        self.towards = <uint32_t *> calloc(self.objects + 1, 4)
        self.behind = <uint32_t *> calloc(self.objects + 1, 4)
        first.key, first.item, first.behind = 0, item, 0
        if self.towards == NULL or self.behind == NULL or heap_push(&self.heap, first) < 0:
            raise MemoryError
        self.behind[item] = 1
        for one in avoided:
            # nothing is nearer than that
            if 0 <= one < self.objects and one != item:
                self.behind[<size_t> one] = 1

    def __dealloc__(self):
        free(self.towards)
        free(self.behind)
        vector_free(&self.heap)

    def next_path(self, size_t most):
        """The path as ``uint32`` numbers of objects, from a root to the object; None when there is none.

        ``most`` bounds how many objects are looked at, those with many references counting for several, and too many
        aren't followed; where that leaves something out, :attr:`is_complete` is False. Raises MemoryError, and
        IndexError for a number that is out of range.
        """
        cdef uint64_t references = self.back.shape[0], at, length, many
        cdef size_t looked = 0
        cdef uint32_t source, far
        cdef Ahead entry, further
        cdef bint found = False
        cdef int status = 0
        while self.heap.count and looked < most and status == 0 and not found:
            entry = heap_pop(&self.heap)
            if entry.behind + 1 != self.behind[entry.item] or self.is_below(entry.item):
                continue
            looked += 1
            if self.is_root[entry.item] and not (self.passes_item and entry.item == self.item):
                found = True
                break
            if not self.back_start[entry.item] <= self.back_start[entry.item + 1] <= references:
                status = OUT_OF_RANGE
                break
            # of paths of the same length that one is found first whose references are the first of the file
            at = self.back_start[entry.item + 1]
            many = (at - self.back_start[entry.item]) // AS_MANY
            if many > most - looked:
                self.skips = True
                continue
            looked += many
            while at > self.back_start[entry.item]:
                at -= 1
                source = self.back[at]
                if source >= self.objects:
                    status = OUT_OF_RANGE
                    break
                if not self.follows[self.back_kind[at]] or self.dominator[source] == self.item:
                    continue
                far = self.distance[source]
                length = <uint64_t> entry.behind + 1 + far
                if far == NO_NUMBER or length > self.longest:
                    continue
                if self.behind[source] and self.behind[source] <= entry.behind + 2:
                    continue
                if entry.item == self.item and source in self.not_before:
                    continue
                self.behind[source] = entry.behind + 2
                self.towards[source] = entry.item + 1
                self.pushed += 1
                further.key = (length if length < NO_NUMBER else NO_NUMBER) << 32
                further.key |= NO_NUMBER - (self.pushed & NO_NUMBER)
                further.item, further.behind = source, entry.behind + 1
                status = heap_push(&self.heap, further)
                if status < 0:
                    break
        return way(self.towards, entry.item, self.item) if found else fail(status)

    cdef inline bint is_below(self, uint32_t source) noexcept nogil:
        """Whether the object that is explained dominates another one."""
        cdef size_t _
        cdef uint32_t above = source
        for _ in range(MOST_ABOVE):
            above = self.dominator[above]
            if above == self.item:
                return True
            if above >= self.objects:
                return False
        return False

    @property
    def is_complete(self):
        """Whether everything that may hold the object has been looked at."""
        return self.heap.count == 0 and not self.skips
