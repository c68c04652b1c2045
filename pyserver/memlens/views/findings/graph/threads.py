"""Threads that ran out of memory."""

from collections.abc import Iterator

import numpy as np

from memlens.model.graph import NONE
from memlens.texts import Text, phrase
from memlens.units import format_bytes, plain_name
from memlens.views.findings.answers import Figure, LineLink, ObjectsLink, TextPart
from memlens.views.findings.graph.case import GraphCase, figure, measured
from memlens.views.findings.writing import Ranked, amount, base_line, linked, made, percent
from memlens.views.heap.listing.threads import failed_in, thread_name
from memlens.views.heap.objects.thread_table import table
from memlens.views.heap.retained.by_threads import freed_by_thread

OUT_OF_MEMORY = "out_of_memory"
_FAILED, _FREE, _UNTIL_LIMIT, _MESSAGE = (
    "failed_allocation_bytes", "free_bytes", "free_until_limit_bytes", "out_of_memory_message"
)  # fmt: skip
"""Dump settings that record the allocation for which the process ran out of memory."""
_MOST_THREADS = 3
_LEAST_SHARE = 0.01
"""The least share of the reachable heap for a sentence about what a thread alone holds."""


def out_of_memory(case: GraphCase) -> Iterator[Ranked]:
    """Each of the first three threads that ran out of memory, and where; or the allocation that failed."""
    known = table(case.snapshot)
    if (failed := case.snapshot.manifest.settings.get(_FAILED)) is not None:
        yield _of_allocation(case, int(failed))
        return
    for place, thread in enumerate(np.flatnonzero(known.out_of_memory)[:_MOST_THREADS].tolist()):
        link, own = ObjectsLink("thread", thread), int(known.object[thread])
        query = "" if own == NONE else f"SELECT retained_bytes FROM objects WHERE object = {own}"
        size = figure(int(freed_by_thread(case.snapshot)[thread]), query)
        frame = failed_in(case.snapshot, thread)
        line = None if frame is None else case.line_of(frame)
        name = thread_name(case.snapshot, thread)
        failed, why = _exhausted(case, thread, linked(name or f"#{thread}", objects=link), line)
        sentence = phrase(
            "{failed}{holds}.{why}",
            failed=failed,
            holds="" if size.amount < _LEAST_SHARE * case.whole
            else phrase(
                "; it alone holds {size} ({share} of the reachable heap)",
                size=measured(size, link), share=percent(size.amount, case.whole),
            ),
            why=why,
        )  # fmt: skip
        title = phrase("Out of memory")
        subject = (line.function if line else name,)
        yield Ranked(
            100.0 - place,
            made(OUT_OF_MEMORY, title, sentence, size, None, line, objects=link, subject=subject),
        )


def _of_allocation(case: GraphCase, failed: int) -> Ranked:
    """The allocation for which the process ran out of memory, for dumps without thread objects."""
    known = case.snapshot.manifest.settings
    frame = failed_in(case.snapshot, 0)
    line = None if frame is None else case.line_of(frame)
    link = None if line is None else ObjectsLink("thread", 0)
    size = Figure(failed, "bytes", "requested")
    free, until_limit, message = (known.get(name) for name in (_FREE, _UNTIL_LIMIT, _MESSAGE))
    sentence = phrase(
        "An allocation of {size} failed{place}{free}{limit}.{message}",
        size=amount(size, objects=link),
        place="" if line is None else phrase(" in {place}", place=_place(line)),
        free="" if free is None else phrase("; {free} of the heap was free", free=format_bytes(int(free))),
        limit="" if until_limit is None
        else phrase("; {free} was left until the heap's limit", free=format_bytes(int(until_limit))),
        message="" if not message else phrase(" The error: {message}", message=plain_name(str(message))),
    )  # fmt: skip
    title = phrase("Out of memory")
    return Ranked(100.0, made(OUT_OF_MEMORY, title, sentence, size, None, line, objects=link))


def _exhausted(
    case: GraphCase, thread: int, name: TextPart, line: LineLink | None
) -> tuple[Text, Text | str]:
    """What a thread ran out of, and why, if the format's pack knows."""
    where = "" if line is None else phrase(" in {place}", place=_place(line))
    known = None if case.known.exhausted is None else case.known.exhausted.load()(case, thread, name, where)
    return known or (phrase("Thread {name} ran out of memory{where}", name=name, where=where), "")


def _place(line: LineLink) -> TextPart:
    return linked(f"{'.'.join(line.function.split('.')[-2:])}, {base_line(line)}", line=line)
