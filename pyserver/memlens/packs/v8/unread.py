"""Variables that V8's closures keep, and that no code can read any more."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import distinct
from memlens.texts import Text, phrase, plural
from memlens.units import plain_name
from memlens.views.findings.answers import LineLink, ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.objects.unread_variables import unread
from memlens.views.heap.retained.by_unread_variables import held_by_unread_alone

MOST_FOUND = 3
_MOST_TRIED = 12
_MOST_VARIABLES = 5
_MOST_NAME = 40


class _Scope(NamedTuple):
    """Variables of one scope's contexts, each with a value held only by such variables."""

    number: int
    places: Numbers
    """Indexes of the variables among all unread ones."""
    values: Numbers
    """The distinct values."""


def unread_variables(case: GraphCase) -> Iterator[Ranked]:
    """Values held only by variables that no code can read retain 1% of the reachable heap, and 32 KiB; at most three
    scopes.

    Only in dumps that record what functions read.
    """
    if not len(unread(case.snapshot).rows):
        return
    found: list[Ranked] = []
    for tried, scope in enumerate(_scopes(case)):
        if len(found) == case.most(MOST_FOUND) or tried == _MOST_TRIED:
            break
        total = case.retained(scope.values)
        if total >= case.least:
            found.append(_of_scope(case, scope, total))
    yield from sorted(found, key=lambda each: -each.weight)


def _scopes(case: GraphCase) -> Iterator[_Scope]:
    """Return the scopes, those that may retain most first."""
    variables = unread(case.snapshot)
    places = np.flatnonzero(held_by_unread_alone(case.snapshot) & case.counts(variables.value))
    scopes = variables.rows["scope"][places]
    order = np.argsort(scopes, kind="stable")
    found = []
    for own in np.split(places[order], np.flatnonzero(np.diff(scopes[order])) + 1):
        if len(own):
            values = distinct(variables.value[own])
            found.append(_Scope(int(variables.rows["scope"][own[0]]), own, values))
    yield from sorted(found, key=lambda scope: -case.at_most(scope.values))


def _of_scope(case: GraphCase, scope: _Scope, total: int) -> Ranked:
    rows = unread(case.snapshot).rows[scope.places]
    shown = figure(
        total,
        f"SELECT retained(object) FROM unread_variables WHERE scope = {scope.number} AND NOT held_otherwise",
    )
    link = ObjectsLink(
        "query", 0,
        "SELECT object, variable, type, retained_bytes, held_otherwise, context FROM unread_variables "
        f"WHERE scope = {scope.number} "
        "ORDER BY held_otherwise, retained_bytes DESC",
    )  # fmt: skip
    contexts, names = len(distinct(rows["object"])), _names(case, scope)
    line = case.line_of(int(rows["frame"][0]))
    sentence = phrase(
        plural(
            contexts,
            "{size} ({share} of the reachable heap) is held only by {variables} of {function}, which a closure keeps "
            "and no code can read any more. {advice}",
            "{size} ({share} of the reachable heap) is held only by {variables} of {function}, which closures keep in "
            "{n} contexts and no code can read any more. {advice}",
        ),
        n=contexts, size=measured(shown, link), share=percent(total, case.whole),
        variables=_listed(names), function=_function(case, int(rows["function"][0]), line),
        advice=phrase(
            plural(
                len(names),
                "Set it to null after its last use, or make closures where it isn't in scope.",
                "Set them to null after their last use, or make closures where they aren't in scope.",
            )
        ),
    )  # fmt: skip
    title = phrase("Variables that nothing reads")
    called = case.snapshot.strings.head(int(rows["function"][0]), _MOST_NAME)
    where = (line.file, called or str(line.line)) if line is not None else (called,)
    finding = made("unread_variables", title, sentence, shown, None, line, objects=link, subject=where)
    return Ranked(1.5 * total / case.whole, finding, scope.values)


def _function(case: GraphCase, name: int, line: LineLink | None) -> Text:
    called = plain_name(case.snapshot.strings.head(name, _MOST_NAME))
    if line is not None:
        shown = linked(base_line(line), line=line)
        return phrase("{function} ({line})", function=called or phrase("(anonymous)"), line=shown)
    return Text(called) if called else phrase("a function")


def _names(case: GraphCase, scope: _Scope) -> list[str]:
    """Return the variables' names, the one that may hold most first."""
    variables, retained = unread(case.snapshot), case.snapshot.objects.retained
    names = distinct(variables.rows["name"][scope.places])
    of = np.searchsorted(names, variables.rows["name"][scope.places])
    sums = np.bincount(of, retained[variables.value[scope.places]].astype(np.float64))
    ordered = names[np.argsort(-sums, kind="stable")].tolist()
    return [plain_name(case.snapshot.strings.head(name, _MOST_NAME)) for name in ordered]


def _listed(names: list[str]) -> Text:
    shown = ", ".join(names[:_MOST_VARIABLES])
    if len(names) > _MOST_VARIABLES:
        more = len(names) - _MOST_VARIABLES
        return phrase("the variables {names} and {n} more", names=shown, n=more)
    return phrase(plural(len(names), "the variable {names}", "the variables {names}"), names=shown)
