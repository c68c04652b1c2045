"""What a device's allocator would have done: its trace served again, by other settings or without some allocations.

The allocator itself is ``kernels/replay.pyx``. A replay is only believed where one with the recorded settings
reproduces the trace (:meth:`Trace.calibrate`).
"""

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from memlens.arrays import I32, I64, U8, U32, U64, Mask
from memlens.kernels.trace.timeline import BEFORE_TRACE
from memlens.model.timeline import ACTIONS
from memlens.packs.pytorch.kernels.replay import Replay
from memlens.packs.pytorch.ooms import device_free, driver_bytes, shared_pools
from memlens.packs.pytorch.replay_layout import layout
from memlens.packs.pytorch.replay_settings import POWERS, Settings, parse, recorded_settings
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.selection.columns import NEVER
from memlens.views.trace.allocator.blocks import (
    SMALL_MOST_BYTES,
    block_sizes,
    rounded_up,
)
from memlens.views.trace.allocator.segments import (
    reserved_at,
    reserved_steps,
    segments_of,
    span_of_allocations,
)
from memlens.views.trace.what_if import Calibration, Failure

ALLOC, FREE_REQUESTED, FREE_COMPLETED, OOM = (
    ACTIONS.index(name) for name in ("alloc", "free_requested", "free_completed", "oom")
)
SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP = (
    ACTIONS.index(name) for name in ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
)
_RETURNS = (SEGMENT_FREE, SEGMENT_UNMAP)
_RESERVES = (SEGMENT_ALLOC, SEGMENT_MAP)
_LARGEST_BYTES = 1 << 50
"""More than any device has."""
_CANDIDATES = (
    "default",
    "expandable_segments:True",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "roundup_power2_divisions:8",
)
"""Without ``garbage_collection_threshold``, which does nothing unless a program sets its fraction of the memory."""
_CLOSE = 0.01
"""The share of the recorded peak that a replay may differ by and still be believed."""


class _Requests(NamedTuple):
    """A device's trace as the kernel takes it, with an item for each event."""

    actions: U8
    rows: U32
    addresses: U64
    sizes: I64
    arenas: I32
    implicit_events: U32
    implicit_rows: U32
    kinds_of_arenas: U8
    before: U32
    """Rows from before the first event, by address."""
    of_rows: I32
    """The arena of each allocation."""


class Trace:
    """A device's trace, as :class:`memlens.views.trace.what_if.Replayed`."""

    def __init__(self, snapshot: Snapshot, device: Device) -> None:
        self.snapshot, self.device = snapshot, device.whole
        self.recorded = recorded_settings(snapshot, self.device)
        self.candidates = [words for words in _CANDIDATES if not self._is_recorded(parse(words))]
        number = self.device.info.device
        self.spans = segments_of(snapshot, number)
        self.recorded_peak_bytes = int(reserved_steps(snapshot, number)[1].max())
        self.oom_events = np.flatnonzero(self.device.event_action == OOM)
        self.reason = self._impossible()
        self.requests = self._requests() if self.reason is None else None

    def _impossible(self) -> Text | None:
        device = self.device
        if not device.info.events:
            return phrase("it has no events")
        if not len(self.spans):
            return phrase("it doesn't say which segments there were")
        sizes = device.size
        if bool((sizes < 0).any()) or int(sizes.max(initial=0)) > _LARGEST_BYTES:
            return phrase("it has sizes that no device has")
        reserved = self.spans["size"]
        if int(reserved.max()) > _LARGEST_BYTES or not 0 <= self.recorded_peak_bytes <= _LARGEST_BYTES:
            return phrase("it has sizes that no device has")
        if bool((device.rounded % 512 != 0).any()):
            return phrase("it is of another allocator")
        return None

    def _requests(self) -> _Requests:
        device = self.device
        span = span_of_allocations(self.snapshot, device.info.device)
        pools = self.spans["pool"]
        pool = np.where(span != NEVER, pools[np.minimum(span, len(pools) - 1)], 0).astype(np.int64)
        owner = device.event_owner
        rows = len(device.size)
        # of a request: of a segment that is known, else of the event
        known = owner < rows
        event_pool = device.event_pool.astype(np.int64)
        event_pool[known] = np.where(pool[owner[known]] != 0, pool[owner[known]], event_pool[known])
        started = device.event_action == ALLOC
        pool[owner[started & known]] = event_pool[started & known]
        shared = shared_pools(self.snapshot)
        event_pool[np.isin(event_pool, shared)] = 0
        pool[np.isin(pool, shared)] = 0
        events = event_pool << 16 | device.event_stream
        of_rows = pool << 16 | device.stream
        span_pools = pools.astype(np.int64)
        span_pools[np.isin(span_pools, shared)] = 0
        of_spans = span_pools << 16 | self.spans["stream"]
        keys, places = np.unique(np.concatenate((events, of_rows, of_spans)), return_inverse=True)
        kinds = np.zeros((2 * len(keys), 2), np.uint8)
        kinds[1::2, 0] = 1
        kinds[:, 1] = np.repeat(keys >> 16 == 0, 2)
        large = (places * 2).astype(np.int32)
        self._arenas_of_spans = large[len(events) + len(of_rows) :]
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
        return _Requests(
            actions=np.ascontiguousarray(device.event_action),
            rows=np.ascontiguousarray(owner),
            addresses=np.ascontiguousarray(device.event_address),
            sizes=np.zeros(0, np.int64),
            arenas=large[: len(events)],
            implicit_events=by_event[~by_itself][order].astype(np.uint32),
            implicit_rows=implicit[order].astype(np.uint32),
            kinds_of_arenas=np.ascontiguousarray(kinds),
            before=before[np.argsort(device.address[before], kind="stable")].astype(np.uint32),
            of_rows=large[len(events) : len(events) + len(of_rows)],
        )

    # ---- runs ----------------------------------------------------------------------------------------------------

    def _is_recorded(self, settings: Settings) -> bool:
        return replace(settings, words=self.recorded.words) == self.recorded

    def check(self, settings: str) -> None:
        """Raises BadRequestError for settings that can't be replayed."""
        self._settings(settings)

    def _settings(self, words: str) -> Settings:
        return self.recorded if words == self.recorded.words else parse(words)

    def run(
        self, settings: str, limit_bytes: int | None, without: U32
    ) -> tuple[int, int, Failure | None] | None:
        """Replay: the events that were served, the most bytes that were reserved, and the first failure."""
        done = self._run(self._settings(settings), limit_bytes=limit_bytes or 0, without=without)
        if done is None:
            return None
        replay, events = done
        failure = Failure(
            event=replay.failed_event, asked_bytes=replay.failed_bytes, missing_bytes=replay.missing_bytes
        )
        return events, replay.peak_reserved_bytes, failure if replay.failed_event >= 0 else None

    def _run(
        self,
        settings: Settings,
        *,
        follows: bool = False,
        limit_bytes: int = 0,
        without: U32 | None = None,
    ) -> tuple[Replay, int] | None:
        """Replay; None where what was there before the first event contradicts itself.

        ``follows``: take the addresses of segments from the trace, and return those that it returned, to compare.
        """
        requests = self.requests
        if requests is None:
            return None
        device = self.device
        rows = len(device.size)
        divisions = np.zeros(POWERS, np.int64)
        divisions[: len(settings.divisions)] = settings.divisions
        sizes_of_rows = rounded_up(device.size, divisions)
        is_request = (requests.actions == ALLOC) & (requests.rows < rows)
        sizes = np.maximum(device.event_size, 0)
        sizes[is_request] = sizes_of_rows[requests.rows[is_request]]
        is_oom = requests.actions == OOM
        sizes[is_oom] = rounded_up(np.minimum(sizes[is_oom], _LARGEST_BYTES), divisions)
        arenas = requests.arenas + np.where((is_request | is_oom) & (sizes <= SMALL_MOST_BYTES), 1, 0).astype(
            np.int32
        )
        skipped = np.zeros(len(requests.actions), np.uint8)
        left_out = np.zeros(rows + 1, np.bool_)
        if without is not None:
            left_out[without] = True
            skipped[left_out[np.minimum(requests.rows, rows)]] = 1
        if follows:
            skipped[is_oom] = 1
        else:
            skipped[self._retries(limit_bytes)] = 1
        replay = Replay(
            requests.kinds_of_arenas,
            rows,
            expandable=settings.expandable_segments,
            max_split=round(settings.max_split_size_mb * (1 << 20)),
            limit=limit_bytes,
            collects_from=settings.garbage_collection_threshold,
            follows=follows,
        )
        if not self._begin(replay, requests, settings, sizes_of_rows, left_out):
            return None
        replay.shrink()
        event = 0
        while not replay.is_out_of_memory and event < len(requests.actions):
            self.snapshot.go_on()
            event = replay.run(
                event, requests.actions, requests.rows, requests.addresses, sizes, arenas, skipped,
                requests.implicit_events, requests.implicit_rows,
            )  # fmt: skip
        return replay, event

    def _begin(
        self,
        replay: Replay,
        requests: _Requests,
        settings: Settings,
        sizes: I64,
        left_out: Mask,
    ) -> bool:
        """Reserve what was there before the first event: as it was, or anew for settings that place it elsewhere."""
        before = requests.before
        if not self._differs(settings):
            known = block_sizes(self.snapshot, self.device.info.device)[before]
            blocks = layout(self.device, self.spans, self._arenas_of_spans, before, known)
            if blocks is None:
                return False
            replay.begin(*blocks)
            replay.drop(before[left_out[before]])
            return True
        for row in before[~left_out[before]].tolist():
            arena = int(requests.of_rows[row]) + (int(sizes[row]) <= SMALL_MOST_BYTES)
            if not replay.place_before(row, arena, int(sizes[row])):
                return False
        return True

    def _differs(self, settings: Settings) -> bool:
        recorded = self.recorded
        return (settings.expandable_segments, settings.divisions) != (
            recorded.expandable_segments,
            recorded.divisions,
        )

    def is_laid_out_anew(self, settings: str) -> bool:
        """Whether settings change how what was live before the first event is laid out."""
        return (
            self.requests is not None
            and bool(len(self.requests.before))
            and self._differs(self._settings(settings))
        )

    def _retries(self, limit_bytes: int) -> Mask:
        """The events by which segments were returned because a request got no memory at first.

        The program itself returns others (``empty_cache``). A retry is followed by a request for more than there was.
        """
        actions = self.device.event_action
        found = np.zeros(len(actions), np.bool_)
        returns = np.flatnonzero(np.isin(actions, _RETURNS))
        if not limit_bytes or not len(returns):
            return found
        breaks = np.flatnonzero(np.diff(returns) > 1) + 1
        number = self.device.info.device
        for series in np.split(returns, breaks):
            following = int(series[-1]) + 1
            if following >= len(actions):
                continue
            if actions[following] == OOM or (
                actions[following] in _RESERVES
                and reserved_at(self.snapshot, number, int(series[0]))
                + int(self.device.event_size[following])
                > limit_bytes
            ):
                found[series] = True
        return found

    # ---- answers -------------------------------------------------------------------------------------------------

    def calibrate(self) -> Calibration:
        """Replay with the recorded settings, and compare."""
        done = self._run(self.recorded, follows=True)
        if done is None:
            reason = self.reason or phrase("what was there before its first event contradicts itself")
            return Calibration(
                exact=False, segments=0, segments_equal=0, addresses=0, addresses_equal=0,
                peak_reserved_bytes=0, recorded_peak_reserved_bytes=self.recorded_peak_bytes, reason=reason,
            )  # fmt: skip
        replay = done[0]
        difference = abs(replay.peak_reserved_bytes - self.recorded_peak_bytes)
        is_close = difference <= _CLOSE * self.recorded_peak_bytes
        return Calibration(
            exact=not difference
            and replay.segments == replay.segments_equal
            and replay.addresses == replay.addresses_equal,
            segments=replay.segments,
            segments_equal=replay.segments_equal,
            addresses=replay.addresses,
            addresses_equal=replay.addresses_equal,
            peak_reserved_bytes=replay.peak_reserved_bytes,
            recorded_peak_reserved_bytes=self.recorded_peak_bytes,
            reason=None
            if is_close
            else phrase(
                "with its own settings the replay reserves {replayed} at the peak, and {recorded} were reserved",
                replayed=format_bytes(replay.peak_reserved_bytes),
                recorded=format_bytes(self.recorded_peak_bytes),
            ),
        )

    def failure(self) -> Failure | None:
        """The first request that failed in the trace."""
        if not len(self.oom_events):
            return None
        found = self._failure(int(self.oom_events[0]))
        limit = self.limit_bytes()
        if limit is None or not self.recorded.expandable_segments:
            return found
        # how many pages were missing depends on what was free before them
        done = self._run(self.recorded, limit_bytes=limit)
        same = done is not None and done[0].failed_event == found.event
        return replace(found, missing_bytes=done[0].missing_bytes) if done is not None and same else found

    def limit_bytes(self) -> int | None:
        """What could be reserved, by the first out-of-memory event; None if that isn't known."""
        for event in self.oom_events.tolist():
            failure = self._failure(event)
            if failure.missing_bytes is not None:
                reserved = reserved_at(self.snapshot, self.device.info.device, event)
                return reserved + self._driver_bytes(failure.asked_bytes) - failure.missing_bytes
        return None

    def _driver_bytes(self, size: int) -> int:
        return driver_bytes(size, expandable=self.recorded.expandable_segments)

    def _failure(self, event: int) -> Failure:
        """A recorded out-of-memory event."""
        size = max(int(self.device.event_size[event]), 0)
        free, missing = device_free(self.device, event), None
        if free is not None and size:
            # it failed, so less was free for PyTorch than it asked for, whatever the device had
            missing = max(self._driver_bytes(size) - min(free, _LARGEST_BYTES), 1)
        return Failure(event=event, asked_bytes=size, missing_bytes=missing)
