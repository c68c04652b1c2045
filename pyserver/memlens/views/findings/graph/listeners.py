"""Listeners held by fields whose names say so."""

import re
from collections.abc import Iterator
from typing import TypeVarTuple

import numpy as np

from memlens.model.distinct import counted, distinct
from memlens.model.graph import NONE
from memlens.texts import Text, phrase
from memlens.units import plain_name
from memlens.views.findings.answers import LineLink, ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured, object_part
from memlens.views.findings.graph.held import held_by
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent
from memlens.views.heap.objects.rows import Numbers

LEAST_LISTENERS = 50
MOST_FOUND = 3
_MOST_MEASURED = 100
"""Limit on measured lists of listeners, the longest first."""
Rest = TypeVarTuple("Rest")
_LISTENERS = re.compile(r"(?i)(listener|handler|observer|subscriber|callback)s?$")


def listeners(case: GraphCase) -> Iterator[Ranked]:
    """A field named after listeners retains 1% of the reachable heap, and 32 KiB; three such fields at most."""
    yield from sorted(_of_fields(case), key=lambda each: -each.weight)[: case.most(MOST_FOUND)]


def _of_fields(case: GraphCase) -> Iterator[Ranked]:
    stored, objects, strings = case.snapshot.references, case.snapshot.objects, case.snapshot.strings
    fields = case.kinds(lambda name: name in ("field", "static field"))
    references = np.flatnonzero(fields[stored.kind])
    numbers = stored.name[references]
    names = distinct(numbers)
    wanted = names[strings.where(names, lambda text: _LISTENERS.search(text) is not None)]
    references = references[np.isin(numbers, wanted)]
    targets = stored.target[references]
    references = references[objects.retained[targets] >= case.least]
    retained = objects.retained[stored.target[references]].astype(np.int64)
    references = references[np.argsort(-retained, kind="stable")[: case.most(len(references))]]
    seen: set[int] = set()
    for reference in references.tolist():
        target = int(stored.target[reference])
        if target in seen or objects.distance[target] == NONE:
            continue
        if len(seen) == case.most(MOST_FOUND):
            break  # the others retain less
        seen.add(target)
        owner = int(case.sources(np.array([reference]))[0])
        total = int(objects.retained[target])
        shown = figure(total, f"SELECT retained_bytes FROM objects WHERE object = {target}")
        link = ObjectsLink("object", target)
        name = plain_name(strings.head(int(stored.name[reference]), 40))
        held = held_by(case, owner)
        sentence = phrase(
            "{object} keeps {size} ({share} of the reachable heap) in its field {field}{held}.",
            object=object_part(case, owner), field=name, size=measured(shown, link),
            share=percent(total, case.whole), held=phrase("; held by {holder}", holder=held) if held else "",
        )  # fmt: skip
        title, line = phrase("Listeners"), case.line(owner)
        yield Ranked(
            total / case.whole,
            made(
                "listeners",
                title,
                sentence,
                shown,
                None,
                line,
                objects=link,
                inferred=True,
                subject=(case.type_names()[int(objects.type[owner])], name, held.text if held else ""),
            ),
            np.array([target]),
        )


def longest(found: list[tuple[Numbers, *Rest]]) -> list[tuple[Numbers, *Rest]]:
    """The lists that are worth measuring: those with the most members."""
    return sorted(found, key=lambda each: -len(each[0]))[:_MOST_MEASURED]


def of_listeners(
    case: GraphCase,
    emitter: int,
    array: int,
    members: Numbers,
    query: str,
    event: Text | str = "",
    held: Text | None = None,
) -> Ranked:
    """A finding about an emitter's listeners in ``array``; ``query`` is SQL for what they retain.

    ``held`` is the emitter's holder.
    """
    total = case.retained(distinct(members))
    shown = figure(total, query)
    link = ObjectsLink("object", array)
    line = _common_line(case, members)
    place = (
        phrase(", most of them created at {line}", line=linked(base_line(line), line=line)) if line else ""
    )
    sentence = phrase(
        "{object} has {n} listeners{event}{place}, and they retain {size} ({share} of the reachable heap). "
        "Remove those that are done.",
        object=object_part(case, emitter, begins=True) if held is None
        else phrase("{object} (held by {holder})", object=object_part(case, emitter, begins=True), holder=held),
        n=len(members), event=event, place=place,
        size=measured(shown, link), share=percent(total, case.whole),
    )  # fmt: skip
    subject = (case.type_names()[int(case.snapshot.objects.type[emitter])], str(event))
    finding = made(
        "listeners", phrase("Listeners"), sentence, shown, None, line, objects=link, subject=subject
    )
    return Ranked(1.5 * total / case.whole + 0.05, finding, distinct(members))


def _common_line(case: GraphCase, members: Numbers) -> LineLink | None:
    """Where most of some closures are defined."""
    places = case.snapshot.objects.places
    if not len(places):
        return None
    known = places["frame"][np.isin(places["object"], members)]
    frames, counts = counted(known)
    if not len(frames) or int(counts.max()) < len(members) // 2:
        return None
    return case.line_of(int(frames[np.argmax(counts)]))
