# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The first rows of a list that is too long to sort."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from memlens.kernels.base.vectors cimport Vector, column_of, vector_free, vector_init, vector_reserve


cdef inline bint is_before(const uint64_t *values, uint32_t a, uint32_t b) noexcept nogil:
    """Whether ``a`` has the larger value, or on a tie the smaller number."""
    return values[a] > values[b] or (values[a] == values[b] and a < b)


cdef void sink(const uint64_t *values, uint32_t *heap, size_t at, size_t count) noexcept nogil:
    """Restore the heap below ``at``; above everything is what would be shown last."""
    cdef uint32_t moved = heap[at]
    cdef size_t child
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and is_before(values, heap[child], heap[child + 1]):
            child += 1
        if is_before(values, heap[child], moved):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moved


cdef struct Top:
    const uint64_t *values
    uint32_t *heap          # of ``count`` numbers, at last of ``most``
    size_t count
    size_t most


cdef inline void offer(Top *top, uint32_t number) noexcept nogil:
    cdef size_t place
    if top.count < top.most:
        top.heap[top.count] = number
        top.count += 1
        if top.count == top.most:
            for place in range(top.most // 2, 0, -1):
                sink(top.values, top.heap, place - 1, top.most)
    elif is_before(top.values, number, top.heap[0]):
        top.heap[0] = number
        sink(top.values, top.heap, 0, top.most)


cdef void put_in_order(Top *top) noexcept nogil:
    cdef size_t place, count = top.count
    for place in range(count // 2, 0, -1):
        sink(top.values, top.heap, place - 1, count)
    # the last one shown is on top: it goes to the end, and the rest is a heap again
    while count > 1:
        count -= 1
        top.heap[0], top.heap[count] = top.heap[count], top.heap[0]
        sink(top.values, top.heap, 0, count)


cdef int begin(Top *top, Vector *kept, const uint64_t[::1] values, size_t total, size_t most) except -1:
    """Allocate the numbers, unless none can be found. Raises MemoryError."""
    vector_init(kept, 4)
    top.most, top.count = most if most < total else total, 0
    if vector_reserve(kept, top.most) < 0:
        raise MemoryError
    top.heap, top.values = <uint32_t *> kept.data, &values[0] if values.shape[0] else NULL
    return 0


def largest(const uint64_t[::1] values, const uint32_t[::1] numbers, size_t most) -> Buffer:
    """The ``most`` numbers with the largest values, the largest first, those of equal values in ascending order.

    ``values`` has an item for each number that there may be. Raises IndexError for a number without one, and
    MemoryError.
    """
    cdef Vector kept
    cdef Top top
    cdef size_t item, total = numbers.shape[0]
    cdef uint32_t number
    cdef bint is_wrong = False
    begin(&top, &kept, values, total, most)
    if top.most == 0:
        return column_of(&kept, b"I")
    with nogil:
        for item in range(total):
            number = numbers[item]
            if number >= <size_t> values.shape[0]:
                is_wrong = True
                break
            offer(&top, number)
        if not is_wrong:
            put_in_order(&top)
    if is_wrong:
        vector_free(&kept)
        raise IndexError("a number is out of range")
    kept.count = top.count
    return column_of(&kept, b"I")


def largest_marked(const uint64_t[::1] values, const uint8_t[::1] marks, size_t most) -> Buffer:
    """The same for the numbers whose item of ``marks`` isn't 0; ``values`` has the same length. Raises MemoryError."""
    cdef Vector kept
    cdef Top top
    cdef size_t item, total = marks.shape[0]
    if values.shape[0] != marks.shape[0]:
        raise ValueError("a mark for each value")
    begin(&top, &kept, values, total, most)
    if top.most == 0:
        return column_of(&kept, b"I")
    with nogil:
        for item in range(total):
            if marks[item]:
                offer(&top, <uint32_t> item)
        put_in_order(&top)
    kept.count = top.count
    return column_of(&kept, b"I")
