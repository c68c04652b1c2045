"""Measures a part of a Python program with memray: native memory as well, with the stacks of the peak and the end."""

import gc
import mmap
import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memlens.packs.api import NoMeterError
from memlens.store.files.output import Output
from memlens.texts import phrase

_MARK_BYTES = 7_919 * mmap.PAGESIZE
"""A run ends with a mapping of so many bytes, and of a page more for each run before; no page of it is used."""


class Memray:
    """What the allocators of C and the system gave out. Small objects of Python are in arenas, of a MiB each."""

    title = "memory of the process, by memray"
    without_file = ""

    def __init__(self) -> None:
        self.peak_bytes = self.left_bytes = 0
        self.left_by_run = list[int]()
        self._runs = 0
        self._memray: Any = None
        self._tracker: Any = None
        self._folder: TemporaryDirectory[str] | None = None
        self._capture = Path()

    def start(self, peak: int | None) -> None:  # noqa: ARG002 - the capture has the peak
        """Capture from now on."""
        self._memray = _memray()
        self._runs = 0
        # the folder of the recording before goes
        self._folder = TemporaryDirectory(prefix="memlens-test-")
        self._capture = Path(self._folder.name) / "capture.bin"
        gc.collect()
        self._tracker = self._memray.Tracker(self._capture)
        try:
            self._tracker.__enter__()
        except RuntimeError as error:
            self._tracker = None
            raise NoMeterError(phrase("memray doesn't start: {reason}", reason=str(error))) from None

    def stop(self) -> None:
        """End the capture, and take the figures from it."""
        if self._tracker is None:
            return
        gc.collect()
        self._tracker.__exit__(None, None, None)
        self._tracker = None
        with self._memray.FileReader(self._capture) as reader:
            self.peak_bytes = reader.metadata.peak_memory
            self.left_bytes = sum(each.size for each in reader.get_leaked_allocation_records())
            self.left_by_run = (
                left_at_marks(reader.get_allocation_records(), self._memray.AllocatorType, self._runs)
                if self._runs
                else []
            )

    def end_run(self) -> None:
        """Mark the moment in the capture."""
        gc.collect()
        mmap.mmap(-1, _MARK_BYTES + self._runs * mmap.PAGESIZE).close()
        self._runs += 1

    def peak_file(self, place: Path) -> Path | None:
        """The capture, which has the peak and what is left."""
        file = place.with_name(f"{place.name}.bin")
        file.parent.mkdir(parents=True, exist_ok=True)
        with (
            Output(file, force=True, formats=("memray",)).writing() as output,
            self._capture.open("rb") as capture,
        ):
            shutil.copyfileobj(capture, output)
        return file

    left_file = peak_file


def left_at_marks(records: Iterable[Any], allocators: Any, runs: int) -> list[int]:
    """What was live at each mark, of memray's records in their order."""
    live, mapped, left = dict[int, int](), dict[int, int](), list[int]()
    for record in records:
        if record.allocator == allocators.MMAP:
            if len(left) < runs and record.size == _MARK_BYTES + len(left) * mmap.PAGESIZE:
                left.append(sum(live.values()) + sum(mapped.values()))
            mapped[record.address] = record.size
        elif record.allocator == allocators.MUNMAP:
            _unmap(mapped, record.address, record.address + record.size)
        elif record.allocator == allocators.FREE:
            live.pop(record.address, None)
        else:
            live[record.address] = record.size
    return left


def _unmap(mapped: dict[int, int], begin: int, end: int) -> None:
    """Take a range out of the mappings, any of which it may cut."""
    for address, size in [*mapped.items()]:
        last = address + size
        if address < end and begin < last:
            del mapped[address]
            if address < begin:
                mapped[address] = begin - address
            if end < last:
                mapped[end] = last - end


def _memray() -> Any:
    try:
        return import_module("memray")
    except ImportError:
        raise NoMeterError(phrase("memray can't be imported")) from None
