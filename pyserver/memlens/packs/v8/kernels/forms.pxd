# cython: language_level=3
"""What uses a text of a heap snapshot, and what it could be, as bits: for the kernels that write snapshots anew."""

cdef enum:
    U_NAME = 1
    U_VALUE = 2
    U_NODE = 4
    U_FIXED = 8
    U_SHORT = 16
    U_CONSTANT = 32
    U_CLASS = 64
    U_DECLARED = 128

cdef enum:
    F_PLAIN = 1
    F_ALWAYS = 2
    F_CONSTRUCTOR = 4
    F_CONSTANTS = 8
    F_POOL = 16
    F_ENGINES = 32
    F_ACCESSOR = 64
    F_GLOBAL = 128
