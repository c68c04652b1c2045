# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What objects refer to by a name, and to which of some owners all that leads to them belongs; see ``columns.pxd``."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.kernels.base.work cimport LOOK_EVERY, STOPPED, Work, look
from memlens.kernels.graph.columns cimport NO_NUMBER, Graph, References, fail

SEVERAL = 0xFFFFFFFE
"""In place of an owner: several owners."""

cdef uint32_t OF_SEVERAL = 0xFFFFFFFE


def named_targets(
    References references not None,
    const uint32_t[::1] name,
    const uint32_t[::1] chosen,
    uint32_t wanted,
    uint32_t[::1] found,
):
    """The target of each chosen object's first followed reference with the name ``wanted``.

    ``found`` has an item for each of ``chosen``, and isn't changed where there is none, as for what is no object.
    """
    cdef Graph graph = references.graph
    cdef size_t item
    cdef uint64_t row
    if found.shape[0] != chosen.shape[0] or <uint64_t> name.shape[0] != graph.references:
        raise ValueError("an item for each object")
    with nogil:
        for item in range(<size_t> chosen.shape[0]):
            if chosen[item] >= graph.objects:
                continue
            for row in range(graph.start[chosen[item]], graph.start[chosen[item] + 1]):
                if name[row] == wanted and graph.follows[graph.kind[row]]:
                    found[item] = graph.target[row]
                    break


def spread_owners(
    References references not None,
    uint32_t[::1] owner,
    Work work not None,
) -> bool | None:
    """Give objects without an ``owner`` (NO_NUMBER) the one of what refers to them, through others without one.

    What objects of several owners lead to has SEVERAL. Returns None if ``work`` was stopped, and then the owners are
    invalid. Raises MemoryError.
    """
    cdef Graph graph = references.graph
    cdef Py_ssize_t each, objects = owner.shape[0]
    cdef uint32_t item, other, own
    cdef uint64_t at, steps = 0
    cdef int status = 0
    cdef Vector stack
    cdef uint8_t *is_fixed
    if graph.objects != <size_t> objects:
        raise ValueError("an owner for each object")
    is_fixed = <uint8_t *> malloc(objects + 1)
    if is_fixed == NULL:
        raise MemoryError
    vector_init(&stack, 4)
    with nogil:
        for each in range(objects):
            is_fixed[each] = owner[each] != NO_NUMBER
            if is_fixed[each] and status == 0:
                status = vector_push_u32(&stack, <uint32_t> each)
        while stack.count and status == 0:
            steps += 1
            if steps % LOOK_EVERY == 0 and look(work, 0, 1, 0, 1) < 0:
                status = STOPPED
                break
            stack.count -= 1
            item = (<uint32_t *> stack.data)[stack.count]
            own = owner[item]
            for at in range(graph.start[item], graph.start[item + 1]):
                other = graph.target[at]
                if not graph.follows[graph.kind[at]] or is_fixed[other]:
                    continue
                if owner[other] == own or owner[other] == OF_SEVERAL:
                    continue
                owner[other] = own if owner[other] == NO_NUMBER else OF_SEVERAL
                status = vector_push_u32(&stack, other)
                if status < 0:
                    break
    vector_free(&stack)
    free(is_fixed)
    return fail(status, True)
