# Pieces of mappings, which may lie over each other: a treap by where they begin, each with where those below it end.
# Adding a piece, and taking one out of those that share bytes with a range, takes time by the depth of the tree, which
# is about the logarithm of their number for every order that a file may have.

from libc.stdint cimport uint32_t, uint64_t

from memlens.kernels.base.vectors cimport Vector, vector_push

cdef struct Piece:
    uint64_t begin, end
    uint64_t mapping

cdef struct PieceNode:
    Piece piece
    uint64_t last           # where the last of its pieces ends, with those below it
    uint32_t left, right    # those that begin earlier, and not earlier; 0 for none
    uint32_t priority       # no less than that of a node below
    uint32_t unused

cdef struct Pieces:
    Vector nodes            # that at 0 is none
    uint64_t chance         # the state of its generator of random numbers, not 0
    uint32_t root
    uint32_t spare          # nodes that are free, each with the next one as its right
    size_t count


cdef inline int pieces_init(Pieces *pieces, uint64_t seed) noexcept nogil:
    """Prepare a tree whose vector has been; -1 if out of memory."""
    cdef PieceNode none
    none.piece.begin = none.piece.end = none.piece.mapping = none.last = 0
    none.left = none.right = none.priority = none.unused = 0
    pieces.chance = seed | 1
    pieces.root = pieces.spare = 0
    pieces.count = 0
    return vector_push(&pieces.nodes, &none)


cdef inline void piece_measure(PieceNode *nodes, uint32_t number) noexcept nogil:
    """Write where the pieces of a node and of those below it end."""
    nodes[number].last = max(
        nodes[number].piece.end, max(nodes[nodes[number].left].last, nodes[nodes[number].right].last)
    )


cdef inline void pieces_split(
    PieceNode *nodes, uint32_t number, uint64_t begin, uint32_t *before, uint32_t *after
) noexcept nogil:
    """Divide a tree into pieces that begin before an address or there, and the others.

    Pieces with one beginning are in the order in which they were added: were it another, it would depend on their
    priorities, and the tree could be as deep as they are many.
    """
    if number == 0:
        before[0] = after[0] = 0
    elif nodes[number].piece.begin <= begin:
        before[0] = number
        pieces_split(nodes, nodes[number].right, begin, &nodes[number].right, after)
        piece_measure(nodes, number)
    else:
        after[0] = number
        pieces_split(nodes, nodes[number].left, begin, before, &nodes[number].left)
        piece_measure(nodes, number)


cdef inline uint32_t pieces_join(PieceNode *nodes, uint32_t before, uint32_t after) noexcept nogil:
    """Return the tree of two, the pieces of one of which begin before those of the other."""
    if before == 0:
        return after
    if after == 0:
        return before
    if nodes[before].priority > nodes[after].priority:
        nodes[before].right = pieces_join(nodes, nodes[before].right, after)
        piece_measure(nodes, before)
        return before
    nodes[after].left = pieces_join(nodes, before, nodes[after].left)
    piece_measure(nodes, after)
    return after


cdef inline int pieces_add(Pieces *pieces, uint64_t begin, uint64_t end, uint64_t mapping) noexcept nogil:
    """Add a piece; -1 if out of memory."""
    cdef PieceNode *nodes
    cdef PieceNode fresh
    cdef uint32_t number = pieces.spare
    cdef uint32_t *link = &pieces.root
    if number:
        pieces.spare = (<PieceNode *> pieces.nodes.data)[number].right
    else:
        if pieces.nodes.count >= <size_t> 0xFFFFFFFF or vector_push(&pieces.nodes, &fresh) < 0:
            return -1
        number = <uint32_t> (pieces.nodes.count - 1)
    nodes = <PieceNode *> pieces.nodes.data
    # xorshift64
    pieces.chance ^= pieces.chance << 13
    pieces.chance ^= pieces.chance >> 7
    pieces.chance ^= pieces.chance << 17
    nodes[number].piece.begin = begin
    nodes[number].piece.end = end
    nodes[number].piece.mapping = mapping
    nodes[number].priority = <uint32_t> (pieces.chance >> 32)
    while link[0] and nodes[link[0]].priority >= nodes[number].priority:
        nodes[link[0]].last = max(nodes[link[0]].last, end)
        link = &nodes[link[0]].left if begin < nodes[link[0]].piece.begin else &nodes[link[0]].right
    pieces_split(nodes, link[0], begin, &nodes[number].left, &nodes[number].right)
    piece_measure(nodes, number)
    link[0] = number
    pieces.count += 1
    return 0


cdef inline bint pieces_meet(Pieces *pieces, uint64_t begin, uint64_t end) noexcept nogil:
    """Whether any piece has bytes in a range."""
    cdef PieceNode *nodes = <PieceNode *> pieces.nodes.data
    cdef uint32_t number = pieces.root
    while number:
        if nodes[number].piece.begin < end and begin < nodes[number].piece.end:
            return True
        number = nodes[number].left if nodes[nodes[number].left].last > begin else nodes[number].right
    return False


cdef inline uint32_t pieces_taken_from(
    Pieces *pieces, uint32_t number, uint64_t begin, uint64_t end, Vector *taken, int *status
) noexcept nogil:
    cdef PieceNode *nodes = <PieceNode *> pieces.nodes.data
    cdef PieceNode *node = &nodes[number]
    cdef uint32_t joined
    cdef bint is_taken
    if number == 0 or node.last <= begin:
        return number
    node.left = pieces_taken_from(pieces, node.left, begin, end, taken, status)
    is_taken = node.piece.begin < end and begin < node.piece.end
    if is_taken and vector_push(taken, &node.piece) < 0:
        status[0] = -1
        is_taken = False
    if node.piece.begin < end:
        node.right = pieces_taken_from(pieces, node.right, begin, end, taken, status)
    if not is_taken:
        piece_measure(nodes, number)
        return number
    joined = pieces_join(nodes, node.left, node.right)
    node.right = pieces.spare
    pieces.spare = number
    pieces.count -= 1
    return joined


cdef inline int pieces_take(Pieces *pieces, uint64_t begin, uint64_t end, Vector *taken) noexcept nogil:
    """Move what has bytes in a range to ``taken``, which gets it by its beginnings and has nothing else; -1 if out of
    memory.
    """
    cdef int status = 0
    taken.count = 0
    pieces.root = pieces_taken_from(pieces, pieces.root, begin, end, taken, &status)
    return status
