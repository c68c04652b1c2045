# Turns the dicts of a PyTorch snapshot into rows (see the .pyx).

from libc.stdint cimport uint32_t, int64_t

from memlens.kernels.readers.pickle_machine cimport Value
from memlens.packs.pytorch.kernels.torch_tables cimport Tables


cdef class Dicts(Tables):
    cdef int kind_of(self, Value **by_field) noexcept nogil
    cdef int likely_kind_of(self, Value **by_field) noexcept nogil
    cdef void set_event(self, size_t dict_row, Value **by_field) noexcept nogil
    cdef void set_frame(self, size_t dict_row, Value **by_field) noexcept nogil
    cdef bint set_module_stack(self, size_t dict_row, size_t first, size_t end) noexcept nogil
    cdef uint32_t module_stack_of(self, Value *value) noexcept nogil
    cdef uint32_t with_forward(self, int kind, uint32_t stack, Value *value) noexcept nogil
    cdef void set_block(self, size_t dict_row, Value **by_field) noexcept nogil
    cdef void set_history(self, size_t dict_row, Value **by_field) noexcept nogil
    cdef void set_segment(self, size_t dict_row, Value **by_field) noexcept nogil
    cdef void set_annotation(self, size_t dict_row, Value **by_field) noexcept nogil
