"""What a snapshot says in a few sentences: how much, whose lines, and what would help.

The first sentence is the shortest, of the peak or of the failure; the second says what held it; a third is the most
important finding that the others don't say already.
"""

from typing import assert_never

from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.units import counted, format_bytes, format_time
from memlens.views.findings.answers import (
    Figure,
    FigureKind,
    HeadlineAnswer,
    SnapshotFinding,
    TextPart,
    plain_text,
)
from memlens.views.findings.graph.case import GraphCase, measured
from memlens.views.findings.graph.joined import HOLDING
from memlens.views.findings.groups import TopGroups, top_groups
from memlens.views.findings.profile.case import ProfileCase
from memlens.views.findings.table import ranked
from memlens.views.findings.trace.case import LEAST_EVENTS, TraceCase
from memlens.views.findings.trace.oom import events_of, failed, in_use, tries
from memlens.views.findings.writing import amount, percent, words

MOST_LINES = 4
LEAST_SHARE = 0.03
SPREAD_SHARE = 0.05
LEAST_WEIGHT = 0.2
NO_STACKS_SHARE = 0.95
LEAST_GRAPH_WEIGHT = 0.05
_SAID = ("dominant_line", "one_site", "dominant_module", "out_of_memory")
"""Rules whose findings the second sentence says already, or that are of less use than the next ones."""

Sentences = list[list[TextPart]]


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
    sentences = [sentence for sentence in sentences if sentence]
    text = " ".join(plain_text(sentence) for sentence in sentences)
    return HeadlineAnswer(rule, sentences, text, warnings)


def _of_trace(case: TraceCase) -> tuple[str, Sentences]:
    info = case.info
    if not info.allocations:
        return "empty", [[words("Nothing was allocated on this device while it was recorded.")]]
    if info.ooms:
        answer = events_of(case)[0]
        held = top_groups(case.snapshot, case.at(answer.moment), "line", MOST_LINES)
        using = [*in_use(case, answer), words(" in use: "), *_list(held), words(".")]
        return "out_of_memory", [failed(case, answer), using, tries(case, answer)]
    held = case.peak_by_line()
    important = _most_important(case.snapshot, case.number)
    unknown = held.groups[0].is_bare and held.groups[0].amount >= NO_STACKS_SHARE * held.total
    if unknown and info.events < LEAST_EVENTS:
        return "no_history", [_peak(case), important]
    return "peak", [_peak(case), _held("Held by ", held), important]


def _peak(case: TraceCase) -> list[TextPart]:
    """How much, and when."""
    info = case.info
    peak = amount(case.peak_figure(), case.peak_evidence())
    if info.events < LEAST_EVENTS:
        # what was there when the snapshot was taken, without its history
        return [peak, words(" in use when the snapshot was taken.")]
    if info.peak_moment == 0:
        return [words("Peak "), peak, words(", when recording started.")]
    return [words("Peak "), peak, words(f" {case.when(info.peak_moment)}.")]


def _of_profile(case: ProfileCase) -> tuple[str, Sentences]:
    main = case.main
    if not main.total and not any(value.total for value in case.info.values):
        return "empty", [[words("The profile's values are all 0.")]]
    kind: FigureKind = "live" if main.meaning in ("peak", "live", "end") else "value"
    number = case.info.default_value
    whole = amount(case.whole(number, kind), case.evidence(number))
    if main.negative:
        most = _list(case.by_line(number, kind), functions=True, shares=False)
        grew = [words("Grew most: "), *most, words(".")] if most else []
        return "difference", [[words(f"{main.title}, as a difference: "), whole, words(".")], grew]
    match main.meaning:
        case "peak":
            first, second = [words("Peak "), whole, words(f"{_when(case)}.")], "Held by "
        case "live":
            first, second = [whole, words(" in use when the profile was taken.")], "Held by "
        case "end":
            first, second = [whole, words(" in use at the end.")], "Held by "
        case _:
            first, second = [words(f"{main.title}: "), whole, words(".")], "Most in "
    held = _held(second, case.by_line(number, kind), functions=True)
    return "profile", [first, held, _most_important(case.snapshot, None)]


def _of_graph(case: GraphCase) -> tuple[str, Sentences]:
    info = case.info
    whole = Figure(
        info.reachable_bytes, "bytes", "shallow",
        "SELECT coalesce(sum(shallow_bytes), 0) FROM objects WHERE distance IS NOT NULL",
    )  # fmt: skip
    first = [
        measured(whole), words(f" in {counted(info.reachable_objects, 'object')} that roots reach"),
    ]  # fmt: skip
    apart = info.shallow_bytes - info.reachable_bytes
    if apart > 0:
        first.append(words(f"; another {format_bytes(apart)} that none reaches"))
    found = ranked(case.snapshot, None)
    holding = next((each for each in found if _says_holding(each.finding)), None)
    other = next(
        (each for each in found if not _says_holding(each.finding) and each.weight >= LEAST_GRAPH_WEIGHT),
        None,
    )
    return "heap", [
        [*first, words(".")],
        *(each.first.sentence for each in (holding, other) if each is not None),
    ]


def _says_holding(finding: SnapshotFinding) -> bool:
    """Whether a finding, or its evidence, names what retains most."""
    return any(name.rule in HOLDING for name in finding.names)


def _when(case: ProfileCase) -> str:
    """When the peak was, where the profile has times."""
    times = case.snapshot.times
    if times is None or case.info.time_unit != "microseconds" or not len(times.peaks):
        return ""
    return f" at {format_time(float(times.edges[int(times.peaks.argmax())]))}"


def _held(verb: str, found: TopGroups, *, functions: bool = False) -> list[TextPart]:
    """What has the most of a set, by line."""
    parts = _list(found, functions=functions)
    return [words(verb), *parts, words(".")] if parts else []


def _list(found: TopGroups, *, functions: bool = False, shares: bool = True) -> list[TextPart]:
    """The lines that have the most, and what the others have."""
    parts: list[TextPart] = []
    if found.groups and shares and 0 < found.groups[0].amount < SPREAD_SHARE * found.total:
        most = found.groups[0]
        lines = f"{found.count:,} lines, none with more than "
        return [words(lines), most.measured(), words(" ("), most.named(), words(")")]
    shown = 0
    for group in found.groups[:MOST_LINES]:
        if group.amount <= 0 or (parts and group.amount < LEAST_SHARE * found.total):
            break
        if parts:
            parts.append(words("; "))
        function = f" {group.function}()" if functions and group.function and group.line is not None else ""
        parts += [group.named(), words(f"{function} "), group.measured()]
        if shares:
            parts.append(words(f" ({percent(group.amount, found.total)})"))
        shown += 1
    rest = found.total - sum(group.amount for group in found.groups[:shown])
    if shares and shown and found.count > shown and rest >= 0.1 * found.total:
        more = found.count - shown
        parts.append(words(f"; {more:,} more line{'' if more == 1 else 's'} {percent(rest, found.total)}"))
    return parts


def _most_important(snapshot: Snapshot, device: int | None) -> list[TextPart]:
    """The finding that matters most of those that the headline doesn't say already."""
    for each in ranked(snapshot, device):
        if each.finding.rule not in _SAID and each.weight >= LEAST_WEIGHT:
            return each.finding.sentence
    return []
