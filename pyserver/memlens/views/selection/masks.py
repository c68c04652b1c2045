"""What the terms of filters find among allocations, stacks and samples: a mask for each term."""

import re
from collections.abc import Callable

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace import timeline as kernel
from memlens.model.distinct import distinct
from memlens.model.frames import INFERRED, NATIVE
from memlens.model.timeline import NEVER, NO_CATEGORY
from memlens.store.models import profile_of, timeline_of
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
from memlens.views.selection.machinery import machinery_stacks
from memlens.views.selection.terms import Term, amount_of, compared, number_of, numbered
from memlens.views.selection.texts import Pattern
from memlens.views.selection.through import stacks_through

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}")
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})", re.DOTALL)
STATES = ("before", "freed", "live", "pending", "native", "inferred")
"""What ``is:`` knows of an allocation."""


FrameTest = Callable[[FrameColumns, str], Mask]
"""Mask of the frames that match a value of a term."""


def _frames_where(snapshot: Snapshot, term: Term, test: FrameTest) -> Mask:
    """The frames that match any of a term's values."""
    found = np.zeros(len(snapshot.frames), bool)
    for value in term.values:
        found |= test(snapshot.frames, value)
    return found


def in_file(frames: FrameColumns, value: str) -> Mask:
    """The frames in a file, or on a line of it."""
    place = _PLACE.fullmatch(value)
    if place is None:
        return frames.in_file(Pattern(value, path=True).matches)
    on_line: Mask = frames.line == int(place["line"])
    return on_line & frames.in_file(Pattern(place["file"], path=True).matches)


def in_function(frames: FrameColumns, value: str) -> Mask:
    """The frames in a function."""
    return frames.in_function(Pattern(value).matches)


def at_place(frames: FrameColumns, value: str) -> Mask:
    """The frames in a file, on a line or in a function."""
    return in_file(frames, value) | in_function(frames, value)


def through(test: FrameTest) -> Callable[[Snapshot, Term], Mask]:
    """Return a function that finds the stacks that pass through frames that pass a test."""
    return lambda snapshot, term: stacks_through(snapshot, _frames_where(snapshot, term, test))


def charged_to(snapshot: Snapshot, term: Term) -> Mask:
    """The stacks that are charged to a matching line."""
    frames = _frames_where(snapshot, term, at_place)
    return _at(frames, charged_frames(snapshot, CHARGED_AS[term.field]))


def only_native(snapshot: Snapshot, term: Term) -> Mask | None:
    """The stacks without frames of Python, for the one state that is about stacks; None for the others."""
    return _native_stacks(snapshot) if set(term.values) == {"native"} else None


def stacks_numbered(snapshot: Snapshot, term: Term) -> Mask:
    """The stacks with these numbers."""
    return numbered(len(snapshot.stacks.label), term)


def by(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations that are charged to a matching line."""
    frames = _frames_where(snapshot, term, at_place)
    rows = np.arange(len(device.start), dtype=np.uint32)
    labels, _ = labels_of(snapshot, device, rows, CHARGED_AS[term.field])
    return _at(frames, labels)


def freed_by(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations that a matching line freed."""
    lines = lines_that_freed(snapshot, device)
    found = _at(_frames_where(snapshot, term, at_place), lines)
    if "none" in term.values:
        found |= (device.end != NEVER) & (lines == NEVER)
    return found


def _at(frames: Mask, labels: U32) -> Mask:
    """Mask of the labels that are among some frames; NEVER is not."""
    found: Mask = np.append(frames, False)[np.minimum(labels, len(frames))]
    return found


def _operators(snapshot: Snapshot, term: Term) -> Mask:
    """The stacks whose operator matches."""
    operators, names = operators_of_stacks(snapshot)
    patterns = [Pattern(value) for value in term.values]
    fits = [number for number, name in enumerate(names) if any(p.matches(name) for p in patterns)]
    if term.field and "none" in term.values:
        fits.append(NEVER)
    return np.isin(operators, np.asarray(fits, np.uint32))


def _native_stacks(snapshot: Snapshot) -> Mask:
    """The stacks that have frames, but no Python ones; only then is the frame to show native."""
    return _at(snapshot.frames.kind == NATIVE, snapshot.stacks.label)


def module(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations in a matching module."""
    modules, names = modules_of_stacks(snapshot)
    patterns = [Pattern(value) for value in term.values]
    every = names + inferred_names(names)
    fits = [number for number, name in enumerate(every) if any(p.matches(name) for p in patterns)]
    if "none" in term.values:
        fits.append(NEVER)
    numbers = with_inferred(snapshot, device, modules[device.stack], len(names))
    return np.isin(numbers, np.asarray(fits, np.uint32))


def size(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations of matching sizes."""
    return sizes_where(device.size, term)


def life(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """Compare lifetimes; if the start or the end is not in the file, the known part is a lower bound.

    So ``life>1s`` finds what is older and was never freed, and ``life<1s`` only what was certainly shorter.
    """
    mask = np.zeros(len(device.start), bool)
    last = device.info.events
    start, end = device.start.astype(np.int64), device.end.astype(np.int64)
    open_ended = (device.end == NEVER) | (start == 0)
    end = np.where(device.end == NEVER, last, end)
    for value in term.values:
        amount, in_events = amount_of("life", value, str(term))
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


def category(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations of a matching category."""
    patterns = [Pattern(value) for value in term.values]
    names = timeline_of(snapshot.info, "categories").categories
    fits = [number for number, name in enumerate(names) if any(pattern.matches(name) for pattern in patterns)]
    if "none" in term.values:
        fits.append(NO_CATEGORY)
    return np.isin(device.category, np.asarray(fits, np.uint8))


def stream(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations in a matching stream."""
    wanted = {number_of(value, str(term)) for value in term.values}
    fits = [number for number, stream in enumerate(snapshot.manifest.streams) if stream in wanted]
    return np.isin(device.stream, np.asarray(fits, np.uint16))


def pool(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations in a matching pool. Raises :class:`BadRequestError` for one that the file lacks."""
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


def address(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations that held a matching address."""
    mask = np.zeros(len(device.start), bool)
    # at least a byte, so that an allocation of 0 bytes is found at its address
    sizes = np.maximum(np.maximum(device.size, device.rounded), 1).astype(np.uint64)
    for value in term.values:
        address = number_of(value, str(term))
        if 0 <= address < 2**64:
            at = np.uint64(address)
            mask |= (device.address <= at) & (at - device.address < sizes)
    return mask


def allocation(_snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations with these numbers."""
    return np.isin(device.allocations(np.arange(len(device.start))), _numbers(term))


def words(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """Match words in files, functions and operators; a word that looks like an address also matches as one."""
    mask = through(at_place)(snapshot, term)[device.stack] | _operators(snapshot, term)[device.stack]
    addresses = tuple(value for value in term.values if _ADDRESS.fullmatch(value))
    return mask | address(snapshot, device, Term("address", ":", addresses)) if addresses else mask


def _numbers(term: Term) -> U32:
    numbers = [number_of(value, str(term)) for value in term.values]
    return np.asarray([number for number in numbers if 0 <= number < 2**32], np.uint32)


def state(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations in a matching state."""
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


def machinery(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """Allocations that a framework made for itself."""
    kinds = machinery_stacks(snapshot)
    patterns = [Pattern(value) for value in term.values]
    some = [stacks for name, stacks in kinds.items() if any(each.matches(name) for each in patterns)]
    if "none" in term.values:
        some.append(~np.logical_or.reduce([np.zeros(len(snapshot.stacks.node), bool), *kinds.values()]))
    found: Mask = np.logical_or.reduce([np.zeros(len(snapshot.stacks.node), bool), *some])
    return found[device.stack]


def sizes_where(sizes: I64, term: Term) -> Mask:
    """Mask of the sizes that match a term about sizes."""
    return compared(sizes, term, [amount_of("size", value, str(term))[0] for value in term.values])


def operator(snapshot: Snapshot, device: Device, term: Term) -> Mask:
    """The allocations whose stack has a matching operator."""
    return _operators(snapshot, term)[device.stack]


def sample_sizes(snapshot: Snapshot, term: Term) -> Mask:
    """The samples of matching sizes. Raises :class:`BadRequestError` if the profile has none."""
    if not profile_of(snapshot.info).has_sizes:
        raise BadRequestError(phrase("'{term}': the profile has no block sizes", term=str(term)))
    return sizes_where(snapshot.samples.size, term)


def labelled(snapshot: Snapshot, term: Term) -> Mask:
    """``label:worker`` matches a part of any label's text, ``label:thread:worker`` of that of the label "thread"."""
    labels = snapshot.samples.labels
    strings = snapshot.strings.some(np.concatenate((labels["key"], labels["text"])))
    mask = np.zeros(len(snapshot.samples.stack), bool)
    patterns = [Pattern(value) for value in term.values]
    for key, text, number in distinct(labels[["key", "text", "number"]]).tolist():
        name = strings[key]
        value = strings[text] if text else str(number)
        if any(pattern.matches(value) or pattern.matches(f"{name}:{value}") for pattern in patterns):
            fits = (labels["key"] == key) & (labels["text"] == text) & (labels["number"] == number)
            mask[labels["sample"][fits]] = True
    return mask
