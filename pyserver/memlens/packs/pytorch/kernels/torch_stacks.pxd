# Turns the lists of a PyTorch snapshot into stacks and lists of rows (see the .pyx).

from libc.stdint cimport uint8_t, uint32_t

from memlens.kernels.base.interning cimport Interner
from memlens.kernels.base.vectors cimport Vector
from memlens.kernels.readers.pickle_machine cimport Value
from memlens.packs.pytorch.kernels.torch_dicts cimport Dicts


cdef class Lists(Dicts):
    cdef Interner runs                  # runs of references to frames that were read, as bytes of the file
    cdef Vector run_stacks              # the stack of each run; NO_STACK for a run that isn't one
    cdef size_t last_run, last_run_bytes    # offset and length of the last run; 0 bytes for none
    cdef uint32_t last_run_stack
    cdef size_t runs_memo_changes       # self.memo_changes when the first run was read

    cdef int fill_mixed(self, size_t list_row, uint8_t kind, size_t first, size_t end) noexcept nogil
    cdef uint8_t table_of(self, Value *value) noexcept nogil
    cdef int fill_frames(self, size_t list_row, uint8_t kind, size_t first, size_t end) noexcept nogil
    cdef int fill_rows(
        self, size_t list_row, uint8_t kind, uint8_t new_kind, size_t first, size_t end, bint dicts
    ) noexcept nogil
    cdef void become_stack(self, size_t list_row, uint32_t stack) noexcept nogil
    cdef int set_stack(self, size_t list_row, size_t depth) noexcept nogil
    cdef int read_run(self, size_t at, size_t end, size_t list_row) noexcept nogil
    cdef size_t run_end(self, size_t at) noexcept nogil
    cdef int set_run(self, size_t begin, size_t run_bytes, uint32_t code, size_t list_row) noexcept nogil
    cdef int forget_stale_runs(self) noexcept nogil
