"""The world of Go, and of pprof, whose profiles many other runtimes write as well."""

import re

from memlens.packs.api import Format, Language, Message, NextTime, Pack, Part, Proof, Writer
from memlens.texts import phrase

_HERE = "memlens.packs.go"

# what makes values and texts, and not go/parser or encoding/json
_OF_LANGUAGE = (
    "library", "runtime", "internal", "bytes", "strings", "strconv", "slices", "maps", "bufio", "fmt", "errors",
    "container", "sync",
)  # fmt: skip

PACK = Pack(
    name="go",
    title="Go",
    language=Language(suffixes=(".go",), is_compiled=True),
    libraries=("go",),
    language_libraries=tuple(f"Go's {name}" for name in _OF_LANGUAGE),
    formats=(
        Format(
            name="pprof",
            title="pprof profile",
            file_names=("*.pb.gz", "*.pprof"),
            endings=("pb", "prof", "out"),
            several=phrase("pprof profiles"),
            reader=Part(f"{_HERE}.pprof"),
            without_people=Part(f"{_HERE}.redaction:without_people"),
            proof=Proof(
                recognises=Part(f"{_HERE}.proof:recognises"), reader=Part(f"{_HERE}.proof:PprofReader")
            ),
            writer=Writer(
                file="OUT.pb.gz",
                help="stacks for `go tool pprof` and others",
                write=Part(f"{_HERE}.export:pprof"),
            ),
        ),
    ),
    foreign=Part(f"{_HERE}.foreign:FILES"),
    messages=(
        Message(
            name="go-out-of-memory",
            title=phrase("Go's fatal error about memory"),
            signs=(
                "fatal error: out of memory",
                "fatal error: runtime: out of memory",
                "fatal error: cannot allocate memory",
                "fatal error: runtime: cannot allocate memory",
            ),
            read=Part(f"{_HERE}.messages:fatal_error"),
        ),
        Message(
            name="go-stack",
            signs=("goroutine stack exceeds ",),
            read=Part(f"{_HERE}.messages:no_stack"),
        ),
    ),
    # a process has the name of its program
    next_time=NextTime(
        programs=re.compile(r"(?!)"),
        section="Go",
        recording='go WriteHeapAbove(3<<30, "heap.pb.gz")',
        leaves=phrase("The function, which the page has, writes a heap profile once the heap is larger."),
    ),
)
