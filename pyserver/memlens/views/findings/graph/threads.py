"""Threads that ran out of memory."""

from collections.abc import Iterator

import numpy as np

from memlens.model.graph import NONE
from memlens.texts import Text, phrase
from memlens.views.findings.answers import LineLink, ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent
from memlens.views.graph.thread_sizes import freed_by_thread
from memlens.views.graph.thread_table import table
from memlens.views.graph.threads import failed_in, thread_name

OUT_OF_MEMORY = "out_of_memory"
_MOST_THREADS = 3


def out_of_memory(case: GraphCase) -> Iterator[Ranked]:
    """Each of the first three threads that ran out of memory, and where."""
    known = table(case.snapshot)
    for place, thread in enumerate(np.flatnonzero(known.out_of_memory)[:_MOST_THREADS].tolist()):
        link, own = ObjectsLink("thread", thread), int(known.object[thread])
        query = "" if own == NONE else f"SELECT retained_bytes FROM objects WHERE object = {own}"
        size = figure(int(freed_by_thread(case.snapshot)[thread]), query)
        frame = failed_in(case.snapshot, thread)
        line = None if frame is None else case.line_of(frame)
        sentence = phrase(
            "{failed}; it alone holds {size} ({share} of the reachable heap).",
            failed=_failed(linked(thread_name(case.snapshot, thread) or f"#{thread}", objects=link), line),
            size=measured(size, link), share=percent(size.amount, case.whole),
        )  # fmt: skip
        title = phrase("Out of memory")
        yield Ranked(100.0 - place, made(OUT_OF_MEMORY, title, sentence, size, None, line, objects=link))


def _failed(name: Text, line: LineLink | None) -> Text:
    if line is None:
        return phrase("Thread {name} ran out of memory", name=name)
    place = f"{'.'.join(line.function.split('.')[-2:])}, {base_line(line)}"
    return phrase("Thread {name} ran out of memory in {place}", name=name, place=linked(place, line=line))
