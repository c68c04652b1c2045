"""What to say of a filter that matches nothing: which of its terms do, and what would match instead."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo, device_phrase
from memlens.model.timeline import NEVER
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes, format_time, plain_name
from memlens.views.naming.modules import modules_of_stacks
from memlens.views.naming.operators import operators_of_stacks
from memlens.views.selection import filters
from memlens.views.selection.columns import device_of
from memlens.views.selection.filters import Term, in_quotes, quoted
from memlens.views.selection.frees import lines_that_freed
from memlens.views.selection.machinery import machinery_stacks
from memlens.views.selection.profile_filters import matching as samples_matching
from memlens.views.selection.texts import Pattern

_MOST_NAMES = 5_000
"""Names among which the nearest are looked for: more take longer than a person waits for an error."""
_SHOWN = 3
_PARTS = re.compile(r"\w{3,}")
_OF_STATES = {
    "before": phrase("Nothing was allocated before recording."),
    "freed": phrase("Nothing was freed while recording."),
    "live": phrase("Everything was freed."),
    "pending": phrase("No free was still pending at the end."),
    "native": phrase("Every stack has lines of Python, or is missing."),
    "inferred": phrase("No line is inferred."),
}


class NothingMatchesError(BadRequestError):
    """A filter that matches nothing, with what would match."""

    code = "nothing-matches"


def check_matches(snapshot: Snapshot, text: str, devices: Sequence[int] = ()) -> None:
    """Raise :class:`NothingMatchesError` if no allocation or sample matches a filter.

    ``devices`` are those of a trace that are asked about; empty for all.
    """
    terms = filters.parse(text)
    match snapshot.info:
        case TimelineInfo():
            _check_trace(snapshot, text, terms, devices)
        case ProfileInfo():

            def count(some: Sequence[Term]) -> int:
                return int(samples_matching(snapshot, " ".join(map(str, some))).sum())

            if snapshot.profile.samples and not count(terms):
                raise unmatched(text, terms, count, lambda term: _hint_of_stacks(snapshot, term))
        case GraphInfo():
            # the filter of objects says it: memlens.views.graph.unmatched
            pass
        case _:
            assert_never(snapshot.info)


def _check_trace(snapshot: Snapshot, text: str, terms: list[Term], devices: Sequence[int]) -> None:
    every = [each.device for each in timeline_of(snapshot.info, "events").devices if each.allocations]
    asked = [number for number in every if not devices or number in devices]

    def count(some: Sequence[Term], of: Sequence[int] = asked) -> int:
        return sum(device_of(snapshot, number, " ".join(map(str, some))).info.allocations for number in of)

    if not asked or count(terms):
        return
    elsewhere = [number for number in every if number not in asked and count(terms, [number])]
    if elsewhere:
        raise NothingMatchesError(
            phrase("Nothing on {device} matches {filter}", device=device_phrase(asked[0]), filter=text),
            advice=phrase(
                "It matches allocations of {device}: choose that by its number, {n}.",
                device=device_phrase(elsewhere[0]),
                n=str(elsewhere[0]),
            ),
        )
    device = snapshot.device(asked[0])
    raise unmatched(text, terms, count, lambda term: _hint(snapshot, device, term))


def unmatched(
    text: str,
    terms: Sequence[Term],
    count: Callable[[Sequence[Term]], int],
    hint: Callable[[Term], Text | None],
) -> NothingMatchesError:
    """The error for a filter that matches nothing: of the first term that matches nothing alone, what would match."""
    said = plain_name(text.strip())
    counts = [count([term]) for term in terms]
    for term, found in zip(terms, counts, strict=True):
        if not found:
            message = (
                phrase("Nothing matches {filter}", filter=said)
                if len(terms) == 1
                else phrase(
                    "Nothing matches {filter}: {term} alone matches nothing", filter=said, term=str(term)
                )
            )
            if term.negated:
                return NothingMatchesError(message, advice=phrase("Everything has what it excludes."))
            return NothingMatchesError(message, advice=hint(term))
    each = in_a_row([f"{term} ({n:,})" for term, n in zip(terms, counts, strict=True)], ", ")
    return NothingMatchesError(
        phrase("Nothing matches all of {filter}", filter=said),
        advice=phrase("By itself each term matches some: {counts}.", counts=each),
    )


def of_names(term: Term, names: Iterable[str]) -> Text | None:
    """What would match instead of a term's value: the names nearest to it, or some of those that there are."""
    # imported here, because few filters match nothing
    from difflib import get_close_matches

    known = list(dict.fromkeys(name for name in names if name))[:_MOST_NAMES]
    if not known:
        return phrase("There are no names for it in this file.")
    folded: dict[str, str] = {}
    # a term matches parts of names as well
    for each in (*known, *(part for name in known for part in _PARTS.findall(name))):
        folded.setdefault(each.casefold(), each)
    wanted = term.values[0].lstrip("=").strip("*").casefold()
    near = [folded[each] for each in get_close_matches(wanted, folded, _SHOWN, 0.6)]
    head = f"{term.field}:" if term.field else ""
    shown = in_a_row([head + _written(name) for name in near or known[:_SHOWN]], ", ")
    if near:
        return phrase("Perhaps you mean {names}.", names=shown)
    if len(known) <= _SHOWN:
        return phrase("There are only {names}.", names=shown)
    return phrase("There are {names} and others.", names=shown)


def _written(name: str) -> str:
    """A name as a filter has it; in quotes if a terminal's shell would see something else in it."""
    shown = plain_name(name)
    return (
        quoted(shown)
        if shown.isascii() and all(c not in shown for c in "$`!&|;<>()*?[]#~")
        else in_quotes(shown)
    )


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _files(snapshot: Snapshot) -> Iterable[str]:
    return map(_base, snapshot.strings.texts(_distinct(snapshot.frames.file)))


def _functions(snapshot: Snapshot) -> Iterable[str]:
    return snapshot.strings.texts(_distinct(snapshot.frames.function))


def _distinct(numbers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    return np.unique(numbers)[:_MOST_NAMES]


def _hint_of_stacks(snapshot: Snapshot, term: Term) -> Text | None:
    """What would match instead of a term about stacks."""
    match term.field:
        case "file":
            return _of_lines(snapshot, term) or of_names(_without_line(term), _files(snapshot))
        case "function":
            return of_names(term, _functions(snapshot))
        case "" | "by" | "innermost":
            names = [*_files(snapshot), *_functions(snapshot)]
            return _of_lines(snapshot, term) or of_names(_without_line(term), names)
        case "stack":
            return phrase("Stacks have the numbers 0 to {last}.", last=str(len(snapshot.stacks.node) - 1))
        case "is":
            return _OF_STATES.get(term.values[0])
        case "label":
            labels = snapshot.samples.labels
            texts = snapshot.strings.some(np.concatenate((labels["key"], labels["text"])))
            pairs = np.unique(labels[["key", "text", "number"]][:_MOST_NAMES]).tolist()
            return of_names(
                term, (f"{texts[key]}:{texts[text] if text else number}" for key, text, number in pairs)
            )
        case "size":
            return _of_sizes(snapshot.samples.size)
    return None


def _without_line(term: Term) -> Term:
    value, _, line = term.values[0].rpartition(":")
    return Term(term.field, ":", (value,)) if value and line.isdigit() else term


def _of_lines(snapshot: Snapshot, term: Term) -> Text | None:
    """The nearest lines of a file that is there but doesn't have the term's line."""
    file, line = _without_line(term).values[0], term.values[0].rpartition(":")[2]
    if file == term.values[0]:
        return None
    frames = snapshot.frames
    known = np.unique(frames.line[frames.in_file(Pattern(file, path=True).matches)])
    known = known[known > 0]
    if not len(known):
        return None
    nearest = known[np.argsort(np.abs(known - int(line)), kind="stable")][:_SHOWN]
    lines = ", ".join(map(str, sorted(nearest.tolist())))
    return phrase("The nearest lines of {file} in stacks are {lines}.", file=plain_name(file), lines=lines)


def _of_sizes(sizes: npt.NDArray[np.int64]) -> Text | None:
    if not len(sizes):
        return None
    return phrase(
        "Sizes go from {least} to {most}.",
        least=format_bytes(int(sizes.min())),
        most=format_bytes(int(sizes.max())),
    )


def _hint(snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """What would match instead of a term about a trace's allocations."""
    match term.field:
        case "operator":
            return of_names(term, snapshot.keep("operators", lambda: operators_of_stacks(snapshot))[1])
        case "module":
            return of_names(term, snapshot.keep("modules", lambda: modules_of_stacks(snapshot))[1])
        case "category":
            return of_names(term, timeline_of(snapshot.info, "categories").categories)
        case "machinery":
            return of_names(term, machinery_stacks(snapshot))
        case "freed-by":
            numbers = np.unique(lines_that_freed(snapshot, device))
            rows = snapshot.frames.rows(numbers[numbers != NEVER].tolist()).values()
            places = {f"{row[0].replace(chr(92), '/').rpartition('/')[2]}:{row[1]}" for row in rows if row[1]}
            return of_names(term, sorted(places))
        case "stream":
            used = np.unique(device.stream).tolist()
            return of_names(term, [str(snapshot.manifest.streams[number]) for number in used])
        case "size":
            return _of_sizes(device.size)
        case "life":
            return _of_lives(device, term)
        case "allocation":
            last = device.first_allocation + device.info.allocations - 1
            return phrase(
                "Allocations have the numbers {first} to {last}.",
                first=str(device.first_allocation),
                last=str(last),
            )
        case "address":
            return phrase("No allocation of the file held it.")
    return _hint_of_stacks(snapshot, term)


def _of_lives(device: Device, term: Term) -> Text | None:
    ended = device.end != NEVER
    end = np.where(ended, device.end, device.info.events).astype(np.int64)
    start = device.start.astype(np.int64)
    if device.time is None or "ev" in term.values[0]:
        longest = phrase("{n} events", n=int((end - start).max()))
    else:
        lives = device.time[np.maximum(end, 1) - 1] - device.time[np.maximum(start, 1) - 1]
        longest = Text(format_time(float(lives.max())))
    return phrase("The longest that is known is {longest}.", longest=longest)
