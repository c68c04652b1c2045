"""The rules of each model, and their findings in a snapshot, ranked."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, NamedTuple, assert_never, get_args

from memlens.model.info import GraphInfo, Model, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.packs import api, others, registry
from memlens.packs.others import Other
from memlens.store.kept import kept as keeps
from memlens.store.models import graph_of, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.findings.answers import FindingsAnswer, SnapshotFinding
from memlens.views.findings.graph import (
    collections,
    duplicates,
    holders,
    listeners,
    runtime,
    threads,
)
from memlens.views.findings.graph.case import GraphCase, values_removed
from memlens.views.findings.graph.joined import HOLDING, joined
from memlens.views.findings.graph.tables_of_runtime import is_of_the_runtime
from memlens.views.findings.profile import churn, leaks, sites
from memlens.views.findings.profile.case import ProfileCase
from memlens.views.findings.trace import across_steps, growth, machinery, oom, peak, temporaries
from memlens.views.findings.trace.case import TraceCase
from memlens.views.findings.writing import Ranked

Question = Callable[[Snapshot], list[Ranked]]


def _lacks_nothing(_case: object) -> None:
    """Nothing that a rule needs is missing."""


class Rule(NamedTuple):
    """A rule of a model, with the names that its findings have as their ``rule``."""

    find: Callable[[Any], Iterator[Ranked]]
    """Gets the case of the model."""
    names: tuple[str, ...]
    lacks: Callable[[Any], Text | None] = _lacks_nothing
    """Why it can't find anything in this case; None if it can."""


RULES: dict[Model, tuple[Rule, ...]] = {
    "timeline": (
        Rule(oom.out_of_memory, ("out_of_memory",)),
        Rule(growth.growing_lines, ("grows_by_step",), growth.too_few_steps),
        Rule(machinery.own_machinery, ("machinery",)),
        Rule(peak.dominant_lines, ("dominant_line",)),
        Rule(peak.dominant_module, ("dominant_module",)),
        Rule(peak.dominant_categories, ("dominant_category",), peak.no_categories),
        Rule(temporaries.short_lived, ("short_lived",), temporaries.too_short),
        Rule(across_steps.gradients_kept, ("gradients_kept",), across_steps.no_gradients),
        Rule(across_steps.never_freed, ("never_freed",), across_steps.too_few_steps),
    ),
    "profile": (
        Rule(leaks.leaks, ("leak",), leaks.no_leaks),
        Rule(leaks.growth, ("growth",), leaks.no_growth),
        Rule(leaks.still_growing, ("still_growing",), leaks.no_growth),
        Rule(sites.one_site, ("one_site",)),
        Rule(sites.no_symbols, ("no_symbols",)),
        Rule(churn.temporary_allocations, ("temporary_allocations",), churn.no_temporary),
        Rule(churn.churn, ("churn",), churn.no_churn),
        Rule(sites.small_allocations, ("small_allocations",), sites.no_counts),
        Rule(sites.oversized_buffers, ("oversized_buffers",), sites.no_written),
    ),
    "graph": (
        Rule(threads.out_of_memory, (threads.OUT_OF_MEMORY,)),
        Rule(holders.accumulates, ("retains_most", "group_retains_most")),
        Rule(listeners.listeners, ("listeners",)),
        Rule(runtime.finalizers, ("finalizers",)),
        Rule(runtime.soft_references, ("soft_references",)),
        Rule(runtime.thread_locals, ("thread_locals",)),
        Rule(duplicates.strings, ("duplicate_strings",), values_removed),
        Rule(duplicates.arrays, ("duplicate_arrays",), values_removed),
        Rule(duplicates.images, ("equal_images",), values_removed),
        Rule(collections.empty_collections, ("empty_collections",), values_removed),
        Rule(collections.boxed_numbers, ("boxed_numbers",)),
    ),
}
"""By model; packs have more, see :func:`rules_for`."""


class _Guarded(NamedTuple):
    """A rule of another package's pack, which finds nothing where it fails."""

    other: Other
    rule: api.Rule

    def __call__(self, case: Any) -> Iterator[Ranked]:
        yield from others.guarded(self.other, lambda: list(self.rule.find.load()(case))) or ()


def rules_for(info: SnapshotInfo) -> list[Rule]:
    """The rules for a snapshot, those of its format's pack included."""
    other = registry.other_with(info.kind)
    of_pack = registry.rules_for(info.kind) if other is None else other.pack.rules
    return [
        *RULES[info.model],
        *(
            Rule(
                rule.find.load() if other is None else _Guarded(other, rule),
                rule.findings,
                values_removed if rule.of_waste else _lacks_nothing,
            )
            for rule in of_pack
            if rule.model in ("", info.model)
        ),
    ]


def cannot_say(snapshot: Snapshot, device: int | None, name: str) -> Text | None:
    """Why no rule can make a finding of that name for this snapshot; None if one can."""
    case = _case(snapshot, device)
    reasons = [rule.lacks(case) for rule in rules_for(snapshot.info) if name in rule.names]
    return None if None in reasons else next(iter(reasons), None)


def names_of_rules(model: Model) -> set[str]:
    """The names that findings of a model have as their ``rule``, of any format."""
    of_packs = (rule.findings for rule in registry.rules_about(model))
    return {name for names in (*(rule.names for rule in RULES[model]), *of_packs) for name in names}


def every_rule() -> set[str]:
    """The names of all rules, of any model."""
    return set().union(*map(names_of_rules, get_args(Model)))


def rules_of(snapshot: Snapshot, device: int | None) -> list[Question]:
    """The rules for a snapshot, as separate questions; a device None is the one shown first.

    Each keeps its findings. Raises :class:`BadRequestError` for a device that the snapshot lacks.
    """
    info = snapshot.info
    if info.model == "timeline" and device is None:
        device = info.default_device
    _case(snapshot, device)
    return [partial(_found, device=device, rule=rule) for rule in rules_for(info)]


def _case(snapshot: Snapshot, device: int | None) -> TraceCase | ProfileCase | GraphCase:
    match snapshot.info:
        case TimelineInfo(default_device=default):
            return TraceCase.of(snapshot, default if device is None else device)
        case ProfileInfo():
            return ProfileCase(snapshot, snapshot.profile)
        case GraphInfo() as info:
            return GraphCase(snapshot, info)
        case _:
            assert_never(snapshot.info)


@keeps
def _found(snapshot: Snapshot, device: int | None, rule: Rule) -> list[Ranked]:
    return list(rule.find(_case(snapshot, device)))


def about(snapshot: Snapshot, rules: Collection[str]) -> list[Ranked]:
    """A heap dump's findings from some rules, by their names. Raises :class:`LackingError`."""
    return [
        each
        for rule in rules_for(graph_of(snapshot.info))
        if not set(rule.names).isdisjoint(rules)
        for each in _found(snapshot, None, rule)
        if each.finding.rule in rules
    ]


def compared_with(
    snapshot: Snapshot, rules: Collection[str], other_bytes: int
) -> list[list[SnapshotFinding]]:
    """The findings of some rules in a heap dump that is compared with another one of ``other_bytes`` reachable bytes.

    Includes findings that are too small for this dump alone. Rules about what retains most divide the heap into objects
    and groups by what is large: their findings of a tenth of that follow in a list of their own. Raises
    :class:`LackingError`.
    """
    info = graph_of(snapshot.info)
    smaller = min(info.reachable_bytes, other_bytes)
    tries = [(smaller, set(rules)), (smaller // 10, {*HOLDING} & set(rules))]
    return [
        [
            each.finding
            for rule in rules_for(info)
            if not some.isdisjoint(rule.names)
            for each in rule.find(GraphCase(snapshot, info, compared_with=whole))
            if each.finding.rule in some
        ]
        for whole, some in tries
        if some
    ]


def ranked(snapshot: Snapshot, device: int | None) -> list[Ranked]:
    """The findings of all rules, the most important first, notes last; in a heap dump, those about the same bytes are
    merged.
    """
    is_dump = heap_dump_of(snapshot.info) is not None
    found = _of_program(snapshot) if is_dump else _by_rules(snapshot, device)
    # ties keep the order of the rules
    return sorted(found, key=lambda each: (each.finding.is_note, -each.weight))


def _by_rules(snapshot: Snapshot, device: int | None) -> list[Ranked]:
    return [each for rule in rules_of(snapshot, device) for each in rule(snapshot)]


@keeps
def _of_program(snapshot: Snapshot) -> list[Ranked]:
    """A heap dump's findings except those about the runtime's own tables; findings of the same bytes are merged."""
    case = GraphCase(snapshot, graph_of(snapshot.info))
    return joined(case, [each for each in _by_rules(snapshot, None) if not is_of_the_runtime(case, each)])


def findings(snapshot: Snapshot, device: int | None, limit: int) -> FindingsAnswer:
    """At most ``limit`` findings. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    return FindingsAnswer([each.finding for each in ranked(snapshot, device)[:limit]])
