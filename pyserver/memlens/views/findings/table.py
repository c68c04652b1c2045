"""The rules of each model, and what they find in a snapshot, the most important first."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, assert_never

from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.packs import api, others, registry
from memlens.packs.others import Other
from memlens.store.models import graph_of, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.answers import FindingsAnswer, SnapshotFinding
from memlens.views.findings.graph import (
    collections,
    duplicates,
    holders,
    listeners,
    runtime,
    threads,
)
from memlens.views.findings.graph.case import GraphCase
from memlens.views.findings.graph.joined import HOLDING, joined
from memlens.views.findings.graph.tables_of_runtime import is_of_the_runtime
from memlens.views.findings.profile import churn, lasting, sites
from memlens.views.findings.profile.case import ProfileCase
from memlens.views.findings.trace import growth, kept, machinery, oom, peak, temporaries
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked

TRACE_RULES: tuple[Callable[[TraceCase], Iterator[Ranked]], ...] = (
    oom.out_of_memory,
    growth.growing_lines,
    machinery.own_machinery,
    peak.dominant_lines,
    peak.dominant_module,
    peak.dominant_categories,
    temporaries.short_lived,
    kept.gradients_kept,
    kept.never_freed,
)
PROFILE_RULES: tuple[Callable[[ProfileCase], Iterator[Ranked]], ...] = (
    lasting.leaks,
    lasting.growth,
    sites.one_site,
    sites.no_symbols,
    churn.temporary_allocations,
    churn.churn,
    sites.small_allocations,
    sites.oversized_buffers,
)

GRAPH_RULES: dict[Callable[[GraphCase], Iterator[Ranked]], tuple[str, ...]] = {
    threads.out_of_memory: (threads.OUT_OF_MEMORY,),
    holders.accumulates: ("retains_most", "group_retains_most"),
    listeners.listeners: ("listeners",),
    runtime.finalizers: ("finalizers",),
    runtime.soft_references: ("soft_references",),
    runtime.thread_locals: ("thread_locals",),
    duplicates.strings: ("duplicate_strings",),
    duplicates.arrays: ("duplicate_arrays",),
    duplicates.images: ("equal_images",),
    collections.empty_collections: ("empty_collections",),
    collections.boxed_numbers: ("boxed_numbers",),
}
"""With the names that its findings have as their ``rule``; packs have more, see :func:`graph_rules`."""

GraphRule = Callable[[GraphCase], Iterator[Ranked]]
PackRule = Callable[[Any], Iterator[Ranked]]
"""Which gets the case of its format's model."""
Rule = Callable[[Snapshot], list[Ranked]]


def graph_rules(info: GraphInfo) -> dict[GraphRule, tuple[str, ...]]:
    """The rules for a heap dump, those of its format's pack included, with the names of their findings."""
    return {**GRAPH_RULES, **_of_pack(info.kind, "graph")}


def _of_pack(kind: str, model: str) -> dict[PackRule, tuple[str, ...]]:
    other = registry.other_with(kind)
    rules = registry.rules_for(kind) if other is None else other.pack.rules
    found = [rule for rule in rules if rule.model in ("", model)]
    if other is not None:
        return {_guarded(other, rule): rule.findings for rule in found}
    return {rule.find.load(): rule.findings for rule in found}


def _guarded(other: Other, rule: api.Rule) -> PackRule:
    """A rule of another package's pack, which finds nothing where it fails."""

    def find(case: Any) -> Iterator[Ranked]:
        yield from others.guarded(other, lambda: list(rule.find.load()(case))) or ()

    # what it finds is kept under this name
    find.__name__ = f"{other.pack.name}.{'.'.join(rule.findings)}"
    return find


def trace_rules(kind: str) -> list[Callable[[TraceCase], Iterator[Ranked]]]:
    """The rules for a trace, those of its format's pack included."""
    return [*TRACE_RULES, *_of_pack(kind, "timeline")]


def names_of_graph_rules() -> set[str]:
    """The names that findings of heap dumps of any format have as their ``rule``."""
    of_packs = (rule.findings for rule in registry.rules_about_objects())
    return {name for names in (*GRAPH_RULES.values(), *of_packs) for name in names}


def rules_of(snapshot: Snapshot, device: int | None) -> list[Rule]:
    """The rules for a snapshot, each a question that takes a part of the time; a device None is the first shown.

    Each keeps what it found. Raises :class:`BadRequestError` for a device that the snapshot hasn't.
    """
    match snapshot.info:
        case TimelineInfo(default_device=default, kind=kind):
            number = default if device is None else device
            TraceCase.of(snapshot, number)
            return [_of_trace(rule, number) for rule in trace_rules(kind)]
        case ProfileInfo(kind=kind):
            return [_of_profile(rule) for rule in (*PROFILE_RULES, *_of_pack(kind, "profile"))]
        case GraphInfo() as info:
            return [_of_graph(rule) for rule in graph_rules(info)]
        case _:
            assert_never(snapshot.info)


def _of_trace(rule: Callable[[TraceCase], Iterator[Ranked]], number: int) -> Rule:
    return lambda snapshot: snapshot.keep(
        f"{number}.findings.{rule.__name__}", lambda: list(rule(TraceCase.of(snapshot, number)))
    )


def _of_profile(rule: Callable[[ProfileCase], Iterator[Ranked]]) -> Rule:
    return lambda snapshot: snapshot.keep(
        f"findings.{rule.__name__}", lambda: list(rule(ProfileCase(snapshot, snapshot.profile)))
    )


def about(snapshot: Snapshot, rules: Collection[str]) -> list[Ranked]:
    """The findings of a heap dump that some rules made, by their names. Raises :class:`LackingError`."""
    return [
        each
        for rule, names in graph_rules(graph_of(snapshot.info)).items()
        if not set(names).isdisjoint(rules)
        for each in _of_graph(rule)(snapshot)
        if each.finding.rule in rules
    ]


def compared_with(
    snapshot: Snapshot, rules: Collection[str], other_bytes: int
) -> list[list[SnapshotFinding]]:
    """What some rules find in a heap dump that is compared with another, with a reachable heap of ``other_bytes``.

    That is also what is too little for a finding of this dump alone. Rules about what retains most divide the heap into
    objects and groups by what is large: their findings of a tenth of that follow in a list of their own.
    Raises :class:`LackingError`.
    """
    info = graph_of(snapshot.info)
    smaller = min(info.reachable_bytes, other_bytes)
    tries = [(smaller, set(rules)), (smaller // 10, {*HOLDING} & set(rules))]
    return [
        [
            each.finding
            for rule, names in graph_rules(info).items()
            if not some.isdisjoint(names)
            for each in rule(GraphCase(snapshot, info, compared_with=whole))
            if each.finding.rule in some
        ]
        for whole, some in tries
        if some
    ]


def _of_graph(rule: Callable[[GraphCase], Iterator[Ranked]]) -> Rule:
    return lambda snapshot: snapshot.keep(
        f"findings.{rule.__name__}", lambda: list(rule(GraphCase(snapshot, graph_of(snapshot.info))))
    )


def ranked(snapshot: Snapshot, device: int | None) -> list[Ranked]:
    """What all rules found, the most important first, notes last; those of a heap dump about the same bytes are one."""
    found = [each for rule in rules_of(snapshot, device) for each in rule(snapshot)]
    dump = heap_dump_of(snapshot.info)
    if dump is not None:
        found = snapshot.keep("findings.joined", lambda: _of_program(GraphCase(snapshot, dump), found))
    # of equals, the order of the rules
    return sorted(found, key=lambda each: (each.finding.is_note, -each.weight))


def _of_program(case: GraphCase, found: list[Ranked]) -> list[Ranked]:
    """What rules found in a heap dump but for the runtime's own tables; findings of the same bytes are one."""
    return joined(case, [each for each in found if not is_of_the_runtime(case, each)])


def findings(snapshot: Snapshot, device: int | None, limit: int) -> FindingsAnswer:
    """At most ``limit`` findings. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    return FindingsAnswer([each.finding for each in ranked(snapshot, device)[:limit]])
