"""Joins what a trace says of native memory in many packets: ids of stacks, frames, mappings and texts are those of a
sequence of packets until that forgets them, or of one profile alone.

Source: ``profile_packet.proto`` and ``trace_packet.proto`` of Perfetto.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask, rows_of
from memlens.model.frames import MOST_NAME, MOST_PATH
from memlens.packs.android.kernels import perfetto
from memlens.packs.android.native_heap.kernels import samples as kernel
from memlens.packs.android.packets import Buffer, Message
from memlens.units import shortened

Rows = npt.NDArray[Any]

NOWHERE = -1
"""In place of a row's number: none."""

_KINDS = 5
"""Kinds of texts."""


class Mapped(NamedTuple):
    """A binary where it was mapped."""

    path: str
    build_id: str
    """In hexadecimal digits."""
    start: int
    end: int
    offset: int
    """Of what is mapped at ``start``, in the binary."""
    load_bias: int
    """As the recorder had it: places in the file are addresses as linked less that."""


class FrameKey(NamedTuple):
    """What distinguishes a frame."""

    function: str
    mapped: Mapped
    rel_pc: int
    """An address as linked."""
    source: str
    line: int
    is_known: bool = True

    @property
    def path(self) -> str:
        """The path of its binary; empty if unknown."""
        return self.mapped.path


class Joined(NamedTuple):
    """Samples, and the tables that they refer to."""

    samples: Rows
    heaps: Rows
    sequences: I64
    """The sequence of each heap."""
    names: list[str]
    """The name of each heap."""
    stacks: I64
    """The stack of each sample, 0 for none."""
    frames: list[FrameKey]
    stack_starts: I64
    stack_frames: U32
    """The frames of the stacks, innermost first; stack 0 has none."""
    unknown_stacks: int
    """Samples whose stack the trace doesn't have."""
    unknown_frames: int


class Trace:
    """Collects the messages of a trace in their order."""

    def __init__(self) -> None:
        self._tables = kernel.Tables()
        self._buffers: list[Buffer] = []
        self._numbers: dict[int, int] = {}
        self._scopes = 0
        self._interned: dict[int, int] = {}
        self._open: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._interned_of: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self.damaged = 0
        """Messages that can't be read to their end."""
        self.missing = 0
        """Where packets are missing, by their numbers."""

    def add_all(self, messages: Iterable[Message]) -> None:
        """Take all messages of a trace. Raises MemoryError."""
        messages = list(messages)
        wanted = {each.sequence for each in messages if each.has == perfetto.PROFILE}
        for each in messages:
            if each.sequence not in wanted:
                continue
            if each.has == perfetto.FORGOTTEN:
                self._interned.pop(each.sequence, None)
            elif each.has == perfetto.INTERNED:
                self._take(each, self._tables.add_interned, self._scope(self._interned, each.sequence))
            elif each.has == perfetto.PROFILE:
                self._profile(each)
        for sequence, scope in self._open.items():
            self._interned_of[scope] = self._scope(self._interned, sequence)

    @property
    def unfinished(self) -> int:
        """Profiles whose last packet isn't there."""
        return len(self._open)

    def _scope(self, scopes: dict[int, int], sequence: int) -> int:
        if sequence not in scopes:
            scopes[sequence] = self._scopes
            self._sequences[self._scopes] = sequence
            self._scopes += 1
        return scopes[sequence]

    def _profile(self, message: Message) -> None:
        sequence = message.sequence
        scope = self._scope(self._open, sequence)
        self._take(message, self._tables.add_profile, scope)
        index, last = self._tables.index, self._last.get(sequence, -1)
        # old recorders don't number them
        self.missing += index not in (0, last + 1)
        self._last[sequence] = index
        if not self._tables.is_continued:
            # what its last packets interned is there by now
            self._interned_of[self._open.pop(sequence)] = self._scope(self._interned, sequence)

    def _take(self, message: Message, add: Any, scope: int) -> None:
        data = message.data
        number = self._numbers.setdefault(id(data), len(self._buffers))
        if number == len(self._buffers):
            self._buffers.append(data)
        status = add(data, number, message.start, message.end, scope)
        if status == kernel.NO_MEMORY:
            raise MemoryError
        self.damaged += status != kernel.OK

    @property
    def empty_samples(self) -> int:
        """How many samples say nothing, and are left out."""
        return self._tables.empty_samples

    def joined(self) -> Joined:
        """Return the joined tables of all messages."""
        take = self._tables.take
        heaps, samples = rows_of(take("heaps")), rows_of(take("samples"))
        texts = _Texts(rows_of(take("texts")), self._buffers)
        stacks, of_stacks = rows_of(take("stacks")), np.asarray(take("stack_frames"))
        frames, mappings = rows_of(take("frames")), rows_of(take("mappings"))
        paths = np.asarray(take("paths"))
        interned = np.full(self._scopes + 1, self._scopes, np.int64)
        for local, scope in self._interned_of.items():
            interned[local] = scope
        is_local = np.zeros(self._scopes + 1, np.bool_)
        is_local[list(self._interned_of)] = True
        local = heaps["scope"][samples["heap"]].astype(np.int64)
        rows = _found(stacks, local, samples["stack"])
        elsewhere = np.flatnonzero(rows == NOWHERE)
        rows[elsewhere] = _found(stacks, interned[local[elsewhere]], samples["stack"][elsewhere])
        used, of_samples = np.unique(rows, return_inverse=True)
        used = used[used != NOWHERE]
        counts = stacks["count"][used].astype(np.int64)
        places = _ranges(stacks["first"][used].astype(np.int64), counts)
        of_frames = _found(
            frames, np.repeat(stacks["scope"][used].astype(np.int64), counts), of_stacks[places]
        )
        distinct, numbers = np.unique(of_frames, return_inverse=True)
        keys: dict[FrameKey, int] = {}
        frame_of = np.array(
            [
                keys.setdefault(each, len(keys))
                for each in _keys(distinct, frames, mappings, paths, texts, is_local)
            ],
            np.int64,
        )
        # frames come the outermost first
        starts = np.concatenate(([0], np.cumsum(counts)))
        numbers = (frame_of[numbers] if len(numbers) else numbers).astype(np.uint32)
        known: dict[bytes, int] = {b"": 0}
        stack_of = np.zeros(len(used) + 1, np.int64)
        for number, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            stack_of[number + 1] = known.setdefault(numbers[start:end][::-1].tobytes(), len(known))
        all_frames = [np.frombuffer(each, np.uint32) for each in known]
        none = int((rows == NOWHERE).any())
        return Joined(
            samples, heaps, np.array([self._sequences[each] for each in heaps["scope"].tolist()], np.int64),
            [
                # most name none
                texts.at(buffer, start, end) if start < end else ""
                for buffer, start, end in zip(
                    *(heaps[name].tolist() for name in ("buffer", "start", "end")), strict=True
                )
            ],
            stack_of[of_samples + (1 - none)], list(keys),
            np.concatenate(([0], np.cumsum([len(each) for each in all_frames]))), np.concatenate(all_frames),
            int((rows == NOWHERE).sum()), int((of_frames == NOWHERE).sum()),
        )  # fmt: skip


class _Texts:
    """Texts by their scope, kind and id."""

    def __init__(self, rows: Rows, buffers: list[Buffer]) -> None:
        self._buffers = buffers
        self._rows = rows
        self._raw: dict[int, bytes] = {}

    def rows(self, scopes: I64, kinds: I64 | int, iids: Rows) -> I64:
        """The rows of texts, NOWHERE for those that aren't there."""
        of_rows = self._rows["scope"].astype(np.int64) * _KINDS + self._rows["kind"].astype(np.int64)
        return _find(of_rows, self._rows["iid"], scopes * _KINDS + kinds, iids)

    def raw(self, row: int) -> bytes:
        """The bytes of a text."""
        if row == NOWHERE:
            return b""
        if row not in self._raw:
            self._raw[row] = self._at(*(int(self._rows[name][row]) for name in ("buffer", "start", "end")))
        return self._raw[row]

    def at(self, buffer: int, start: int, end: int) -> str:
        """A text at its place."""
        return self._at(buffer, start, end).decode("utf-8", "replace")

    def _at(self, buffer: int, start: int, end: int) -> bytes:
        return bytes(self._buffers[buffer][start : min(end, start + _MOST_TEXT)])


_NOT_MAPPED = Mapped("", "", 0, 0, 0, 0)
_MOST_PARTS, _MOST_BUILD_ID, _MOST_TEXT = 256, 64, 4 * MOST_NAME
"""Of a mapping's path, and in bytes: many mappings and frames may share what they are made of."""


def _keys(
    chosen: I64, frames: Rows, mappings: Rows, paths: Rows, texts: _Texts, is_local: Mask
) -> Iterator[FrameKey]:
    known = np.maximum(chosen, 0)
    rows = frames[known] if len(frames) else np.zeros(len(chosen), frames.dtype)
    scopes = rows["scope"].astype(np.int64)
    kinds = (np.where(is_local[scopes], kernel.LOCAL, kind) for kind in (kernel.FUNCTIONS, kernel.SOURCES))
    functions, sources = (
        texts.rows(scopes, kind, rows[name]).tolist()
        for kind, name in zip(kinds, ("function", "source"), strict=True)
    )
    of_mappings = _found(mappings, scopes, rows["mapping"])
    used, numbers = np.unique(of_mappings, return_inverse=True)
    mapped = list(_mapped(used, mappings, paths, texts, is_local))
    decoded: dict[int, str] = {}
    for row, function, source, mapping, rel_pc, line in zip(
        chosen.tolist(), functions, sources, numbers.tolist(), rows["rel_pc"].tolist(), rows["line"].tolist(),
        strict=True,
    ):  # fmt: skip
        if row == NOWHERE:
            yield FrameKey("", _NOT_MAPPED, 0, "", 0, is_known=False)
            continue
        for text in (function, source):
            if text not in decoded:
                decoded[text] = texts.raw(text).decode("utf-8", "replace")
        yield FrameKey(decoded[function], mapped[mapping], rel_pc, decoded[source], line)


def _mapped(chosen: I64, mappings: Rows, paths: Rows, texts: _Texts, is_local: Mask) -> Iterator[Mapped]:
    known = chosen[chosen != NOWHERE]
    rows = mappings[known]
    scopes = rows["scope"].astype(np.int64)
    local = is_local[scopes]
    counts = np.minimum(rows["count"], _MOST_PARTS).astype(np.int64)
    parts = paths[_ranges(rows["first"].astype(np.int64), counts)]
    kinds = np.where(np.repeat(local, counts), kernel.LOCAL, kernel.PATHS)
    of_parts = iter(texts.rows(np.repeat(scopes, counts), kinds, parts).tolist())
    build_ids = iter(
        texts.rows(scopes, np.where(local, kernel.LOCAL, kernel.BUILD_IDS), rows["build_id"]).tolist()
    )
    each = zip(
        counts.tolist(),
        *(rows[name].tolist() for name in ("start", "end", "exact_offset", "start_offset", "load_bias")),
        strict=True,
    )
    for number in chosen.tolist():
        if number == NOWHERE:
            yield _NOT_MAPPED
            continue
        count, start, end, exact_offset, start_offset, load_bias = next(each)
        joined = b""
        for _ in range(count):
            part = texts.raw(next(of_parts))
            # many mappings may share long parts
            joined += b"/" + part[:MOST_PATH] if len(joined) < MOST_PATH else b""
        path = joined.decode("utf-8", "replace")
        # one part may be a whole path, and what has no file is in brackets
        path = path[1:] if path.startswith(("//", "/[")) else path
        yield Mapped(
            shortened(path, MOST_PATH), texts.raw(next(build_ids))[:_MOST_BUILD_ID].hex(), start, end,
            max(exact_offset - start_offset, 0), load_bias,
        )  # fmt: skip


def _found(rows: Rows, scopes: I64, iids: Rows) -> I64:
    """The numbers of the rows with ids in scopes, the first of several; NOWHERE for none."""
    return _find(rows["scope"].astype(np.int64), rows["iid"], scopes, iids)


def _find(scopes: I64, iids: Rows, asked_scopes: I64, asked: Rows) -> I64:
    distinct, numbers = np.unique(np.concatenate((iids, asked)), return_inverse=True)
    keys = scopes * len(distinct) + numbers[: len(iids)]
    order = np.argsort(keys, kind="stable")
    wanted = asked_scopes * len(distinct) + numbers[len(iids) :]
    places = np.searchsorted(keys[order], wanted)
    found = np.full(len(asked), NOWHERE, np.int64)
    there = np.flatnonzero(places < len(keys))
    there = there[keys[order][places[there]] == wanted[there]]
    found[there] = order[places[there]]
    return found


def _ranges(first: I64, counts: I64) -> I64:
    """The numbers from each of ``first`` on, as many as ``counts`` says."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(first - (ends - counts), counts)
