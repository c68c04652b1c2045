"""What programs in C++ and Rust say when an allocation fails, and errors that look like it."""

import re

from memlens.explain.answers import Amount, Explanation, NotMemory
from memlens.explain.text import Log
from memlens.texts import phrase

_RUST = re.compile(r"memory allocation of (\d{1,18}) bytes failed")
_REFUSED = phrase(
    "The system refused address space. A container at its limit is killed instead, without a message."
)
_SETTING = phrase(
    "ulimit -v (RLIMIT_AS) of the process, or vm.overcommit_memory=2 on the machine. A size far beyond "
    "the machine's memory usually comes from a length that was computed wrongly."
)


def failed_allocation(log: Log, number: int) -> Explanation | None:
    """Explain a failed allocation: an exception of C++, or Rust's error."""
    line = log.line(number)
    rust = _RUST.search(line)
    if rust is None and "std::bad_alloc" not in line:
        return None
    title = (
        phrase("An allocation failed in a program in C++: std::bad_alloc")
        if rust is None
        else phrase("An allocation failed in a program in Rust")
    )
    return Explanation(
        title=title,
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="process",
        amounts=[] if rust is None else [Amount(phrase("requested"), int(rust[1]))],
        conclusions=[_REFUSED],
        settings=[_SETTING],
    )


_FAULTS = re.compile(
    r"[Ss]egmentation fault|double free or corruption|malloc\(\): |free\(\): invalid|AddressSanitizer: "
    r"(?:heap|stack|global)-|AddressSanitizer: SEGV"
)


def no_fault(log: Log, number: int) -> NotMemory | None:
    """Say of invalid memory accesses and heap corruption that memory didn't run out."""
    found = _FAULTS.search(log.line(number))
    if found is None:
        return None
    return NotMemory(
        title=phrase(
            '"{what}" is an invalid memory access, not a lack of memory', what=found[0].partition(": ")[0]
        ),
        advice=phrase(
            "A debugger on its core dump, or a build with -fsanitize=address, says where. A stack that "
            "is too deep ends in the same way."
        ),
        first_line=number + 1,
    )
