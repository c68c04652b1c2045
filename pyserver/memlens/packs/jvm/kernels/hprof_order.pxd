# In which order and by which ids the objects of a Java heap dump are written anew (see the .pyx).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from memlens.kernels.base.addresses cimport AddressMap, address_ordinal, address_rank
from memlens.kernels.base.random cimport Random
from memlens.kernels.base.vectors cimport Vector
from memlens.packs.jvm.kernels.hprof cimport Record
from memlens.packs.jvm.kernels.hprof_survey cimport Layout, Survey

cdef enum:
    SIEVE_BYTES = 1 << 12

cdef extern from *:
    """
    #define MEMLENS_NOWHERE 0xFFFFFFFFFFFFFFFEull
    """
    const uint64_t NOWHERE "MEMLENS_NOWHERE"


cdef struct Sieve:
    # which numbers may be among some hundreds
    uint8_t[SIEVE_BYTES] bits

cdef struct Chunk:
    # records of one kind that follow one another
    uint64_t start, end
    uint64_t heap           # the offset of the record that says in which of Android's heaps they are; 0 if none does
    uint64_t least, most    # of the ids of its objects
    uint32_t dump
    bint is_objects         # instances and arrays, else classes, roots and names of heaps

cdef struct Piece:
    # a record of a window
    uint64_t offset, heap
    uint64_t id             # of its object, as it is written

cdef struct Shared:
    uint64_t id, dump
    uint64_t owner          # the class that holds all objects of this kind


cdef inline uint64_t sieve_bit(uint64_t number) noexcept nogil:
    return (number * 0x9E3779B97F4A7C15ULL) >> 49


cdef inline void sieve_add(Sieve *sieve, uint64_t number) noexcept nogil:
    cdef uint64_t bit = sieve_bit(number)
    sieve.bits[bit >> 3] |= <uint8_t> (1 << (bit & 7))


cdef inline bint sieve_has(const Sieve *sieve, uint64_t number) noexcept nogil:
    cdef uint64_t bit = sieve_bit(number)
    return sieve.bits[bit >> 3] >> (bit & 7) & 1


cdef class Order(Survey):
    cdef bint keeps_order
    cdef AddressMap known           # the ids of all objects and loaded classes
    cdef Vector new_numbers         # by their ranks
    cdef int new_shift
    cdef Vector chunks, chunk_order, pieces
    cdef size_t next_chunk, next_piece
    cdef uint64_t window_bytes, window_heap
    cdef Vector shared, holders, canonical, owner_ids, owner_firsts
    cdef AddressMap shared_by_id, holders_by_id, owners_by_id
    cdef Sieve shared_sieve, holder_sieve
    cdef uint64_t enum_class
    cdef Random random
    cdef Vector enum_classes, holding_classes
    cdef readonly uint64_t redirected   # references to what stands for several, whichever of them it was

    cdef int number_objects(self) noexcept nogil
    cdef bint is_sought(self, const Chunk *chunk) noexcept nogil
    cdef int note_chunk(self, Record *record) noexcept nogil
    cdef bint is_value_array(self, uint64_t class_id) noexcept nogil
    cdef int add_shared(self, uint64_t id, uint64_t owner) noexcept nogil
    cdef int prepare_shared(self, uint64_t seed) noexcept nogil
    cdef int order_chunks(self) noexcept nogil
    cdef int take_window(self) noexcept nogil
    cdef int mix_window(self) noexcept nogil
    cdef bint is_holder(self, uint64_t id) noexcept nogil
    cdef uint64_t shared_owner(self, uint64_t id) noexcept nogil

    cdef inline uint64_t new_id(self, uint64_t id) noexcept nogil:
        """Return the id by which an object is written; NOWHERE if the file has no such object."""
        return self.id_of_rank(id, address_rank(&self.known, id))

    cdef inline uint64_t id_of_rank(self, uint64_t id, int64_t rank) noexcept nogil:
        if id == 0:
            return 0
        if rank < 0:
            return NOWHERE
        if self.keeps_order:
            return id
        return (<uint64_t> (<uint32_t *> self.new_numbers.data)[rank] + 1) << self.new_shift

    cdef inline uint64_t instead_of(self, uint64_t id) noexcept nogil:
        """Return the object to which a reference leads: of those that the runtime shares, one of each kind."""
        cdef int64_t number
        cdef uint64_t one
        if not sieve_has(&self.shared_sieve, id):
            return id
        number = address_ordinal(&self.shared_by_id, id)
        if number < 0:
            return id
        one = (<uint64_t *> self.canonical.data)[number]
        self.redirected += 1
        return one
