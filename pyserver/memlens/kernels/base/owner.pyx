# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The base class of kernels with many growable arrays, which are freed with the object and taken by name."""

from memlens.kernels.base.interning cimport interner_free, interner_init
from memlens.kernels.base.vectors cimport column_of, vector_free, vector_init


cdef class Owner:
    """Frees the vectors and interners among a subclass's fields, and moves its tables out."""

    def __dealloc__(self):
        cdef size_t index
        for index in range(self.vectors_count):
            vector_free(self.vectors_owned[index])
        for index in range(self.interners_count):
            interner_free(self.interners_owned[index])

    cdef int own(self, Vector *vector, size_t item_bytes) except -1:
        """Initialise a field that is freed with the object. Raises MemoryError for too many."""
        if self.vectors_count == MOST_OWNED:
            raise MemoryError
        vector_init(vector, item_bytes)
        self.vectors_owned[self.vectors_count] = vector
        self.vectors_count += 1
        return 0

    cdef int own_interner(self, Interner *interner, size_t unit_bytes, uint64_t seed) except -1:
        """Initialise a field that is freed with the object. Raises MemoryError."""
        if self.interners_count == MOST_OWNED:
            raise MemoryError
        # it can be freed even if there was no memory for it
        self.interners_owned[self.interners_count] = interner
        self.interners_count += 1
        if interner_init(interner, unit_bytes, seed) < 0:
            raise MemoryError
        return 0

    cdef int own_table(self, str name, Vector *vector, size_t item_bytes, bytes format) except -1:
        """Initialise a field that :meth:`take` returns by ``name``, with items of a PEP 3118 ``format``."""
        self.own(vector, item_bytes)
        return self.name_table(name, vector, format)

    cdef int name_table(self, str name, Vector *vector, bytes format) except -1:
        """Register a vector of the object, for :meth:`take`, by ``name``."""
        if self.tables_named is None:
            self.tables_named = {}
        self.tables_named[name] = (<size_t> vector, format)
        return 0

    def take(self, str table) -> Buffer:
        """Move a table out of the object, as a buffer of its rows. Raises KeyError for an unknown one."""
        place, format = self.tables_named[table]
        return column_of(<Vector *> <size_t> place, format)
