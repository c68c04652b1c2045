"""The world of Android: heap graphs in traces of Perfetto. Its HPROF is Java's, whose pack it builds on."""

from memlens.packs.api import Format, Pack, Part
from memlens.packs.jvm import OBJECTS
from memlens.texts import phrase

_HERE = "memlens.packs.android"

PACK = Pack(
    name="android",
    title="Android",
    builds_on="jvm",
    formats=(
        Format(
            name="perfetto",
            title="heap graph of Android in a trace of Perfetto",
            # a protocol buffer: a packet's own fields say which
            comes_first=True,
            reader=Part(f"{_HERE}.perfetto"),
            endings=("pftrace", "perfetto-trace"),
            objects=OBJECTS,
            not_redacted=(
                phrase(
                    "Heap graphs of Perfetto have no values, but the trace around them has whatever else was recorded: "
                    "processes, command lines, logs"
                ),
                phrase("Share it only with whom you trust with these."),
            ),
        ),
    ),
)
