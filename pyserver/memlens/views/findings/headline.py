"""A snapshot in a few sentences: how much, which lines, and what would help.

The first sentence is the shortest, of the peak or of the failure; the second says what held it; a third is the most
important finding that the others don't say already.
"""

from typing import assert_never

import numpy as np

from memlens.model.attribution import Attribution
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import format_bytes, format_time, format_value
from memlens.views.findings.answers import (
    Evidence,
    Figure,
    FigureKind,
    HeadlineAnswer,
    ObjectsLink,
    SnapshotFinding,
)
from memlens.views.findings.callers import callers_of, named_callers
from memlens.views.findings.graph.case import (
    GraphCase,
    figure,
    measured,
    object_part,
    short_type,
    type_words,
)  # fmt: skip
from memlens.views.findings.graph.holders import large_object
from memlens.views.findings.graph.joined import HOLDING
from memlens.views.findings.graph.outside import outside_of_heap, sampled_outside
from memlens.views.findings.graph.threads import OUT_OF_MEMORY
from memlens.views.findings.groups import PROBABLY_YOURS, TopGroup, TopGroups, top_groups
from memlens.views.findings.profile.case import ProfileCase
from memlens.views.findings.table import ranked
from memlens.views.findings.trace.case import LEAST_EVENTS, TraceCase
from memlens.views.findings.trace.lines import known_by_line
from memlens.views.findings.trace.oom import events_of, failed, in_use, tries
from memlens.views.findings.writing import (
    amount,
    as_part,
    called,
    linked,
    percent,
    text_in_sql,
)
from memlens.views.heap.objects.packages import packages_of
from memlens.views.selection.arenas import pooled_amount

MOST_LINES = 4
MOST_TYPES = 4
MOST_OWN_TYPES = 3
LEAST_OWN_SHARE = 0.02
LEAST_SHARE = 0.03
SPREAD_SHARE = 0.05
LEAST_WEIGHT = 0.2
LEAST_WEIGHT_OF_NOTE = 0.25
NO_STACKS_SHARE = 0.95
MUCH_MORE = 2.0
"""A heap dump's finding comes first if its weight is this many times that of what retains most."""
LEAST_GRAPH_WEIGHT = 0.05
_SAID = ("dominant_line", "one_site", "dominant_module", "out_of_memory")
"""Rules whose findings the second sentence already covers, or that are less useful than the following ones."""

_PROBABLY_YOURS = phrase("({remark})", remark=PROBABLY_YOURS)

Sentences = list[Text | None]


def headline(snapshot: Snapshot, device: int | None) -> HeadlineAnswer:
    """The headline. ``device`` None means the one to show first. Raises :class:`BadRequestError`."""
    match snapshot.info:
        case TimelineInfo(default_device=default):
            number = default if device is None else device
            rule, sentences = _of_trace(TraceCase.of(snapshot, number))
            warnings = [each for each in snapshot.info.warnings if each.device in (None, number)]
        case ProfileInfo():
            rule, sentences = _of_profile(ProfileCase(snapshot, snapshot.info))
            warnings = snapshot.info.warnings
        case GraphInfo():
            rule, sentences = _of_graph(GraphCase(snapshot, snapshot.info))
            warnings = snapshot.info.warnings
        case _:
            assert_never(snapshot.info)
    said = [as_part(sentence) for sentence in sentences if sentence is not None]
    return HeadlineAnswer(rule, said, " ".join(sentence.text for sentence in said), warnings)


def _of_trace(case: TraceCase) -> tuple[str, Sentences]:
    info = case.info
    if info.ooms:
        answer = events_of(case)[0]
        lines = _list(case.snapshot, top_groups(case.snapshot, case.at(answer.moment), "line", MOST_LINES))
        used = in_use(case, answer)
        using = phrase("{used} in use.", used=used)
        if lines is not None:
            using = phrase("{used} in use: {lines}.", used=used, lines=lines)
        return "out_of_memory", [failed(case, answer), using, tries(case, answer)]
    if not info.allocations or not info.peak_bytes:
        return "empty", [phrase("Nothing was allocated on this device while it was recorded.")]
    held = known_by_line(case)
    important = _most_important(case.snapshot, case.number)
    unknown = any(group.is_bare and group.amount >= NO_STACKS_SHARE * held.total for group in held.groups[:1])
    if unknown and info.events < LEAST_EVENTS:
        return "no_history", [_peak(case), important]
    return "peak", [_peak(case), _held(_list(case.snapshot, held)), important]


def _peak(case: TraceCase) -> Text:
    """How much, and when."""
    info = case.info
    peak = amount(case.peak_figure(), case.peak_evidence())
    if info.events < LEAST_EVENTS:
        # what was live when the snapshot was taken, without a trace
        if (info.reserved_at_end_bytes or 0) <= info.peak_bytes:
            return phrase("{peak} in use when the snapshot was taken.", peak=peak)
        reserved = amount(case.reserved_figure(), Evidence("state", case.at(info.events)))
        return phrase(
            "{peak} in use of {reserved} reserved when the snapshot was taken.", peak=peak, reserved=reserved
        )
    if info.peak_moment == 0:
        return phrase("Peak {peak}, when recording started.", peak=peak)
    return phrase("Peak {peak} {when}.", peak=peak, when=case.when(info.peak_moment))


def _of_profile(case: ProfileCase) -> tuple[str, Sentences]:
    main = case.main
    if not any(value.total or value.negative for value in case.info.values):
        return "empty", [phrase("The profile's values are all 0.")]
    kind: FigureKind = "live" if main.meaning in ("peak", "live", "end") else "value"
    number = case.info.default_value
    whole = amount(case.whole(number, kind), case.evidence(number))
    found = case.by_line(number, kind)
    if main.negative:
        most = _list(case.snapshot, found, shares=False)
        difference = phrase("{value}, as a difference: {whole}.", value=main.title, whole=whole)
        return "difference", [difference, phrase("Grew most: {lines}.", lines=most) if most else None]
    lines = _list(case.snapshot, found, case.attribution)
    held = _held(lines)
    match main.meaning:
        case "peak":
            first = phrase("Peak {peak}{when}.", peak=whole, when=_when(case))
        case "live":
            first = phrase("{whole} in use when the profile was taken.", whole=whole)
        case "end" if main.unit == "bytes":
            first = phrase("{whole} in use at the end.", whole=whole)
        case _:
            first = phrase("{value}: {whole}.", value=main.title, whole=whole)
            held = phrase("Most in {lines}.", lines=lines) if lines else None
    return "profile", [first, held, _most_important(case.snapshot, None)]


def _of_graph(case: GraphCase) -> tuple[str, Sentences]:
    info = case.info
    whole = Figure(
        info.reachable_bytes, "bytes", "shallow",
        "SELECT coalesce(sum(shallow_bytes), 0) FROM objects WHERE distance IS NOT NULL",
    )  # fmt: skip
    apart = info.shallow_bytes - info.reachable_bytes
    first = phrase(
        plural(
            info.reachable_objects,
            "{size} in {n} reachable object{apart}.",
            "{size} in {n} reachable objects{apart}.",
        ),
        size=amount(whole),
        n=info.reachable_objects,
        apart=phrase("; another {size} is unreachable", size=format_bytes(apart)) if apart > 0 else "",
    )
    found = ranked(case.snapshot, None)
    # what retains most goes first, even if it is a note
    holding = max(
        filter(lambda each: _says_holding(each.finding), found), key=lambda each: each.weight, default=None
    )
    failed = next((each for each in found if each.finding.rule == OUT_OF_MEMORY), None)
    other = next(
        (
            each for each in found
            if each.weight >= LEAST_GRAPH_WEIGHT
            and not _says_holding(each.finding)
            and each.finding.rule != OUT_OF_MEMORY
        ),
        None,
    )  # fmt: skip
    most = _largest_types(case) if holding is None else holding.first.sentence
    lost = _unreachable(case, apart) if apart > info.reachable_bytes else None
    also = None if other is None else other.first.sentence
    outside, sampled = outside_of_heap(case), sampled_outside(case)
    if failed is not None:
        more = also if holding is None and also else most
        return "heap", [failed.first.sentence, first, outside, more, sampled]
    if other is not None and holding is not None and other.weight >= MUCH_MORE * holding.weight:
        return "heap", [first, outside, lost, also, most, sampled]
    return "heap", [first, outside, lost, most, also, sampled]


def _unreachable(case: GraphCase, apart: int) -> Text | None:
    """The sentence for a dump of which more is unreachable than reachable."""
    objects = case.snapshot.objects
    lost = np.flatnonzero(objects.distance == NEVER)
    above = objects.dominator[lost]
    is_top = above == NEVER
    # unless they are below nothing, a dump's own root is above them
    is_top[~is_top] = objects.distance[above[~is_top]] != NEVER
    tops = lost[is_top]
    if not len(tops):
        return None
    kinds = objects.type[tops]
    sums = np.bincount(kinds, objects.retained[tops])
    number = int(np.argmax(sums))
    if case.has_twin(number):
        return None
    members = tops[kinds == number]
    total = int(objects.retained[members].sum())
    alike = int(np.count_nonzero(objects.type[lost] == number))
    of_type = f"o.type = {text_in_sql(case.type_names()[number])} AND o.distance IS NULL"
    where = (
        f"{of_type} AND NOT EXISTS "
        "(SELECT 1 FROM objects AS d WHERE d.object = o.dominator AND d.distance IS NULL)"
    )
    shown = figure(total, f"SELECT sum(o.retained_bytes) FROM objects AS o WHERE {where}")
    named = phrase("{n} {type}", n=alike, type=case.type_name(number))
    values = {"size": measured(shown), "share": percent(total, apart)}
    if alike > len(members):
        return phrase(
            plural(
                len(members),
                "{objects} are unreachable, {some} of which retains {size} ({share}) of it: garbage that the next "
                "collection frees, or objects held by roots that the file lacks.",
                "{objects} are unreachable, {some} of which retain {size} ({share}) of it: garbage that the next "
                "collection frees, or objects held by roots that the file lacks.",
            ),
            objects=linked(named, objects=_largest_first(of_type)),
            some=linked(f"{len(members):,}", objects=_largest_first(where)), **values,
        )  # fmt: skip
    return phrase(
        plural(
            len(members),
            "{objects} retains {size} ({share}) of what is unreachable: garbage that the next collection frees, "
            "or objects held by roots that the file lacks.",
            "{objects} retain {size} ({share}) of what is unreachable: garbage that the next collection frees, "
            "or objects held by roots that the file lacks.",
        ),
        objects=linked(named, objects=_largest_first(where)), **values,
    )  # fmt: skip


def _largest_first(where: str) -> ObjectsLink:
    """The objects for which a condition in SQL holds."""
    return ObjectsLink(
        "query", 0, f"SELECT o.* FROM objects AS o WHERE {where} ORDER BY o.retained_bytes DESC"
    )


def _largest_types(case: GraphCase) -> Text | None:
    """The largest types of a dump in which nothing retains much, by shallow bytes, which add up."""
    objects = case.snapshot.objects
    reached = objects.distance != NEVER
    shallow = np.bincount(objects.type[reached], objects.shallow[reached], len(case.snapshot.types.name))
    parts: list[Text] = []
    for number in np.argsort(-shallow, kind="stable")[:MOST_TYPES].tolist():
        size = int(shallow[number])
        if size < LEAST_SHARE * case.whole or not size:
            break
        own = figure(size, _own_bytes_sql(case, number), "shallow")
        name = linked(type_words(case, number), objects=ObjectsLink("type", number))
        parts.append(
            in_a_row([name, measured(own), phrase("({share})", share=percent(size, case.whole))], " ")
        )
    if not parts:
        return None
    most, large = _own_types(case), large_object(case)
    own_most = (
        phrase(" Of the program's own types, {types} retain most.", types=most) if most is not None else ""
    )
    return phrase(
        "{spread}; the largest types are {types}.{own}",
        spread=phrase("No object of the program retains a tenth of it")
        if large is None
        else phrase(
            "Much of it is below {object}, but spread over many small ones", object=object_part(case, large)
        ),
        types=in_a_row(parts, ", "), own=own_most,
    )  # fmt: skip


def _own_types(case: GraphCase) -> Text | None:
    """The program's own types that retain most, if at least two of them have names of their own."""
    packages, types = packages_of(case.snapshot), case.snapshot.types
    names = case.type_names()
    least = max(1, int(LEAST_OWN_SHARE * case.whole))
    # those of one name are of several class loaders
    own: dict[str, list[int]] = {}
    for number in np.argsort(-types.retained.astype(np.int64), kind="stable").tolist():
        is_own = not packages.is_platform[number] and names[number] not in case.known.platform.plain
        # those with a page's address are global objects
        if is_own and " / " not in names[number] and not case.is_global(names[number]):
            own.setdefault(names[number], []).append(number)
    sums = {name: int(types.retained[numbers].sum()) for name, numbers in own.items()}
    parts = []
    for name, numbers in sorted(own.items(), key=lambda each: -sums[each[0]])[:MOST_OWN_TYPES]:
        total = sums[name]
        if total < least:
            break
        shown = linked(short_type(name), objects=ObjectsLink("type", numbers[0]))
        parts.append(in_a_row([shown, phrase("({size})", size=format_bytes(total))], " "))
    return in_a_row(parts, ", ") if len(parts) > 1 else None


def _own_bytes_sql(case: GraphCase, number: int) -> str:
    """A query for the bytes of a type's objects, empty where another type has the same name."""
    if case.has_twin(number):
        return ""
    name = text_in_sql(case.type_names()[number])
    return f"SELECT sum(shallow_bytes) FROM objects WHERE type = {name} AND distance IS NOT NULL"


def _says_holding(finding: SnapshotFinding) -> bool:
    """Whether a finding, or its evidence, names what retains most."""
    return any(name.rule in HOLDING for name in finding.names)


def _when(case: ProfileCase) -> Text | str:
    """The time of the peak, if the profile has times."""
    times = case.snapshot.times
    if times is None or case.info.time_unit != "microseconds" or not len(times.peaks):
        return ""
    return phrase(" at {time}", time=format_time(float(times.edges[int(times.peaks.argmax())])))


def _held(lines: Text | None) -> Text | None:
    """The sentence about the largest groups of a set."""
    return phrase("Held by {lines}.", lines=lines) if lines else None


def _list(
    snapshot: Snapshot, found: TopGroups, attribution: Attribution = "mine", *, shares: bool = True
) -> Text | None:
    """The largest lines and the rest; for profiles with functions, and a note about pools.

    If nearly everything was allocated through an allocator's or helper's line, its callers instead.
    """
    if found.groups and shares and 0 < found.groups[0].amount < SPREAD_SHARE * found.total:
        most = found.groups[0]
        return phrase(
            "{n} lines, none with more than {size} ({line})",
            n=found.count, size=most.measured(), line=most.named(),
        )  # fmt: skip
    with_functions = isinstance(snapshot.info, ProfileInfo)
    parts: list[Text] = []
    callers = callers_of(snapshot, found, attribution, MOST_LINES) if shares else None
    all_doubtful = callers is None and all(group.is_doubtful for group in found.groups[:MOST_LINES])
    for group in found.groups[:MOST_LINES]:
        if group.amount <= 0 or (parts and group.amount < LEAST_SHARE * found.total):
            break
        function: list[Text | str] = (
            [called(group.function)] if with_functions and group.function and group.line is not None else []
        )
        function += [_PROBABLY_YOURS] if group.is_doubtful and not all_doubtful else []
        if callers is not None and not parts:
            wrapper = in_a_row([group.named(), *function, _share(group, found, snapshot)], " ")
            named = named_callers(snapshot, callers, found)
            parts.append(phrase("{callers}, all through {line}", callers=named, line=wrapper))
            continue
        part = [_share(group, found, snapshot)] if shares else []
        parts.append(in_a_row([group.named(), *function, group.measured(), *part], " "))
    rest = found.total - sum(group.amount for group in found.groups[: len(parts)])
    more = found.count - len(parts)
    if shares and parts and more > 0 and rest >= 0.1 * found.total:
        share = percent(rest, found.total)
        parts.append(
            phrase(plural(more, "{n} more line {share}", "{n} more lines {share}"), n=more, share=share)
        )
    if parts and all_doubtful:
        parts.append(PROBABLY_YOURS)
    return in_a_row(parts, "; ") if parts else None


def _share(group: TopGroup, found: TopGroups, snapshot: Snapshot) -> Text:
    share = percent(group.amount, found.total)
    pools = pooled_amount(snapshot, group.evidence.of) if isinstance(snapshot.info, ProfileInfo) else 0
    if pools <= 0:
        return phrase("({share})", share=share)
    return phrase("({share}, perhaps pools: {pools})", share=share, pools=format_value(pools, found.unit))


def _most_important(snapshot: Snapshot, device: int | None) -> Text | None:
    """The most important finding that the headline doesn't cover yet, or else a note."""
    for each in ranked(snapshot, device):
        least = LEAST_WEIGHT_OF_NOTE if each.finding.is_note else LEAST_WEIGHT
        if each.finding.rule not in _SAID and each.weight >= least:
            return each.finding.sentence
    return None
