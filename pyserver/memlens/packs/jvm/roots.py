"""The roots of a heap dump of Java, what threads' stacks hold, and the heaps of Android."""

import numpy as np

from memlens.arrays import U8, U32
from memlens.model.distinct import distinct, grouped
from memlens.model.graph import NONE, ROOT_DTYPE, THREAD_DTYPE, VARIABLE_DTYPE, Column, Threads
from memlens.packs.jvm.kernels import hprof_objects, hprof_references
from memlens.packs.jvm.stacks import Stacks

_JNI_LOCAL, _JAVA_FRAME, _NATIVE_STACK, _STICKY_CLASS, _THREAD_BLOCK, _THREAD = (
    0x02,
    0x03,
    0x04,
    0x05,
    0x06,
    0x08,
)
_UNREACHABLE = 0x90

_TAGS = {
    0x01: "JNI global",
    _JNI_LOCAL: "JNI local",
    _JAVA_FRAME: "local variable",
    _NATIVE_STACK: "native stack",
    _STICKY_CLASS: "system class",
    _THREAD_BLOCK: "thread block",
    0x07: "monitor",
    _THREAD: "thread",
    0x89: "interned string",
    0x8A: "finalizing",
    0x8B: "debugger",
    0x8C: "reference cleanup",
    0x8D: "virtual machine",
    0x8E: "JNI monitor",
    0xFF: "unknown",
}
_BOOT_CLASS = "class of the boot loader"
_OF_THREADS = (_JNI_LOCAL, _JAVA_FRAME, _NATIVE_STACK, _THREAD_BLOCK)
"""Kinds of roots that a thread holds, whose records name the thread."""

ROOT_KINDS = (*_TAGS.values(), _BOOT_CLASS, *(f"{_TAGS[tag]} of an unknown thread" for tag in _OF_THREADS))
HELD_KINDS = tuple(list(_TAGS).index(tag) for tag in _OF_THREADS)
"""The kinds whose thread is in the file."""

_MOST_SPACES = 250


class Roots:
    """The roots of ``objects``, which are moved out. Those that a thread of the file holds become its references."""

    def __init__(self, objects: hprof_objects.Objects, stacks: Stacks) -> None:
        self._objects, self._stacks = objects, stacks
        rows = np.asarray(objects.take_roots()).reshape(-1, 6)
        self._number = np.empty(len(rows), np.uint32)
        objects.numbers(np.ascontiguousarray(rows[:, :2]).view(np.uint64).ravel(), self._number)
        is_root = rows[:, 4] != _UNREACHABLE
        is_null = (rows[:, 0] == 0) & (rows[:, 1] == 0)
        self.missing = int(np.count_nonzero((self._number == NONE) & is_root & ~is_null))
        """The number of roots whose object isn't in the file."""
        known = (self._number != NONE) & is_root
        rows, self._number = rows[known], self._number[known]
        self._tag = rows[:, 4]
        threads = np.flatnonzero(self._tag == _THREAD)
        # the last thread with a serial number, as for all numbers that are used more than once
        order = threads[np.argsort(rows[threads, 2], kind="stable")]
        serials = rows[order, 2]
        held = np.isin(self._tag, _OF_THREADS)
        place = np.searchsorted(serials, rows[:, 2], side="right") - 1
        self._last_of_serial = np.sort(order[np.append(serials[1:] != serials[:-1], True)[: len(order)]])
        held &= (place >= 0) & (np.append(serials, 0)[place] == rows[:, 2])
        self._thread = np.full(len(rows), NONE, np.uint32)
        self._thread[held] = self._number[order[place[held]]]
        self._thread[threads] = self._number[threads]
        self._frame = np.full(len(rows), NONE, np.uint32)
        framed = held & np.isin(self._tag, (_JNI_LOCAL, _JAVA_FRAME))
        self._frame[framed] = stacks.frames_at(rows[order[place[framed]], 3], rows[framed, 3])
        self._root_of_thread = np.full(len(rows), NONE, np.uint32)
        self._root_of_thread[held] = order[place[held]]
        self._depth = np.where(self._frame == NONE, NONE, rows[:, 3]).astype(np.uint32)
        self._traces = rows[self._last_of_serial, 3]
        self.held = held
        """Which roots a thread of the file holds."""
        self.locals = self._locals()
        """References from threads to what they hold, in the kernel's form."""

    def _locals(self) -> U32:
        records = self._objects.records
        held = np.flatnonzero(self.held)
        held = held[np.argsort(self._thread[held], kind="stable")]
        frames, of_frames = np.unique(self._frame[held], return_inverse=True)
        names = [
            0 if frame == NONE else records.named(self._stacks.frame_text(frame)) for frame in frames.tolist()
        ]
        rows = np.empty((len(held), 3), np.uint32)
        rows[:, 0], rows[:, 1] = self._thread[held], self._number[held]
        rows[:, 2] = np.array(names, np.uint32)[of_frames] if len(held) else 0
        # a frame may hold an object in several variables, which the file doesn't distinguish
        return rows[grouped([*rows.T]).first]

    def rows(self, references: hprof_references.References) -> Column:
        """Return rows of ROOT_DTYPE; ``references`` was run to its end."""
        kinds = {tag: kind for kind, tag in enumerate(_TAGS)}
        rows = np.zeros(len(self._tag), ROOT_DTYPE)
        rows["object"], rows["frame"] = self._number, self._frame
        rows["kind"] = np.array([kinds.get(tag, 0) for tag in range(256)], np.uint32)[self._tag]
        for place, tag in enumerate(_OF_THREADS):
            rows["kind"][(self._tag == tag) & ~self.held] = len(kinds) + 1 + place
        threads, of_threads = np.unique(self._thread, return_inverse=True)
        names = [
            0 if thread == NONE else self._stacks.thread_name(references.name_of_thread(thread))
            for thread in threads.tolist()
        ]
        if names:
            rows["detail"] = np.array(names, np.uint32)[of_threads]
        if bool((self._tag == _STICKY_CLASS).any()):
            return rows
        return np.concatenate((rows, self._boot_classes(references)))

    def threads(self, rows: Column) -> Threads:
        """The threads of the file, without their states; ``rows`` are those of :meth:`rows`."""
        chosen = self._last_of_serial
        frames, counts = self._stacks.frames_of(self._traces)
        threads = np.zeros(len(chosen), THREAD_DTYPE)
        threads["object"], threads["name"] = self._number[chosen], rows["detail"][chosen]
        threads["end"] = np.cumsum(counts)
        known = np.flatnonzero(self.held)
        found = np.zeros(len(known), VARIABLE_DTYPE)
        found["thread"] = np.searchsorted(chosen, self._root_of_thread[known])
        depth = self._depth[known]
        found["depth"] = np.where(depth < counts[found["thread"]], depth, NONE)
        found["object"] = self._number[known]
        found["kind"] = rows["kind"][known]
        # a frame may hold an object in several variables, which the file doesn't distinguish
        return Threads(threads, frames, distinct(found))

    def _boot_classes(self, references: hprof_references.References) -> Column:
        count = self._objects.class_count
        ordinals, loaders = np.empty(count, np.uint32), np.empty(count, np.uint64)
        references.class_rows(np.empty(count, np.uint32), ordinals, loaders, np.empty(count, np.uint8))
        chosen = ordinals[loaders == 0]
        rows = np.zeros(len(chosen), ROOT_DTYPE)
        rows["object"], rows["kind"], rows["frame"] = chosen, ROOT_KINDS.index(_BOOT_CLASS), NONE
        return rows

    def spaces(self, count: int) -> tuple[tuple[str, ...], U8 | None]:
        """Return the names of heaps, and the heap of each of ``count`` objects; nothing if the file has none."""
        rows = np.asarray(self._objects.take_spaces()).reshape(-1, 4)
        if not len(rows):
            return (), None
        names = ["other"]
        heaps, of_rows = np.unique(rows[:, (0, 1, 3)], axis=0, return_inverse=True)
        numbers = []
        for low, high, heap in heaps.tolist():
            name = self._objects.records.text(high << 32 | low) or f"heap {heap}"
            if name not in names and len(names) < _MOST_SPACES:
                names.append(name)
            numbers.append(names.index(name) if name in names else 0)
        starts = np.append(rows[:, 2], count).astype(np.int64)
        column = np.zeros(count, np.uint8)
        column[starts[0] :] = np.repeat(np.array(numbers, np.uint8)[of_rows.ravel()], np.diff(starts))
        return tuple(names), column
