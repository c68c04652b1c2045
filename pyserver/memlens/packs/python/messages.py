"""Python's errors when the system gives it no memory: MemoryError, and NumPy's with the array's shape."""

import re

from memlens.explain.answers import Amount, Explanation, NotMemory
from memlens.explain.text import Log, amount_of
from memlens.texts import phrase
from memlens.units import plain_name

_ERROR = re.compile(r"(?:^|[\s|])(?:[\w.]{0,100}\.)?(?:_Array)?MemoryError(?:: ([^\n]{0,500}))?$")
_ARRAY = re.compile(
    r"Unable to allocate ([\d.]{1,12}) (bytes|[KMGT]iB) for an array with shape"
    r" (\([\d, ]{0,200}\)) and data type (\S{1,100})"
)
_FRAME = re.compile(r'\s{1,20}File "([^"\n]{1,500})", line (\d{1,9})(?:, in (\S{1,200}))?')
_MOST_BEFORE = 8

_SETTING = phrase(
    "ulimit -v (RLIMIT_AS) of the process, or vm.overcommit_memory=2 on the machine. A container's limit doesn't raise "
    "MemoryError: the kernel kills."
)


def memory_error(log: Log, number: int) -> Explanation | None:
    """Explain a MemoryError by the last line of its traceback."""
    found = _ERROR.search(log.line(number).rstrip())
    if found is None:
        return None
    amounts, conclusions = list[Amount](), []
    array = _ARRAY.search(found[1] or "")
    asked = amount_of(phrase("requested"), array[1], array[2]) if array else None
    if array is not None and asked is not None:
        amounts.append(asked)
        conclusions.append(
            phrase(
                "It was for one array of {type} with the shape {shape}: if that is larger than intended, an "
                "operation has broadcast or multiplied it.",
                type=plain_name(array[4]),
                shape=plain_name(array[3]),
            )
        )
    first = number
    for each, line in log.before(number, _MOST_BEFORE):
        if frame := _FRAME.match(line):
            first = each
            conclusions.append(
                phrase(
                    "It was raised in {place}: where memory ran out, not necessarily what keeps it.",
                    place=plain_name(f"{frame[1]}:{frame[2]}"),
                )
            )
            break
    conclusions.append(
        phrase(
            "The system refused the request for memory; the process went on, and could have caught the error."
        )
    )
    return Explanation(
        title=phrase("Python could not get memory from the system: MemoryError"),
        first_line=first + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="process",
        amounts=amounts,
        conclusions=conclusions,
        settings=[_SETTING],
    )


def no_recursion(log: Log, number: int) -> NotMemory | None:
    """Say of a RecursionError that it isn't about memory."""
    if not log.line(number).startswith("RecursionError: "):
        return None
    return NotMemory(
        title=phrase(
            "A RecursionError means that calls are nested too deeply; it has nothing to do with memory"
        ),
        advice=phrase("The repeated lines of its traceback are the recursion."),
        first_line=number + 1,
    )
