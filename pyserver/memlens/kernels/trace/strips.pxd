# What the kernels of stacked pictures share: what lies in a column becomes rects that reach over all columns alike.

from libc.stdint cimport uint16_t, uint32_t, int64_t

from memlens.kernels.base.vectors cimport (
    Vector, vector_init, vector_reserve, vector_extend, vector_free, column_of,
)

cdef enum:
    QUANTA = 4              # a rect's edges are rounded to quarters of a row


cdef struct Item:
    # what lies in a column
    uint32_t id             # ascends with the height
    uint32_t band           # as a rect says it
    uint32_t leader         # an allocation, or none
    uint32_t stack          # the leader's, where that matters
    uint16_t x0, q0, q1

cdef struct Rect:
    uint16_t x0, x1, q0, q1
    uint32_t band
    uint32_t leader

cdef struct Band:
    int64_t size
    uint32_t id

cdef struct Strips:
    # the items of the last column and of the one that is laid out, and what is finished
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
    """Begin a picture from ``y0`` bytes up, of rows of ``row`` bytes each."""
    strips.y0, strips.per_quantum, strips.limit_q = y0, row / QUANTA, <int64_t> rows * QUANTA
    strips.items.count = 0
    strips.rects.count = 0
    strips.bands.count = 0


cdef inline uint16_t quantum(const Strips *strips, int64_t height) noexcept nogil:
    """A height's edge in quarters of a row from y0, clipped to the viewport."""
    cdef double q = (<double> height - strips.y0) / strips.per_quantum + 0.5
    if q < 1:
        return 0
    if q >= strips.limit_q:
        return <uint16_t> strips.limit_q
    return <uint16_t> q


cdef inline int add_item(Strips *strips, uint32_t id, uint32_t band, uint32_t leader, uint32_t stack, uint16_t q0,
                         uint16_t q1) noexcept nogil:
    """Append an item to those of the column that is laid out."""
    cdef Item *item
    if strips.fresh.count == strips.fresh.room and vector_reserve(&strips.fresh, strips.fresh.count + 1) < 0:
        return -1
    item = &(<Item *> strips.fresh.data)[strips.fresh.count]
    item.id, item.band, item.leader, item.stack, item.x0, item.q0, item.q1 = id, band, leader, stack, 0, q0, q1
    strips.fresh.count += 1
    return 0


cdef inline int close_item(Strips *strips, const Item *item, size_t column) noexcept nogil:
    """Make an item that ends before a column a rect."""
    cdef Rect *rect
    if strips.rects.count == strips.rects.room and vector_reserve(&strips.rects, strips.rects.count + 1) < 0:
        return -1
    rect = &(<Rect *> strips.rects.data)[strips.rects.count]
    rect.x0, rect.x1, rect.q0, rect.q1 = item.x0, <uint16_t> column, item.q0, item.q1
    rect.band, rect.leader = item.band, item.leader
    strips.rects.count += 1
    return 0


cdef inline int take_over(Strips *strips, size_t kept, size_t column) noexcept nogil:
    """Let the fresh items replace the old ones from ``kept`` on; rects of those that aren't among them end."""
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
    """End all items with the last column."""
    cdef size_t index
    for index in range(strips.items.count):
        if close_item(strips, &(<Item *> strips.items.data)[index], last_column) < 0:
            return -1
    return 0


cdef inline tuple strips_taken(Strips *strips):
    """The rects and the bands, as arrays."""
    return (column_of(&strips.rects, b"T{H:x0:H:x1:H:y0:H:y1:I:band:I:leader:}"),
            column_of(&strips.bands, b"T{q:size:I:allocation:xxxx}"))
