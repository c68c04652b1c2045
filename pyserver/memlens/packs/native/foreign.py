"""Files of the same tools that Memlens doesn't read. Source: ``ms_print`` of valgrind."""

import re

from memlens.packs.api import Foreign
from memlens.texts import phrase

FILES = (
    Foreign(
        recognises=re.compile(rb"-{20,}\r?\nCommand: [^\n]*\nMassif arguments:").match,
        description=phrase("it is the output of ms_print"),
        advice=phrase("Open the massif.out file instead."),
    ),
)
