# Prefetches memory that is needed soon, if the compiler supports it; any address may be passed.

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    /* GCC leaves out calls of functions that do nothing but prefetch; an empty asm keeps them */
    #define memlens_prefetch(address) do { __builtin_prefetch(address); __asm__ volatile (""); } while (0)
    #else
    #define memlens_prefetch(address) ((void) (address))
    #endif
    """
    void prefetch "memlens_prefetch"(const void *address) noexcept nogil
