"""Prints what memray's own reader tells of a file, as lines of JSON: a program of its own.

It is run by the interpreter that has memray (``python -c``), so it needs nothing of Memlens, and no Python newer than
3.7. Lines: ``["version", TEXT]``, ``["missing"]``, ``["refused", TEXT]``, ``["broken", TEXT]``, ``["memory", MS, RSS,
HEAP]``, ``["frame", FUNCTION, FILE, LINE]``, ``["stack", [FRAME…]]`` innermost first, and for each kind of records
``["record", KIND, STACK, THREAD, ALLOCATOR, BYTES, COUNT]``; ``["done"]`` is the last one.
"""

import importlib
import json
import sys
from typing import Any

KINDS = ("high_watermark", "leaked", "temporary")


def main(path: str, *, temporary: bool) -> None:
    """Tell of the capture at ``path``; ``temporary``: of temporary allocations too, which takes another reading."""

    def tell(*row: Any) -> None:
        sys.stdout.write(json.dumps(row, separators=(",", ":")) + "\n")

    try:
        memray = importlib.import_module("memray")
    except ImportError:
        tell("missing")
        return
    tell("version", str(memray.__version__))
    try:
        reader = memray.FileReader(path)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        tell("refused", str(error))
        return
    try:
        _records(memray, reader, tell, temporary=temporary)
        tell("done")
    except Exception as error:  # noqa: BLE001
        tell("broken", f"{type(error).__name__}: {error}")


def _records(memray: Any, reader: Any, tell: Any, *, temporary: bool) -> None:
    frames: dict[Any, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    metadata = reader.metadata
    native = bool(getattr(metadata, "has_native_traces", False))
    main_thread = getattr(metadata, "main_thread_id", None)
    for snapshot in reader.get_memory_snapshots():
        tell("memory", snapshot.time, snapshot.rss, snapshot.heap)
    for kind in KINDS:
        if kind == "temporary" and not temporary:
            continue
        try:
            found = getattr(reader, f"get_{kind}_allocation_records")(merge_threads=False)
            for record in found:
                trace = record.hybrid_stack_trace() if native else record.stack_trace()
                stack: list[int] = []
                for frame in trace:
                    if frame not in frames:
                        frames[frame] = len(frames)
                        tell("frame", frame[0], frame[1], frame[2])
                    stack.append(frames[frame])
                key = tuple(stack)
                if key not in stacks:
                    stacks[key] = len(stacks)
                    tell("stack", stack)
                thread = record.thread_name or (
                    "main thread" if record.tid == main_thread else f"thread {record.tid:#x}"
                )
                allocator = memray.AllocatorType(record.allocator).name.lower()
                tell("record", kind, stacks[key], thread, allocator, record.size, record.n_allocations)
        except NotImplementedError:
            continue  # captures that were aggregated tell no temporary allocations


def end_with_parent() -> None:
    """Let this process die with the one that started it, where the system can."""
    if sys.platform.startswith("linux"):
        import ctypes
        import signal

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    # what lies in the current folder is not to be imported
    sys.path[:] = [place for place in sys.path if place not in ("", ".")]
    end_with_parent()
    main(sys.argv[1], temporary=sys.argv[2] == "1")
