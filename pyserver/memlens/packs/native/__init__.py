"""The world of native programs, C, C++ and Rust: recordings of heaptrack, profiles of valgrind and of allocators."""

import re

from memlens.packs.api import NOTHING, Format, Message, NextTime, Pack, Part
from memlens.texts import phrase

_HERE = "memlens.packs.native"

PACK = Pack(
    name="native",
    title="C, C++ and Rust",
    libraries=("native", "rust"),
    language_libraries=("the C library", "C++'s library", "Rust's library", "the allocator", "jemalloc"),
    allocation_functions=True,
    formats=(
        Format(
            name="dhat",
            title="DHAT profile",
            file_names=("dhat.out.*",),
            endings=("json",),
            several=phrase("DHAT profiles"),
            reader=Part(f"{_HERE}.dhat"),
            json=Part(f"{_HERE}.dhat:JSON"),
        ),
        Format(
            name="heaptrack",
            title="heaptrack recording",
            file_names=("heaptrack.*.zst", "heaptrack.*.gz"),
            several=phrase("heaptrack recordings"),
            reader=Part(f"{_HERE}.heaptrack"),
            not_redacted=(
                phrase(
                    "Recordings of heaptrack have the command line with its arguments, and paths, in a format that "
                    "Memlens can't write"
                ),
                NOTHING,
            ),
        ),
        Format(
            name="massif",
            title="massif profile",
            file_names=("massif.out.*",),
            endings=("out",),
            several=phrase("massif profiles"),
            reader=Part(f"{_HERE}.massif"),
            without_people=Part(f"{_HERE}.redaction:without_people"),
        ),
        Format(
            name="heap_text",
            title="heap profile in text",
            kind="heap-text",
            file_names=("*.heap",),
            shared=("*.heap",),
            endings=("prof", "dat"),
            several=phrase("heap profiles in text (gperftools, tcmalloc, jemalloc, Go)"),
            reader=Part(f"{_HERE}.heap_text"),
            without_people=Part(f"{_HERE}.redaction:without_people"),
        ),
        Format(
            name="java_heap",
            title="heap profile of a Java program",
            kind="java-heap",
            endings=("prof",),
            several=phrase("heap profiles of Java programs"),
            reader=Part(f"{_HERE}.java_heap"),
            not_redacted=(
                phrase(
                    "Heap profiles of Java programs have paths and names, in a format that Memlens can't redact"
                ),
                NOTHING,
            ),
        ),
    ),
    foreign=Part(f"{_HERE}.foreign:FILES"),
    messages=(
        Message(
            name="native-allocation",
            title=phrase("std::bad_alloc, and Rust's failed allocation"),
            signs=("std::bad_alloc", "memory allocation of "),
            read=Part(f"{_HERE}.messages:failed_allocation"),
        ),
        Message(
            name="native-fault",
            signs=(
                "egmentation fault",
                "double free or corruption",
                "malloc(): ",
                "free(): invalid",
                "AddressSanitizer: ",
            ),
            read=Part(f"{_HERE}.messages:no_fault"),
        ),
    ),
    # a process has the name of its program
    next_time=NextTime(
        programs=re.compile(r"(?!)"),
        section="C, C++, Rust",
        recording="heaptrack ./app",
        leaves=phrase(
            "heaptrack writes while the program runs; what a killed process leaves opens in Memlens."
        ),
    ),
)
