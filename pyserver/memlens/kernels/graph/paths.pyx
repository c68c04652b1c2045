# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Paths from roots to an object; columns as in ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_push, vector_push_u32
from memlens.kernels.graph.columns cimport AHEAD, NO_NUMBER, OUT_OF_RANGE, Graph, References, fail
from memlens.kernels.graph.left_out cimport LeftOut


cdef enum:
    LISTED = 8      # references that take as long to follow as an object


cdef object way(const uint32_t *towards, const uint32_t *objects, uint32_t at, uint32_t last):
    """The objects from one place to the last, as ``uint32``. Raises MemoryError.

    ``towards`` has of each place the next one, ``objects`` the object that is there: NULL where places are objects.
    """
    cdef int status
    cdef Vector path
    vector_init(&path, 4)
    status = vector_push_u32(&path, objects[at] if objects != NULL else at)
    while at != last and status == 0:
        at = towards[at]
        status = vector_push_u32(&path, objects[at] if objects != NULL else at)
    if status < 0:
        vector_free(&path)
        return fail(status)
    return column_of(&path, b"I")


cdef class PathSearch:
    """Searches backwards from an object for roots, the nearest first. Each object is visited once.

    References that are ``left_out`` aren't followed.

    So the first path is the shortest, and each further one is the shortest to another root that avoids going through an
    object twice, as heap analysers list "paths to GC roots". Numbers of references are checked when they are
    used.
    """

    cdef References referrers
    cdef Graph back
    cdef const uint8_t[::1] is_root
    cdef LeftOut left_out
    cdef uint8_t *seen          # a bit an object
    cdef Vector queue
    cdef Vector towards         # where in the queue the next object is on the way to the one that is explained
    cdef size_t first           # of the queue that isn't passed through yet
    cdef uint64_t at, end       # references to the last that was, which are still to be looked at
    cdef size_t objects
    cdef uint32_t item
    cdef bint is_begun

    def __cinit__(
        self,
        References referrers not None,
        const uint8_t[::1] is_root,
        uint32_t item,
        LeftOut left_out: LeftOut | None = None,
    ):
        vector_init(&self.queue, 4)
        vector_init(&self.towards, 4)
        self.referrers, self.back = referrers, referrers.graph
        self.is_root, self.objects = is_root, is_root.shape[0]
        if self.back.objects != self.objects:
            raise ValueError("the columns are of several graphs")
        self.left_out = left_out
        if left_out is not None and left_out.objects != self.objects:
            raise ValueError("what is left out is of another graph")
        self.item = item
        self.seen = <uint8_t *> calloc(self.objects // 8 + 1, 1)
        if self.seen == NULL or self.enter(item, 0) < 0:
            raise MemoryError

    def __dealloc__(self):
        free(self.seen)
        vector_free(&self.queue)
        vector_free(&self.towards)

    cdef inline int enter(self, uint32_t item, uint32_t towards) noexcept nogil:
        self.seen[item >> 3] |= <uint8_t> (1 << (item & 7))
        if vector_push_u32(&self.queue, item) < 0:
            return -1
        return vector_push_u32(&self.towards, towards)

    def next_path(self, size_t most) -> Buffer | None:
        """The next path as ``uint32`` numbers of objects, from a root to the object; None when there is no other.

        ``most`` limits the visited objects, those with many references counting as several; when it is exhausted, None
        is returned as well, and :attr:`is_complete` is False. Raises MemoryError, and IndexError for a column with a
        number that is out of range.
        """
        cdef uint32_t source
        cdef uint8_t follows
        cdef uint64_t begin, end
        cdef size_t looked = 0, one = 0
        cdef bint leaves_out = self.left_out is not None
        # a root may itself be held by another, so the object's being one ends nothing
        cdef bint found = not self.is_begun and self.is_root[self.item] != 0
        cdef uint32_t item = (<uint32_t *> self.queue.data)[self.first - 1] if self.first else NO_NUMBER
        cdef int status = 0
        self.is_begun = True
        with nogil:
            # roots are found in the order in which they enter the queue, so the others of it needn't be passed before
            while not found and status == 0 and looked < most:
                if self.at == self.end:
                    if self.first == self.queue.count:
                        break
                    item = (<uint32_t *> self.queue.data)[self.first]
                    self.first += 1
                    looked += 1
                    if not self.back.start[item] <= self.back.start[item + 1] <= self.back.references:
                        status = OUT_OF_RANGE
                        break
                    self.at, self.end = self.back.start[item], self.back.start[item + 1]
                begin, end = self.at, self.end
                if end - begin > (most - looked) * LISTED:
                    end = begin + (most - looked) * LISTED
                while self.at < end:
                    if self.at + AHEAD < end and self.back.target[self.at + AHEAD] < self.objects:
                        prefetch(&self.seen[self.back.target[self.at + AHEAD] >> 3])
                        prefetch(&self.is_root[self.back.target[self.at + AHEAD]])
                    source, follows = self.back.target[self.at], self.back.follows[self.back.kind[self.at]]
                    self.at += 1
                    if source >= self.objects:
                        status = OUT_OF_RANGE
                        break
                    if not self.seen[source >> 3] >> (source & 7) & 1 and follows:
                        if leaves_out and not self.left_out.is_kept(source, item, self.back.follows):
                            continue
                        status = self.enter(source, <uint32_t> (self.first - 1))
                        if status < 0:
                            break
                        if self.is_root[source]:
                            one, found = self.queue.count - 1, True
                            break
                looked += (self.at - begin) // LISTED
        if not found or status < 0:
            return fail(status)
        return way(<uint32_t *> self.towards.data, <uint32_t *> self.queue.data, <uint32_t> one, 0)

    @property
    def is_complete(self) -> bool:
        """Whether everything that holds the object was visited."""
        return self.first >= self.queue.count and self.at == self.end


cdef enum:
    MOST_ABOVE = 64         # dominators that are looked at to know whether an object is below another
    LOOKED_AT = 32          # references that take as long to look at as an object
    MANY = 1024             # references to an object; of more a part is followed at a time
    PARTS = 16              # how many parts those would be


cdef struct Ahead:
    uint64_t key            # the length of the whole path, as far as is known, and then the latest first
    uint64_t at             # the reference to it that is to be looked at next, once it ``is_begun``
    uint32_t item, behind   # the object, and how many references are behind it
    uint32_t longer         # the least length of a path by those that were passed over as too long
    bint is_begun

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
    within 64 steps, can't be on a path to it, and isn't looked at; ``dominator`` may be empty. ``avoided`` aren't
    passed through, and ``not_before`` aren't the last before the object. With ``passes_item`` a root that is the
    object itself is no path to it. None is longer than ``longest`` references. Of more than ``many`` references to an
    object, at most 1,024, those are followed first that make a path no longer, some at a time. Numbers in the columns
    are checked when they are used.
    """

    cdef References referrers
    cdef Graph back
    cdef const uint32_t[::1] distance, dominator
    cdef const uint8_t[::1] is_root
    cdef uint32_t *towards      # the next object on the way from each that is ``behind``
    cdef uint32_t *behind       # how many references that are from the object, and 1
    cdef Vector heap
    cdef Vector not_before
    cdef size_t objects
    cdef uint64_t pushed
    cdef uint32_t item
    cdef uint32_t longest
    cdef size_t many
    cdef bint passes_item, has_dominators

    def __cinit__(
        self,
        References referrers not None,
        const uint8_t[::1] is_root,
        const uint32_t[::1] distance,
        const uint32_t[::1] dominator,
        uint32_t item,
        avoided: Iterable[int] = (),
        not_before: Iterable[int] = (),
        bint passes_item=False,
        uint32_t longest=NO_NUMBER,
        size_t many=MANY,
    ):
        vector_init(&self.heap, sizeof(Ahead))
        vector_init(&self.not_before, 4)
        self.referrers, self.back = referrers, referrers.graph
        self.is_root, self.distance, self.dominator = is_root, distance, dominator
        self.objects = is_root.shape[0]
        self.has_dominators = dominator.shape[0] > 0
        if not <size_t> distance.shape[0] == self.objects == self.back.objects:
            raise ValueError("the columns are of several graphs")
        if self.has_dominators and dominator.shape[0] != distance.shape[0]:
            raise ValueError("the columns are of several graphs")
        if item >= self.objects:
            raise IndexError("there is no such object")
        self.item, self.passes_item, self.longest = item, passes_item, longest
        self.many = many if many < MANY else MANY
        for one in not_before:
            if vector_push_u32(&self.not_before, one) < 0:
                raise MemoryError
        # nearly all of it is never touched, so calloc's untouched pages cost nothing
        self.towards = <uint32_t *> calloc(self.objects + 1, 4)
        self.behind = <uint32_t *> calloc(self.objects + 1, 4)
        if self.towards == NULL or self.behind == NULL or self.push(item, 0, distance[item]) < 0:
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
        vector_free(&self.not_before)

    def next_path(self, size_t most) -> Buffer | None:
        """The path as ``uint32`` numbers of objects, from a root to the object; None when there is none.

        ``most`` limits the visited objects, those with many references counting as several; when it is exhausted, None
        is returned as well, and :attr:`is_complete` is False. Raises MemoryError, and IndexError for a number that is
        out of range.
        """
        cdef size_t looked = 0
        cdef Ahead entry
        cdef bint found = False
        cdef int status = 0
        with nogil:
            while self.heap.count and looked < most and status == 0:
                entry = heap_pop(&self.heap)
                if entry.behind + 1 != self.behind[entry.item]:
                    continue
                if not entry.is_begun:
                    if self.is_below(entry.item):
                        continue
                    if self.is_root[entry.item] and not (self.passes_item and entry.item == self.item):
                        found = True
                        break
                    if not self.back.start[entry.item] <= self.back.start[entry.item + 1] <= self.back.references:
                        status = OUT_OF_RANGE
                        break
                    entry.at, entry.is_begun = self.back.start[entry.item], True
                status = self.follow(&entry, (most - looked) * LOOKED_AT, &looked)
                looked += 1
        return way(self.towards, NULL, entry.item, self.item) if found else fail(status)

    cdef int follow(self, Ahead *entry, uint64_t most, size_t *looked) noexcept nogil:
        """Continue with the referrers of an object; if they are many, first with those that don't lengthen the path.

        Among paths of the same length, the one with the first references in the file is found first. The remaining
        references are queued.
        """
        cdef uint64_t at, length, end = self.back.start[entry.item + 1], begin = entry.at
        cdef uint64_t level = entry.key >> 32
        cdef uint32_t source, far
        cdef uint32_t next_ones[MANY]
        cdef uint32_t lengths[MANY]
        cdef size_t count = 0
        cdef bint is_level = end - self.back.start[entry.item] > self.many
        cdef int status = 0
        for at in range(begin, end):
            if is_level and (count > self.many // PARTS or at - begin == most):
                end = at
                break
            if at + AHEAD < end and self.back.target[at + AHEAD] < self.objects:
                prefetch(&self.distance[self.back.target[at + AHEAD]])
            source = self.back.target[at]
            if source >= self.objects:
                return OUT_OF_RANGE
            if not self.back.follows[self.back.kind[at]]:
                continue
            far = self.distance[source]
            length = <uint64_t> entry.behind + 1 + far
            if far == NO_NUMBER or length > self.longest:
                continue
            if self.behind[source] and self.behind[source] <= entry.behind + 2:
                continue
            if self.has_dominators and self.dominator[source] == self.item:
                continue
            if entry.item == self.item and self.is_avoided_last(source):
                continue
            if is_level and length > level:
                entry.longer = <uint32_t> length if length < entry.longer else entry.longer
                continue
            next_ones[count], lengths[count] = source, <uint32_t> length
            count += 1
        looked[0] += (end - begin) // LOOKED_AT
        if is_level:
            entry.at = end
            if end == self.back.start[entry.item + 1]:
                level, entry.longer, entry.at = entry.longer, NO_NUMBER, self.back.start[entry.item]
            # the rest comes after all that are as short, and before what was found earlier
            if level != NO_NUMBER:
                status = self.push_entry(entry, level)
        while count and status == 0:
            count -= 1
            source = next_ones[count]
            # of several references from an object the first counts
            if not self.behind[source] or self.behind[source] > entry.behind + 2:
                self.behind[source] = entry.behind + 2
                self.towards[source] = entry.item
                status = self.push(source, entry.behind + 1, lengths[count])
        return status

    cdef int push(self, uint32_t item, uint32_t behind, uint64_t length) noexcept nogil:
        cdef Ahead entry
        entry.item, entry.behind, entry.at, entry.longer, entry.is_begun = item, behind, 0, NO_NUMBER, False
        return self.push_entry(&entry, length)

    cdef int push_entry(self, Ahead *entry, uint64_t length) noexcept nogil:
        self.pushed += 1
        entry.key = (length if length < NO_NUMBER else NO_NUMBER) << 32
        entry.key |= NO_NUMBER - (self.pushed & NO_NUMBER)
        return heap_push(&self.heap, entry[0])

    cdef inline bint is_avoided_last(self, uint32_t source) noexcept nogil:
        """Whether this object may not come last before the explained one."""
        cdef size_t each
        for each in range(self.not_before.count):
            if (<uint32_t *> self.not_before.data)[each] == source:
                return True
        return False

    cdef inline bint is_below(self, uint32_t source) noexcept nogil:
        """Whether the explained object dominates another one."""
        cdef size_t _
        cdef uint32_t above = source
        for _ in range(MOST_ABOVE if self.has_dominators else 0):
            above = self.dominator[above]
            if above == self.item:
                return True
            if above >= self.objects:
                return False
        return False

    @property
    def is_complete(self) -> bool:
        """Whether everything that may hold the object was visited."""
        return self.heap.count == 0
