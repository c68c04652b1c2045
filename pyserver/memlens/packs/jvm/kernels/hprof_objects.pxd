# The tables of the second pass over a Java heap dump, which the third one uses.

from libc.stdint cimport uint8_t, uint32_t, uint64_t, int32_t, int64_t

from memlens.kernels.base.addresses cimport AddressMap
from memlens.kernels.base.owner cimport Owner
from memlens.kernels.base.vectors cimport Vector
from memlens.packs.jvm.kernels.hprof cimport Record, Records


cdef enum:
    NO_CLASS = 0xFFFFFFFF
    LAYOUTS = 6

cdef enum:
    # the kinds of classes, by their instances
    ORDINARY
    SOFT
    WEAK
    PHANTOM
    FINALIZER
    OTHER_REFERENCE     # of a class that extends java.lang.ref.Reference itself

cdef enum:
    # special fields
    PLAIN_FIELD
    REFERENT            # java.lang.ref.Reference.referent

cdef struct Field:
    uint32_t name           # number of a text
    uint32_t offset         # within the fields of its class
    uint8_t type
    uint8_t mark
    uint8_t unused[2]

cdef struct ClassRow:
    uint64_t id, super_id, loader, signers, domain
    uint64_t body           # offset in the file of its constants, which its static fields follow
    uint64_t first_field
    uint64_t size           # of an instance, without alignment; 0 while it is unknown
    uint64_t packed         # the same where fields fill gaps of super classes
    uint32_t fields
    uint32_t field_bytes    # of its own fields, in the file
    uint32_t declared_bytes     # of an instance, as recorded in the file
    uint32_t ordinal
    uint32_t super_class    # index, NO_CLASS if there is none
    uint32_t next           # the nearest super class that has fields
    uint32_t name           # number of a text: the name as written in source code
    uint8_t strength
    uint8_t is_array
    uint8_t state           # 0 before its super classes are followed, 1 meanwhile, 2 afterwards
    uint8_t unused

cdef struct RootRow:
    uint64_t id
    uint32_t thread
    uint32_t number         # a frame's, or the serial number of a thread's stack
    uint32_t tag
    uint32_t unused

cdef struct SpaceRow:
    # objects from this one on are in this space
    uint64_t name           # id of a text
    uint32_t ordinal
    uint32_t number

cdef struct StaticName:
    # a static field that has another name in the source
    uint32_t number         # index of the class
    uint32_t name
    uint32_t renamed

cdef struct StringFields:
    # offsets of the fields of java.lang.String in an instance; -1 for those that it lacks
    int32_t value, coder, offset, count


cdef class Objects(Owner):
    cdef readonly Records records
    cdef readonly uint32_t dump
    cdef Vector ids, offsets, classes, fields, roots, spaces, statics
    cdef AddressMap by_address, classes_by_id
    cdef uint64_t total
    cdef size_t segment         # the current one, or the number of segments
    cdef readonly uint64_t offset
    cdef readonly int ended
    cdef readonly bint compressed
    cdef readonly int oop_bytes, header_bytes, array_header_bytes, alignment
    cdef uint64_t bits          # all ids, one over the other: without the bit 8, objects are aligned to 16
    cdef uint64_t array_start   # the last object; its bytes in each layout if it is an array, else 0
    cdef bint array_of_objects
    cdef uint64_t[LAYOUTS] array_bytes, fitting, evidence, too_large
    cdef readonly uint64_t arrays_compared, arrays_fitting
    cdef readonly bint declares_sizes
    cdef readonly uint64_t circular_classes     # circles of classes that inherit from each other
    cdef bint is_laid_out       # whether it is known how, without evidence
    cdef bint packs_fields
    cdef uint32_t string_class, class_class
    cdef uint32_t primitive_arrays[12]  # the class of arrays for each type of elements
    cdef StringFields string_fields
    cdef int code
    cdef int _object(self, Record *record, uint64_t at) noexcept nogil
    cdef void _expect(self, Record *record) noexcept nogil
    cdef void _compare(self, uint64_t distance) noexcept nogil
    cdef int _layout(self) noexcept nogil
    cdef void _infer_layout(self) noexcept nogil
    cdef void _infer_packing(self) noexcept nogil
    cdef void _pack_fields(self) noexcept nogil
    cdef int _class(self, Record *record) noexcept nogil
    cdef int _scan(self, uint64_t limit) noexcept nogil
    cdef int _name_classes(self) noexcept nogil
    cdef void _note_primitive_array(self, uint32_t number) noexcept nogil
    cdef uint8_t _reference_strength(self, ClassRow *row) noexcept nogil
    cdef void _link_classes(self) noexcept nogil
    cdef void _inherit(self, uint32_t number) noexcept nogil
    cdef void _find_string_fields(self) noexcept nogil
    cdef int _finish(self, uint64_t seed) noexcept nogil
    cdef uint32_t class_of(self, uint64_t id) noexcept nogil
    cdef uint32_t static_name(self, uint32_t number, uint32_t name) noexcept nogil
