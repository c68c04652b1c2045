"""What programs often keep alive by mistake: detached DOM nodes, listeners, contexts of closures."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.graph import ENTRY, NONE
from memlens.packs.v8 import OWN_FILES, REALM
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import plain_name
from memlens.views.findings.answers import LineLink, ObjectsLink
from memlens.views.findings.graph.case import (
    GraphCase,
    figure,
    measured,
    object_part,
    retained_sql,
)  # fmt: skip
from memlens.views.findings.graph.held import and_held, held_by
from memlens.views.findings.graph.listeners import LEAST_LISTENERS, MOST_FOUND, longest, of_listeners
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent, text_in_sql
from memlens.views.heap.objects.rows import Numbers

LEAST_DETACHED_BYTES = 16 << 10
_MOST_CONTEXTS = 2_000
_MOST_FUNCTIONS = 3
_MOST_TRIED = 12
"""Limit on measured sets of contexts. The sums that order them count nested contexts twice."""


def detached_nodes(case: GraphCase) -> Iterator[Ranked]:
    """DOM nodes detached from their document retain 16 KiB. Names the holder of the largest tree."""
    flags = case.snapshot.graph_names.flags
    if "detached" not in flags or case.snapshot.objects.flags is None:
        return
    bit = 1 << flags.index("detached")
    members = case.reached(np.flatnonzero(case.snapshot.objects.flags & bit))
    total = case.retained(members)
    if total < case.at_least(0, LEAST_DETACHED_BYTES):
        return
    objects = case.snapshot.objects
    listed = ", ".join(map(str, members.tolist())) if len(members) <= 1_000 else ""
    shown = figure(total, retained_sql(f"object IN ({listed})") if listed else "")
    largest = int(members[np.argmax(objects.retained[members])])
    link = ObjectsLink("object", largest)
    sentence = phrase(
        plural(
            len(members),
            "{n} detached DOM node retains {size} ({share} of the reachable heap); the largest tree is below "
            "{object}{held}.",
            "{n} detached DOM nodes retain {size} ({share} of the reachable heap); the largest tree is below "
            "{object}{held}.",
        ),
        n=len(members), size=measured(shown, link), share=percent(total, case.whole),
        object=object_part(case, largest), held=and_held(held_by(case, largest)),
    )  # fmt: skip
    yield Ranked(
        2 * total / case.whole + 0.05,
        made("detached_nodes", phrase("Detached DOM trees"), sentence, shown, None, objects=link),
        members,
    )


def emitter_listeners(case: GraphCase) -> Iterator[Ranked]:
    """An emitter of Node.js, which keeps them in ``_events``, has 50 listeners of one event or more."""
    yield from sorted(_of_emitters(case), key=lambda each: -each.weight)[: case.most(MOST_FOUND)]


def _of_emitters(case: GraphCase) -> Iterator[Ranked]:
    stored, objects = case.snapshot.references, case.snapshot.objects
    events = case.named("_events")
    by_property = case.kinds(lambda name: name in ("property", ENTRY))
    by_key = case.kinds(lambda name: name == ENTRY)
    by_index = case.kinds(lambda name: name == "element")
    arrays = set(case.types_where(lambda name: name == "Array"))
    found: list[tuple[Numbers, int, int, int, bool]] = []
    # emitters may share a table, however large it is
    tables, lists = set[int](), set[int]()
    for reference in events.tolist():
        table = int(stored.target[reference])
        if table in tables:
            continue
        tables.add(table)
        part = slice(int(stored.start[table]), int(stored.start[table + 1]))
        chosen = by_property[stored.kind[part]]
        for target, name, is_key in zip(
            stored.target[part][chosen].tolist(),
            stored.name[part][chosen].tolist(),
            by_key[stored.kind[part][chosen]].tolist(),
            strict=True,
        ):
            if int(objects.type[target]) not in arrays or target in lists:
                continue
            lists.add(target)
            own = slice(int(stored.start[target]), int(stored.start[target + 1]))
            members = stored.target[own][by_index[stored.kind[own]]]
            if len(members) >= LEAST_LISTENERS:
                found.append((members, reference, target, name, is_key))
    for members, reference, target, name, is_key in longest(found):
        # keys are contents of strings
        event = "…" if is_key else plain_name(case.snapshot.strings.head(name, 40))
        query = f"SELECT retained(target) FROM refs WHERE source = {target} AND kind = 'element'"
        emitter = int(case.sources(np.array([reference]))[0])
        yield of_listeners(
            case,
            emitter,
            target,
            members,
            query,
            phrase(" of “{event}”", event=event),
            held_by(case, emitter),
        )


class _Keepers(NamedTuple):
    """Functions whose closures keep the same contexts."""

    contexts: Numbers
    closures: Numbers
    frames: list[int]
    """The lines of these functions, the one whose closure is nearest to a root first."""


def contexts(case: GraphCase) -> Iterator[Ranked]:
    """Variables that closures keep retain 1% of the reachable heap, and 32 KiB; three sets of variables at most.

    What contexts retain is charged to the functions whose closures refer to them, where these have a line and
    aren't Node.js's own. Functions whose closures keep the same contexts are one finding.
    """
    found: list[Ranked] = []
    for tried, keepers in enumerate(_keepers(case)):
        if len(found) == case.most(MOST_FOUND) or tried == _MOST_TRIED:
            break
        total = case.retained(keepers.contexts)
        if total >= case.least:
            found.append(_of_keepers(case, keepers, total))
    yield from found


def _of_keepers(case: GraphCase, keepers: _Keepers, total: int) -> Ranked:
    objects = case.snapshot.objects
    members = keepers.contexts
    functions = len(keepers.frames)
    lines = [line for frame in keepers.frames[:_MOST_FUNCTIONS] if (line := case.line_of(frame)) is not None]
    first = lines[0]
    listed = ", ".join(map(str, members.tolist())) if len(members) <= _MOST_CONTEXTS else ""
    sql = retained_sql(f"object IN ({listed})") if listed else ""
    shown = figure(total, sql or (_context_sql(first) if functions == 1 else ""))
    largest = int(members[np.argmax(objects.retained[members])])
    link = ObjectsLink("object", largest)
    variables = _variables(case, largest)
    sentence = phrase(
        plural(
            len(keepers.closures),
            "{closures} keeps variables of the functions around it, which retain {size} ({share} of the "
            "reachable heap){variables}.",
            "{closures} keep variables of the functions around them, which retain {size} ({share} of the "
            "reachable heap){variables}.",
        ),
        closures=_closures(len(keepers.closures), functions, _functions(lines, functions - len(lines))),
        size=measured(shown, link), share=percent(total, case.whole),
        variables=phrase(", as {names}", names=", ".join(variables)) if variables else "",
    )  # fmt: skip
    subject = (first.file, first.function or str(first.line))
    title = phrase("Kept by closures")
    finding = made("contexts", title, sentence, shown, None, first, objects=link, subject=subject)
    return Ranked(0.9 * total / case.whole, finding, members)


def _closures(closures: int, functions: int, named: Text) -> Text:
    """Return the closures of some functions as text, with the number of functions if the sentence doesn't list them."""
    if functions == 1:
        return phrase(
            plural(closures, "{n} closure {function}", "{n} closures {function}"), n=closures, function=named
        )
    if functions == closures:
        return phrase("{n} closures, {functions},", n=closures, functions=named)
    return phrase("{n} closures of {m} functions, {functions},", n=closures, m=functions, functions=named)


def _functions(lines: list[LineLink], more: int) -> Text:
    """The functions nearest to a root, with name and line, and the number of the others."""
    named = [
        phrase(
            "{function} ({line})",
            function=plain_name(line.function) or phrase("(anonymous)"),
            line=linked(base_line(line), line=line),
        )
        for line in lines
    ]
    if more:
        return phrase("{functions} and {n} more", functions=in_a_row(named, ", "), n=more)
    *others, last = named
    return phrase("{functions} and {last}", functions=in_a_row(others, ", "), last=last) if others else last


def _keepers(case: GraphCase) -> Iterator[_Keepers]:
    """Functions with known lines, grouped by the contexts of their closures, the largest first."""
    stored, objects = case.snapshot.references, case.snapshot.objects
    references = case.named("context")
    sources = case.sources(references)
    is_closure = np.zeros(len(case.type_names()), np.bool_)
    is_closure[case.types_of_kind("closure")] = True
    own = is_closure[objects.type[sources]] & (objects.distance[sources] != NONE)
    sources, targets = sources[own], stored.target[references[own]].astype(np.int64)
    # a function without enclosing variables has the realm's own context, which holds all globals
    is_realm = np.zeros(len(case.type_names()), np.bool_)
    is_realm[case.types_where(lambda name: name.startswith(REALM))] = True
    own = ~is_realm[objects.type[targets]]
    sources, targets = sources[own], targets[own]
    frames = _frames(case, sources)
    known = frames != NONE
    sources, targets, frames = sources[known], targets[known], frames[known]
    # the nearest closure of each function comes first
    order = np.lexsort((objects.distance[sources], frames))
    sources, targets, frames = sources[order], targets[order], frames[order]
    is_first = np.ones(len(frames), np.bool_)
    is_first[1:] = frames[1:] != frames[:-1]
    begins, places = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    numbers = frames[begins]
    pairs = distinct(places << 32 | targets)
    # per function: the start of its contexts
    starts = np.searchsorted(pairs, np.arange(len(numbers) + 1) << 32)
    kept = pairs & 0xFFFFFFFF
    sums = np.bincount(pairs >> 32, weights=objects.retained[kept].astype(np.float64))
    ends = np.append(begins[1:], len(frames))
    nearest = objects.distance[sources[begins]] if len(begins) else begins
    large = np.flatnonzero(sums >= case.least)
    large = large[np.argsort(-sums[large], kind="stable")]
    # functions with the same contexts have the same sum; few of the thousands are ever needed
    for alike in np.split(large, np.flatnonzero(np.diff(sums[large])) + 1):
        rows = case.snapshot.frames.rows(numbers[alike].tolist())
        groups: dict[bytes, list[int]] = {}
        for function in alike.tolist():
            file, line, _, _ = rows[int(numbers[function])]
            if file and line > 0 and not file.startswith(OWN_FILES):
                contexts_of = kept[starts[function] : starts[function + 1]]
                groups.setdefault(contexts_of.tobytes(), []).append(function)
        for functions in groups.values():
            near = sorted(functions, key=lambda each: int(nearest[each]))
            yield _Keepers(
                kept[starts[near[0]] : starts[near[0] + 1]],
                np.concatenate([sources[begins[each] : ends[each]] for each in near]),
                [int(numbers[each]) for each in near],
            )


def _context_sql(line: LineLink) -> str:
    return (
        "SELECT retained(r.target) FROM refs AS r JOIN objects AS o ON o.object = r.source "
        f"WHERE r.name = 'context' AND o.file = {text_in_sql(line.file)} AND o.line = {line.line} "
        "AND o.distance IS NOT NULL"
    )


def _frames(case: GraphCase, numbers: Numbers) -> Numbers:
    places = case.snapshot.objects.places
    if not len(places):
        return np.full(len(numbers), NONE, np.uint32)
    at = np.minimum(np.searchsorted(places["object"], numbers), len(places) - 1)
    return np.where(places["object"][at] == numbers, places["frame"][at], np.uint32(NONE))


def _variables(case: GraphCase, context: int) -> list[str]:
    """Return the names of a context's variables that hold most."""
    stored, objects = case.snapshot.references, case.snapshot.objects
    part = np.arange(int(stored.start[context]), int(stored.start[context + 1]))
    part = part[case.kinds(lambda name: name == "context")[stored.kind[part]]]
    part = part[objects.dominator[stored.target[part]] == context]
    order = part[np.argsort(-objects.retained[stored.target[part]].astype(np.int64), kind="stable")][:2]
    return [plain_name(case.snapshot.strings.head(int(number), 40)) for number in stored.name[order].tolist()]
