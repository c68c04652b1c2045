# Shared by the kernels of stacked pictures: the items of each column become rects over all columns in which they are
# equal.

from libc.stdint cimport uint16_t, uint32_t, int64_t

from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_extend, vector_free, column_of,
)

cdef enum:
    QUANTA = 4              # a rect's edges are rounded to quarters of a row


cdef struct Item:
    # an item of a column
    uint32_t id             # ascends from bottom to top
    uint32_t band           # as in a rect
    uint32_t leader         # an allocation, or NONE
    uint32_t stack          # the leader's, for pictures that distinguish items by it
    uint16_t x0, q0, q1

cdef struct Rect:
    uint16_t x0, x1, q0, q1
    uint32_t band
    uint32_t leader

cdef struct Band:
    int64_t size
    uint32_t id

cdef struct Strips:
    # the items of the last column and of the one that is being laid out, and the finished rects and bands
    Vector items, fresh, rects, bands
    double y0, per_quantum
    int64_t limit_q


cdef inline void strips_init(Strips *strips) noexcept nogil:
    vector_init(&strips.items, sizeof(Item))
    vector_init(&strips.fresh, sizeof(Item))
    vector_init(&strips.rects, sizeof(Rect))
    vector_init(&strips.bands, sizeof(Band))


cdef inline void strips_free(Strips *strips) noexcept nogil:
    vector_free(&strips.items)
    vector_free(&strips.fresh)
    vector_free(&strips.rects)
    vector_free(&strips.bands)


cdef inline void strips_begin(Strips *strips, double y0, double row, uint32_t rows) noexcept nogil:
    """Begin a picture of ``rows`` rows of ``row`` bytes each, from ``y0`` bytes upwards."""
    strips.y0, strips.per_quantum, strips.limit_q = y0, row / QUANTA, <int64_t> rows * QUANTA
    strips.items.count = 0
    strips.rects.count = 0
    strips.bands.count = 0


cdef inline uint16_t quantum(const Strips *strips, int64_t height) noexcept nogil:
    """Return a height in bytes as quarters of a row from y0, rounded and clipped to the viewport."""
    cdef double q = (<double> height - strips.y0) / strips.per_quantum + 0.5
    if q < 1:
        return 0
    if q >= strips.limit_q:
        return <uint16_t> strips.limit_q
    return <uint16_t> q


cdef inline int add_item(Strips *strips, uint32_t id, uint32_t band, uint32_t leader, uint32_t stack, uint16_t q0,
                         uint16_t q1) noexcept nogil:
    """Append an item to the column that is being laid out. -1 if out of memory."""
    cdef Item *item
    if strips.fresh.count == strips.fresh.room and vector_reserve(&strips.fresh, strips.fresh.count + 1) < 0:
        return -1
    item = &(<Item *> strips.fresh.data)[strips.fresh.count]
    item.id, item.band, item.leader, item.stack, item.x0, item.q0, item.q1 = id, band, leader, stack, 0, q0, q1
    strips.fresh.count += 1
    return 0


cdef inline int close_item(Strips *strips, const Item *item, size_t column) noexcept nogil:
    """Turn an item that ends before ``column`` into a rect. -1 if out of memory."""
    cdef Rect *rect
    if strips.rects.count == strips.rects.room and vector_reserve(&strips.rects, strips.rects.count + 1) < 0:
        return -1
    rect = &(<Rect *> strips.rects.data)[strips.rects.count]
    rect.x0, rect.x1, rect.q0, rect.q1 = item.x0, <uint16_t> column, item.q0, item.q1
    rect.band, rect.leader = item.band, item.leader
    strips.rects.count += 1
    return 0


cdef inline int replace_items(Strips *strips, size_t kept, size_t column) noexcept nogil:
    """Replace the old items from ``kept`` on by the new ones; those that aren't among the new ones become rects."""
    cdef Item *old = <Item *> strips.items.data
    cdef Item *fresh = <Item *> strips.fresh.data
    cdef size_t index, at = 0, count = strips.fresh.count
    for index in range(kept, strips.items.count):
        while at < count and fresh[at].id < old[index].id:
            fresh[at].x0 = <uint16_t> column
            at += 1
        if (
            at < count and fresh[at].id == old[index].id and fresh[at].band == old[index].band
            and fresh[at].q0 == old[index].q0 and fresh[at].q1 == old[index].q1
            and fresh[at].stack == old[index].stack
        ):
            fresh[at].x0 = old[index].x0
            at += 1
        elif close_item(strips, &old[index], column) < 0:
            return -1
    while at < count:
        fresh[at].x0 = <uint16_t> column
        at += 1
    strips.items.count = kept
    return vector_extend(&strips.items, strips.fresh.data, count)


cdef inline int close_all(Strips *strips, size_t last_column) noexcept nogil:
    """Turn all items into rects that end before ``last_column``."""
    cdef size_t index
    for index in range(strips.items.count):
        if close_item(strips, &(<Item *> strips.items.data)[index], last_column) < 0:
            return -1
    return 0


cdef inline tuple take_strips(Strips *strips):
    """Move out the rects and the bands, as arrays."""
    return (column_of(&strips.rects, b"T{H:x0:H:x1:H:y0:H:y1:I:band:I:leader:}"),
            column_of(&strips.bands, b"T{q:size:I:allocation:xxxx}"))
