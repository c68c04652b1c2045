# Large pages for large arrays, of 2 MiB on Linux: one page fault instead of 512.
#
# A system that is configured to use them always or never ignores this. Source: madvise(2).

from memlens.kernels.base.vectors cimport Vector, vector_reserve


cdef extern from *:
    """
    #if defined(__linux__)
    #include <stdint.h>
    #include <sys/mman.h>
    #include <unistd.h>
    #endif
    #if defined(__linux__) && defined(MADV_HUGEPAGE)
    static inline void memlens_in_large_pages(void *memory, size_t bytes) {
        // whole pages, with the one that malloc's own words are on: realloc moves no memory of two kinds
        const uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
        uintptr_t begin = (uintptr_t) memory & ~(page - 1);
        uintptr_t end = ((uintptr_t) memory + bytes + page - 1) & ~(page - 1);
        if (bytes >= (1 << 22)) madvise((void *) begin, end - begin, MADV_HUGEPAGE);
    }
    #else
    static inline void memlens_in_large_pages(void *memory, size_t bytes) { (void) memory; (void) bytes; }
    #endif
    """
    # request large pages for newly allocated memory of several MiB; less isn't changed
    void in_large_pages "memlens_in_large_pages"(void *memory, size_t bytes) noexcept nogil


cdef inline int reserve_large(Vector *vector, size_t count) noexcept nogil:
    """Reserve memory for ``count`` items of a vector that may become large; -1 if out of memory."""
    if count <= vector.room:
        return 0
    if vector_reserve(vector, count) < 0:
        return -1
    in_large_pages(vector.data, vector.room * vector.item_bytes)
    return 0
