"""The world of Android: heap graphs and samples of native memory in traces of Perfetto. Its HPROF is Java's, whose pack
it builds on.
"""

from msgspec.structs import replace

from memlens.packs.api import FilterTerm, Format, Pack, Part
from memlens.packs.jvm import OBJECTS
from memlens.texts import phrase

_HERE = "memlens.packs.android"

_HEAP = FilterTerm(
    begins="heap:", finds="the heap that it is in, of Android", examples=("heap:app", "heap:zygote")
)

PACK = Pack(
    name="android",
    title="Android",
    builds_on="jvm",
    formats=(
        Format(
            name="perfetto",
            title="heap graph or native memory of Android in a trace of Perfetto",
            label="Perfetto",
            # a protocol buffer: a packet's own fields say which
            comes_first=True,
            reader=Part(f"{_HERE}.perfetto"),
            endings=("pftrace", "perfetto-trace"),
            several=phrase("traces of Perfetto with native memory"),
            objects=replace(OBJECTS, terms=(*OBJECTS.terms, _HEAP)),
            not_redacted=(
                phrase(
                    "Heap graphs and samples of Perfetto have no values, but the trace around them has whatever else "
                    "was recorded: processes, command lines, logs"
                ),
                phrase("Share it only with people you trust with that data."),
            ),
        ),
    ),
)
