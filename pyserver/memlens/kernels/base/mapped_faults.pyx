# cython: boundscheck=False
"""Keeps a process alive when a file that it has mapped becomes shorter.

Reading a page of a mapping that lies behind the end of its file raises SIGBUS, which ends the process. The handler
installed here puts an empty page in the place of the one that is gone, so the read goes on with zeros, and counts
it for the thread that read. Whoever asks a question of a mapped file compares :func:`seen` before and after, and
throws the answer away if it changed. (mmap(2), "SIGBUS"; the technique is that of systemd's ``sigbus.c``.)
"""

cdef extern from *:
    """
    #if defined(_WIN32)
    /* A file that is mapped can't be made shorter there. */
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
        void *made = MAP_FAILED;
        /* Only a read behind the end of a mapped file; other reasons (bad alignment, broken memory) stay fatal. */
        if (info->si_code == BUS_ADRERR && info->si_addr != NULL)
            made = mmap((void *)page, (size_t)mapped_faults_page, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (made == MAP_FAILED) {
            sigaction(SIGBUS, &mapped_faults_before, NULL); /* the read is done again, and ends as it would have */
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


def seen():
    """How many pages of mapped files this thread found gone."""
    return mapped_faults_seen()
