"""The last words of Node.js when V8's heap is full, and its diagnostic reports.

Sources: ``src/heap/heap.cc`` and ``gc-tracer.cc`` of V8, ``src/node_report.cc`` and ``src/node_errors.cc`` of Node.js
12 to 24. V8's MB are 2^20 bytes.
"""

import re

import msgspec

from memlens.explain.answers import Amount, Explanation, Memory, NotMemory
from memlens.explain.text import Log, amount_of
from memlens.texts import Text, phrase
from memlens.units import format_bytes, plain_name

_FATAL = re.compile(r"(?:FATAL ERROR: |Fatal process out of memory: )([^\n]{1,300})")
_COLLECTION = re.compile(
    r"(\d{1,12}) ms: (Mark-[Cc]ompact|Mark-sweep|Scavenge)(?: \(\w{1,20}\))? ([\d.]{1,12}) \(([\d.]{1,12})\) -> "
    r"([\d.]{1,12}) \(([\d.]{1,12})\) MB"
)
_LIMIT = re.compile(r"--max-old-space-size=(\d{1,12})|--max_old_space_size=(\d{1,12})")
_MOST_BEFORE = 60
_ON_HEAP = ("JavaScript heap out of memory", "invalid array length", "invalid table size")
_TOO_LONG = ("invalid array length", "invalid table size")

_HEAP_SETTING = phrase(
    "--max-old-space-size=MB, also in NODE_OPTIONS; without it V8 chooses by the machine's or container's memory. "
    "In a container stay well below its limit."
)


def fatal_error(log: Log, number: int) -> Explanation | NotMemory | None:
    """The fatal error with which V8 ends a program, and the collections before it."""
    found = _FATAL.search(log.line(number))
    if found is None:
        return None
    reason = found[1].strip()
    if "out of memory" not in reason and "Fatal process out of memory" not in found[0]:
        return NotMemory(
            title=phrase(
                "Memlens doesn't know this fatal error of Node.js: {reason}",
                reason=plain_name(reason),
            ),
            advice=phrase("The native stack below it says where it was raised."),
            first_line=number + 1,
        )
    first, collections = number, list[re.Match[str]]()
    for each, line in log.before(number, _MOST_BEFORE):
        # several may stand on one line, as V8 ends only the last one
        here = list(_COLLECTION.finditer(line))
        collections[:0] = here
        if here or "Last few GCs" in line:
            first = each
        if "Last few GCs" in line or "FATAL ERROR" in line:
            break
    of_heap = any(each in reason for each in _ON_HEAP)
    memory: Memory = "heap" if of_heap else "outside"
    amounts, conclusions = _collected(collections) if of_heap else ([], [])
    if any(each in reason for each in _TOO_LONG):
        conclusions.append(
            phrase("An array or a table was to be longer than V8 allows, or than what is left of the heap.")
        )
    elif not of_heap:
        conclusions.append(
            phrase(
                "What ran out is memory of V8 itself outside of the heap, as for compiling: the system "
                "gave none. The heap's limit has nothing to do with it."
            )
        )
    return Explanation(
        title=phrase("Node.js ended because V8 ran out of memory: {reason}", reason=plain_name(reason)),
        first_line=first + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory=memory,
        amounts=amounts,
        conclusions=conclusions,
        settings=[_HEAP_SETTING] if of_heap else [_SYSTEM_SETTING],
    )


_SYSTEM_SETTING = phrase("The limit is the system's: that of the container or the machine, or ulimit -v.")


def _collected(collections: list[re.Match[str]]) -> tuple[list[Amount], list[Text]]:
    """What the last collection of the whole heap left."""
    full = [each for each in collections if each[2] != "Scavenge"]
    if not full:
        return [], []
    last = full[-1]
    before = amount_of(phrase("used before the last full collection"), last[3], "MB")
    live = amount_of(phrase("live after the last full collection"), last[5], "MB")
    heap = amount_of(phrase("the heap as large as it was then"), last[6], "MB")
    if before is None or live is None or heap is None:
        return [], []
    conclusions = [
        phrase(
            "The last full collection left {live} of {before}: objects that are still reachable, which a heap snapshot "
            "names.",
            live=format_bytes(live.bytes),
            before=format_bytes(before.bytes),
        )
    ]
    return [before, live, heap], conclusions


class _Heap(msgspec.Struct, frozen=True):
    """``javascriptHeap`` of a report."""

    usedMemory: int | None = None  # noqa: N815 - the report's names, here and below
    totalCommittedMemory: int | None = None  # noqa: N815
    memoryLimit: int | None = None  # noqa: N815
    externalMemory: int | None = None  # noqa: N815
    mallocedMemory: int | None = None  # noqa: N815


class _Usage(msgspec.Struct, frozen=True):
    """``resourceUsage`` of a report."""

    rss: int | str | None = None
    maxRss: int | str | None = None  # noqa: N815
    constrained_memory: int | str | None = None
    total_memory: int | str | None = None


class _Header(msgspec.Struct, frozen=True):
    event: str = ""
    trigger: str = ""
    processId: int = 0  # noqa: N815
    nodejsVersion: str = ""  # noqa: N815
    commandLine: list[str] = []  # noqa: N815


class _Report(msgspec.Struct, frozen=True):
    header: _Header
    javascriptHeap: _Heap  # noqa: N815
    resourceUsage: _Usage = _Usage()  # noqa: N815


_NEAR = 0.9
"""The share of a limit from which on it is reached."""
_UNLIMITED = 1 << 50
_MOST_OF_REPORT = 50_000
"""Lines of a report before and after its heap."""


def report(log: Log, number: int) -> Explanation | NotMemory | None:
    """A diagnostic report, which is the whole text or a part of a log between lines with one brace each."""
    first = last = number
    if not log.line(number).startswith("{"):
        begins = (each for each, line in log.before(number, _MOST_OF_REPORT) if line.rstrip() == "{")
        first = next(begins, number)
        ends = (each for each, line in log.lines(number, _MOST_OF_REPORT) if line.rstrip() == "}")
        last = next(ends, number)
    try:
        found = msgspec.json.decode(log.whole(first, last).encode(), type=_Report)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return _of_report(found, first, last)


def _of_report(found: _Report, first: int, last: int) -> Explanation | NotMemory:
    heap, usage, header = found.javascriptHeap, found.resourceUsage, found.header
    is_end = header.trigger in ("OOMError", "FatalError") and "memory" in header.event.lower()
    sizes = (
        (phrase("used of the heap"), heap.usedMemory),
        (phrase("committed for the heap"), heap.totalCommittedMemory),
        (phrase("limit of the heap"), heap.memoryLimit),
        (phrase("outside of the heap, held by its objects (buffers)"), heap.externalMemory),
        (phrase("malloc's, by V8 itself"), heap.mallocedMemory),
        (phrase("resident memory of the process"), _number(usage.rss)),
        (phrase("limit of the container"), _number(usage.constrained_memory)),
        (phrase("memory of the machine"), _number(usage.total_memory)),
    )
    amounts = [Amount(label, size) for label, size in sizes if size is not None and 0 < size < _UNLIMITED]
    conclusions = list[Text]()
    used, limit, rss = heap.usedMemory, heap.memoryLimit, _number(usage.rss)
    if used is not None and limit and used >= _NEAR * limit:
        conclusions.append(phrase("The heap was at its limit."))
    if used is not None and rss is not None and heap.totalCommittedMemory is not None:
        outside = rss - heap.totalCommittedMemory
        if outside > heap.totalCommittedMemory:
            conclusions.append(
                phrase(
                    "More of the process is outside of the heap than in it, {size}: buffers, native "
                    "modules, code. A heap snapshot has only the objects that hold it.",
                    size=format_bytes(outside),
                )
            )
    options = _LIMIT.findall(" ".join(header.commandLine)[:10_000])
    if options:
        given = next(number for number in options[-1] if number)
        conclusions.append(phrase("It was started with --max-old-space-size={limit}.", limit=given))
    program = phrase(
        "Node.js {version} (process {pid})",
        version=plain_name(header.nodejsVersion),
        pid=str(header.processId),
    )
    title = (
        phrase("{program} ran out of memory: {event}", program=program, event=plain_name(header.event))
        if is_end
        else phrase("A report of {program}: {event}", program=program, event=plain_name(header.event))
    )
    return Explanation(
        title=title,
        first_line=first + 1,
        last_line=last + 1,
        ended_by="runtime" if is_end else "nobody",
        memory="heap" if is_end else "process",
        amounts=amounts,
        conclusions=conclusions,
        settings=[_HEAP_SETTING],
    )


def _number(value: int | str | None) -> int | None:
    """A size that some versions write as a text."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) < 20 else None
    return value


def worker(log: Log, number: int) -> Explanation | None:
    """A worker thread that reached the limit that its program gave it."""
    if "ERR_WORKER_OUT_OF_MEMORY" not in log.line(number):
        return None
    return Explanation(
        title=phrase("A worker thread of Node.js was ended at the limit on its heap"),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="heap",
        conclusions=[phrase("Only the worker ended; its program is notified by the worker's 'error' event.")],
        settings=[phrase("resourceLimits.maxOldGenerationSizeMb of new Worker(), in MB.")],
    )


_BUFFER = re.compile(r"RangeError: Array buffer allocation failed")


def array_buffer(log: Log, number: int) -> Explanation | None:
    """A buffer for which the system gave no memory."""
    if _BUFFER.search(log.line(number)) is None:
        return None
    return Explanation(
        title=phrase("Node.js could not allocate a buffer"),
        first_line=number + 1,
        last_line=number + 1,
        ended_by="runtime",
        memory="outside",
        conclusions=[phrase("Buffers are outside of V8's heap, so its limit has nothing to do with it.")],
        settings=[_SYSTEM_SETTING],
    )


def no_stack(log: Log, number: int) -> NotMemory | None:
    """A stack that was too deep."""
    if "RangeError: Maximum call stack size exceeded" not in log.line(number):
        return None
    return NotMemory(
        title=phrase(
            '"Maximum call stack size exceeded" means that calls are nested too deeply; it has '
            "nothing to do with the heap"
        ),
        advice=phrase("The repeated frames in its stack are the recursion."),
        first_line=number + 1,
    )
