"""Files of .NET without a heap that Memlens reads."""

import re

from memlens.packs.api import Foreign
from memlens.texts import phrase

FILES = (
    Foreign(
        recognises=re.compile(rb"MDMP\x93\xa7").match,
        description=phrase("it is a minidump of a process on Windows"),
        advice=phrase("For a .NET program, make a heap dump with: dotnet-gcdump collect -p PID"),
    ),
    Foreign(
        recognises=re.compile(rb"Nettrace").match,
        description=phrase("it is a trace of .NET's events"),
        advice=phrase("Make a heap dump with: dotnet-gcdump collect -p PID"),
    ),
)
