"""Records what Python's own allocator holds, by tracemalloc, inside of the program: see ``memlens/record.py``."""

import tracemalloc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

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
        own = {__file__, self._recording.own_file, tracemalloc.__file__}
        without(tracemalloc.take_snapshot(), own.__contains__).dump(path)

    def used_bytes(self) -> int:
        """The resident memory of the process."""
        return self._recording.resident_bytes()


def without(snapshot: tracemalloc.Snapshot, is_left_out: "Callable[[str], bool]") -> tracemalloc.Snapshot:
    """Leave out what was allocated in files, by the innermost frame.

    ``filter_traces`` compares each trace with each pattern, which takes half a minute for 100,000.
    """
    raw: Any = snapshot.traces
    # domain, size, frames with the innermost first: the file and the line
    kept = [trace for trace in raw._traces if not is_left_out(trace[2][0][0])]
    return tracemalloc.Snapshot(kept, snapshot.traceback_limit)
