"""The allocation for which a process of Android ran out of memory, which made it dump its heap.

Source: ``protos/perfetto/trace/profiling/art_process_metadata.proto`` of Perfetto, and for the names of methods
``art_process_metadata_module.cc`` of its trace processor.
"""

from typing import NamedTuple

import numpy as np

from memlens.formats.stacks import distinct_frames
from memlens.model.frames import MOST_LINE, Frames, SourceFrame, profiled_frame
from memlens.model.graph import NONE, THREAD_DTYPE, Threads
from memlens.packs.android.kernels import perfetto as kernel
from memlens.packs.jvm.frames import in_package, outermost
from memlens.packs.jvm.obfuscation import Mapping
from memlens.units import shortened

_MOST_FRAMES = 4_096
_MOST_MESSAGE = 1_000
_MOST_BYTES = 1 << 48

_PID, _ALLOCATION, _FREE, _UNTIL_LIMIT, _STACK, _MESSAGE = 1, 5, 6, 7, 8, 9
"""Fields of ArtProcessMetadata."""
_METHOD, _FILE, _LINE = 1, 2, 3
"""Fields of a frame."""


class Failure(NamedTuple):
    """An allocation that failed; figures are None where the trace doesn't have them."""

    pid: int
    allocation_bytes: int | None
    free_bytes: int | None
    """Free in the heap as it was."""
    until_limit_bytes: int | None
    """How much the heap could still have grown."""
    message: str
    stack: list[tuple[str, str, int]]
    """Methods, files and lines, the innermost first."""

    def settings(self) -> dict[str, int | str]:
        """What is known, as settings of the graph."""
        known = {
            "failed_allocation_bytes": self.allocation_bytes,
            "free_bytes": self.free_bytes,
            "free_until_limit_bytes": self.until_limit_bytes,
            "out_of_memory_message": self.message or None,
        }
        return {name: value for name, value in known.items() if value is not None}

    def threads(self, mapping: Mapping) -> tuple[Threads, Frames]:
        """The failed thread, without a name, and its frames, with the names from a build's ``mapping``."""
        files = mapping.files()
        frames, numbers = distinct_frames(_frame(*each, mapping, files) for each in self.stack)
        rows = np.zeros(1, THREAD_DTYPE)
        rows["object"], rows["end"], rows["out_of_memory"] = NONE, len(numbers), 1
        return Threads(rows, numbers), Frames(frames, np.zeros(2, np.uint64), np.empty(0, np.uint32))


def int32(number: int) -> int:
    """The int32, such as a process id, that 64 bits encode."""
    return (number & 0xFFFFFFFF) - ((number & 0x80000000) << 1)


def failure_at(data: bytes | memoryview, start: int, end: int) -> Failure | None:
    """The failure in a packet; None if the process didn't run out of memory."""
    said = kernel.fields_of(data, start, end)
    numbers = {field: value for field, value in said if isinstance(value, int)}
    texts = {field: value for field, value in said if isinstance(value, bytes)}
    if _ALLOCATION not in numbers:
        return None
    allocation, free, until_limit = (
        value if (value := numbers.get(field)) is not None and value < _MOST_BYTES else None
        for field in (_ALLOCATION, _FREE, _UNTIL_LIMIT)
    )
    message = shortened(" ".join(texts.get(_MESSAGE, b"").decode("utf-8", "replace").split()), _MOST_MESSAGE)
    return Failure(
        int32(numbers.get(_PID, 0)), allocation, free, until_limit, message, _stack(texts.get(_STACK, b""))
    )


def _stack(data: bytes) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    for field, frame in kernel.fields_of(data, 0, len(data)):
        if field != 1 or not isinstance(frame, bytes) or len(found) == _MOST_FRAMES:
            continue
        said = dict(kernel.fields_of(frame, 0, len(frame)))
        method, file = (
            value.decode("utf-8", "replace") if isinstance(value := said.get(number), bytes) else ""
            for number in (_METHOD, _FILE)
        )
        line = said.get(_LINE, 0)
        if method:
            found.append((_name(method), file, line if isinstance(line, int) and line <= MOST_LINE else 0))
    return found


def _name(method: str) -> str:
    """``com.example.Foo.run`` of ``void com.example.Foo.run(int)``."""
    return method.partition("(")[0].rstrip().rpartition(" ")[2]


def _frame(method: str, file: str, line: int, mapping: Mapping, files: dict[str, str]) -> SourceFrame:
    owner, _, name = method.rpartition(".")
    owner, name, line = mapping.frame(owner, name, line)
    path = owner.replace(".", "/")
    # the build's placeholder says nothing
    file = files.get(outermost(path).replace("/", "."), file)
    return profiled_frame(in_package(path, file), line, f"{owner}.{name}" if owner else name)
