# cython: boundscheck=False
"""What a process asks the system, and glibc's allocator, for itself; elsewhere than on Linux and glibc nothing happens.

By C and not by ctypes, whose import takes longer than some commands' own work.
"""

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdlib.h>
    #if defined(__linux__)
    #include <signal.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <sys/prctl.h>
    #include <unistd.h>
    #endif

    #if defined(__linux__)
    static void process_end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }
    #else
    static void process_end_with_parent(void) {}
    #endif

    #if defined(__GLIBC__)
    #include <malloc.h>
    static void process_share_one_heap(void) { mallopt(M_ARENA_MAX, 1); }
    static void process_return_memory(void) { malloc_trim(0); }

    /* The largest piece that a heap has by default, once one of that size was freed (DEFAULT_MMAP_THRESHOLD_MAX). */
    #define PROCESS_LARGEST_PIECE (32 << 20)
    #define PROCESS_GROWTH (1 << 20)

    static void process_keep_memory(size_t bytes) {
        char *piece;
        mallopt(M_MMAP_THRESHOLD, PROCESS_LARGEST_PIECE);
        mallopt(M_TRIM_THRESHOLD, -1);
        /* The heap grows by so much at once, and is one range of the address space. */
        mallopt(M_TOP_PAD, (int)bytes);
        piece = malloc(PROCESS_GROWTH);
        mallopt(M_TOP_PAD, PROCESS_GROWTH);
    #if defined(MADV_HUGEPAGE)
        if (piece != NULL) {
            const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            const uintptr_t begin = (uintptr_t)piece & ~(page - 1), end = (uintptr_t)sbrk(0) & ~(page - 1);
            if (begin < end && end - begin <= bytes + 2 * PROCESS_GROWTH)
                madvise((void *)begin, end - begin, MADV_HUGEPAGE);
        }
    #endif
        free(piece);
    }
    #else
    static void process_share_one_heap(void) {}
    static void process_return_memory(void) {}
    static void process_keep_memory(size_t bytes) { (void)bytes; }
    #endif
    """
    void process_end_with_parent() noexcept nogil
    void process_share_one_heap() noexcept nogil
    void process_return_memory() noexcept nogil
    void process_keep_memory(size_t size) noexcept nogil


def end_with_parent():
    """Let the system kill this process when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2))."""
    process_end_with_parent()


def share_one_heap():
    """Make all threads share one heap (M_ARENA_MAX, mallopt(3))."""
    process_share_one_heap()


def return_memory():
    """Return free memory to the system (malloc_trim(3))."""
    process_return_memory()


def keep_memory(size_t size):
    """Keep what is freed for what is allocated next, and have ``size`` bytes of the heap in large pages (madvise(2)).

    The bytes take none of the machine's memory until they are used, but count for the limit on this process's.
    """
    process_keep_memory(size)
