"""OutOfMemoryException of .NET. Source: Microsoft's documentation of the exception and of the collector's settings."""

import re

from memlens.explain.answers import Explanation
from memlens.explain.text import Log
from memlens.texts import phrase
from memlens.units import plain_name

_ERROR = re.compile(r"System\.OutOfMemoryException(?:: ([^\n]{0,300}))?|^Out of memory\.$")
_FRAME = re.compile(r"\s{1,8}at ([^\n]{1,300})")
_TOO_LARGE = "Array dimensions exceeded supported range"


def out_of_memory(log: Log, number: int) -> Explanation | None:
    """The exception, and the first frame of its stack."""
    found = _ERROR.search(log.line(number).rstrip())
    if found is None:
        return None
    last, conclusions = number, []
    if _TOO_LARGE in (found[1] or ""):
        conclusions.append(phrase("An array was to be longer than .NET allows: no limit helps."))
    else:
        conclusions.append(
            phrase(
                "The collector had no room in the heap even after a collection, or the system gave it "
                "none; the exception doesn't say which."
            )
        )
    frame = _FRAME.match(log.line(number + 1)) if number + 1 < len(log) else None
    if frame is not None:
        last = number + 1
        conclusions.append(phrase("It was thrown in {frame}.", frame=plain_name(frame[1].strip())))
    return Explanation(
        title=phrase(".NET ran out of memory: OutOfMemoryException"),
        first_line=number + 1,
        last_line=last + 1,
        ended_by="runtime",
        memory="unknown",
        conclusions=conclusions,
        settings=[
            phrase(
                "DOTNET_GCHeapHardLimit, in hexadecimal; in a container with a limit it is three "
                "quarters of that if it isn't given."
            )
        ],
    )
