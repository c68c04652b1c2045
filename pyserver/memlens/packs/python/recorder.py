"""Records what Python's own allocator holds, by tracemalloc, inside of the program: see ``memlens/record.py``."""

import tracemalloc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memlens.record import Recording

_FRAMES = 25


class Recorder:
    """tracemalloc, from now on."""

    name = "tracemalloc"
    ending = ".tracemalloc"
    limits_process = True

    def __init__(self, recording: "Recording") -> None:
        self._recording = recording

    def prepare(self) -> bool:
        """Begin."""
        if not tracemalloc.is_tracing():
            tracemalloc.start(_FRAMES)
        self._recording.begin(self)
        return True

    def write(self, path: str) -> None:
        """Write all that is allocated, by its stack."""
        own = (__file__, self._recording.own_file, tracemalloc.__file__)
        filters = [tracemalloc.Filter(inclusive=False, filename_pattern=file) for file in own]
        tracemalloc.take_snapshot().filter_traces(filters).dump(path)

    def used_bytes(self) -> int:
        """The resident memory of the process."""
        return self._recording.resident_bytes()
