# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""References that a walk leaves out, as if a program no longer had them.

Columns are as in ``columns.pxd``. Numbers in them are checked when they are used, but for those of ``kind``, which is
an item of tables of 256; what is out of range raises IndexError.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort

from memlens.kernels.base.prefetch cimport prefetch
from memlens.kernels.base.vectors cimport vector_free, vector_init, vector_push, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport AHEAD, OUT_OF_RANGE, fail

cdef enum:
    MANY = 64           # references of an object that are looked up and not gone through

cdef struct Kept:
    uint32_t source, target, kind


cdef int compare(const void *one, const void *other) noexcept nogil:
    cdef const Kept *a = <const Kept *> one
    cdef const Kept *b = <const Kept *> other
    if a.source != b.source:
        return -1 if a.source < b.source else 1
    if a.target != b.target:
        return -1 if a.target < b.target else 1
    return <int> a.kind - <int> b.kind


cdef class LeftOut:
    """References of one graph that are left out: all those of some objects, and those of some names."""

    def __cinit__(self, const uint64_t[::1] start, const uint32_t[::1] target, const uint8_t[::1] kind):
        vector_init(&self.sources, 4)
        vector_init(&self.kept, sizeof(Kept))
        if start.shape[0] < 1 or kind.shape[0] != target.shape[0]:
            raise ValueError("a kind for each reference")
        self.start, self.target, self.kind = start, target, kind
        self.objects, self.references = start.shape[0] - 1, target.shape[0]
        self.marks = <uint8_t *> calloc(self.objects + 1, 1)
        self.rows = <uint8_t *> calloc(self.references + 1, 1)
        if self.marks == NULL or self.rows == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.marks)
        free(self.rows)
        vector_free(&self.sources)
        vector_free(&self.kept)

    def add_objects(self, const uint32_t[::1] chosen):
        """Leave out all references of some objects. Raises MemoryError."""
        cdef Py_ssize_t each
        cdef int status = 0
        with nogil:
            for each in range(chosen.shape[0]):
                status = self.add(chosen[each], ALL_OUT)
                if status < 0:
                    break
        fail(status)

    def add_rows(self, const uint32_t[::1] sources, const uint64_t[::1] rows):
        """Leave out references by number, each of one of ``sources``. Raises MemoryError."""
        cdef Py_ssize_t each
        cdef uint32_t item
        cdef int status = 0
        if sources.shape[0] != rows.shape[0]:
            raise ValueError("a source for each reference")
        with nogil:
            for each in range(rows.shape[0]):
                item = sources[each]
                if item >= self.objects or not self.start[item] <= rows[each] < self.start[item + 1] <= self.references:
                    status = OUT_OF_RANGE
                    break
                status = self.add_named(item, rows[each])
                if status < 0:
                    break
        fail(status)

    def add_names(
        self,
        const uint32_t[::1] name,
        const uint8_t[::1] by_text,
        uint32_t wanted,
        const uint32_t[::1] among,
        Work work not None,
    ) -> int | None:
        """Leave out the references with the name ``wanted`` of some objects; return their number.

        ``name`` has one item per reference, and ``by_text`` one per kind: whether its names are such numbers. None if
        ``work`` was stopped. Raises MemoryError.
        """
        cdef Py_ssize_t each
        cdef uint32_t item
        cdef uint64_t row, end, count = 0
        cdef int status = 0
        if <uint64_t> name.shape[0] != self.references or by_text.shape[0] < 256:
            raise ValueError("a name for each reference")
        with nogil:
            for each in range(among.shape[0]):
                if each % LOOK_EVERY == 0 and look(work, each, among.shape[0], 0, 10) < 0:
                    status = STOPPED
                if each + 2 * AHEAD < among.shape[0] and among[each + 2 * AHEAD] < self.objects:
                    prefetch(&self.start[among[each + 2 * AHEAD]])
                    row = self.start[among[each + AHEAD]] if among[each + AHEAD] < self.objects else 0
                    if row < self.references:
                        prefetch(&name[row])
                        prefetch(&self.kind[row])
                item = among[each]
                if item >= self.objects:
                    status = OUT_OF_RANGE
                if status < 0:
                    break
                row, end = self.start[item], self.start[item + 1]
                if not row <= end <= self.references:
                    status = OUT_OF_RANGE
                while row < end and status == 0:
                    if name[row] == wanted and by_text[self.kind[row]]:
                        count += 1
                        status = self.add_named(item, row)
                    row += 1
        return fail(status, count)

    def add_name(
        self, const uint32_t[::1] name, const uint8_t[::1] by_text, uint32_t wanted, Work work not None
    ) -> int | None:
        """The same for all objects."""
        cdef size_t item = 0, high, step
        cdef uint64_t row, count = 0
        cdef int status = 0
        if <uint64_t> name.shape[0] != self.references or by_text.shape[0] < 256:
            raise ValueError("a name for each reference")
        with nogil:
            for row in range(self.references):
                if row % (LOOK_EVERY * 8) == 0 and look(work, row, self.references, 0, 10) < 0:
                    status = STOPPED
                    break
                if name[row] != wanted or not by_text[self.kind[row]]:
                    continue
                # the reference's source, by galloping and then binary search
                step = 1
                while item + step < self.objects and self.start[item + step] <= row:
                    item += step
                    step *= 2
                high = item + step if item + step < self.objects else self.objects
                while high - item > 1:
                    step = (high - item) // 2
                    if self.start[item + step] <= row:
                        item += step
                    else:
                        high = item + step
                if item >= self.objects or not self.start[item] <= row < self.start[item + 1] <= self.references:
                    status = OUT_OF_RANGE
                    break
                count += 1
                status = self.add_named(<uint32_t> item, row)
                if status < 0:
                    break
        return fail(status, count)

    def are_out(self, const uint32_t[::1] sources, const uint64_t[::1] rows, uint8_t[::1] out):
        """Fill ``out`` with whether references by number, each of one of ``sources``, are left out."""
        cdef Py_ssize_t each
        if not sources.shape[0] == rows.shape[0] == out.shape[0]:
            raise ValueError("a source for each reference")
        for each in range(rows.shape[0]):
            if sources[each] >= self.objects or rows[each] >= self.references:
                raise IndexError("a reference is out of range")
            out[each] = self.marks[sources[each]] & ALL_OUT or self.rows[rows[each]]

    cdef int add(self, uint32_t item, uint8_t mark) noexcept nogil:
        if item >= self.objects or not self.start[item] <= self.start[item + 1] <= self.references:
            return OUT_OF_RANGE
        self.is_listed = False
        if self.marks[item] & (ALL_OUT | SOME_OUT) == 0:
            if vector_push_u32(&self.sources, item) < 0:
                return -1
        self.marks[item] |= mark
        return 0

    cdef int add_named(self, uint32_t item, uint64_t row) noexcept nogil:
        if self.target[row] >= self.objects:
            return OUT_OF_RANGE
        self.rows[row] = 1
        self.marks[self.target[row]] |= OUT_TO_IT
        return self.add(item, SOME_OUT)

    cdef bint is_kept(self, uint32_t source, uint32_t item, const uint8_t *follows) noexcept nogil:
        """Whether a followed reference from ``source`` to ``item`` remains; there is at least one, perhaps left out."""
        cdef uint64_t row
        cdef size_t low = 0, high, middle
        cdef Kept *kept
        cdef Kept wanted
        if self.marks[source] & ALL_OUT:
            return False
        if not (self.marks[source] & SOME_OUT and self.marks[item] & OUT_TO_IT):
            return True
        if self.start[source + 1] - self.start[source] > MANY and (self.is_listed or self.list_kept() == 0):
            wanted.source, wanted.target, wanted.kind = source, item, 0
            kept, high = <Kept *> self.kept.data, self.kept.count
            while low < high:
                middle = low + (high - low) // 2
                if compare(kept + middle, &wanted) < 0:
                    low = middle + 1
                else:
                    high = middle
            while low < self.kept.count and kept[low].source == source and kept[low].target == item:
                if follows[kept[low].kind]:
                    return True
                low += 1
            return False
        for row in range(self.start[source], self.start[source + 1]):
            if self.target[row] == item and not self.rows[row] and follows[self.kind[row]]:
                return True
        return False

    cdef int list_kept(self) noexcept nogil:
        """Cache in ``kept`` what is queried repeatedly for objects with many references; -1 without memory."""
        cdef size_t each, listed = 0
        cdef uint64_t row
        cdef uint32_t source
        cdef Kept found
        cdef Kept *kept
        self.kept.count = 0
        for each in range(self.sources.count):
            source = (<uint32_t *> self.sources.data)[each]
            if self.marks[source] & ALL_OUT or self.start[source + 1] - self.start[source] <= MANY:
                continue
            for row in range(self.start[source], self.start[source + 1]):
                if self.rows[row] or self.target[row] >= self.objects or not self.marks[self.target[row]] & OUT_TO_IT:
                    continue
                found.source, found.target, found.kind = source, self.target[row], self.kind[row]
                if vector_push(&self.kept, &found) < 0:
                    return -1
        # each once: any number of references may be equal
        kept = <Kept *> self.kept.data
        if self.kept.count:
            qsort(kept, self.kept.count, sizeof(Kept), compare)
        for each in range(self.kept.count):
            if listed == 0 or compare(kept + listed - 1, kept + each) != 0:
                kept[listed] = kept[each]
                listed += 1
        self.kept.count = listed
        self.is_listed = True
        return 0
