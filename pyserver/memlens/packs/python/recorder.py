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

    def writing_bytes(self) -> int:
        """For each trace a tuple and its size, beside the 70 bytes or so that tracemalloc has of it."""
        return 3 * tracemalloc.get_tracemalloc_memory()


def without(snapshot: tracemalloc.Snapshot, is_left_out: "Callable[[str], bool]") -> tracemalloc.Snapshot:
    """Leave out what was allocated in files, by the innermost frame. The snapshot loses its traces.

    ``filter_traces`` compares each trace with each pattern, which takes half a minute for 100,000. Traces of one size
    and one stack become one object, so that writing them needs hardly any memory, which may be short.
    """
    raw: Any = snapshot.traces
    traces, raw._traces = raw._traces, []
    known: dict[tuple[int, int], Any] = {}
    for place, trace in enumerate(traces):
        # domain, size, frames with the innermost first: the file and the line. Stacks are shared already
        traces[place] = known.setdefault((trace[1], id(trace[2])), trace)
    kept = [trace for trace in traces if not is_left_out(trace[2][0][0])]
    return tracemalloc.Snapshot(kept, snapshot.traceback_limit)
