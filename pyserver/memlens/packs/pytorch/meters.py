"""Measures the memory of a GPU that a part of a program allocates through PyTorch."""

import gc
from importlib import import_module
from pathlib import Path
from typing import Any

from memlens.packs.api import NoMeterError
from memlens.texts import phrase

_MOST_EVENTS = 1_000_000


class Torch:
    """The current device's memory by PyTorch's allocator, with its history as the file."""

    title = "PyTorch's memory on the GPU"
    without_file = ""

    def __init__(self) -> None:
        self.peak_bytes = self.left_bytes = 0
        self.left_by_run = list[int]()
        self._before = 0
        self._cuda: Any = None

    def start(self, peak: int | None) -> None:  # noqa: ARG002 - the history has the peak
        """Record the history from now on."""
        self._cuda = _cuda()
        self.left_by_run = []
        gc.collect()
        self._cuda.synchronize()
        self._before = self._cuda.memory_allocated()
        self._cuda.reset_peak_memory_stats()
        self._cuda.memory._record_memory_history(max_entries=_MOST_EVENTS, stacks="python")

    def stop(self) -> None:
        """Take the figures; the history stays until it is written or begun again."""
        self._cuda.synchronize()
        self.peak_bytes = self._cuda.max_memory_allocated() - self._before
        self.left_bytes = self._left_now()

    def end_run(self) -> None:
        """Take the bytes that are allocated now."""
        self.left_by_run.append(self._left_now())

    def _left_now(self) -> int:
        gc.collect()
        left: int = self._cuda.memory_allocated() - self._before
        return left

    def peak_file(self, place: Path) -> Path | None:
        """The history up to now, which has the peak and what is left."""
        file = place.with_name(f"{place.name}.pickle")
        file.parent.mkdir(parents=True, exist_ok=True)
        self._cuda.memory._dump_snapshot(str(file))
        return file

    left_file = peak_file


def _cuda() -> Any:
    try:
        cuda = import_module("torch").cuda
    except ImportError:
        raise NoMeterError(phrase("torch can't be imported")) from None
    if not cuda.is_available():
        raise NoMeterError(phrase("torch has no GPU here"))
    return cuda
