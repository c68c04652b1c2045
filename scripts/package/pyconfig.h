/* What Python's headers have to know of a platform when only its limited API is used: the sizes of C's types, which are
   those of every 64-bit Unix, or those of 64-bit Windows. The header of an installed Python describes that one alone. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#include <sys/types.h>

#define HAVE_SSIZE_T 1
#define HAVE_STDDEF_H 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_VOID_P 8
#define SIZEOF_UINTPTR_T 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_FPOS_T 8
#define SIZEOF_OFF_T 8

#ifdef _WIN32
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#define SIZEOF_PID_T 4
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1
#define MS_WIN32 1
#define MS_WIN64 1
#define MS_WINDOWS 1
#define NT_THREADS 1
#else
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define SIZEOF_PID_T 4
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_STAT_H 1
#endif

#endif
