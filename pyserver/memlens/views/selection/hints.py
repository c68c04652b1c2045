"""What would match instead of a term of a filter that matches nothing."""

import re
from collections.abc import Iterable

import numpy as np

from memlens.arrays import I64, U32
from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import format_bytes, format_time, plain_name
from memlens.views.selection.frees import lines_that_freed
from memlens.views.selection.masks import freed_by
from memlens.views.selection.terms import Term, in_quotes, quoted
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


def of_names(term: Term, names: Iterable[str]) -> Text | None:
    """The values that would match: the names nearest to a term's value, or some of the existing ones."""
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


def _distinct(numbers: U32) -> U32:
    return distinct(numbers)[:_MOST_NAMES]


def _without_line(term: Term) -> Term:
    value, _, line = term.values[0].rpartition(":")
    return Term(term.field, ":", (value,)) if value and line.isdigit() else term


def _of_lines(snapshot: Snapshot, term: Term) -> Text | None:
    """The nearest lines of a file that is there but doesn't have the term's line."""
    file, line = _without_line(term).values[0], term.values[0].rpartition(":")[2]
    if file == term.values[0]:
        return None
    frames = snapshot.frames
    known = distinct(frames.line[frames.in_file(Pattern(file, path=True).matches)])
    known = known[known > 0]
    if not len(known):
        return None
    nearest = known[np.argsort(np.abs(known - int(line)), kind="stable")][:_SHOWN]
    lines = ", ".join(map(str, sorted(nearest.tolist())))
    return phrase("The nearest lines of {file} in stacks are {lines}.", file=plain_name(file), lines=lines)


def of_sizes(sizes: I64) -> Text | None:
    """The range of existing sizes."""
    if not len(sizes):
        return None
    return phrase(
        "Sizes go from {least} to {most}.",
        least=format_bytes(int(sizes.min())),
        most=format_bytes(int(sizes.max())),
    )


def of_lives(_snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """The longest lifetime."""
    ended = device.end != NEVER
    end = np.where(ended, device.end, device.info.events).astype(np.int64)
    start = device.start.astype(np.int64)
    if device.time is None or "ev" in term.values[0]:
        longest = phrase("{n} events", n=int((end - start).max()))
    else:
        lives = device.time[np.maximum(end, 1) - 1] - device.time[np.maximum(start, 1) - 1]
        longest = Text(format_time(float(lives.max())))
    return phrase("The longest that is known is {longest}.", longest=longest)


def of_files(snapshot: Snapshot, term: Term) -> Text | None:
    """Files, or lines of the file, that would match."""
    return _of_lines(snapshot, term) or of_names(_without_line(term), _files(snapshot))


def of_functions(snapshot: Snapshot, term: Term) -> Text | None:
    """Functions that would match."""
    return of_names(term, _functions(snapshot))


def of_places(snapshot: Snapshot, term: Term) -> Text | None:
    """Files, lines and functions that would match."""
    names = [*_files(snapshot), *_functions(snapshot)]
    return _of_lines(snapshot, term) or of_names(_without_line(term), names)


def of_files_or_frees(snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """What the place freed; else as :func:`of_files`."""
    return _of_frees(snapshot, device, term) or of_files(snapshot, term)


def of_places_or_frees(snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """What the place freed; else as :func:`of_places`."""
    return _of_frees(snapshot, device, term) or of_places(snapshot, term)


def _of_frees(snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """The filter for what a place freed that allocated nothing."""
    freed = int(np.count_nonzero(freed_by(snapshot, device, term)))
    if not freed:
        return None
    instead = f"freed-by:{_written(term.values[0])}"
    return phrase(
        plural(
            freed,
            "It freed {n} allocation, which {filter} finds.",
            "It freed {n} allocations, which {filter} finds.",
        ),
        n=freed, filter=instead,
    )  # fmt: skip


def of_stacks(snapshot: Snapshot, _term: Term) -> Text | None:
    """The range of stack numbers."""
    return phrase("Stacks have the numbers 0 to {last}.", last=str(len(snapshot.stacks.node) - 1))


def of_states(_snapshot: Snapshot, term: Term) -> Text | None:
    """Why no allocation is in a state."""
    return _OF_STATES.get(term.values[0])


def of_labels(snapshot: Snapshot, term: Term) -> Text | None:
    """Labels that would match."""
    labels = snapshot.samples.labels
    texts = snapshot.strings.some(np.concatenate((labels["key"], labels["text"])))
    pairs = distinct(labels[["key", "text", "number"]][:_MOST_NAMES]).tolist()
    return of_names(term, (f"{texts[key]}:{texts[text] if text else number}" for key, text, number in pairs))


def of_freeing_lines(snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """Lines that freed something."""
    numbers = distinct(lines_that_freed(snapshot, device))
    rows = snapshot.frames.rows(numbers[numbers != NEVER].tolist()).values()
    places = {f"{row[0].replace(chr(92), '/').rpartition('/')[2]}:{row[1]}" for row in rows if row[1]}
    return of_names(term, sorted(places))


def of_streams(snapshot: Snapshot, device: Device, term: Term) -> Text | None:
    """The streams of a device."""
    used = distinct(device.stream).tolist()
    return of_names(term, [str(snapshot.manifest.streams[number]) for number in used])


def of_allocations(_snapshot: Snapshot, device: Device, _term: Term) -> Text | None:
    """The range of a device's allocation numbers."""
    last = device.first_allocation + device.info.allocations - 1
    return phrase(
        "Allocations have the numbers {first} to {last}.", first=str(device.first_allocation), last=str(last)
    )
