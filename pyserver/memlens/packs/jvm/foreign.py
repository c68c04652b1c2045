"""Other recordings of Java's virtual machines."""

from memlens.packs.api import Foreign
from memlens.texts import phrase

FILES = (
    Foreign(
        recognises=lambda head: head.startswith(b"FLR\0"),
        description=phrase("it is a recording of Java's Flight Recorder, which has no heap"),
        advice=phrase("Record the heap with: jmap -dump:format=b,file=FILE PID"),
    ),
)
