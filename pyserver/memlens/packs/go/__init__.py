"""The world of Go, and of pprof, whose profiles many other runtimes write as well."""

from memlens.packs.api import Format, Language, Pack, Part, Proof, Writer
from memlens.texts import phrase

_HERE = "memlens.packs.go"

PACK = Pack(
    name="go",
    title="Go",
    language=Language(suffixes=(".go",), is_compiled=True),
    libraries=("go",),
    # what makes values and texts, and not go/parser or encoding/json
    language_libraries=(
        "Go's library",
        "Go's runtime",
        "Go's internal",
        "Go's bytes",
        "Go's strings",
        "Go's strconv",
        "Go's slices",
        "Go's maps",
        "Go's bufio",
        "Go's fmt",
        "Go's errors",
        "Go's container",
        "Go's sync",
    ),  # fmt: skip
    formats=(
        Format(
            name="pprof",
            title="pprof profile",
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
)
