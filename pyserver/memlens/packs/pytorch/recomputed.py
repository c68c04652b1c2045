"""What activation checkpointing would recompute, and when, as far as the trace shows it.

* The backward pass is what runs below ``torch::autograd::Engine::evaluate_function``. An allocation is *held* for it
  if the program made it outside of that and the engine freed it. One that isn't freed in the trace counts as held if
  all others of its stack that are freed are held.
* Held allocations of the set that follow each other are of one *layer*, until one that isn't of the set is held, the
  engine runs, or a stack of the layer comes again after other lines: the rounds of a loop are layers of their own.
* Of several held allocations of a layer the last is taken to be its result. It is kept, as the next layer begins with
  it; the others are freed when the layer has made its result.
* The layer's backward pass begins after the last event before its first free that is either the release of something
  held or isn't of the engine. There the layer asks for everything again, also for what it had freed by itself.
* The last layer of a trace may still be running, so that it is left as it was if nothing of it is freed.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.kernels.trace.timeline import BEFORE_TRACE
from memlens.model.timeline import ACTIONS
from memlens.packs.pytorch.backward import ENGINE
from memlens.store.frees import freed_stacks
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.naming.attribution import charged_frames
from memlens.views.selection.columns import NEVER
from memlens.views.selection.through import stacks_through

_REQUESTS = tuple(ACTIONS.index(name) for name in ("alloc", "free_requested", "free_completed"))


class _Backward(NamedTuple):
    """What a device's backward passes hold and do."""

    held: Mask
    """The rows that are held for them."""
    events: I64
    """Those of the engine."""
    requests: I64
    """Events that aren't of the engine, and allocate or free."""
    releases: I64
    """Events that free something held."""


class Layers(NamedTuple):
    """Recomputed layers; rows are those of a whole device."""

    rows: U32
    """The rows freed when their layer has run, in the order of time."""
    of_rows: I64
    """The layer of each of them."""
    passing: U32
    """The rows that layers free themselves before they end."""
    of_passing: I64
    leaves: I64
    """The last event of each layer's run."""
    begins: I64
    """The event before which it runs again; NEVER where the trace ends earlier."""


_NO_ROWS, _NO_NUMBERS = np.empty(0, np.uint32), np.empty(0, np.int64)
NONE = Layers(_NO_ROWS, _NO_NUMBERS, _NO_ROWS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS)


def engine_stacks(snapshot: Snapshot) -> Mask:
    """Mask of the stacks of the backward pass."""
    return stacks_through(snapshot, snapshot.frames.in_function(lambda name: name.startswith(ENGINE)))


def layers_of(snapshot: Snapshot, device: Device, chosen: U32) -> Layers:
    """The recomputed layers among some rows of a whole device; none if none of the rows is held."""
    backward = _backward(snapshot, device.info.device)
    held = backward.held
    in_set = np.zeros(len(device.size), np.bool_)
    in_set[chosen] = True
    start = device.start.astype(np.int64) - 1
    others = np.sort(start[held & ~in_set], kind="stable")
    own = np.flatnonzero(held & in_set)
    own = own[np.argsort(start[own], kind="stable")]
    if not len(own):
        return NONE
    between = np.searchsorted(others, start[own]) + np.searchsorted(backward.events, start[own])
    stacks = device.stack[own]
    lines = charged_frames(snapshot, "any")[stacks]
    layer = _numbered(stacks.tolist(), lines.tolist(), between.tolist())
    first = np.flatnonzero(np.diff(layer, prepend=-1))
    last = np.append(first[1:], len(own)) - 1
    leaves = start[own[last]]
    # its first free, and what came before that
    freed = np.where(device.end[own] != NEVER, device.end[own].astype(np.int64) - 1, NEVER)
    first_free = np.minimum.reduceat(freed, first)
    begins = 1 + np.maximum(
        _last_before(backward.releases, first_free), _last_before(backward.requests, first_free)
    )
    begins = np.where(first_free == NEVER, NEVER, np.maximum(begins, leaves + 1))
    # the result of several is kept, and the last layer of the trace unless something of it is freed
    again = np.ones(len(own), np.bool_)
    again[last[last > first]] = False
    if begins[-1] == NEVER:
        again[first[-1] :] = False
    passing, of_passing = _passing(device, in_set & ~held, start, start[own[first]], leaves)
    return Layers(
        own[again].astype(np.uint32), layer[again], passing, of_passing, leaves, begins,
    )  # fmt: skip


@kept
def _backward(snapshot: Snapshot, number: int) -> _Backward:
    """What is asked of a whole device for every choice of what is computed again."""
    device = snapshot.device(number)
    by_engine = engine_stacks(snapshot)
    held = _held(snapshot, device, by_engine)
    is_of_engine = by_engine[device.event_stack]
    is_request = np.isin(np.arange(256), _REQUESTS)[device.event_action]
    return _Backward(
        held,
        np.flatnonzero(is_of_engine),
        np.flatnonzero(~is_of_engine & is_request),
        np.sort(device.end[held & (device.end != NEVER)].astype(np.int64) - 1),
    )


def _held(snapshot: Snapshot, device: Device, by_engine: Mask) -> Mask:
    """Mask of the rows that are held for the backward pass."""
    own = ~by_engine[device.stack] & (device.start > 0) & (device.flags & BEFORE_TRACE == 0)
    ended = device.end != NEVER
    held: Mask = own & ended & by_engine[freed_stacks(snapshot, device)]
    stacks = len(by_engine)
    of_stack = np.bincount(device.stack[own & ended], minlength=stacks)
    held_of_stack = np.bincount(device.stack[held], minlength=stacks)
    always = (of_stack > 0) & (of_stack == held_of_stack)
    held |= own & ~ended & always[device.stack]
    return held


def _numbered(stacks: list[int], lines: list[int], between: list[int]) -> I64:
    """The layer of each held allocation, by its stack, its line and the number of other events before it."""
    numbers: list[int] = []
    seen: set[int] = set()
    number, before, line_before = -1, -1, -1
    for stack, line, place in zip(stacks, lines, between, strict=True):
        if place != before or (stack in seen and line != line_before):
            number, before = number + 1, place
            seen.clear()
        seen.add(stack)
        line_before = line
        numbers.append(number)
    return np.array(numbers, np.int64)


def _last_before(events: I64, limits: I64) -> I64:
    """The last of some events before each limit, -1 for none."""
    at = np.searchsorted(events, limits, "left") - 1
    return np.where(at >= 0, events[np.maximum(at, 0)], -1) if len(events) else np.full(len(limits), -1)


def _passing(device: Device, chosen: Mask, start: I64, firsts: I64, leaves: I64) -> tuple[U32, I64]:
    """The rows that begin and end within a layer's run, and the layer's number."""
    rows = np.flatnonzero(chosen & (device.end != NEVER))
    layer = np.searchsorted(firsts, start[rows], "right") - 1
    inside = (layer >= 0) & (device.end[rows].astype(np.int64) - 1 <= leaves[layer])
    return rows[inside].astype(np.uint32), layer[inside]
