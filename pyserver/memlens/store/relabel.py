"""An open archive with other kinds of frames than its reader gave them: by the user's setting and the workspace.

Nothing is written. The text database gets views in place of its tables, and columns that follow from kinds are made
anew in memory.
"""

from pathlib import Path
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from memlens.model.charging import charged, passed_over, ranks
from memlens.model.frames import LIBRARY
from memlens.model.libraries import is_by_name_only
from memlens.model.own_libraries import Libraries
from memlens.model.timeline import NEVER
from memlens.store.manifest import ArchiveError
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks import Stacks
from memlens.store.trace.device import Device, scope_of

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]

_VIEWS = """
CREATE TEMP VIEW frames AS
    SELECT f.id, f.file, f.line, f.function, coalesce(c.kind, f.kind) AS kind
    FROM main.frames AS f LEFT JOIN kinds_of_frames AS c ON c.id = f.id;
CREATE TEMP VIEW source_lines AS
    SELECT s.file, s.line, s.function, coalesce(c.kind, s.kind) AS kind, s.total_bytes, s.count,
        s.live_at_peak_bytes, s.live_at_peak_count, s.live_at_end_bytes, s.largest_bytes, s.self_total_bytes,
        s.self_count
    FROM main.source_lines AS s LEFT JOIN kinds_of_lines AS c ON c.file = s.file AND c.line = s.line;
"""


def open_with(archive: Path, libraries: Libraries) -> Snapshot:
    """Open an archive whose frames have the kinds that ``libraries`` give them. Raises :class:`ArchiveError`."""
    snapshot = Snapshot.open(archive)
    if libraries:
        try:
            columns = _relabel(snapshot, libraries)
        except BaseException:
            snapshot.close()
            raise
        snapshot.replace(columns, libraries.key if columns else 0)
    return snapshot


def _relabel(snapshot: Snapshot, libraries: Libraries) -> dict[str, npt.NDArray[np.uint32]]:
    """Put the setting's kinds in the place of the archive's, and return the columns that follow from them.

    There are none where no kind changes. Raises :class:`ArchiveError`.
    """
    text = snapshot.text
    try:
        rows: list[Any] = text.execute(
            "SELECT id, file, function, kind FROM main.frames ORDER BY id"
        ).fetchall()
        kinds = np.array([row[3] for row in rows], np.uint8)
        changed = [
            (number, new)
            for number, file, function, kind in rows
            if file and (new := libraries.kind_of(file, function, kind)) != kind
        ]
        if not changed:
            return {}
        lines = [
            (file, line, new)
            for file, line, function, kind in text.execute(
                "SELECT file, line, function, kind FROM main.source_lines"
            )
            if (new := libraries.kind_of(file, function, kind)) != kind
        ]
        text.pragma("temp_store", "memory")
        text.execute("CREATE TEMP TABLE kinds_of_frames (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL)")
        text.executemany("INSERT INTO kinds_of_frames VALUES (?, ?)", changed)
        text.execute(
            "CREATE TEMP TABLE kinds_of_lines (file TEXT, line INTEGER, kind INTEGER NOT NULL, "
            "PRIMARY KEY (file, line)) WITHOUT ROWID"
        )
        text.executemany("INSERT INTO kinds_of_lines VALUES (?, ?, ?)", lines)
        text.execute(_VIEWS)
        if [row[0] for row in rows] != list(range(len(rows))):
            raise ArchiveError("The archive's frames are damaged")
        kinds[[number for number, _ in changed]] = [new for _, new in changed]
        model = snapshot.info.model
        passed = passed_over(((row[1], row[2], kind) for row, kind in zip(rows, kinds, strict=True)), model)
        tree = snapshot.tree
        labels = charged(tree.parent, tree.frame, snapshot.stacks.node, ranks(kinds, passed, "mine", model))
    except (apsw.Error, IndexError, ValueError, OverflowError) as error:
        raise ArchiveError(f"The archive {snapshot.archive.name} is damaged: {error}") from error
    return {Stacks.label.file: labels, **_inferred(snapshot, labels)}


def files_in_doubt(snapshot: Snapshot) -> list[str]:
    """The files without a folder that only their names make a library's, in the order of their frames.

    A file is left out as a whole if one of its functions has a library's namespace or prefix.
    Raises :class:`ArchiveError`.
    """
    try:
        rows: list[Any] = snapshot.text.execute(
            "SELECT file, function FROM frames WHERE kind = ? AND file <> '' "
            "AND instr(file, '/') = 0 AND instr(file, '\\') = 0 GROUP BY file, function ORDER BY min(id)",
            (LIBRARY,),
        ).fetchall()
    except apsw.Error as error:
        raise ArchiveError(f"The archive {snapshot.archive.name} is damaged: {error}") from error
    by_name: dict[str, bool] = {}
    for file, function in rows:
        by_name[file] = by_name.get(file, True) and is_by_name_only(file, function)
    return [file for file, is_doubtful in by_name.items() if is_doubtful]


def _inferred(snapshot: Snapshot, labels: U32) -> dict[str, U32]:
    """The inferred lines of each device: they are labels of other stacks, and follow where those all agree."""
    devices = [snapshot.device(info.device) for info in devices_of(snapshot.info)]
    inferred = {device.info.device: device.inferred for device in devices if device.inferred is not None}
    if not inferred:
        return {}
    old = snapshot.stacks.label
    named = np.flatnonzero(old != NEVER)
    frames, first, numbers = np.unique(old[named], return_index=True, return_inverse=True)
    new = labels[named]
    agree = np.ones(len(frames), bool)
    agree[numbers[new != new[first][numbers]]] = False
    follow = np.where(agree, new[first], frames)
    found = {}
    for number, recorded in inferred.items():
        column = recorded.copy()
        rows = np.flatnonzero(column != NEVER)
        places = np.minimum(np.searchsorted(frames, column[rows]), len(frames) - 1)
        known = frames[places] == column[rows]
        column[rows[known]] = follow[places[known]]
        found[scope_of(number) + Device.inferred.file] = column
    return found
