"""The frames and stacks of a heap dump of Java, and the files where its classes are defined."""

from collections.abc import Iterator

import numpy as np

from memlens.arrays import I64, U32
from memlens.formats.stacks import Numbers
from memlens.model.distinct import distinct
from memlens.model.frames import INFERRED, Frames, SourceFrame, profiled_frame
from memlens.model.graph import NONE, PLACE_DTYPE, Column, Types
from memlens.model.spans import spans
from memlens.packs.jvm.frames import ClassNames, in_package, outermost
from memlens.packs.jvm.jruby_names import jruby_name
from memlens.packs.jvm.kernels import hprof
from memlens.packs.jvm.obfuscation import Mapping

_KOTLIN = "Kt"
"""The ending of the class into which Kotlin compiles a file's functions: ``FooKt`` for ``Foo.kt``."""

_MOST_SHARED = 1 << 16
"""Frames of threads beyond those of all traces of the file."""

_SIGN = 0x8000_0000


class Stacks:
    """The stacks of a file's records, which are moved out of ``records``; with the names of a ``mapping``."""

    def __init__(self, records: hprof.Records, mapping: Mapping, file_bytes: int) -> None:
        self._records, self._mapping = records, mapping
        self.names = ClassNames(file_bytes)
        loads = np.asarray(records.take_loads()).reshape(-1, 3)
        self._class_names = {int(serial): int(name) for _, name, serial in loads.tolist()}
        self._files: dict[str, str] = {}
        """Source files of outermost classes by the class's name, where frames or the mapping have them."""
        self._files.update(
            (outermost(name.replace(".", "/")), file) for name, file in mapping.files().items()
        )
        self._mapped = dict(self._files)
        distinct: Numbers[SourceFrame] = Numbers()
        ids, rows = (np.asarray(column) for column in records.take_frames())
        of_rows = np.fromiter((distinct[frame] for frame in self._frames(rows)), np.uint32)
        self.frames = list(distinct)
        traces, trace_frames = (np.asarray(column) for column in records.take_traces())
        traces = traces.reshape(-1, 6)
        self._first = np.ascontiguousarray(traces[:, 2:4]).view(np.uint64).ravel().astype(np.int64)
        self._count = traces[:, 4].astype(np.int64)
        self._sequence = _found(ids, of_rows, trace_frames)
        self._serials = traces[:, 0]
        self.left_out = 0

    def _frames(self, rows: Column) -> Iterator[SourceFrame]:
        text = self._records.text
        for method, _signature, source, place in rows.reshape(-1, 4).tolist():
            number = self._class_names.get(place & 0xFFFF_FFFF)
            name = "" if number is None else text(number).replace("/", ".")
            line = max((place >> 32 ^ _SIGN) - _SIGN, 0)
            name, function, line = self._mapping.frame(name, text(method), line)
            name = self.names.of_method(name)
            class_name = name.replace(".", "/")
            # what the build wrote in its place says nothing
            file = self._mapped.get(outermost(class_name), text(source))
            if class_name and file:
                self._files.setdefault(outermost(class_name), file)
            compiled = jruby_name(function)
            if compiled is None and ":" in function:
                # a method that JRuby makes for a call in one of its own
                file, line = "", 0
            function = compiled or (f"{name}.{function}" if name else function)
            # lines below 1 mean: unknown, compiled, native
            yield profiled_frame(in_package(class_name, file), line, function)

    def frames_at(self, serials: U32, depths: U32) -> U32:
        """Return the frame at a depth, 0 for the innermost, of each trace with one of ``serials``; NONE if unknown."""
        rows = _found(self._serials, np.arange(len(self._serials), dtype=np.uint32), serials)
        frames = np.full(len(serials), NONE, np.uint32)
        known = np.flatnonzero(rows != NONE)
        known = known[depths[known] < self._count[rows[known]]]
        frames[known] = self._sequence[self._first[rows[known]] + depths[known]]
        return frames

    def frames_of(self, serials: U32) -> tuple[U32, I64]:
        """Return the frames of each trace with one of ``serials``, innermost first, and how many each has.

        Virtual machines write a trace for each thread. Where many share one, the frames of the last of them are left
        out, since together they might have more than any memory; ``left_out`` counts these threads.
        """
        rows = _found(self._serials, np.arange(len(self._serials), dtype=np.uint32), serials)
        known = rows != NONE
        firsts, counts = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        firsts[known], counts[known] = self._first[rows[known]], self._count[rows[known]]
        is_out = np.cumsum(counts) > len(self._sequence) + _MOST_SHARED
        self.left_out = int(is_out.sum())
        counts[is_out] = 0
        return self._sequence[spans(firsts, counts)], counts

    def frame_text(self, frame: int) -> str:
        """Return the name of a frame, ``com.foo.Bar.run (Bar.java:34)``."""
        found = self.frames[frame]
        file = found.file.rpartition("/")[2]
        return f"{found.function} ({file}:{found.line})" if found.line else found.function

    def text(self, number: int) -> str:
        """A text of the file."""
        return self._records.text_at(number)

    def thread_name(self, number: int) -> int:
        """The number of the text that the mapping has for a thread's name."""
        name = self._records.text_at(number)
        own = self._mapping.thread_name(name)
        return number if own == name else self._records.named(own)

    def of_objects(self, serials: U32) -> U32 | None:
        """Return the stack that allocated each object; None if that isn't in the file.

        Virtual machines give every object the number of an empty stack; the hprof agent wrote real ones.
        """
        stacks = np.where(self._count > 0, np.arange(1, len(self._count) + 1), 0).astype(np.uint32)
        few = distinct(serials[:: max(len(serials) // 1000, 1)])
        if len(few) == 1 and bool((serials == few[0]).all()):
            found = _found(self._serials, stacks, few)[0]
            return None if found in (0, NONE) else np.full(len(serials), found, np.uint32)
        found = _found(self._serials, stacks, serials)
        found[found == NONE] = 0
        return found if found.any() else None

    def finish(self, types: Types) -> tuple[Frames, Column]:
        """Return the frames with those of all classes' definitions, and a row of PLACE_DTYPE for each of these.

        A class's file is that of its frames, else it has the name of the outermost class; its line isn't known.
        """
        recorded = len(self.frames)
        objects: list[int] = []
        class_objects = [] if types.object is None else types.object.tolist()
        for name, kind, number in zip(types.name.tolist(), types.kind.tolist(), class_objects, strict=True):
            if not kind and number != NONE:
                objects.append(number)
                self.frames.append(self._definition(self._records.text_at(name)))
        places = np.zeros(len(objects), PLACE_DTYPE)
        places["object"] = objects
        places["frame"] = np.arange(recorded, len(self.frames))
        places = places[np.unique(places["object"], return_index=True)[1]]
        sources = np.zeros(len(self.frames), np.uint8)
        sources[recorded:] = INFERRED
        known = self._sequence != NONE
        before = np.concatenate(([0], np.cumsum(known)))
        ends = before[self._first + self._count]
        starts = np.concatenate(([0, 0], ends)).astype(np.uint64)
        return Frames(self.frames, starts, self._sequence[known], sources), places

    def _definition(self, class_name: str) -> SourceFrame:
        path = class_name.replace(".", "/")
        outer = outermost(path)
        file = self._files.get(outer)
        if file is None:
            name = outer.rpartition("/")[2]
            file = f"{name.removesuffix(_KOTLIN)}.kt" if name.endswith(_KOTLIN) else f"{name}.java"
        return profiled_frame(in_package(path, file), 1, class_name)


def _found(keys: Column, values: U32, wanted: Column) -> U32:
    """Return the value of the last of ``keys`` that equals each of ``wanted``, NONE where there is none."""
    if not len(keys):
        return np.full(len(wanted), NONE, np.uint32)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    places = np.searchsorted(ordered, wanted, side="right") - 1
    return np.where((places >= 0) & (ordered[places] == wanted), values[order[places]], np.uint32(NONE))
