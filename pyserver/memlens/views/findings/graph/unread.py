"""Variables of closures that nothing reads any more, in V8's dumps since mid-2026."""

from collections.abc import Iterator

import numpy as np

from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import plain_name
from memlens.views.findings.answers import LineLink, ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured, retained_sql
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent
from memlens.views.graph.rows import Numbers
from memlens.views.graph.unread import Unread, freed_without, unread

MOST_FOUND = 3
_MOST_TRIED = 12
"""So many scopes are measured; the sums by which they are ordered count what is held otherwise, too."""
_MOST_NAMES = 5
_MOST_LISTED = 1_000


def unread_variables(case: GraphCase) -> Iterator[Ranked]:
    """Variables of closures that no function can read any more hold 1% of the reachable heap, and 32 KiB; of three
    scopes at most.

    Of V8's dumps since mid-2026, which say what functions read; see ``formats/v8_scopes.py``.
    """
    if not len(case.snapshot.objects.unread):
        return
    every = unread(case.snapshot)
    retained = case.snapshot.objects.retained
    scopes = [every.of(np.flatnonzero(every.scope == scope)) for scope in _largest(case, every)]
    bounds = [int(retained[distinct(each.target)].sum()) for each in scopes]
    found: list[Ranked] = []
    for _, variables in sorted(zip(bounds, scopes, strict=True), key=lambda each: -each[0]):
        freed = freed_without(case.snapshot, variables)
        if freed >= case.least:
            found.append(_of_scope(case, variables, freed))
    yield from sorted(found, key=lambda each: -each.weight)[:MOST_FOUND]


def _largest(case: GraphCase, every: Unread) -> list[int]:
    """The scopes whose variables may hold enough, those first that may hold most."""
    sums = np.bincount(every.scope, case.snapshot.objects.retained[every.target].astype(np.float64))
    order: list[int] = np.argsort(-sums, kind="stable")[:_MOST_TRIED].tolist()
    return [scope for scope in order if sums[scope] >= case.least]


def _of_scope(case: GraphCase, variables: Unread, freed: int) -> Ranked:
    targets = distinct(variables.target)
    contexts = distinct(variables.context)
    function = int(variables.function[0])
    line = case.line(function) if function != NEVER else None
    link, sql = _objects(targets), ""
    if len(targets) <= _MOST_LISTED and case.retained(targets) == freed:
        sql = retained_sql(f"object IN ({', '.join(map(str, targets.tolist()))})")
    shown = figure(freed, sql)
    sentence = phrase(
        plural(
            len(contexts),
            "{size} ({share} of the reachable heap) is held only by {variables} of {function}, which a closure keeps "
            "and no function can read any more. Set it to null after its last use, or make the closure where it isn't "
            "in scope.",
            "{size} ({share} of the reachable heap) is held only by {variables} of {function}, which closures keep in "
            "{n} contexts and no function can read any more. Set it to null after its last use, or make the closures "
            "where it isn't in scope.",
        ),
        n=len(contexts), size=measured(shown, link), share=percent(freed, case.whole),
        variables=_names(case, variables), function=_function(line),
    )  # fmt: skip
    finding = made(
        "unread_variables", phrase("Variables nothing reads"), sentence, shown, None, line, objects=link
    )
    return Ranked(freed / max(case.whole, 1), finding, targets)


def _names(case: GraphCase, variables: Unread) -> Text:
    """The variables, the one first that may hold most."""
    retained = case.snapshot.objects.retained[variables.target].astype(np.float64)
    names, of = np.unique(variables.name, return_inverse=True)
    order = np.argsort(-np.bincount(of, retained), kind="stable")[:_MOST_NAMES]
    texts = case.snapshot.strings.texts(names[order].astype(np.uint32))
    listed = in_a_row([Text(plain_name(text)) for text in texts], ", ")
    if len(names) > _MOST_NAMES:
        return phrase("the variables {names} and {n} more", names=listed, n=len(names) - _MOST_NAMES)
    return phrase(plural(len(names), "the variable {names}", "the variables {names}"), names=listed)


def _function(line: LineLink | None) -> Text:
    if line is None:
        return phrase("a function")
    name = plain_name(line.function) or phrase("(anonymous)")
    return phrase("{function} ({line})", function=name, line=linked(base_line(line), line=line))


def _objects(targets: Numbers) -> ObjectsLink:
    if len(targets) == 1:
        return ObjectsLink("object", int(targets[0]))
    listed = ", ".join(map(str, targets[:_MOST_LISTED].tolist()))
    return ObjectsLink(
        "query", 0, f"SELECT * FROM objects WHERE object IN ({listed}) ORDER BY retained_bytes DESC"
    )
