"""The requests of a trace, as the replay kernel takes them: as recorded, or with changes.

Changes are those of :class:`memlens.views.selection.changes.ChangedRows`; ``recomputed.py`` decides which are
allocations to compute again, and when.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I32, I64, U8, U32, U64, Mask
from memlens.kernels.trace.timeline import BEFORE_TRACE, live_over_time
from memlens.model.timeline import ACTIONS
from memlens.packs.pytorch.ooms import shared_pools
from memlens.packs.pytorch.recomputed import Layers
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.selection.changes import ChangedRows, halved
from memlens.views.selection.columns import NEVER
from memlens.views.trace.allocator.segments import segments_of, span_of_allocations

ALLOC, FREE_REQUESTED, FREE_COMPLETED = (
    ACTIONS.index(name) for name in ("alloc", "free_requested", "free_completed")
)


class Requests(NamedTuple):
    """A device's trace, changed or not. Its rows are the device's, followed by those of recomputed allocations."""

    actions: U8
    """One item per event, as for all fields up to ``source``."""
    rows: U32
    addresses: U64
    sizes: I64
    """The event's bytes; the requested sizes of allocations are in ``row_sizes``."""
    arenas: I32
    """For a large request; small ones have the next number."""
    skipped: U8
    source: I64
    """The event of the trace; for an inserted one, the event that follows."""
    row_sizes: I64
    """The requested bytes, one item per row, as for all fields up to ``gone``."""
    of_rows: I32
    """Its arena."""
    origins: U32
    """The device's row."""
    starts: U32
    """Its first moment and the one after its last, as in a device's columns."""
    ends: U32
    gone: Mask
    """Whether it is left out."""
    implicit_events: U32
    """Rows that end without an event of their own, by the event before which they end."""
    implicit_rows: U32
    before: U32
    """Rows from before the first event, by address."""
    kinds_of_arenas: U8
    arenas_of_spans: I32
    is_halved_before: bool
    """Whether memory from before the first event has changed sizes."""

    @property
    def live(self) -> I64:
        """The live bytes at each moment."""
        live, count = np.empty(len(self.actions) + 1, np.int64), np.empty(len(self.actions) + 1, np.uint32)
        live_over_time(np.where(self.gone, 0, self.row_sizes), self.starts, self.ends, live, count)
        return live

    def live_at(self, moment: int) -> tuple[U32, I64]:
        """The device's rows that are live at a moment, and their bytes."""
        rows = np.flatnonzero((self.starts <= moment) & (moment < self.ends) & ~self.gone)
        return self.origins[rows], self.row_sizes[rows]


@kept
def recorded_requests(snapshot: Snapshot, number: int) -> Requests:
    """The trace of a whole device."""
    device = snapshot.device(number)
    spans = segments_of(snapshot, number)
    span = span_of_allocations(snapshot, number)
    pools = spans["pool"]
    pool = np.where(span != NEVER, pools[np.minimum(span, len(pools) - 1)], 0).astype(np.int64)
    owner = device.event_owner
    rows = len(device.size)
    # of a request: that of a known segment, else of the event
    known = owner < rows
    event_pool = device.event_pool.astype(np.int64)
    event_pool[known] = np.where(pool[owner[known]] != 0, pool[owner[known]], event_pool[known])
    started = device.event_action == ALLOC
    pool[owner[started & known]] = event_pool[started & known]
    shared = shared_pools(snapshot)
    event_pool[np.isin(event_pool, shared)] = 0
    pool[np.isin(pool, shared)] = 0
    events = event_pool << 16 | device.event_stream
    of_rows = pool << 16 | device.stream
    span_pools = pools.astype(np.int64)
    span_pools[np.isin(span_pools, shared)] = 0
    of_spans = span_pools << 16 | spans["stream"]
    keys, places = np.unique(np.concatenate((events, of_rows, of_spans)), return_inverse=True)
    kinds = np.zeros((2 * len(keys), 2), np.uint8)
    kinds[1::2, 0] = 1
    kinds[:, 1] = np.repeat(keys >> 16 == 0, 2)
    large = (places * 2).astype(np.int32)
    ends = device.end
    ended = np.flatnonzero(ends != NEVER)
    by_event = ends[ended].astype(np.int64) - 1
    inside = (by_event >= 0) & (by_event < len(owner))
    ended, by_event = ended[inside], by_event[inside]
    by_itself = (device.event_action[by_event] == FREE_COMPLETED) & (owner[by_event] == ended)
    # a free that was requested and never completed still waits at the end
    by_itself |= (device.event_action[by_event] == FREE_REQUESTED) & (owner[by_event] == ended)
    implicit = ended[~by_itself]
    order = np.argsort(by_event[~by_itself], kind="stable")
    before = np.flatnonzero((device.flags & BEFORE_TRACE != 0) | (device.start == 0))
    return Requests(
        actions=np.ascontiguousarray(device.event_action),
        rows=np.ascontiguousarray(owner),
        addresses=np.ascontiguousarray(device.event_address),
        sizes=np.maximum(device.event_size, 0),
        arenas=large[: len(events)],
        skipped=np.zeros(len(events), np.uint8),
        source=np.arange(len(events)),
        row_sizes=np.ascontiguousarray(device.size),
        of_rows=large[len(events) : len(events) + len(of_rows)],
        origins=np.arange(rows, dtype=np.uint32),
        starts=np.ascontiguousarray(device.start),
        ends=np.ascontiguousarray(ends),
        gone=np.zeros(rows, np.bool_),
        implicit_events=by_event[~by_itself][order].astype(np.uint32),
        implicit_rows=implicit[order].astype(np.uint32),
        before=before[np.argsort(device.address[before], kind="stable")].astype(np.uint32),
        kinds_of_arenas=np.ascontiguousarray(kinds),
        arenas_of_spans=large[len(events) + len(of_rows) :],
        is_halved_before=False,
    )


def changed_requests(recorded: Requests, changes: ChangedRows, layers: Layers) -> Requests:
    """The trace with changes. Allocations left out aren't changed otherwise; those freed at once aren't recomputed."""
    rows = len(recorded.row_sizes)
    sizes = recorded.row_sizes.copy()
    sizes[changes.halve] = halved(sizes[changes.halve])
    is_before = _mask(recorded.before, rows)
    at_once = _mask(changes.free_at_once, rows)
    # memory from before the first event is freed before it
    gone = _mask(changes.without, rows) | at_once & is_before
    at_once &= ~gone
    owner = np.minimum(recorded.rows, rows)
    is_free = (recorded.actions == FREE_REQUESTED) | (recorded.actions == FREE_COMPLETED)
    skipped = np.append(gone, False)[owner] | np.append(at_once, False)[owner] & is_free
    ends = recorded.ends.copy()
    ends[at_once] = recorded.starts[at_once] + 1
    kept = ~(gone | at_once)[recorded.implicit_rows]
    implicit_events = [recorded.implicit_events[kept], recorded.starts[at_once]]
    implicit_rows = [recorded.implicit_rows[kept], np.flatnonzero(at_once).astype(np.uint32)]
    changed = recorded._replace(
        skipped=skipped.astype(np.uint8), row_sizes=sizes, ends=ends, gone=gone,
        is_halved_before=bool(is_before[changes.halve].any()),
        implicit_events=np.concatenate(implicit_events), implicit_rows=np.concatenate(implicit_rows),
    )  # fmt: skip
    if len(layers.rows):
        changed = _again(changed, layers, at_once)
    order = np.argsort(changed.implicit_events, kind="stable")
    return changed._replace(
        implicit_events=changed.implicit_events[order], implicit_rows=changed.implicit_rows[order]
    )


def _mask(chosen: U32, rows: int) -> Mask:
    found = np.zeros(rows, np.bool_)
    found[chosen] = True
    return found


def _again(changed: Requests, layers: Layers, at_once: Mask) -> Requests:
    """The trace in which layers free what they hold after they ran, and run again before their backward pass."""
    count = len(changed.row_sizes)
    runs_again = layers.begins != NEVER
    repeated = runs_again[layers.of_rows]
    held, held_layer = layers.rows[repeated], layers.of_rows[repeated]
    passing, passing_layer = layers.passing, layers.of_passing
    repeated_passing = runs_again[passing_layer]
    passing, passing_layer = passing[repeated_passing], passing_layer[repeated_passing]
    copied = np.concatenate((held, passing))
    copy_of = np.full(count + 1, NEVER, np.uint32)
    copy_of[held] = count + np.arange(len(held))
    own_copies = (count + np.arange(len(copied))).astype(np.uint32)
    starts_at = changed.starts[copied].astype(np.int64) - 1
    stops_at = changed.ends[passing].astype(np.int64) - 1
    # the events of the second run, by layer in the order of the first
    of_copy = np.concatenate((held_layer, passing_layer))
    layer = np.concatenate((of_copy, passing_layer))
    at = layers.begins[layer]
    order = np.lexsort((np.concatenate((starts_at, stops_at)), layer, at))
    at = at[order]
    actions = np.concatenate((np.full(len(copied), ALLOC), np.full(len(passing), FREE_COMPLETED)))[order]
    rows = np.concatenate((own_copies, own_copies[len(held) :]))[order]
    places = np.empty(len(order), np.int64)
    places[order] = at + np.arange(len(order))

    before = np.append(0, np.cumsum(np.bincount(at, minlength=len(changed.actions))))

    def moved(events: I64) -> I64:
        """The new positions of the first run's events."""
        found: I64 = events + before[events + 1]
        return found

    def moment(moments: U32) -> U32:
        inner = (moments > 0) & (moments != NEVER)
        found = moments.copy()
        found[inner] = moved(moments[inner].astype(np.int64) - 1) + 1
        return found

    is_free = (changed.actions == FREE_REQUESTED) | (changed.actions == FREE_COMPLETED)
    copies = copy_of[np.minimum(changed.rows, count)]
    owner = np.where(is_free & (copies != NEVER), copies, changed.rows).astype(np.uint32)
    # rows that end before an event end before the events inserted there
    leaves = moved(layers.leaves[layers.of_rows]) + 1
    starts, ends = moment(changed.starts), moment(changed.ends)
    ends[at_once] = starts[at_once] + 1
    ends[layers.rows] = leaves + 1
    copied_ends = np.concatenate((changed.ends[held], np.zeros(len(passing), np.uint32)))
    copied_ends = moment(copied_ends)
    copied_ends[len(held) :] = places[len(copied) :] + 1
    implicit_copies = copy_of[changed.implicit_rows]
    return changed._replace(
        actions=np.insert(changed.actions, at, actions).astype(np.uint8),
        rows=np.insert(owner, at, rows),
        addresses=np.insert(changed.addresses, at, 0),
        sizes=np.insert(changed.sizes, at, 0),
        arenas=np.insert(changed.arenas, at, changed.of_rows[np.concatenate((copied, passing))[order]]),
        skipped=np.insert(changed.skipped, at, 0),
        source=np.insert(changed.source, at, at),
        row_sizes=np.append(changed.row_sizes, changed.row_sizes[copied]),
        of_rows=np.append(changed.of_rows, changed.of_rows[copied]),
        origins=np.append(changed.origins, changed.origins[copied]),
        starts=np.append(starts, places[: len(copied)] + 1).astype(np.uint32),
        ends=np.append(ends, copied_ends).astype(np.uint32),
        gone=np.append(changed.gone, changed.gone[copied]),
        implicit_events=np.append(moved(changed.implicit_events.astype(np.int64) - 1) + 1, leaves).astype(
            np.uint32
        ),
        implicit_rows=np.concatenate(
            (np.where(implicit_copies != NEVER, implicit_copies, changed.implicit_rows), layers.rows)
        ).astype(np.uint32),
    )
