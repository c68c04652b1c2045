# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rules by which Chrome's DevTools interprets V8's heap snapshots, so that figures agree with those shown there.

They decide which references count for dominators, which object the memory of its internal parts is charged to, and
what objects are grouped by. Source: ``front_end/entrypoints/heap_snapshot_worker/HeapSnapshot.ts`` of
ChromeDevTools/devtools-frontend, version 1.0.1705227.

Arguments are columns of the model, whose numbers have been checked: references by source (``start``, ``target``,
``kind``, ``name``), ``node_type`` as in the file, texts with number 0 for none. The number of a type that the file
doesn't have is -1.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset

from memlens.kernels.base.vectors cimport Vector, vector_free, vector_init, vector_push_u32
from memlens.packs.v8.kernels.edges cimport Edges

cdef uint32_t NO_NUMBER = 0xFFFFFFFF
cdef uint32_t SEVERAL = 0xFFFFFFFE

cdef enum:
    LONGEST_TAIL = 64


def number_names(const uint8_t[::1] kind, uint32_t[::1] name, const uint8_t[::1] by_index, uint32_t strings) -> int:
    """Turn the numbers of strings in ``name`` into numbers of texts, which are one higher.

    Kinds ``by_index`` (an item for each value of a byte) have an index there instead, which isn't changed. Return the
    position of the first number that isn't below ``strings``, or -1.
    """
    cdef Py_ssize_t at, wrong = -1
    with nogil:
        for at in range(kind.shape[0]):
            if by_index[kind[at]]:
                continue
            if name[at] >= strings:
                wrong = at
                break
            name[at] += 1
    return wrong


def weak_map_tables(const uint8_t[::1] utf8, const uint64_t[::1] end, uint64_t[::1] table):
    """Fill ``table``: for a text that names an entry of a WeakMap the id of the map's table, else 0.

    V8 gives both the key and the table a reference to the value, and names them "N / part of key (… @ID) -> value
    (… @ID) pair in WeakMap (table @ID)".
    """
    cdef Py_ssize_t texts = end.shape[0], number
    cdef uint64_t start = 0, last
    with nogil:
        for number in range(texts):
            last = end[number]
            table[number] = table_of(&utf8[0] + start, last - start) if last > start else 0
            start = last


cdef uint64_t table_of(const uint8_t *text, uint64_t length) noexcept nogil:
    cdef const char *before = b" pair in WeakMap (table @"
    cdef uint64_t size = 25, at = length - 1, value = 0, scale = 1
    if text[length - 1] != 0x29:
        return 0
    while at > 0 and length - at < LONGEST_TAIL and 0x30 <= text[at - 1] <= 0x39:
        at -= 1
        value += scale * (text[at] - 0x30)
        scale *= 10
    if at == length - 1 or at < size or memcmp(text + at - size, before, size) != 0:
        return 0
    return value


def mark_uncounted(
    Edges edges not None,
    uint8_t[::1] kind,
    const uint64_t[::1] ids,
    const uint64_t[::1] table,
    const uint8_t[::1] owned,
    uint32_t root,
    int shortcut,
):
    """Change the ``kind`` of each reference that DevTools leaves out when it computes dominators.

    The number of kinds is added to the kind of shortcuts that aren't the root's, and of a WeakMap's own references to
    its values (these count from the key); twice as much to that of references from objects which the page doesn't own
    to those it owns. Weak references, which are left out as well, keep their kind.
    """
    cdef const uint64_t[::1] start = edges.start
    cdef const uint32_t[::1] name = edges.name
    cdef Py_ssize_t objects = start.shape[0] - 1, item
    cdef uint64_t at
    # a kind that the file doesn't have is -1, and no kind is 255
    cdef uint8_t left_out = <uint8_t> shortcut, more = <uint8_t> edges.kinds
    cdef bint has_tables = False
    with nogil:
        for item in range(table.shape[0]):
            has_tables |= table[item] != 0
        for item in range(objects if has_tables else 0):
            for at in range(start[item], start[item + 1]):
                if kind[at] == edges.internal and table[name[at]] != 0 and table[name[at]] == ids[item]:
                    kind[at] += more
        # only a kind is looked for, so that the compiler compares many at once
        for at in range(start[root]):
            kind[at] += more if kind[at] == left_out else 0
        for at in range(start[root + 1], start[objects]):
            kind[at] += more if kind[at] == left_out else 0
        # nearly all are owned, so that the targets of few are looked at
        for item in range(objects):
            if owned[item] or item == <Py_ssize_t> root:
                continue
            for at in range(start[item], start[item + 1]):
                if kind[at] < more and owned[edges.target[at]]:
                    kind[at] += 2 * more


def spread_states(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    const uint8_t[::1] follows,
    const uint8_t[::1] is_native,
    uint8_t attached,
    uint8_t detached,
    uint8_t[::1] state,
):
    """Give DOM nodes of unknown ``state`` (0) the state of the nodes that refer to them.

    Whatever an attached node reaches is attached; whatever else a detached one reaches is detached. Paths pass through
    native objects alone, and through references whose kind ``follows`` (an item for each value of a byte). Known
    states don't change.
    """
    cdef Py_ssize_t each, objects = state.shape[0]
    cdef uint32_t item, other
    cdef uint64_t at
    cdef uint8_t known
    cdef int turn, status = 0
    cdef Vector stack
    vector_init(&stack, 4)
    with nogil:
        for turn in range(2):
            known = detached if turn else attached
            for each in range(objects):
                if state[each] == known and is_native[each] and status == 0:
                    status = vector_push_u32(&stack, <uint32_t> each)
            while stack.count and status == 0:
                stack.count -= 1
                item = (<uint32_t *> stack.data)[stack.count]
                for at in range(start[item], start[item + 1]):
                    other = target[at]
                    if state[other] == 0 and is_native[other] and follows[kind[at]] and status == 0:
                        state[other] = known
                        status = vector_push_u32(&stack, other)
    vector_free(&stack)
    if status < 0:
        raise MemoryError


def charge_parts(
    const uint64_t[::1] start,
    const uint32_t[::1] target,
    const uint8_t[::1] kind,
    int weak,
    const uint8_t[::1] is_part,
    const uint8_t[::1] is_synthetic,
    uint64_t[::1] shallow,
):
    """Move the size of each part (a hidden object, an array, an external string's data) to the object it belongs to.

    A part belongs to an object if all paths to it through parts alone begin at that object. Parts of synthetic objects
    keep their sizes. ``kind`` has the kinds of the file.
    """
    cdef size_t objects = shallow.shape[0]
    cdef uint32_t item, owner
    cdef uint64_t at
    cdef Py_ssize_t each
    cdef int status = 0
    cdef Vector stack
    cdef uint32_t *owners = <uint32_t *> malloc((objects + 1) * 4)
    vector_init(&stack, 4)
    if owners == NULL:
        raise MemoryError
    with nogil:
        memset(owners, 0xFF, objects * 4)
        # what isn't a part owns those that it refers to; most references lead to no part, and need no owner
        for each in range(<Py_ssize_t> objects):
            if is_part[each]:
                continue
            for at in range(start[each], start[each + 1]):
                if is_part[target[at]] and kind[at] != weak and status == 0:
                    status = own(owners, target[at], <uint32_t> each, &stack)
        while stack.count and status == 0:
            stack.count -= 1
            item = (<uint32_t *> stack.data)[stack.count]
            owner = owners[item]
            for at in range(start[item], start[item + 1]):
                if is_part[target[at]] and kind[at] != weak and status == 0:
                    status = own(owners, target[at], owner, &stack)
        for each in range(<Py_ssize_t> objects if status == 0 else 0):
            owner = owners[each]
            if owner == NO_NUMBER or owner == SEVERAL or is_synthetic[owner]:
                continue
            shallow[owner] += shallow[each]
            shallow[each] = 0
    free(owners)
    vector_free(&stack)
    if status < 0:
        raise MemoryError


cdef inline int own(uint32_t *owners, uint32_t part, uint32_t owner, Vector *changed) noexcept nogil:
    """Give a part an owner, SEVERAL if it has another; -1 without memory for the list of those that changed."""
    if owners[part] == owner or owners[part] == SEVERAL:
        return 0
    owners[part] = owner if owners[part] == NO_NUMBER else SEVERAL
    return vector_push_u32(changed, part)


def number_types(
    const uint8_t[::1] node_type,
    const uint32_t[::1] name,
    Py_ssize_t texts,
    const uint8_t[::1] by_name,
    uint32_t[::1] type_of,
    uint8_t[::1] kinds,
    uint32_t[::1] names,
) -> int:
    """Number the types of objects in order of first appearance, and return how many there are.

    A type is a node type and, for node types ``by_name`` (an item for each value of a byte), a name. ``kinds`` and
    ``names`` receive the node type and the name (0 for none) of each type; they have room for as many items as there
    are objects.
    """
    cdef Py_ssize_t objects = node_type.shape[0], item, found = 0
    cdef uint32_t *numbers[256]
    cdef size_t room
    cdef int each
    cdef bint is_whole = True
    cdef uint32_t at
    for each in range(256):
        numbers[each] = NULL
    with nogil:
        for item in range(objects):
            each = node_type[item]
            if numbers[each] == NULL:
                room = texts if by_name[each] else 1
                numbers[each] = <uint32_t *> calloc(room + 1, 4)
                if numbers[each] == NULL:
                    is_whole = False
                    break
            at = name[item] if by_name[each] else 0
            if numbers[each][at] == 0:
                kinds[found] = <uint8_t> each
                names[found] = at
                found += 1
                numbers[each][at] = <uint32_t> found
            type_of[item] = numbers[each][at] - 1
    for each in range(256):
        free(numbers[each])
    if not is_whole:
        raise MemoryError
    return found


cdef inline uint64_t mixed(uint64_t value) noexcept nogil:
    """A number that has no likeness to those of other values (SplitMix64)."""
    value += 0x9E3779B97F4A7C15U
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU
    return value ^ (value >> 31)


def shapes(
    const uint64_t[::1] start,
    const uint8_t[::1] kind,
    const uint32_t[::1] name,
    const uint32_t[::1] chosen,
    int of_kind,
    uint32_t left_out,
    uint64_t[::1] found,
):
    """Hash the names of each chosen object's references of a kind, in whatever order, but for one name.

    ``found`` has an item for each of ``chosen``; 0 where there is none.
    """
    cdef size_t item
    cdef uint64_t row, total
    if found.shape[0] != chosen.shape[0]:
        raise ValueError("an item for each object")
    with nogil:
        for item in range(<size_t> chosen.shape[0]):
            total = 0
            for row in range(start[chosen[item]], start[chosen[item] + 1]):
                if kind[row] == of_kind and name[row] != left_out:
                    total += mixed(name[row])
            found[item] = total
