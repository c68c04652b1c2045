"""The filter that narrows every view of a snapshot: a text of terms, all of which an allocation must match.

The terms, and how they are written, are in :mod:`memlens.views.selection.language`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import INFERRED, NATIVE
from memlens.model.timeline import NEVER, NO_CATEGORY
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameColumns
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.naming.attribution import CHARGED_AS, charged_frames
from memlens.views.naming.labels import labels_of
from memlens.views.naming.modules import inferred_names, modules_of_stacks, with_inferred
from memlens.views.naming.operators import operators_of_stacks
from memlens.views.naming.pools import pool_name, pools_of
from memlens.views.selection.frees import lines_that_freed
from memlens.views.selection.language import ALLOCATIONS, fields_of
from memlens.views.selection.machinery import machinery_stacks
from memlens.views.selection.texts import Pattern
from memlens.views.selection.through import stacks_through

Mask = npt.NDArray[np.bool_]

MOST_CHARACTERS = 4096

_NUMBER_FIELDS = ("stream", "address", "stack", "allocation")
_AMOUNT_FIELDS = ("size", "life")
FIELDS = fields_of(ALLOCATIONS)

_FIELD = re.compile(r"(?P<field>[A-Za-z_]+(-[A-Za-z_]+)*)(?P<comparison>:(?!:)|<=|>=|<|>|=)")
_SPECIAL = re.compile(r'[\s",]')
_EXPRESSION = re.compile(r"/(?:[^/\\]|\\.)+/i?(?=[\s,]|$)")
"""Blanks, commas and quotes in it are its own, and a backslash makes a slash so."""
_AMOUNT = re.compile(r"(?P<number>\d+(\.\d+)?|\.\d+) ?(?P<unit>[A-Za-zµμ]*)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}")
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})", re.DOTALL)
_BYTES = {
    "": 1, "b": 1, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30, "gib": 2**30, "t": 2**40,
    "tib": 2**40, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
}  # fmt: skip
_MICROSECONDS = {
    "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "sec": 1e6, "m": 6e7, "min": 6e7, "h": 3.6e9, "ns": 1e-3,
}  # fmt: skip
_EVENTS = ("ev", "event", "events")
_STATES = ("before", "freed", "live", "pending", "native", "inferred")


@dataclass(frozen=True, slots=True)
class Term:
    """One term: ``field`` is empty for a word, ``comparison`` is ``:`` or one of ``= < <= > >=``."""

    field: str
    comparison: str
    values: tuple[str, ...]
    negated: bool = False

    def __str__(self) -> str:
        head = f"{self.field}{self.comparison}" if self.field else ""
        return ("-" if self.negated else "") + head + ",".join(map(quoted, self.values))


def quoted(value: str) -> str:
    """A value in the syntax of filters, quoted if necessary."""
    if value and not _SPECIAL.search(value) and value[0] not in "-:" and not _FIELD.match(value):
        return value
    return in_quotes(value)


def in_quotes(value: str) -> str:
    """A value in the quotes of filters."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse(text: str) -> list[Term]:
    """The terms of a filter. Raises :class:`BadRequestError` that says which term is wrong."""
    found = _written_terms(text, FIELDS)
    for term, written in found:
        _check(term, written)
    return [term for term, _ in found]


def terms_of(text: str, fields: tuple[str, ...], with_expressions: tuple[str, ...] = ()) -> list[Term]:
    """The terms of a filter with the given ``fields``, whose values are only checked not to be empty.

    Those of ``with_expressions`` take regular expressions. Raises :class:`BadRequestError` that says which term is
    wrong.
    """
    return [term for term, _ in _written_terms(text, fields, with_expressions)]


def _written_terms(
    text: str, fields: tuple[str, ...], with_expressions: tuple[str, ...] = ()
) -> list[tuple[Term, str]]:
    """Terms, each with its source text."""
    if len(text) > MOST_CHARACTERS:
        raise BadRequestError(phrase("A filter can have at most {most} characters", most=MOST_CHARACTERS))
    terms: list[tuple[Term, str]] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return terms
        start = at
        negated = text[at] == "-"
        at += negated
        head = _FIELD.match(text, at)
        if head:
            at = head.end()
        field = head["field"].casefold() if head else ""
        values, at = _values(text, at, expressions=field in with_expressions)
        written = text[start:at]
        comparison = head["comparison"] if head else ":"
        if field and field not in fields:
            known = ", ".join(f"{name}:" for name in fields[:4])
            raise BadRequestError(
                phrase(
                    "'{written}' is not a filter term: there is no '{field}'", written=written, field=field
                ),
                advice=phrase(
                    "Terms begin with {known} and others; put a text that contains a colon in quotes.",
                    known=known,
                ),
            )
        if any(value in ("", "=") for value in values):
            raise BadRequestError(phrase("'{written}' needs a value", written=written))
        terms.append((Term(field, comparison, values, negated), written))


def _values(text: str, at: int, *, expressions: bool) -> tuple[tuple[str, ...], int]:
    """Values separated by commas from ``at`` on, and their end."""
    values = []
    while True:
        value = ""
        if text[at : at + 1] == '"':
            value, at = _quoted_value(text, at)
        elif expressions and (expression := _EXPRESSION.match(text, at)):
            value, at = expression[0], expression.end()
        else:
            end = at
            while end < len(text) and not text[end].isspace() and text[end] not in ',"':
                end += 1
            value, at = text[at:end], end
        values.append(value)
        if text[at : at + 1] != ",":
            return tuple(values), at
        at += 1


def _quoted_value(text: str, at: int) -> tuple[str, int]:
    value, start = "", at
    at += 1
    while at < len(text):
        if text[at] == '"':
            return value, at + 1
        if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\"):
            at += 1
        value += text[at]
        at += 1
    raise BadRequestError(phrase("{text} has no closing quote", text=text[start:]))


def _check(term: Term, written: str) -> None:
    """Reject invalid terms before anything is evaluated."""
    if term.field in _AMOUNT_FIELDS:
        if term.comparison not in (":", "=") and len(term.values) > 1:
            raise BadRequestError(phrase("'{written}' is compared with more than one value", written=written))
        for value in term.values:
            _amount(term.field, value, written)
        return
    if term.comparison not in (":", "="):
        raise BadRequestError(
            phrase("'{written}' can't be compared with < or >: only size and life can", written=written)
        )
    if term.field == "stack":
        numbered(0, term)
    elif term.field in _NUMBER_FIELDS:
        for value in term.values:
            number_of(value, written)
    if term.field == "is" and not set(term.values) <= set(_STATES):
        raise BadRequestError(
            phrase("'{written}': expected one of {known}", written=written, known=", ".join(_STATES))
        )


def number_of(value: str, written: str) -> int:
    """A value as a whole number, decimal or hexadecimal. Raises :class:`BadRequestError`."""
    try:
        return int(value, 16 if value[:2].lower() == "0x" else 10)
    except ValueError:
        raise BadRequestError(
            phrase("'{written}': {value} is not a number", written=written, value=value)
        ) from None


def _field_of(written: str) -> str:
    """The field of a term as it was written: other models have sizes of other names."""
    head = _FIELD.match(written.removeprefix("-"))
    return head["field"] if head else "size"


def _amount(field: str, value: str, written: str) -> tuple[float, bool]:
    """An amount in bytes or microseconds, or in events if the second value is True."""
    found = _AMOUNT.fullmatch(value)
    if found is None:
        example = "life>10ms" if field == "life" else f"{_field_of(written)}>1MiB"
        raise BadRequestError(
            phrase(
                "'{written}': {value} is not a size or time; write it as in {example}",
                written=written,
                value=value,
                example=example,
            )
        )
    unit = found["unit"].casefold()
    number = float(found["number"])
    if field == "size":
        if unit not in _BYTES:
            raise BadRequestError(
                phrase(
                    "'{written}': {unit} is not a unit of size (KiB, MiB, GiB …)",
                    written=written,
                    unit=found["unit"],
                )
            )
        return number * _BYTES[unit], False
    if unit in _EVENTS:
        return number, True
    if unit not in _MICROSECONDS:
        if not unit:
            raise BadRequestError(
                phrase("'{written}': the unit is missing; use us, ms, s, min or ev (events)", written=written)
            )
        raise BadRequestError(
            phrase(
                "'{written}': {unit} is not a unit of time; use us, ms, s, min or ev (events)",
                written=written,
                unit=found["unit"],
            )
        )
    return number * _MICROSECONDS[unit], False


def matching(snapshot: Snapshot, device: Device, terms: list[Term]) -> Mask:
    """The rows of ``device`` that match all terms. Raises :class:`BadRequestError`."""
    mask = np.ones(len(device.start), bool)
    for term in terms:
        found = _MASKS[term.field](snapshot, device, term)
        mask &= ~found if term.negated else found
    return mask


# ---- by stack ----------------------------------------------------------------------------------------------


def _of_stacks(device: Device, stacks: Mask) -> Mask:
    return stacks[device.stack]


FrameTest = Callable[[FrameColumns, str], Mask]
"""Mask of the frames that match a value of a term."""


def _frames_where(snapshot: Snapshot, term: Term, test: FrameTest) -> Mask:
    """The frames that match any of a term's values."""
    found = np.zeros(len(snapshot.frames), bool)
    for value in term.values:
        found |= test(snapshot.frames, value)
    return found


def _in_file(frames: FrameColumns, value: str) -> Mask:
    place = _PLACE.fullmatch(value)
    if place is None:
        return frames.in_file(Pattern(value, path=True).matches)
    on_line: Mask = frames.line == int(place["line"])
    return on_line & frames.in_file(Pattern(place["file"], path=True).matches)


def _in_function(frames: FrameColumns, value: str) -> Mask:
    return frames.in_function(Pattern(value).matches)


def _at_place(frames: FrameColumns, value: str) -> Mask:
    return _in_file(frames, value) | _in_function(frames, value)


def _by_frames(test: FrameTest) -> Callable[[Snapshot, Device, Term], Mask]:
    def mask(snapshot: Snapshot, device: Device, term: Term) -> Mask:
        frames = _frames_where(snapshot, term, test)
        return _of_stacks(device, stacks_through(snapshot, frames))

    return mask


def _by(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    frames = _frames_where(snapshot, term, _at_place)
    rows = np.arange(len(device.start), dtype=np.uint32)
    labels, _ = labels_of(snapshot, device, rows, CHARGED_AS[term.field])
    return _at(frames, labels)


def _freed_by(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    lines = lines_that_freed(snapshot, device)
    found = _at(_frames_where(snapshot, term, _at_place), lines)
    if "none" in term.values:
        found |= (device.end != NEVER) & (lines == NEVER)
    return found


def _at(frames: Mask, labels: npt.NDArray[np.uint32]) -> Mask:
    """Mask of the labels that are among some frames; NEVER is not."""
    found: Mask = np.append(frames, False)[np.minimum(labels, len(frames))]
    return found


def _operators(snapshot: Snapshot, term: Term) -> Mask:
    """The stacks whose operator matches."""
    operators, names = snapshot.keep("operators", lambda: operators_of_stacks(snapshot))
    patterns = [Pattern(value) for value in term.values]
    fits = [number for number, name in enumerate(names) if any(p.matches(name) for p in patterns)]
    if term.field and "none" in term.values:
        fits.append(NEVER)
    return np.isin(operators, np.asarray(fits, np.uint32))


def _native_stacks(snapshot: Snapshot) -> Mask:
    """The stacks that have frames, but no Python ones; only then is the frame to show native."""
    return _at(snapshot.frames.kind == NATIVE, snapshot.stacks.label)


def _module(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    modules, names = snapshot.keep("modules", lambda: modules_of_stacks(snapshot))
    patterns = [Pattern(value) for value in term.values]
    every = names + inferred_names(names)
    fits = [number for number, name in enumerate(every) if any(p.matches(name) for p in patterns)]
    if "none" in term.values:
        fits.append(NEVER)
    numbers = with_inferred(snapshot, device, modules[device.stack], len(names))
    return np.isin(numbers, np.asarray(fits, np.uint32))


# ---- by what the allocation is -----------------------------------------------------------------------------


def bytes_of(value: str, written: str) -> float:
    """A value as an amount of bytes, as ``1MiB``. Raises :class:`BadRequestError`."""
    return _amount("size", value, written)[0]


def compared(
    column: npt.NDArray[np.float64] | npt.NDArray[np.int64], term: Term, amounts: list[float]
) -> Mask:
    """Mask of the items of a column that compare with some amounts as a term requires."""
    match term.comparison:
        case "<":
            return column < amounts[0]
        case "<=":
            return column <= amounts[0]
        case ">":
            return column > amounts[0]
        case ">=":
            return column >= amounts[0]
    return np.isin(column, np.asarray(amounts))


def _size(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    return sizes_where(device.size, term)


def _life(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """Compare lifetimes; if the start or the end is not in the file, the known part is a lower bound.

    So ``life>1s`` finds what is older and was never freed, and ``life<1s`` only what was certainly shorter.
    """
    mask = np.zeros(len(device.start), bool)
    last = device.info.events
    start, end = device.start.astype(np.int64), device.end.astype(np.int64)
    open_ended = (device.end == NEVER) | (start == 0)
    end = np.where(device.end == NEVER, last, end)
    for value in term.values:
        amount, in_events = _amount("life", value, str(term))
        if in_events:
            life = end - start
        elif device.time is None:
            raise BadRequestError(
                phrase("'{term}': the snapshot has no times, only the order of events", term=str(term)),
                advice=phrase("Write life>100ev."),
            )
        else:
            # moment m begins at event m - 1; times before the first event are not known
            life = device.time[np.maximum(end, 1) - 1] - device.time[np.maximum(start, 1) - 1]
        found = compared(life, term, [amount])
        if term.comparison in ("<", "<=", "=", ":"):
            found &= ~open_ended
        mask |= found
    return mask


def _category(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    patterns = [Pattern(value) for value in term.values]
    names = timeline_of(snapshot.info, "categories").categories
    fits = [number for number, name in enumerate(names) if any(pattern.matches(name) for pattern in patterns)]
    if "none" in term.values:
        fits.append(NO_CATEGORY)
    return np.isin(device.category, np.asarray(fits, np.uint8))


def _stream(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    wanted = {number_of(value, str(term)) for value in term.values}
    fits = [number for number, stream in enumerate(snapshot.manifest.streams) if stream in wanted]
    return np.isin(device.stream, np.asarray(fits, np.uint16))


def _pool(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    names = [pool_name(snapshot, pool) for pool in range(len(snapshot.manifest.pools))]
    for value in term.values:
        if value not in ("private", "default", "unknown") and value not in names:
            raise BadRequestError(
                phrase(
                    "'{term}': the snapshot has no pool {pool}, only {pools}",
                    term=str(term),
                    pool=value,
                    pools=", ".join(names),
                )
            )
    fits = [
        number
        for number, name in enumerate(names)
        if name in term.values or ("private" in term.values and name not in ("default", "unknown"))
    ]
    return np.isin(pools_of(snapshot, device), np.asarray(fits, np.uint16))


def _address(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    mask = np.zeros(len(device.start), bool)
    # at least a byte, so that an allocation of 0 bytes is found at its address
    sizes = np.maximum(np.maximum(device.size, device.rounded), 1).astype(np.uint64)
    for value in term.values:
        address = number_of(value, str(term))
        if 0 <= address < 2**64:
            at = np.uint64(address)
            mask |= (device.address <= at) & (at - device.address < sizes)
    return mask


def _stack(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    return numbered(len(snapshot.stacks.label), term)[device.stack]


def _allocation(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    return np.isin(device.allocations(np.arange(len(device.start))), _numbers(term))


def _words(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """Match words in files, functions and operators; a word that looks like an address also matches as one."""
    mask = _by_frames(_at_place)(snapshot, device, term) | _operators(snapshot, term)[device.stack]
    addresses = tuple(value for value in term.values if _ADDRESS.fullmatch(value))
    return mask | _address(snapshot, device, Term("address", ":", addresses)) if addresses else mask


def _numbers(term: Term) -> npt.NDArray[np.uint32]:
    numbers = [number_of(value, str(term)) for value in term.values]
    return np.asarray([number for number in numbers if 0 <= number < 2**32], np.uint32)


def numbered(count: int, term: Term) -> Mask:
    """Which numbers below ``count`` a term names; ``7-9`` are three of them. Raises :class:`BadRequestError`."""
    found = np.zeros(count, np.bool_)
    for value in term.values:
        first, _, last = value.partition("-")
        begin = number_of(first, str(term))
        found[max(begin, 0) : max(number_of(last, str(term)) if last else begin, -1) + 1] = True
    return found


def _is(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    never = device.end == NEVER
    states = {
        "before": (device.flags & kernel.BEFORE_TRACE) != 0,
        "freed": ~never,
        "live": never,
        "native": _native_stacks(snapshot)[device.stack],
        "pending": never & ((device.flags & kernel.PENDING_FREE) != 0),
    }
    if "inferred" in term.values:
        _, sources = labels_of(snapshot, device, np.arange(len(device.start), dtype=np.uint32))
        states["inferred"] = sources == INFERRED
    mask = np.zeros(len(device.start), bool)
    for value in term.values:
        mask |= states[value]
    return mask


def _machinery(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    kinds = machinery_stacks(snapshot)
    patterns = [Pattern(value) for value in term.values]
    some = [stacks for name, stacks in kinds.items() if any(each.matches(name) for each in patterns)]
    if "none" in term.values:
        some.append(~np.logical_or.reduce([np.zeros(len(snapshot.stacks.node), bool), *kinds.values()]))
    found: Mask = np.logical_or.reduce([np.zeros(len(snapshot.stacks.node), bool), *some])
    return _of_stacks(device, found)


def _label(_snapshot: Snapshot, _device: Device, term: Term) -> Mask:
    raise BadRequestError(phrase("'{term}': only samples of profiles have labels", term=str(term)))


def sizes_where(sizes: npt.NDArray[np.int64], term: Term) -> Mask:
    """Mask of the sizes that match a term about sizes."""
    return compared(sizes, term, [_amount("size", value, str(term))[0] for value in term.values])


def stacks_where(snapshot: Snapshot, term: Term) -> Mask | None:
    """Mask of the stacks that match a term that is only about stacks; None for other terms."""
    tests: dict[str, FrameTest] = {
        "": _at_place,
        "file": _in_file,
        "function": _in_function,
        "by": _at_place,
        "innermost": _at_place,
    }
    if term.field in tests:
        frames = _frames_where(snapshot, term, tests[term.field])
        if term.field in CHARGED_AS:
            return _at(frames, charged_frames(snapshot, CHARGED_AS[term.field]))
        return stacks_through(snapshot, frames)
    if term.field == "stack":
        return numbered(len(snapshot.stacks.label), term)
    if term.field == "is" and set(term.values) == {"native"}:
        return _native_stacks(snapshot)
    return None


_MASKS: dict[str, Callable[[Snapshot, Device, Term], Mask]] = {
    "": _words,
    "file": _by_frames(_in_file),
    "function": _by_frames(_in_function),
    "operator": lambda snapshot, device, term: _operators(snapshot, term)[device.stack],
    "by": _by,
    "innermost": _by,
    "freed-by": _freed_by,
    "module": _module,
    "size": _size,
    "life": _life,
    "category": _category,
    "stream": _stream,
    "pool": _pool,
    "address": _address,
    "stack": _stack,
    "allocation": _allocation,
    "machinery": _machinery,
    "is": _is,
    "label": _label,
}


def narrowed(snapshot: Snapshot, number: int, text: str) -> Device:
    """The device of that number with only what matches a filter. Raises :class:`BadRequestError`."""
    terms = parse(text)
    if not terms:
        return snapshot.device(number)
    name = " ".join(map(str, terms))
    return snapshot.narrowed(
        number, name, lambda device: np.flatnonzero(matching(snapshot, device, terms)).astype(np.uint32)
    )
