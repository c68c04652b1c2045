"""Variables that V8's closures keep, and that no code can read any more."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from memlens.model.distinct import counted, distinct
from memlens.texts import Text, phrase, plural
from memlens.units import plain_name
from memlens.views.findings.answers import LineLink, ObjectsLink
from memlens.views.findings.graph.case import GraphCase, figure, measured, object_part
from memlens.views.findings.writing import Ranked, base_line, linked, made, percent
from memlens.views.graph.held_unread import held_by_unread_alone
from memlens.views.graph.rows import Numbers
from memlens.views.graph.unread import unread

MOST_FOUND = 3
_MOST_TRIED = 12
_MOST_VARIABLES = 3
_MOST_NAME = 40


class _Scope(NamedTuple):
    """Variables of contexts of one scope, of which each has a value that only such variables hold."""

    number: int
    places: Numbers
    """Of the variables, among all unread ones."""
    values: Numbers
    """Each once."""


def unread_variables(case: GraphCase) -> Iterator[Ranked]:
    """Values that only variables hold which nothing can read retain 1% of the reachable heap, and 32 KiB; of three
    scopes at most.

    Of V8, in dumps that say what functions read.
    """
    if not len(unread(case.snapshot).rows):
        return
    found: list[Ranked] = []
    for tried, scope in enumerate(_scopes(case)):
        if len(found) == MOST_FOUND or tried == _MOST_TRIED:
            break
        total = case.retained(scope.values)
        if total >= case.least:
            found.append(_of_scope(case, scope, total))
    yield from sorted(found, key=lambda each: -each.weight)


def _scopes(case: GraphCase) -> Iterator[_Scope]:
    """Those first that may retain most."""
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
    objects, rows = case.snapshot.objects, unread(case.snapshot).rows[scope.places]
    shown = figure(
        total,
        f"SELECT retained(value) FROM unread_variables WHERE scope = {scope.number} AND NOT held_otherwise",
    )
    contexts = distinct(rows["object"])
    largest = int(scope.values[np.argmax(objects.retained[scope.values])])
    link = ObjectsLink(
        "query", 0,
        f"SELECT value AS object, * FROM unread_variables WHERE scope = {scope.number} ORDER BY retained_bytes DESC",
    )  # fmt: skip
    line = case.line_of(int(rows["frame"][0]))
    sentence = phrase(
        plural(
            len(contexts),
            "{n} context of {function} keeps {variables}, which no code can read any more, and with that {size} "
            "({share} of the reachable heap) that nothing else holds; the largest is {object}. Set variables to "
            "null that are done with, or move the functions that are kept out of that scope.",
            "{n} contexts of {function} keep {variables}, which no code can read any more, and with that {size} "
            "({share} of the reachable heap) that nothing else holds; the largest is {object}. Set variables to "
            "null that are done with, or move the functions that are kept out of that scope.",
        ),
        n=len(contexts), function=_function(case, int(rows["function"][0]), line),
        variables=_variables(case, scope), size=measured(shown, link), share=percent(total, case.whole),
        object=object_part(case, largest),
    )  # fmt: skip
    title = phrase("Variables that nothing reads")
    finding = made("unread_variables", title, sentence, shown, None, line, objects=link)
    return Ranked(1.5 * total / case.whole + 0.02, finding, scope.values)


def _function(case: GraphCase, name: int, line: LineLink | None) -> Text:
    called = plain_name(case.snapshot.strings.head(name, _MOST_NAME)) or phrase("(anonymous)")
    if line is None:
        return phrase("{function}", function=called)
    return phrase("{function} ({line})", function=called, line=linked(base_line(line), line=line))


def _variables(case: GraphCase, scope: _Scope) -> Text:
    """The names of the variables that hold most, and how many more there are."""
    variables, objects = unread(case.snapshot), case.snapshot.objects
    names, _ = counted(variables.rows["name"][scope.places])
    of = np.searchsorted(names, variables.rows["name"][scope.places])
    sums = np.bincount(of, objects.retained[variables.value[scope.places]].astype(np.float64))
    ordered = names[np.argsort(-sums, kind="stable")]
    shown = [plain_name(case.snapshot.strings.head(int(name), _MOST_NAME)) for name in ordered[:_MOST_VARIABLES]]
    if len(ordered) > len(shown):
        return phrase("{names} and {n} more", names=", ".join(shown), n=len(ordered) - len(shown))
    *others, last = shown
    return phrase("{names} and {last}", names=", ".join(others), last=last) if others else Text(last)
