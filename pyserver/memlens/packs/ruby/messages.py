"""Ruby's NoMemoryError. Source: ``gc.c`` of CRuby."""

import re

from memlens.explain.answers import Explanation
from memlens.explain.text import Log
from memlens.texts import phrase
from memlens.units import plain_name

_ERROR = re.compile(r"(?:(\S{1,500}:\d{1,9}):in .{1,200})?failed to allocate memory(?: \(NoMemoryError\))?")


def no_memory_error(log: Log, number: int) -> Explanation | None:
    """The error, and the line in which it was raised."""
    line = log.line(number)
    found = _ERROR.search(line)
    if found is None or ("NoMemoryError" not in line and "[FATAL]" not in line):
        return None
    conclusions = [
        phrase("The system refused the memory. A container at its limit is killed instead, without an error.")
    ]
    if found[1]:
        conclusions.append(
            phrase(
                "It was raised in {place}: where memory ran out, not necessarily what keeps it.",
                place=plain_name(found[1]),
            )
        )
    return Explanation(
        title=phrase("Ruby could not get memory from the system: NoMemoryError"),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="process",
        conclusions=conclusions,
        settings=[phrase("ulimit -v (RLIMIT_AS) of the process, or vm.overcommit_memory=2 on the machine.")],
    )
