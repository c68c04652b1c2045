"""Go's fatal errors when the system gives its runtime no memory. Source: ``runtime/malloc.go`` and ``mheap.go``."""

import re

from memlens.explain.answers import Amount, Explanation, NotMemory
from memlens.explain.text import Log
from memlens.texts import phrase

_FATAL = re.compile(r"fatal error: (?:runtime: )?(?:out of memory|cannot allocate memory)")
_BLOCK = re.compile(r"runtime: out of memory: cannot allocate (\d{1,18})-byte block \((\d{1,18}) in use\)")
_MOST_BEFORE = 3


def fatal_error(log: Log, number: int) -> Explanation | None:
    """The fatal error, and the sizes in the line before it."""
    if _FATAL.search(log.line(number)) is None:
        return None
    amounts, first = list[Amount](), number
    for each, line in log.before(number, _MOST_BEFORE):
        if found := _BLOCK.search(line):
            first = each
            amounts = [
                Amount(phrase("requested"), int(found[1])),
                Amount(phrase("in use by the runtime"), int(found[2])),
            ]
            break
    return Explanation(
        title=phrase("Go's runtime could not get memory from the system"),
        first_line=first + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="heap",
        amounts=amounts,
        conclusions=[
            phrase(
                "The system refused it. In a container at its limit the kernel kills instead, and Go says nothing."
            )
        ],
        settings=[
            phrase(
                "ulimit -v of the process, or vm.overcommit_memory=2 on the machine. GOMEMLIMIT makes "
                "the collector work harder below a size, but refuses nothing."
            )
        ],
    )


_STACK = re.compile(r"goroutine stack exceeds \d{1,18}-byte limit")


def no_stack(log: Log, number: int) -> NotMemory | None:
    """A stack that was too deep."""
    if _STACK.search(log.line(number)) is None:
        return None
    return NotMemory(
        title=phrase(
            "A goroutine's stack reached its limit because calls are nested too deeply; that has nothing to "
            "do with the heap"
        ),
        advice=phrase("The repeated functions in its stack are the recursion."),
        first_line=number + 1,
    )
