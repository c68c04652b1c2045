# cython: language_level=3
"""Growable C arrays that NumPy can use without a copy (see ``vectors.pxd``)."""

from libc.stdlib cimport free


cdef class Column:
    def __getbuffer__(self, Py_buffer *buffer, int flags):
        buffer.buf = self.vector.data
        buffer.obj = self
        buffer.len = self.vector.count * self.vector.item_bytes
        buffer.readonly = 0
        buffer.itemsize = self.vector.item_bytes
        buffer.format = <char *> self.format
        buffer.ndim = 1
        buffer.shape = self.shape
        buffer.strides = self.strides
        buffer.suboffsets = NULL
        buffer.internal = NULL

    def __releasebuffer__(self, Py_buffer *buffer):
        pass

    def __dealloc__(self):
        free(self.vector.data)


cdef Column column_of(Vector *vector, bytes format):
    """Move a vector's memory into a Column; the vector is empty afterwards."""
    cdef Column column = Column()
    if vector.data == NULL and vector_reserve(vector, 1) < 0:
        raise MemoryError
    column.vector = vector[0]
    column.format = format
    column.shape[0] = vector.count
    column.strides[0] = vector.item_bytes
    vector_init(vector, column.vector.item_bytes)
    return column
