"""The columns of a heap dump's threads, their frames and variables."""

from typing import NamedTuple

import numpy as np

from memlens.model.graph import NONE
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.rows import Numbers


class Table(NamedTuple):
    """The columns of threads, with numbers checked to be in range."""

    object: Numbers
    name: Numbers
    state: Numbers
    out_of_memory: Numbers
    frame_start: Numbers
    """The start of each thread's frames, and the end of the last one's."""
    frames: Numbers
    variables: Numbers
    variable_start: Numbers

    def frames_of(self, thread: int) -> Numbers:
        """Return the frames of a thread, innermost first; NONE for unknown ones."""
        found: Numbers = self.frames[int(self.frame_start[thread]) : int(self.frame_start[thread + 1])]
        return found

    def frame_rows(self, variables: Numbers) -> Numbers:
        """Return the index in ``frames`` of each variable's frame; each of the variables must have one."""
        found: Numbers = self.frame_start[variables["thread"]] + variables["depth"]
        return found

    def variables_of(self, thread: int) -> Numbers:
        """Return the rows of a thread's variables."""
        found: Numbers = self.variables[
            int(self.variable_start[thread]) : int(self.variable_start[thread + 1])
        ]
        return found


@kept
def table(snapshot: Snapshot) -> Table:
    """Return the threads. Raises :class:`LackingError` for other models, InconsistentError for damaged columns."""
    stored, objects, texts = snapshot.threads, len(snapshot.objects.type), len(snapshot.strings.end)
    rows, frames, variables = stored.rows, stored.frames["frame"], stored.variables
    ends, threads = np.append(0, rows["end"].astype(np.int64)), variables["thread"]
    framed = variables[variables["depth"] != NONE]
    wrong = (
        bool((np.diff(ends) < 0).any())
        or int(ends[-1]) != len(frames)
        or bool(((rows["object"] >= objects) & (rows["object"] != NONE)).any())
        or bool(((frames >= len(snapshot.frames)) & (frames != NONE)).any())
        or int(max(rows["name"].max(initial=0), rows["state"].max(initial=0))) >= texts
        or int(threads.max(initial=0)) >= max(len(rows), 1)
        or bool((threads[1:] < threads[:-1]).any())
        or int(variables["object"].max(initial=0)) >= objects
        or int(variables["name"].max(initial=0)) >= texts
        or int(variables["kind"].max(initial=0)) >= len(snapshot.graph_names.root_kinds)
    )
    if not wrong:
        depths = np.diff(ends)[framed["thread"]]
        wrong = bool((framed["depth"] >= depths).any())
    if wrong:
        raise InconsistentError("The columns of threads have a number that is out of range")
    starts = np.searchsorted(threads, np.arange(len(rows) + 1))
    return Table(
        rows["object"].astype(np.int64), rows["name"], rows["state"], rows["out_of_memory"] != 0, ends, frames,
        variables, starts,
    )  # fmt: skip
