"""Measures a part of a Python program with tracemalloc."""

import gc
import os
import pickle
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memlens.packs.python.recorder import without
from memlens.store.files.output import Output

_FRAMES = 25
_POLL_S = 0.002


class Tracemalloc:
    """Python's own objects, with the stacks of those that are left, and of those live when a limit was exceeded.

    tracemalloc knows how large the peak was, but not what it consisted of. So a thread polls, and takes a snapshot when
    the limit is exceeded.
    """

    title = "Python's own memory, by tracemalloc"
    without_file = "It was over before its lines could be recorded."

    def __init__(self) -> None:
        self.peak_bytes = self.left_bytes = 0
        self.left_by_run = list[int]()
        self._over: tracemalloc.Snapshot | None = None
        self._left: tracemalloc.Snapshot | None = None
        self._before = 0
        self._was_tracing = False
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None

    def start(self, peak: int | None) -> None:
        """Trace from now on, and watch for the limit."""
        self.left_by_run = []
        gc.collect()
        self._was_tracing = tracemalloc.is_tracing()
        if self._was_tracing:
            tracemalloc.clear_traces()
        else:
            tracemalloc.start(_FRAMES)
        if peak is not None:
            self._ended.clear()
            self._watcher = threading.Thread(target=self._watch, args=(peak,), daemon=True)
            self._watcher.start()
        self._before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()

    def stop(self) -> None:
        """Take a snapshot of what is left, and stop tracing."""
        self.peak_bytes = tracemalloc.get_traced_memory()[1] - self._before
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None
        gc.collect()
        self._left = _without_measuring(tracemalloc.take_snapshot())
        self.left_bytes = _size(self._left)
        if not self._was_tracing:
            tracemalloc.stop()

    def end_run(self) -> None:
        """Take the bytes that are live now."""
        gc.collect()
        self.left_by_run.append(_size(_without_measuring(tracemalloc.take_snapshot())))

    def peak_file(self, place: Path) -> Path | None:
        """Write the snapshot taken when the limit was exceeded; None if it wasn't."""
        return None if self._over is None else _write_snapshot(self._over, place)

    def left_file(self, place: Path) -> Path | None:
        """Write the snapshot of what is left."""
        return None if self._left is None else _write_snapshot(self._left, place)

    def _watch(self, peak: int) -> None:
        while not self._ended.wait(_POLL_S):
            if tracemalloc.get_traced_memory()[0] - self._before > peak:
                self._over = _without_measuring(tracemalloc.take_snapshot())
                return


def _file_of(function: Callable[..., object]) -> str:
    return function.__code__.co_filename


_MEASURING = {_file_of(tracemalloc.Snapshot.filter_traces), _file_of(threading.Thread.start)}
_OWN_FOLDER = str(Path(__file__).parents[2]) + os.sep


def _without_measuring(snapshot: tracemalloc.Snapshot) -> tracemalloc.Snapshot:
    """Leave out what measuring allocates itself."""
    return without(snapshot, lambda file: file in _MEASURING or file.startswith(_OWN_FOLDER))


def _size(snapshot: tracemalloc.Snapshot) -> int:
    raw: Any = snapshot.traces
    return sum(trace[1] for trace in raw._traces)


def _write_snapshot(snapshot: tracemalloc.Snapshot, place: Path) -> Path:
    """Write a snapshot in tracemalloc's own format."""
    file = place.with_name(f"{place.name}.tracemalloc")
    file.parent.mkdir(parents=True, exist_ok=True)
    Output(file, force=True, formats=("tracemalloc",)).write(pickle.dumps(snapshot, pickle.HIGHEST_PROTOCOL))
    return file
