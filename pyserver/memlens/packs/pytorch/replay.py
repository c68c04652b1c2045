"""Replays of a device's trace: what its allocator would have done with other settings or fewer allocations.

The allocator itself is ``kernels/replay.pyx``. A replay is only trusted if one with the recorded settings reproduces
the trace (:meth:`Trace.calibrate`).
"""

from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from memlens.arrays import I32, I64, U32
from memlens.errors import BadRequestError
from memlens.model.timeline import ACTIONS
from memlens.packs.pytorch.kernels.replay import Replay
from memlens.packs.pytorch.ooms import device_free, driver_bytes
from memlens.packs.pytorch.recomputed import NONE, engine_stacks, layers_of
from memlens.packs.pytorch.replay_layout import layout
from memlens.packs.pytorch.replay_requests import ALLOC, Requests, changed_requests, recorded_requests
from memlens.packs.pytorch.replay_settings import (
    POWERS,
    Settings,
    parse,
    recorded_settings,
    unsaid_settings,
)
from memlens.store.snapshot import Key, Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.selection.changes import ChangedRows, halved
from memlens.views.trace.allocator.blocks import SMALL_MOST_BYTES, block_sizes, rounded_up
from memlens.views.trace.allocator.segments import reserved_at, reserved_steps, segments_of
from memlens.views.trace.what_if import LARGEST_BYTES, Again, Calibration, Failure, Outcome

OOM = ACTIONS.index("oom")
SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP = (
    ACTIONS.index(name) for name in ("segment_alloc", "segment_free", "segment_map", "segment_unmap")
)
_RETURNS = (SEGMENT_FREE, SEGMENT_UNMAP)
_RESERVES = (SEGMENT_ALLOC, SEGMENT_MAP)
_CANDIDATES = (
    "default",
    "expandable_segments:True",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "roundup_power2_divisions:8",
)
_COMBINATIONS = (
    "expandable_segments:True,roundup_power2_divisions:8",
    "max_split_size_mb:128,roundup_power2_divisions:8",
    "max_split_size_mb:512,roundup_power2_divisions:8",
)
_COLLECTING = "per_process_memory_fraction:0.99,garbage_collection_threshold:0.6"
"""Garbage is only collected if the program sets its fraction of the memory; since PyTorch 2.10, to less than 1."""
_NO_EVENTS = np.empty(0, np.intp)
_CLOSE = 0.01
"""The largest difference from the recorded peak, as a fraction of it, for a replay to be trusted."""


class Rounded(NamedTuple):
    """Sizes of blocks: of each row, and of each event with its arena."""

    of_rows: I64
    sizes: I64
    arenas: I32


def _rounded(requests: Requests, numbers: tuple[int, ...]) -> Rounded:
    rows = len(requests.row_sizes)
    divisions = np.zeros(POWERS, np.int64)
    divisions[: len(numbers)] = numbers
    of_rows = rounded_up(requests.row_sizes, divisions)
    is_request = (requests.actions == ALLOC) & (requests.rows < rows)
    sizes = requests.sizes.copy()
    sizes[is_request] = of_rows[requests.rows[is_request]]
    is_oom = requests.actions == OOM
    sizes[is_oom] = rounded_up(np.minimum(sizes[is_oom], LARGEST_BYTES), divisions)
    is_small = (is_request | is_oom) & (sizes <= SMALL_MOST_BYTES)
    return Rounded(of_rows, sizes, requests.arenas + is_small.astype(np.int32))


class Trace:
    """A device's trace, as :class:`memlens.views.trace.what_if.Replayed`."""

    def __init__(self, snapshot: Snapshot, device: Device) -> None:
        self.snapshot, self.device = snapshot, device.whole
        self.recorded = recorded_settings(snapshot, self.device)
        self.candidates, self.combinations = (
            [words for words in some if not self._is_recorded(parse(words))]
            for some in (_CANDIDATES, _COMBINATIONS)
        )
        number = self.device.info.device
        self.spans = segments_of(snapshot, number)
        reserved = reserved_steps(snapshot, number)[1]
        self.recorded_peak_bytes, self.reserved_before_bytes = int(reserved.max()), int(reserved[0])
        self._lock = Lock()
        self._rounded_of: Requests | None = None
        self._known_rounded: dict[tuple[int, ...], Rounded] = {}
        self.oom_events = np.flatnonzero(self.device.event_action == OOM)
        self.reason = self._impossible()
        if self.limit_bytes() is not None:
            self.combinations.append(_COLLECTING)
        self.requests = recorded_requests(snapshot, number) if self.reason is None else None

    def _impossible(self) -> Text | None:
        device = self.device
        if not device.info.events:
            return phrase("it has no events")
        if not len(self.spans):
            return phrase("it doesn't say which segments there were")
        sizes = device.size
        if bool((sizes < 0).any()) or int(sizes.max(initial=0)) > LARGEST_BYTES:
            return phrase("it has sizes that no device has")
        reserved = self.spans["size"]
        if int(reserved.max()) > LARGEST_BYTES or not 0 <= self.recorded_peak_bytes <= LARGEST_BYTES:
            return phrase("it has sizes that no device has")
        if bool((device.rounded % 512 != 0).any()):
            return phrase("it is of another allocator")
        return None

    # ---- runs ----------------------------------------------------------------------------------------------------

    def _is_recorded(self, settings: Settings) -> bool:
        return replace(settings, words=self.recorded.words) == self.recorded

    def check(self, settings: str) -> None:
        """Raises BadRequestError for settings that can't be replayed."""
        self._settings(settings)

    def _settings(self, words: str) -> Settings:
        return self.recorded if words == self.recorded.words else parse(words)

    def changed(self, changes: ChangedRows) -> tuple[Requests, Again | None]:
        """The trace with changes, and the recomputed layers, if requested. Raises BadRequestError."""
        requests = self.requests
        assert requests is not None  # noqa: S101 - only a trace that was calibrated is changed
        other = np.concatenate((changes.without, changes.free_at_once))
        chosen = np.setdiff1d(changes.recompute, other, assume_unique=True).astype(np.uint32)
        if not len(changes.recompute):
            return self._with_failures(changed_requests(requests, changes, NONE), changes), None
        if not engine_stacks(self.snapshot).any():
            raise BadRequestError(
                phrase(
                    "The trace doesn't show when the backward pass needs its memory: it has none of its C++ frames"
                ),
                advice=phrase(
                    "Record a step with its backward pass, and with C++ frames, as {call} does by default.",
                    call="torch.cuda.memory._record_memory_history()",
                ),
            )
        layers = layers_of(self.snapshot, self.device, chosen)
        if not len(layers.rows):
            raise BadRequestError(
                phrase("None of the allocations to compute again is held until the backward pass"),
                advice=phrase("Choose what a forward pass allocates and the backward pass frees."),
            )
        again = Again(
            allocations=len(layers.rows), of_allocations=len(changes.recompute), layers=_count(layers.of_rows)
        )  # fmt: skip
        return self._with_failures(changed_requests(requests, changes, layers), changes), again

    def _with_failures(self, requests: Requests, changes: ChangedRows) -> Requests:
        """Change the requests that failed as well, if all allocations with the stack of one are changed."""
        failed = np.flatnonzero(requests.actions == OOM)
        stacks = self.device.event_stack[requests.source[failed]]
        all_rows = np.bincount(self.device.stack)
        known = stacks < len(all_rows)
        failed, stacks = failed[known], stacks[known]

        def of_changed(rows: U32) -> I64:
            """The failed requests of stacks that are changed as a whole."""
            changed = np.bincount(self.device.stack[rows], minlength=len(all_rows))
            return failed[(changed == all_rows)[stacks] & (all_rows[stacks] > 0)]

        left_out, smaller = of_changed(changes.without), of_changed(changes.halve)
        if not len(left_out) and not len(smaller):
            return requests
        skipped, sizes = requests.skipped.copy(), requests.sizes.copy()
        skipped[left_out] = 1
        sizes[smaller] = halved(sizes[smaller])
        return requests._replace(skipped=skipped, sizes=sizes)

    def resized(self, sizes: I64) -> Requests:
        """The trace with other bytes for its rows."""
        requests = self.requests
        assert requests is not None  # noqa: S101 - as in changed()
        return requests._replace(row_sizes=sizes)

    def run(self, settings: str, limit_bytes: int | None, requests: Requests) -> Outcome | None:
        """Replay; None if the memory from before the first event can't be laid out."""
        done = self._run(self._settings(settings), requests, limit_bytes=limit_bytes or 0)
        if done is None:
            return None
        replay, events, reserved = done
        failure = None
        if replay.failed_event >= 0:
            # without an event served, what was live before the first one doesn't fit
            failure = Failure(
                event=int(requests.source[replay.failed_event]) if events else -1,
                asked_bytes=_asked(requests, replay.failed_event) if events else 0,
                missing_bytes=replay.missing_bytes,
            )
        return Outcome(events, replay.peak_reserved_bytes, reserved, failure)

    def _run(
        self,
        settings: Settings,
        requests: Requests,
        *,
        follows: bool = False,
        limit_bytes: int = 0,
        anew: bool = False,
    ) -> tuple[Replay, int, I64] | None:
        """Replay up to an event; what was reserved at each moment; None where what was there before contradicts itself.

        ``follows``: take the addresses of segments from the trace, and release the same ones, for comparison.
        """
        rows = len(requests.row_sizes)
        rounded = self._rounded(requests, settings.divisions)
        skipped = requests.skipped
        without = np.flatnonzero(requests.actions == OOM) if follows else self._retried(requests, limit_bytes)
        if len(without):
            skipped = skipped.copy()
            skipped[without] = 1
        replay = Replay(
            requests.kinds_of_arenas,
            rows,
            expandable=settings.expandable_segments,
            max_split=round(settings.max_split_size_mb * (1 << 20)),
            limit=limit_bytes,
            allowed=self._allowed_bytes(settings, limit_bytes),
            collects_from=settings.garbage_collection_threshold,
            large_segment=settings.large_segment_bytes,
            rounding=settings.rounding_bytes,
            follows=follows,
        )
        is_anew = anew or self._differs(settings, requests)
        if not self._begin(replay, requests, rounded.of_rows, is_anew=is_anew):
            return None
        replay.shrink()
        reserved = np.zeros(len(requests.actions) + 1, np.int64)
        reserved[0] = replay.reserved_bytes
        event = 0
        while not replay.is_out_of_memory and event < len(requests.actions):
            self.snapshot.go_on()
            event = replay.run(
                event, requests.actions, requests.rows, requests.addresses, rounded.sizes, rounded.arenas, skipped,
                requests.implicit_events, requests.implicit_rows, reserved[1:],
            )  # fmt: skip
        return replay, event, reserved

    def _rounded(self, requests: Requests, divisions: tuple[int, ...]) -> Rounded:
        """The sizes of blocks, which are the same for all settings that round alike."""
        with self._lock:
            if self._rounded_of is not requests:
                self._rounded_of = requests
                self._known_rounded.clear()
            found = self._known_rounded.get(divisions)
            if found is None:
                found = self._known_rounded[divisions] = _rounded(requests, divisions)
            return found

    @staticmethod
    def _allowed_bytes(settings: Settings, limit_bytes: int) -> int:
        """The limit that the program set on its reserved bytes, 0 for none. Raises BadRequestError."""
        if not settings.per_process_memory_fraction:
            return 0
        if not limit_bytes:
            raise BadRequestError(
                phrase("The file doesn't say how much memory there was, so a fraction of it means nothing"),
                advice=phrase("Say how much there is to reserve."),
            )
        return max(int(limit_bytes * settings.per_process_memory_fraction), 1)

    def _begin(self, replay: Replay, requests: Requests, sizes: I64, *, is_anew: bool) -> bool:
        """Reserve the memory from before the first event: as it was, or anew where the settings place it elsewhere."""
        before = requests.before
        if not is_anew:
            known = block_sizes(self.snapshot, self.device.info.device)[before]
            blocks = layout(self.device, self.spans, requests.arenas_of_spans, before, known)
            if blocks is None:
                return False
            replay.begin(*blocks)
            replay.drop(before[requests.gone[before]])
            return True
        for row in before[~requests.gone[before]].tolist():
            arena = int(requests.of_rows[row]) + (int(sizes[row]) <= SMALL_MOST_BYTES)
            if not replay.place_before(row, arena, int(sizes[row])):
                return False
        return True

    def _differs(self, settings: Settings, requests: Requests) -> bool:
        recorded = self.recorded
        return requests.is_halved_before or (settings.expandable_segments, settings.divisions) != (
            recorded.expandable_segments,
            recorded.divisions,
        )

    def is_laid_out_anew(self, settings: str, requests: Requests) -> bool:
        """Whether the memory from before the first event is laid out differently."""
        return bool(len(requests.before)) and self._differs(self._settings(settings), requests)

    def _retried(self, requests: Requests, limit_bytes: int) -> npt.NDArray[np.intp]:
        """Events that released segments because a request got no memory at first.

        The program itself releases others (``empty_cache``). A retry is followed by a request for more than there was.
        """
        actions = self.device.event_action
        found = np.zeros(len(actions), np.bool_)
        returns = np.flatnonzero(np.isin(actions, _RETURNS)) if limit_bytes else _NO_EVENTS
        if not len(returns):
            return _NO_EVENTS
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
        return np.flatnonzero(found[requests.source] & (requests.rows >= len(requests.row_sizes)))

    # ---- answers -------------------------------------------------------------------------------------------------

    def calibrate(self) -> Calibration:
        """Replay with the recorded settings, and compare."""
        found, self.recorded = self.snapshot.keep(
            Key("calibration", (self.device.info.device,)), self._calibrated
        )
        return found

    def anew_peak_reserved_bytes(self) -> int | None:
        """What the trace itself reserves if the memory from before the first event is laid out anew."""
        return self.snapshot.keep(Key("laid out anew", (self.device.info.device,)), self._anew_peak)

    def _anew_peak(self) -> int | None:
        done = None if self.requests is None else self._run(self.recorded, self.requests, anew=True)
        return None if done is None else done[0].peak_reserved_bytes

    def _calibrated(self) -> tuple[Calibration, Settings]:
        """The trace with the settings of the file, or with others that it doesn't say if these reproduce it."""
        found = self._calibration(self.recorded)
        if not found.exact and self.requests is not None:
            for words, settings in unsaid_settings(self.snapshot, self.spans, self.recorded):
                tried = self._calibration(settings)
                if tried.exact:
                    found, self.recorded = replace(tried, assumed=words), settings
                    break
        return found, self.recorded

    def _calibration(self, settings: Settings) -> Calibration:
        done = None if self.requests is None else self._run(settings, self.requests, follows=True)
        if done is None:
            reason = self.reason or phrase("what was there before its first event contradicts itself")
            return Calibration(
                exact=False, segments=0, segments_equal=0, addresses=0, addresses_equal=0,
                peak_reserved_bytes=0, recorded_peak_reserved_bytes=self.recorded_peak_bytes, reason=reason,
            )  # fmt: skip
        replay = done[0]
        difference = abs(replay.peak_reserved_bytes - self.recorded_peak_bytes)
        return Calibration(
            exact=not difference
            and bool(replay.addresses)
            and replay.segments == replay.segments_equal
            and replay.addresses == replay.addresses_equal,
            segments=replay.segments,
            segments_equal=replay.segments_equal,
            addresses=replay.addresses,
            addresses_equal=replay.addresses_equal,
            peak_reserved_bytes=replay.peak_reserved_bytes,
            recorded_peak_reserved_bytes=self.recorded_peak_bytes,
            reason=self._unproven(replay.addresses, replay.peak_reserved_bytes),
        )

    def _unproven(self, addresses: int, peak_bytes: int) -> Text | None:
        """Why a replay with the recorded settings doesn't show that others can be believed; None if it does."""
        if not addresses:
            return phrase("it has no allocations that would show how exact a replay is")
        if abs(peak_bytes - self.recorded_peak_bytes) > _CLOSE * self.recorded_peak_bytes:
            return phrase(
                "with its own settings the replay reserves {replayed} at the peak, and {recorded} were reserved",
                replayed=format_bytes(peak_bytes),
                recorded=format_bytes(self.recorded_peak_bytes),
            )
        return None

    def failure(self) -> Failure | None:
        """The first request that failed in the trace."""
        if not len(self.oom_events):
            return None
        found = self._failure(int(self.oom_events[0]))
        limit = self.limit_bytes()
        if limit is None or not self.recorded.expandable_segments or self.requests is None:
            return found
        # how many pages were missing depends on what was free before them
        done = self._run(self.recorded, self.requests, limit_bytes=limit)
        same = done is not None and done[0].failed_event == found.event
        return replace(found, missing_bytes=done[0].missing_bytes) if done is not None and same else found

    def limit_bytes(self) -> int | None:
        """The bytes that could be reserved, according to the first out-of-memory event; None if unknown."""
        for event in self.oom_events.tolist():
            failure = self._failure(event)
            if failure.missing_bytes is not None:
                reserved = reserved_at(self.snapshot, self.device.info.device, event)
                return reserved + self._driver_bytes(failure.asked_bytes) - failure.missing_bytes
        return None

    def _driver_bytes(self, size: int) -> int:
        return driver_bytes(
            size,
            expandable=self.recorded.expandable_segments,
            large_segment=self.recorded.large_segment_bytes,
        )

    def _failure(self, event: int) -> Failure:
        """A recorded out-of-memory event."""
        size = max(int(self.device.event_size[event]), 0)
        free, missing = device_free(self.device, event), None
        if free is not None and size:
            # it failed, so less was free for PyTorch than requested, whatever the device had
            missing = max(self._driver_bytes(size) - min(free, LARGEST_BYTES), 1)
        return Failure(event=event, asked_bytes=size, missing_bytes=missing)


def _asked(requests: Requests, event: int) -> int:
    """The bytes that a failed event asks for, by the trace."""
    row = int(requests.rows[event])
    is_request = requests.actions[event] == ALLOC and row < len(requests.row_sizes)
    return int(requests.row_sizes[row] if is_request else requests.sizes[event])


def _count(ascending: I64) -> int:
    """How many different numbers there are."""
    return int(np.count_nonzero(np.diff(ascending))) + bool(len(ascending))
