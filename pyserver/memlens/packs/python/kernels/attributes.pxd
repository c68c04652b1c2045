# Whether the attributes of a type's instances are named by the program's code, or are set by its data.
#
# A program may use the instances of a type as dictionaries, by `setattr` or `__dict__`: then there are more than 256
# attributes, or three objects or more have more than twice as many in all as any of them has. Of such a type only what
# half of the objects have is named by code.

from libc.stdint cimport uint32_t, uint64_t

from memlens.kernels.base.counts cimport CountRow, Counts, counts_find, counts_free, counts_init, counts_row

cdef enum:
    MOST_ATTRIBUTES = 256
    LEAST_OBJECTS = 3

cdef struct Attributes:
    Counts of_types         # objects, attributes, and the most attributes of an object
    Counts of_attributes    # objects


cdef inline void attributes_init(Attributes *known) noexcept nogil:
    counts_init(&known.of_types)
    counts_init(&known.of_attributes)


cdef inline void attributes_free(Attributes *known) noexcept nogil:
    counts_free(&known.of_types)
    counts_free(&known.of_attributes)


cdef inline void attributes_seed(Attributes *known, uint64_t seed) noexcept nogil:
    known.of_types.seed = known.of_attributes.seed = seed


cdef inline uint64_t attributes_key(uint64_t form, uint64_t attribute) noexcept nogil:
    """Return a number for an attribute of a type."""
    return ((form * 0x9E3779B97F4A7C15ULL) ^ (attribute * 0xC4CEB9FE1A85EC53ULL)) | 1


cdef inline int attributes_note(Attributes *known, uint64_t form, uint64_t attribute) noexcept nogil:
    """Note an attribute that an object of a type has. -1 if out of memory."""
    cdef uint64_t key = attributes_key(form, attribute)
    cdef CountRow *type
    cdef CountRow *row
    if counts_find(&known.of_attributes, key) == NULL:
        type = counts_row(&known.of_types, form)
        if type == NULL:
            return -1
        type.second += 1
    row = counts_row(&known.of_attributes, key)
    if row == NULL:
        return -1
    row.first += 1
    return 0


cdef inline int attributes_end(Attributes *known, uint64_t form, uint32_t count) noexcept nogil:
    """Note that these were all ``count`` attributes of an object. -1 if out of memory."""
    cdef CountRow *type = counts_row(&known.of_types, form)
    if type == NULL:
        return -1
    type.first += 1
    type.third = max(type.third, count)
    return 0


cdef inline bint is_of_code(const Attributes *known, uint64_t form, uint64_t attribute) noexcept nogil:
    """Return whether an attribute of a type is named by code, when all are noted."""
    cdef CountRow *type = counts_find(&known.of_types, form)
    cdef CountRow *row
    if type == NULL:
        return False
    if type.second <= MOST_ATTRIBUTES and (type.first < LEAST_OBJECTS or type.second <= 2 * type.third):
        return True
    row = counts_find(&known.of_attributes, attributes_key(form, attribute))
    return row != NULL and type.first >= LEAST_OBJECTS and 2 * <uint64_t> row.first >= type.first


cdef inline bint is_common(const Attributes *known, uint64_t form, uint64_t attribute) noexcept nogil:
    """Return whether three objects of a type and at least half of them have an attribute, when all are noted."""
    cdef CountRow *type = counts_find(&known.of_types, form)
    cdef CountRow *row = counts_find(&known.of_attributes, attributes_key(form, attribute))
    return type != NULL and row != NULL and row.first >= LEAST_OBJECTS and 2 * <uint64_t> row.first >= type.first
