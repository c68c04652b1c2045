"""PyTorch CUDA memory snapshots: pickle, zip file of ``torch.save``, JSON, or HTML of ``torch.cuda._memory_viz``.

A file may have several, such as one for each rank in a dict or a list.

Sources of the format: ``torch/cuda/memory.py`` (``_snapshot``, ``_dump_snapshot``),
``torch/csrc/cuda/memory_snapshot.cpp``, and for ``category`` and frames inside names
``torch/cuda/_memory_viz.py`` (``_profile_to_snapshot``).
"""

import binascii
import itertools
import json
import mmap
import pickle
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memlens.arrays import U8, U32, Mask, rows_of
from memlens.background import Background
from memlens.formats import several
from memlens.formats.containers import Source, plain_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.json_faults import invalid
from memlens.formats.packing import MOST_EXPANSION, MOST_UNPACKED_BYTES
from memlens.formats.pickles import UnsafePickleError, is_pickle, scan
from memlens.formats.zip_files import MAGIC, entries_named, first_name, opened, unpacked
from memlens.kernels.readers import pickle_machine as machine
from memlens.model.distinct import distinct
from memlens.model.frames import NATIVE, Frames, lacks_its_line
from memlens.model.info import HOST_DEVICE, FileWarning, device_name, device_phrase
from memlens.model.timeline import (
    ACTIONS,
    NEVER,
    NO_CATEGORY,
    NOTE_DTYPE,
    NOTE_KINDS,
    Blocks,
    Column,
    DeviceTimeline,
    Events,
    Timeline,
    build_device,
    drop_stacks_of_frees,
)
from memlens.packs.api import JsonFormat
from memlens.packs.pytorch.frames import frames_of
from memlens.packs.pytorch.kernels import torch_pickle as kernel
from memlens.packs.pytorch.kernels.torch_tables import FIELD_NAMES
from memlens.packs.pytorch.unknown import (
    MOST_BYTES,
    complete_segments,
    odd_top_level,
    odd_warnings,
    overlap_warnings,
    scanned,
    segments_once,
    usable_events,
)
from memlens.progress import Report
from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes

KIND = "pytorch-snapshot"

_SAVED = "data.pkl"
"""The entry of ``torch.save`` that has the saved object, in a folder named after the file.

Source: ``torch/serialization.py`` (``_save``), which writes it first.
"""
_MOST_DEVICES = 256
_MOST_LISTS = 4_096
"""The most traces, most of which may be empty."""
_MOST_ACTIONS = 255
_MOST_JSON_BYTES = 1 << 29
_LEAST_ZIPPED = 4096
_OLD_SAVE = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""The beginning of files that ``torch.save`` wrote before zip files: a pickle of its magic number."""
_ROWS_AT_ONCE = 1 << 18
_PENDING_STATES = ("active_pending_free", "active_awaiting_free")
EMPTY = phrase(
    "The snapshot is empty: nothing was allocated while it was recorded. To see memory, call "
    "torch.cuda.memory._record_memory_history() before the program allocates, and "
    "torch.cuda.memory._dump_snapshot(path) while it still holds the memory, in the same process."
)
_HTML_PICKLE = re.compile(rb'"base64"\s*:\s*"([A-Za-z0-9+/=\s]*)"')


_PAGE = re.compile(rb"<(?:!|\?xml|(?:html|head|body|script|meta|title|div)\b)", re.IGNORECASE)
"""The beginning of pages; a profile in text may begin with <module>."""


def sniff(head: bytes) -> bool:
    """Whether the first bytes may be a snapshot.

    That is a pickle of protocol 2 to 5, also in a zip file by ``torch.save``, JSON, or HTML that may embed one.
    """
    text = head.lstrip()
    return (
        is_pickle(head)
        or text[:1] in (b"{", b"[")
        or first_name(head).endswith(f"/{_SAVED}")
        or _PAGE.match(text) is not None
    )


_KEYS = (b'"segments"', b'"device_traces"')
_SEGMENT = (b'"blocks"', b'"total_size"', b'"segment_type"')
_EMPTY_LIST = re.compile(rb"\[[\s\[\],]*\]?\s*")
JSON = JsonFormat(
    is_object=lambda has: has("segments", b"") or has("device_traces", b""),
    is_list=lambda head: _EMPTY_LIST.fullmatch(head) is not None or any(key in head for key in _SEGMENT),
    explains=lambda head: any(key in head for key in _KEYS),
)
_BEGINNING_OF_JSON = re.compile(rb'"(segments|device_traces|allocator_settings)"\s*:')
_BEGINNING_OF_PAGE = re.compile(rb'"base64"\s*:')


def looks_like(head: bytes) -> bool:
    """Whether the first bytes are a pickle's, or those of JSON or a page with a snapshot's keys."""
    return (
        is_pickle(head)
        or _BEGINNING_OF_JSON.search(head) is not None
        or _BEGINNING_OF_PAGE.search(head) is not None
    )


def read(source: Source, scratch: Path, report: Report) -> Timeline:
    """Read a snapshot into a Timeline: see :class:`memlens.formats.Reader`."""
    with _pickle_of(source, scratch) as plain:
        try:
            scanner = scan(kernel.Scanner(plain.data), plain, FIELD_NAMES, report)
        except UnsafePickleError as error:
            if source.head().startswith(MAGIC):
                raise _saved_objects() from error
            raise
        roots = scanner.roots()
        if not roots:
            raise _no_snapshot(plain.head())
        number = several.chosen(source.dump, len(roots), default=0)
        timeline = _Tables(scanner, roots[number]).timeline(report)
    if len(roots) > 1:
        timeline.settings |= {"dump": number + 1, "dumps": len(roots)}
        said = phrase(
            "The file has {n} snapshots, such as one per rank; this is number {number}. To read another: memlens "
            "ingest FILE --dump NUMBER",
            n=len(roots),
            number=number + 1,
        )
        timeline.warnings.append(FileWarning("several-dumps", said))
    return timeline


def _no_snapshot(head: bytes) -> NotASnapshotError:
    """The error for a pickle of plain data that has no snapshot in it."""
    if head.startswith(_OLD_SAVE):
        return _saved_objects()
    return NotASnapshotError(
        phrase("The file contains no memory snapshot: it has neither 'segments' nor 'device_traces'"),
        advice=phrase(
            "Make one with torch.cuda.memory._dump_snapshot(), or with tracemalloc's Snapshot.dump()."
        ),
    )


def _saved_objects() -> NotASnapshotError:
    return NotASnapshotError(
        phrase(
            "The file was written by torch.save and contains more than plain data, such as the weights of a model"
        ),
        advice=phrase(
            "Nothing in it was run. Write a memory snapshot to a file of its own: "
            "torch.cuda.memory._dump_snapshot(path)"
        ),
    )


def _pickle_of(source: Source, scratch: Path) -> AbstractContextManager[Source]:
    head = source.head()
    if head[0] == 0x80:
        return nullcontext(source)
    if head.startswith(MAGIC):
        return plain_source(source.path, _pickle_of_zip(source), scratch)
    first = head.lstrip()[:1]
    if first in (b"{", b"["):
        return plain_source(source.path, [_pickle_of_json(source)], scratch)
    if first == b"<":
        return plain_source(source.path, [_pickle_of_html(source)], scratch)
    raise NotASnapshotError(
        phrase("The file is neither a pickle of protocol 2 to 5, nor JSON, nor a page that _memory_viz wrote")
    )


def _pickle_of_zip(source: Source) -> Iterator[bytes]:
    with opened(source.data) as archive:
        entry = entries_named(archive, _SAVED)[_SAVED]
        most = max(entry.compress_size, _LEAST_ZIPPED) * MOST_EXPANSION
        yield from unpacked(archive, entry, min(most, MOST_UNPACKED_BYTES))


def _pickle_of_json(source: Source) -> bytes:
    """Convert the data to a pickle, so that only one reader needs to know the format."""
    if source.length > _MOST_JSON_BYTES:
        raise NotASnapshotError(
            phrase("The JSON is larger than {most} bytes", most=_MOST_JSON_BYTES),
            advice=phrase("Write the snapshot as a pickle instead."),
        )
    try:
        data = _json_of(source.data)
    except RecursionError as error:
        raise NotASnapshotError(phrase("The JSON is nested too deeply for a snapshot")) from error
    except ValueError as error:
        reason = str(error)
        raise NotASnapshotError(
            phrase("The JSON has a value that no snapshot has: {reason}", reason=reason)
            if invalid(source.data) is None
            else phrase("The file is not valid JSON: {reason}", reason=reason)
        ) from error
    try:
        return pickle.dumps(data, protocol=4)
    except RecursionError as error:
        raise NotASnapshotError(phrase("The JSON is nested too deeply for a snapshot")) from error


def _json_of(text: mmap.mmap | bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        # Python also reads and writes NaN, Infinity and unpaired surrogates
        try:
            return json.loads(bytes(text))
        except ValueError:
            raise error from None


def _pickle_of_html(source: Source) -> bytes:
    found = _HTML_PICKLE.search(source.data)
    if found is None:
        raise NotASnapshotError(
            phrase("The file is a web page that contains no snapshot"),
            advice=phrase(
                "If it was downloaded, look at it in a browser: it may be a server's error, or ask to log in. Pages "
                "that contain one are made by python -m torch.cuda._memory_viz trace_plot SNAPSHOT."
            ),
        )
    try:
        return binascii.a2b_base64(found[1])
    except binascii.Error as error:
        raise DamagedSnapshotError(
            phrase("The snapshot in the page is damaged: {reason}", reason=str(error)), offset=found.start(1)
        ) from error


def _too_many_devices(count: int) -> DamagedSnapshotError:
    return DamagedSnapshotError(phrase("The file has {count} devices; no machine has so many", count=count))


class _Tables:
    """Converts the scanner's tables to the model."""

    def __init__(self, scanner: kernel.Scanner, root: Mapping[str, tuple[str, int]]) -> None:
        self.scanner = scanner
        self.root = root
        self.odd = scanned(scanner.odd_counts())
        self.traces = self._traces()
        self.host_trace = self._host_trace()
        self.settings = self._settings()
        annotations = self._rows("external_annotations", "annotations")
        segments = self._rows("segments", "segments")
        host_segments = self._rows("host_segments", "segments")
        lists = scanner.block_lists()
        if lists is None:
            raise DamagedSnapshotError(phrase("Several segments list the same blocks"))
        scanner.drop_scratch()
        self.actions = self._names("actions")
        self.categories = self._names("categories")
        self.streams = np.asarray(scanner.take("streams"))
        self.pools = [(int(first), int(second)) for first, second in rows_of(scanner.take("pools")).tolist()]
        self.annotations = self._usable_annotations(rows_of(scanner.take("annotations"))[annotations])
        self.segments = rows_of(scanner.take("segments"))
        self.segments["device"][host_segments] = HOST_DEVICE
        self.blocks = rows_of(scanner.take("blocks"))
        known = segments_once(np.concatenate((segments, host_segments)), self.odd)
        known = known[self.segments["device"][known] != kernel.UNKNOWN_DEVICE]
        self.segment_rows, self.block_starts, self.block_rows = complete_segments(
            self.segments, self.blocks, known, np.asarray(lists[0]), np.asarray(lists[1]), self.odd
        )
        self.profiled = self._of_a_profiler()
        self.odd_events, self.event_bytes = scanner.event_sums(MOST_BYTES)
        self.events = rows_of(scanner.take("events"))
        # two devices of an odd file may hold the same events
        self.traces_share = _overlap([*self.traces, self.host_trace])
        self.extras = rows_of(scanner.take("extras"))

    def _list(self, key: str) -> int | None:
        """The row of a list at the top level; None if there is none."""
        if key not in self.root:
            return None
        kind, row = self.root[key]
        if kind != "list":
            odd_top_level(self.odd, key)
            return None
        return row

    def _settings(self) -> dict[str, Any]:
        if "allocator_settings" not in self.root:
            return {}
        kind, row = self.root["allocator_settings"]
        if kind != "dict":
            odd_top_level(self.odd, "allocator_settings")
            return {}
        return self.scanner.settings(row)

    def _traces(self) -> list[U32]:
        """The event rows of each device."""
        row = self._list("device_traces")
        if row is None:
            return []
        lists = self.scanner.list_of_lists(row)
        if lists is None:
            # if it doesn't contain a list per device, it is the list of a single one
            lists = [row]
        if len(set(lists)) > _MOST_LISTS:
            raise _too_many_devices(len(lists))
        # a list's rows can be taken only once, and two devices may share a list
        taken: dict[int, U32] = {}
        for trace in lists:
            if trace not in taken:
                taken[trace] = self._taken(trace, "device_traces", "events")
        return [taken[trace] for trace in lists]

    def _host_trace(self) -> U32:
        """The event rows of pinned host memory: a list of events, or a list for each of the process's allocators."""
        row = self._list("host_traces")
        if row is None:
            return np.empty(0, np.uint32)
        lists = self.scanner.list_of_lists(row)
        traces = [row] if lists is None else list(dict.fromkeys(lists))
        if len(traces) > _MOST_LISTS:
            raise _too_many_devices(len(traces))
        return np.concatenate(
            [np.empty(0, np.uint32), *(self._taken(trace, "host_traces", "events") for trace in traces)]
        )

    def _rows(self, key: str, table: str) -> U32:
        row = self._list(key)
        return np.empty(0, np.uint32) if row is None else self._taken(row, key, table)

    def _taken(self, row: int, key: str, table: str) -> U32:
        """A list's rows of a table; none if it contains anything else."""
        rows = self.scanner.rows(row, table)
        if rows is None:
            odd_top_level(self.odd, key)
            return np.empty(0, np.uint32)
        return np.asarray(rows)

    def _usable_annotations(self, rows: Column) -> Column:
        for field in ("name", "stage"):
            self.odd["annotation", field] = int(np.count_nonzero(rows[field] == 0))
        lost = rows["time_us"] == kernel.UNKNOWN_TIME
        self.odd["annotation", "time_us"] = int(np.count_nonzero(lost))
        usable: Column = rows[~lost & (rows["name"] != 0) & (rows["stage"] != 0)]
        return usable

    def _of_a_profiler(self) -> bool:
        """Whether ``_profile_to_snapshot`` made the file from a profiler's record, which has no data of the allocator.

        Then its only segment of each device is the range of all addresses ever used, whose size is meaningless.
        """
        segments = self.segments[self.segment_rows]
        ranges = (segments["type"] == 0) & (segments["allocated"] < 0) & (segments["active"] < 0)
        self.segments["total"][self.segment_rows[ranges]] = kernel.UNKNOWN_SIZE
        return bool(ranges.any()) or len(self.categories) > 1

    def _names(self, table: str) -> list[str]:
        return [self.scanner.string_at(int(row)) for row in np.asarray(self.scanner.take(table))]

    def timeline(self, report: Report) -> Timeline:
        """The model. Raises :class:`DamagedSnapshotError`."""
        # Python makes the frames while kernels match the events
        with Background(self._frames) as frames:
            return self._with_frames(frames, report)

    def _with_frames(self, making: Background[Frames], report: Report) -> Timeline:
        action_numbers, action_names = self._action_numbers()
        category_numbers, category_names = self._category_numbers()
        warnings: list[FileWarning] = []
        segments = self.segments[self.segment_rows]
        traced = {device for device, rows in enumerate(self.traces) if len(rows)}
        if len(self.host_trace):
            traced.add(HOST_DEVICE)
        # a device without allocations is kept as well
        shown = sorted(traced | set(segments["device"].tolist())) or [0]
        self._check_amounts(shown)
        devices = []
        for number, device in enumerate(shown):
            report("matching", number / len(shown))
            mine = self.segment_rows[segments["device"] == device]
            warnings += self._overlaps(device, mine)
            blocks = self._live_blocks(mine)
            rows = self._trace_of(device)
            if self.odd_events:
                rows = usable_events(self.events, rows, self.actions, blocks, self.odd)
            notes = self._notes(rows)
            events = self._events(rows, action_numbers, category_numbers)
            # the events are in order now, so their rows are no longer needed
            del rows
            self._forget_trace_of(device)
            devices.append(build_device(device, events, blocks, self._reserved(mine)))
            devices[-1].notes = notes
            self.odd["event", "time_us"] += devices[-1].far_times
        frees_repeat, of_frees = drop_stacks_of_frees(devices)
        for built in devices:
            warnings += self._device_warnings(built)
        if of_frees:
            said = phrase(
                plural(
                    of_frees,
                    "{n} allocation from before the recording has the stack of the free (inferred): {why}",
                    "{n} allocations from before the recording have the stack of the free (inferred): {why}",
                ),
                n=of_frees,
                why=phrase(
                    "PyTorch repeats an allocation's stack with its free where it records no stacks of frees, and all "
                    "other frees of this file do repeat it."
                ),
            )
            warnings.append(FileWarning("stacks-of-frees", said))
        frames = making.result()
        warnings += odd_warnings(self.odd) + _file_warnings(frames, devices)
        tables = {
            "segments": self.segments[self.segment_rows],
            "blocks": self.blocks[self.block_rows],
            "annotations": self.annotations,
        }
        return Timeline(
            KIND, frames, devices, action_names, category_names, self.streams.tolist(), self.pools, self.settings,
            warnings, frees_repeat, tables, self._strings(tables, devices),
        )  # fmt: skip

    def _reserved(self, segments: U32) -> int | None:
        """The sum of a device's segments; None if the file doesn't say."""
        if self.profiled and not len(segments):
            return None
        totals = self.segments["total"][segments]
        return None if bool((totals < 0).any()) else int(totals.sum())

    def _trace_of(self, device: int) -> U32:
        if device == HOST_DEVICE:
            return self.host_trace
        return self.traces[device] if device < len(self.traces) else np.empty(0, np.uint32)

    def _forget_trace_of(self, device: int) -> None:
        none = np.empty(0, np.uint32)
        if device == HOST_DEVICE:
            self.host_trace = none
        elif device < len(self.traces):
            self.traces[device] = none

    def _check_amounts(self, devices: list[int]) -> None:
        """Reject what would let a small file fill memory or disk, or overflow 64 bits."""
        if len(devices) > _MOST_DEVICES:
            raise _too_many_devices(len(devices))
        if sum(map(len, self.traces)) + len(self.host_trace) > 2 * len(self.events):
            if any(len(distinct(trace)) < len(trace) for trace in (*self.traces, self.host_trace)):
                raise DamagedSnapshotError(phrase("A device's trace lists an event more than once"))
            raise DamagedSnapshotError(phrase("Several devices list the same trace"))
        sizes = (self.blocks["size"], self.blocks["requested"])
        total = self.event_bytes
        total += sum(float(column[column <= MOST_BYTES].sum(dtype=np.float64)) for column in sizes)
        if total > 2**62:
            raise DamagedSnapshotError(phrase("The sizes add up to more bytes than can be counted"))

    def _frames(self) -> Frames:
        rows = rows_of(self.scanner.take("frames"))
        starts = np.asarray(self.scanner.take("stack_starts"))
        sequence = np.asarray(self.scanner.take("stack_frames"))
        modules = (
            np.asarray(self.scanner.take("module_starts")),
            np.asarray(self.scanner.take("module_names")),
        )
        return frames_of(rows, _Texts(self.scanner), starts, sequence, modules)

    def _action_numbers(self) -> tuple[U8, list[str]]:
        """The model's numbers for the scanner's actions; the file's own actions follow the known ones."""
        names = list(ACTIONS)
        numbers = np.zeros(256, np.uint8)
        for row, action in enumerate(self.actions):
            known = "free_completed" if action == "free" else action or "unknown"
            if known not in names:
                # the last number is for all that don't fit
                known = known if len(names) < _MOST_ACTIONS else "other"
                if known not in names:
                    names.append(known)
            numbers[row] = names.index(known)
        return numbers, names

    def _category_numbers(self) -> tuple[U8, list[str]]:
        names: list[str] = []
        numbers = np.full(256, NO_CATEGORY, np.uint8)
        for row, category in enumerate(self.categories[1:], 1):
            # the last number is for all that don't fit
            known = category or "other"
            if known not in names:
                names.append(known)
            numbers[row] = names.index(known)
        return numbers, names

    def _events(self, rows: U32, actions: U8, categories: U8) -> Events:
        count = len(rows)
        if count and int(rows[-1]) - int(rows[0]) == count - 1 and bool(np.all(rows[1:] > rows[:-1])):
            table = self.events[int(rows[0]) : int(rows[0]) + count]
        else:
            table = self.events[rows]
        times = table["time_us"]
        if self.traces_share:
            times = times.copy()
        return Events(
            _replaced(table["action"], actions), table["addr"], table["size"], table["stack"], table["stream"],
            table["pool"], _replaced(table["category"], categories), times if count and bool(times.any()) else None,
        )  # fmt: skip

    def _live_blocks(self, segments: U32) -> Blocks:
        """The active blocks of some segments."""
        rows, owners = [], []
        for segment in segments.tolist():
            found = self.block_rows[int(self.block_starts[segment]) : int(self.block_starts[segment + 1])]
            rows.append(found)
            owners.append(np.full(len(found), segment, np.uint32))
        row = np.concatenate(rows) if rows else np.empty(0, np.uint32)
        owner = np.concatenate(owners) if owners else np.empty(0, np.uint32)
        blocks = self.blocks[row]
        active = self._says(blocks["state"], ("active_allocated",))
        pending = self._says(blocks["state"], _PENDING_STATES)
        keep = active | pending
        blocks = blocks[keep]
        return Blocks(
            blocks["address"], blocks["size"], blocks["requested"], blocks["stack"],
            self.segments["stream"][owner[keep]], pending[keep].astype(np.uint8),
        )  # fmt: skip

    def _overlaps(self, device: int, segments: U32) -> list[FileWarning]:
        """Warnings about memory that several segments or blocks of a device claim."""
        rows = [
            self.block_rows[int(self.block_starts[segment]) : int(self.block_starts[segment + 1])]
            for segment in segments.tolist()
        ]
        blocks = self.blocks[np.concatenate(rows)] if rows else self.blocks[:0]
        mine = self.segments[segments]
        mine = mine[mine["total"] >= 0]
        owner = np.repeat(segments, [len(each) for each in rows])
        return overlap_warnings(
            device, mine["address"], mine["total"], blocks["address"], blocks["size"], self.segments[owner]
        )

    def _says(self, ids: Column, names: tuple[str, ...]) -> Mask:
        """Mask of the ids in a column whose strings are among ``names``."""
        found = np.zeros(len(ids), bool)
        for string in _distinct(ids):
            if self.scanner.string_at(string) in names:
                found |= ids == string
        return found

    def _notes(self, rows: U32) -> Column:
        """The rare facts of one device's events, in their order."""
        extras = self.extras
        if not len(rows) or not len(extras):
            return np.empty(0, NOTE_DTYPE)
        order = np.argsort(rows, kind="stable")
        places = np.searchsorted(rows, extras["event"], sorter=order)
        events = order[np.minimum(places, len(rows) - 1)]
        kinds = np.full(256, len(NOTE_KINDS), np.uint32)
        kinds[[FIELD_NAMES.index(name) for name in NOTE_KINDS]] = range(len(NOTE_KINDS))
        notes = np.empty(len(extras), NOTE_DTYPE)
        notes["event"], notes["kind"], notes["value"] = events, kinds[extras["field"]], extras["payload"]
        # ignore a number in place of a text, and the reverse
        number = (extras["kind"] == machine.INTEGER_KIND) & (extras["payload"] < 2**62)
        text = extras["kind"] == machine.STRING_KIND
        whole = np.where(notes["kind"] == NOTE_KINDS.index("device_free"), number, text)
        notes = notes[whole & (rows[events] == extras["event"])]
        return np.sort(notes, order="event", kind="stable")

    def _device_warnings(self, built: DeviceTimeline) -> list[FileWarning]:
        """Warnings about what the file lacks for one device."""
        device, name = built.device, device_phrase(built.device)
        if len(built.events.action) == 0 and len(built.allocations) == 0:
            return [FileWarning("empty", EMPTY, device)]
        if len(built.events.action) == 0:
            said = phrase(
                "{device} has no trace: only what was live when the snapshot was taken is shown.",
                device=device_name(device),
            )
            return [FileWarning("no-trace", said, device)]
        found = []
        early = built.allocations["start"] == 0
        size = format_bytes(int(built.allocations["size"][early].sum()))
        count = int(np.count_nonzero(early))
        before = phrase(
            plural(count, "{n} allocation ({size})", "{n} allocations ({size})"), n=count, size=size
        )
        if bool(np.any(early & (built.allocations["end"] != NEVER))):
            said = phrase(
                "The trace of {device} begins in the middle. Allocated before recording: {before}; when is not in the "
                "file.",
                device=name,
                before=before,
            )
            found.append(FileWarning("start-lost", said, device))
        elif bool(early.any()):
            said = phrase("Allocated before recording, on {device}: {before}.", device=name, before=before)
            found.append(FileWarning("live-before", said, device))
        if built.implicit_frees:
            said = phrase(
                plural(
                    built.implicit_frees,
                    "The trace of {device} lacks {n} free: such an allocation is shown to end when its address is used "
                    "again.",
                    "The trace of {device} lacks {n} frees: such an allocation is shown to end when its address is "
                    "used again.",
                ),
                device=name,
                n=built.implicit_frees,
            )
            found.append(FileWarning("frees-missing", said, device))
        if built.events.time_us is None:
            said = phrase(
                "The trace of {device} has no times{why}: the axis counts events.",
                device=name,
                why=self._why_no_times(),
            )
            found.append(FileWarning("no-times", said, device))
        if built.reserved_at_end is None and self.profiled:
            said = phrase(
                "What {device} had reserved is not in the file: it was made from a profiler's record, which has no "
                "segments.",
                device=name,
            )
            found.append(FileWarning("no-reserved", said, device))
        return found

    def _why_no_times(self) -> Text | str:
        if self.profiled:
            return phrase(
                ", because torch.cuda._memory_viz writes none when it makes a snapshot from a profiler's record"
            )
        if self.odd["event", "time_us"]:
            return phrase(", because those in the file are impossible")
        # snapshots have had times for longer than either of these
        if "allocator_settings" in self.root or "external_annotations" in self.root:
            return ""
        return phrase(", because PyTorch before 2.2 writes none")

    def _strings(self, tables: dict[str, Column], devices: list[DeviceTimeline]) -> dict[int, str]:
        """The strings that rows of the tables and the devices' notes refer to."""
        ids = [
            tables["segments"]["type"],
            tables["blocks"]["state"],
            self.annotations["name"],
            self.annotations["stage"],
        ]
        number = NOTE_KINDS.index("device_free")
        ids += [built.notes["value"][built.notes["kind"] != number].astype(np.uint32) for built in devices]
        return {row: self.scanner.string_at(row) for row in _distinct(np.concatenate(ids))}


def _replaced(column: Column, numbers: U8) -> U8:
    """Map each byte of a column by the 256 ``numbers``; NumPy would first convert the column to 64-bit indices."""
    return np.frombuffer(column.tobytes().translate(numbers.tobytes()), np.uint8)


def _overlap(traces: list[U32]) -> bool:
    """Whether the row ranges of traces overlap, so that two of them may share an event."""
    ranges = sorted((int(rows.min()), int(rows.max())) for rows in traces if len(rows))
    return any(last >= first for (_, last), (first, _) in itertools.pairwise(ranges))


def _distinct(ids: Column) -> list[int]:
    # with counts, because without them NumPy imports masked arrays, which takes as long as reading a small file
    distinct: list[int] = np.unique(ids, return_counts=True)[0].tolist()
    return distinct


class _Texts:
    """The scanner's strings by id, each decoded once."""

    def __init__(self, scanner: kernel.Scanner) -> None:
        self.scanner = scanner
        self.known: dict[int, str] = {}

    def __getitem__(self, row: int) -> str:
        found = self.known.get(row)
        if found is None:
            found = self.known[row] = self.scanner.string_at(row)
        return found


def _of_these(bare: int, before: int) -> Text | str:
    """A clause that says how many of the allocations without a stack were allocated before recording."""
    if not before:
        return ""
    if before < bare:
        return phrase(", {n} of them allocated before recording (the file has at most their frees)", n=before)
    if bare > 1:
        return phrase(", all of them allocated before recording (the file has at most their frees)")
    return phrase(", allocated before recording (the file has at most their frees)")


def _file_warnings(frames: Frames, devices: list[DeviceTimeline]) -> list[FileWarning]:
    """Warnings about what the file as a whole lacks."""
    found = []
    depths = np.diff(frames.starts).astype(np.int64)
    total = sum(len(device.allocations) for device in devices)
    uses = np.zeros(len(depths), np.int64)
    bare_before = 0
    for device in devices:
        stacks = device.allocations["stack"]
        for start in range(0, len(stacks), _ROWS_AT_ONCE):
            uses += np.bincount(stacks[start : start + _ROWS_AT_ONCE], minlength=len(uses))
        if len(device.events.action):
            before = stacks[device.allocations["start"] == 0]
            bare_before += int(np.count_nonzero(depths[before] == 0))
    bare = int(uses[depths == 0].sum())
    without_python = (depths != 0) & ~frames.stacks_with(frames.kinds != NATIVE)
    without_line = without_python & frames.stacks_with(
        np.array([lacks_its_line(frame.file, frame.line) for frame in frames.frames], np.bool_)
    )
    lineless, native = int(uses[without_line].sum()), int(uses[without_python & ~without_line].sum())
    all_of_them = phrase(plural(total, "{n} allocation", "{n} allocations"), n=total)
    if bare:
        of_these = _of_these(bare, bare_before)
        found.append(FileWarning("no-stacks", phrase(
            plural(
                bare,
                "{n} of {all} has no stack in the file{of_these}.", "{n} of {all} have no stack in the file{of_these}.",
            ),
            n=bare, all=all_of_them, of_these=of_these,
        )))  # fmt: skip
    if native:
        found.append(FileWarning("native-only", phrase(
            plural(
                native,
                "{n} of {all} has only C++ frames: the operator is named, but no line of Python is known.",
                "{n} of {all} have only C++ frames: the operator is named, but no line of Python is known.",
            ),
            n=native, all=all_of_them,
        )))  # fmt: skip
    if lineless:
        found.append(FileWarning("no-lines", phrase(
            plural(
                lineless,
                "{n} of {all} has Python frames, but none with a known line.",
                "{n} of {all} have Python frames, but none with a known line.",
            ),
            n=lineless, all=all_of_them,
        )))  # fmt: skip
    if any(device.device == HOST_DEVICE for device in devices):
        said = phrase(
            "The file also holds pinned host memory, shown as a device of its own: Pinned host memory."
        )
        found.append(FileWarning("host-memory", said, HOST_DEVICE))
    return found
