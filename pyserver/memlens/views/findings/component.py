"""Findings about waste within a component of a heap dump: what some objects, such as a class loader, retain."""

from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from memlens.model.distinct import distinct
from memlens.packs import registry
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.answers import ObjectsLink, SnapshotFinding, TextPart
from memlens.views.findings.graph import collections, duplicates
from memlens.views.findings.graph.case import Component, GraphCase
from memlens.views.findings.graph.joined import joined
from memlens.views.findings.writing import Ranked
from memlens.views.heap.filters.unmatched import check_objects_match
from memlens.views.heap.listing.lists import fitting
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.retained.by_objects import retained_set

_RULES = (
    duplicates.strings,
    duplicates.arrays,
    duplicates.images,
    collections.empty_collections,
    collections.boxed_numbers,
)
"""Rules about waste, besides those of packs. What holds most, or leaks, is the same in the whole dump."""

_MOST_LISTED = 1_000
"""Limit on the objects that a finding's query lists."""


class ComponentAnswer(Struct, frozen=True):
    """What some ``objects`` retain together, themselves included, and the findings about it.

    Shares are of the reachable heap.
    """

    objects: int
    retained_objects: int
    retained_bytes: int
    findings: list[SnapshotFinding]


def rules_of_waste(kind: str) -> list[Callable[[GraphCase], Iterator[Ranked]]]:
    """The rules that apply to a component of a heap dump."""
    of_pack = [rule.find.load() for rule in registry.rules_for(kind) if rule.of_waste]
    return [*_RULES, *cast("list[Callable[[GraphCase], Iterator[Ranked]]]", of_pack)]


def component_findings(snapshot: Snapshot, numbers: Numbers) -> ComponentAnswer:
    """The findings about what some objects retain, those that would free the most first."""
    chosen = distinct(np.asarray(numbers, np.int64))
    has = retained_set(snapshot, chosen)
    total = int(snapshot.objects.shallow[has].sum())
    case = GraphCase(snapshot, graph_of(snapshot.info), Component(has, total))
    found = joined(case, [each for rule in rules_of_waste(case.info.kind) for each in rule(case)])
    found.sort(key=lambda each: -each.weight)
    return ComponentAnswer(len(chosen), int(has.sum()), total, [_within(snapshot, each) for each in found])


def filtered_findings(snapshot: Snapshot, filter_text: str) -> ComponentAnswer:
    """The findings about what the objects that match a filter retain.

    Raises :class:`BadRequestError` for a wrong filter and if no object matches, and :class:`LackingError`.
    """
    graph_of(snapshot.info)
    check_objects_match(snapshot, filter_text)
    return component_findings(snapshot, fitting(snapshot, filter_text, None, None))


def _within(snapshot: Snapshot, ranked: Ranked) -> SnapshotFinding:
    """A finding with links to the component's objects: the rules' queries are about the whole dump."""
    finding, objects = ranked.finding, ranked.objects
    if objects is None:
        return finding
    order = np.argsort(-snapshot.objects.retained[objects].astype(np.int64), kind="stable")[:_MOST_LISTED]
    listed = ", ".join(map(str, objects[order].tolist()))
    link = ObjectsLink(
        "query", 0, f"SELECT * FROM objects WHERE object IN ({listed}) ORDER BY retained_bytes DESC"
    )
    return replace(
        finding,
        figure=replace(finding.figure, sql=""),
        sentence=_linked(finding.sentence, link),
        objects=link,
    )


def _linked(part: TextPart, link: ObjectsLink) -> TextPart:
    values = {name: _linked(value, link) for name, value in part.values.items()}
    figure = None if part.figure is None else replace(part.figure, sql="")
    is_query = part.objects is not None and part.objects.kind in ("query", "images")
    return TextPart(
        part.text, part.template, values, figure, part.line, part.evidence, link if is_query else part.objects
    )
