"""What if some allocations were left out, smaller, freed earlier or computed again: a trace's lives with changes."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from memlens.arrays import I64, U32
from memlens.errors import BadRequestError
from memlens.kernels.trace.timeline import BEFORE_TRACE
from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device, Lives
from memlens.texts import phrase
from memlens.views.selection.terms import Term

Filters = Annotated[tuple[str, ...], Meta(max_length=64)]


class Changes(Struct, frozen=True, kw_only=True):
    """Filters, by what is changed of the allocations that any of them matches."""

    without: Filters = ()
    """They aren't asked for."""
    halve: Filters = ()
    """They have half as many bytes."""
    free_at_once: Filters = ()
    """They are freed before the next event."""
    recompute: Filters = ()
    """They are freed when their layer has run, and asked for again when its backward pass begins."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of changes that have a filter."""
        return [name for name in self.__struct_fields__ if getattr(self, name)]


class ChangedRows(NamedTuple):
    """The rows of a whole device by what is changed, ascending; as :class:`Changes`."""

    without: U32
    halve: U32
    free_at_once: U32
    recompute: U32


TERMS = {name.replace("_", "-"): name for name in Changes.__struct_fields__}
"""The changes that terms of a filter make, by their fields."""


def changes_of(terms: Sequence[Term]) -> Changes:
    """The changes that the terms of a filter make."""
    return Changes(
        **{
            name: tuple(value for term in terms if term.field == field for value in term.values)
            for field, name in TERMS.items()
        }
    )


def changed_rows(device: Device, changes: Changes, narrowed: Callable[[str], Device]) -> ChangedRows:
    """The rows that are changed; ``narrowed`` applies a filter. Raises :class:`BadRequestError`."""
    return ChangedRows(*(_rows(device, getattr(changes, name), narrowed) for name in ChangedRows._fields))


def _rows(device: Device, filters: Sequence[str], narrowed: Callable[[str], Device]) -> U32:
    """The rows that any of some filters matches."""

    def each() -> Iterator[U32]:
        for text in filters:
            rows = narrowed(text).rows
            if rows is None:
                raise BadRequestError(phrase("{filter} matches all allocations", filter=text))
            if not len(rows):
                raise BadRequestError(
                    phrase(
                        "{filter} matches no allocation of device {device}",
                        filter=text,
                        device=device.info.device,
                    )
                )
            yield rows

    found = list(each())
    if len(found) == 1:
        return found[0]
    return distinct(np.concatenate(found)) if found else np.empty(0, np.uint32)


def lives_with(snapshot: Snapshot, device: Device, changes: ChangedRows) -> Lives:
    """The allocations of a whole device with changes. Raises :class:`BadRequestError`.

    They are those that the replay of the trace would ask for. What is asked for again between two events is there from
    the second one on, if it is there when most is live between them.
    """
    if len(changes.recompute):
        return _recomputed(snapshot, device, changes)
    count = len(device.size)
    gone = np.zeros(count, np.bool_)
    gone[changes.without] = True
    sizes, ends = device.size, device.end
    if len(changes.halve):
        sizes = sizes.copy()
        sizes[changes.halve] = halved(sizes[changes.halve])
    if len(changes.free_at_once):
        ends = ends.copy()
        ends[changes.free_at_once] = device.start[changes.free_at_once] + np.uint32(1)
        is_early = (device.flags & BEFORE_TRACE != 0) | (device.start == 0)
        gone[changes.free_at_once] |= is_early[changes.free_at_once]
    lives = Lives(np.arange(count, dtype=np.uint32), sizes, device.start, ends)
    return lives.where(~gone) if gone.any() else lives


def halved(sizes: I64) -> I64:
    """Half as many bytes, rounded up."""
    found: I64 = (sizes + 1) // 2
    return found


def _recomputed(snapshot: Snapshot, device: Device, changes: ChangedRows) -> Lives:
    part = registry.replay_of(snapshot.info.kind)
    if part is None:
        raise BadRequestError(phrase("Files of this kind don't say what was requested from their allocator"))
    trace = part(snapshot, device)
    if trace.reason is not None:
        raise BadRequestError(phrase("This trace can't be replayed: {reason}", reason=trace.reason))
    requested, _ = trace.changed(changes)
    shown = _shown(requested.source, requested.live)
    # the first of the device's moments that shows each of the changed trace's or a later one
    following = np.cumsum(np.bincount(shown + 1, minlength=len(requested.source) + 2))
    starts = following[requested.starts].astype(np.uint32)
    is_freed = requested.ends != NEVER
    ends = np.where(is_freed, following[np.where(is_freed, requested.ends, 0)], NEVER).astype(np.uint32)
    is_shown = ~requested.gone & (starts < ends) & (starts < len(shown))
    lives = Lives(requested.origins, requested.row_sizes, starts, ends).where(is_shown)
    return lives.where(np.argsort(lives.starts, kind="stable"))


def _shown(source: I64, live: I64) -> I64:
    """The moment of a changed trace that each of the device's moments shows: of several the first with the most."""
    firsts = np.append(0, np.flatnonzero(np.diff(source, prepend=-1)) + 1)
    counts = np.diff(firsts, append=len(live))
    several = np.flatnonzero(counts > 1)
    if len(several):
        lengths = counts[several]
        begins = np.cumsum(lengths) - lengths
        moments = np.repeat(firsts[several] - begins, lengths) + np.arange(int(lengths.sum()))
        amounts = live[moments]
        with_most = np.flatnonzero(amounts == np.repeat(np.maximum.reduceat(amounts, begins), lengths))
        firsts[several] = moments[with_most[np.searchsorted(with_most, begins)]]
    return firsts
