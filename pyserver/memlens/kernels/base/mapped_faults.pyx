# cython: boundscheck=False
"""Keeps a process alive when a file that it has mapped becomes shorter.

Reading a page of a mapping beyond the end of its file raises SIGBUS, which ends the process. The handler installed here
replaces the missing page by an empty one, so that the read continues with zeros, and counts it for the reading thread.
Code that reads a mapped file compares :func:`seen` before and after, and discards its result if it changed. (mmap(2),
"SIGBUS"; the technique is that of systemd's ``sigbus.c``.)
"""

cdef extern from *:
    """
    #if defined(_WIN32)
    /* A mapped file can't be made shorter on Windows. */
    static int mapped_faults_install(void) { return 0; }
    static unsigned long mapped_faults_seen(void) { return 0; }
    #else
    #include <signal.h>
    #include <stdint.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>

    #if defined(__GNUC__) || defined(__clang__)
    static __thread volatile unsigned long mapped_faults_count = 0;
    #else
    static _Thread_local volatile unsigned long mapped_faults_count = 0;
    #endif
    static long mapped_faults_page = 0;
    static struct sigaction mapped_faults_before;

    static void mapped_faults_handle(int number, siginfo_t *info, void *context) {
        uintptr_t page = (uintptr_t)info->si_addr & ~((uintptr_t)mapped_faults_page - 1);
        void *empty = MAP_FAILED;
        /* Only a read beyond the end of a mapped file; other causes (bad alignment, broken memory) remain fatal. */
        if (info->si_code == BUS_ADRERR && info->si_addr != NULL)
            empty = mmap((void *)page, (size_t)mapped_faults_page, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (empty == MAP_FAILED) {
            sigaction(SIGBUS, &mapped_faults_before, NULL); /* the read is repeated with the previous handler */
            return;
        }
        mapped_faults_count++;
        (void)number;
        (void)context;
    }

    static int mapped_faults_install(void) {
        struct sigaction action;
        if (mapped_faults_page) return 0;
        mapped_faults_page = sysconf(_SC_PAGESIZE);
        memset(&action, 0, sizeof action);
        sigemptyset(&action.sa_mask);
        action.sa_sigaction = mapped_faults_handle;
        action.sa_flags = SA_SIGINFO;
        return sigaction(SIGBUS, &action, &mapped_faults_before);
    }

    static unsigned long mapped_faults_seen(void) { return mapped_faults_count; }
    #endif
    """
    int mapped_faults_install() noexcept nogil
    unsigned long mapped_faults_seen() noexcept nogil


def install():
    """Install the handler for this process, once."""
    if mapped_faults_install() != 0:
        raise OSError("the handler for SIGBUS could not be installed")


def seen() -> int:
    """Return the number of missing pages of mapped files that this thread has read."""
    return mapped_faults_seen()
