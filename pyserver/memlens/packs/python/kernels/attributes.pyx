# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the attributes that a program's data names, by the rule in ``attributes.pxd``."""

import os

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from memlens.packs.python.kernels.attributes cimport (
    Attributes, attributes_end, attributes_free, attributes_init, attributes_note, attributes_seed, is_of_code,
)


def set_by_data(
    const int64_t[::1] objects, const int64_t[::1] names, const int64_t[::1] forms, uint8_t[::1] found,
) -> bool:
    """Mark in ``found`` the attributes that data names, in the order of the ``objects`` that have them.

    ``forms`` has the type of each object; those below 0 aren't judged. Returns False if out of memory.
    """
    cdef Attributes known
    cdef Py_ssize_t each, total = objects.shape[0]
    cdef int64_t form
    cdef uint32_t count = 0
    cdef uint64_t seed = int.from_bytes(os.urandom(8), "little") | 1
    cdef int status = 0
    if names.shape[0] != total or found.shape[0] != total:
        raise ValueError("columns of different lengths")
    for each in range(total):
        if not 0 <= objects[each] < forms.shape[0]:
            raise ValueError("an object that isn't there")
    attributes_init(&known)
    attributes_seed(&known, seed)
    with nogil:
        for each in range(total):
            form = forms[objects[each]]
            if form < 0:
                continue
            status |= attributes_note(&known, <uint64_t> form + 1, <uint64_t> names[each])
            count += 1
            if each + 1 == total or objects[each + 1] != objects[each]:
                status |= attributes_end(&known, <uint64_t> form + 1, count)
                count = 0
            if status < 0:
                break
        if status == 0:
            for each in range(total):
                form = forms[objects[each]]
                found[each] = form >= 0 and not is_of_code(&known, <uint64_t> form + 1, <uint64_t> names[each])
    attributes_free(&known)
    return status == 0
