"""Gives the frames of an open archive other kinds than its reader did, by the user's setting and the workspace.

Nothing is written. The column of kinds, and those that depend on it, are made again in memory.
"""

from pathlib import Path

import numpy as np

from memlens.arrays import U32
from memlens.model.frames import LIBRARY, NATIVE
from memlens.model.inferred import Place
from memlens.model.libraries import is_by_name_only
from memlens.model.own_libraries import Libraries
from memlens.model.timeline import NEVER
from memlens.store.charged import charged_by_rule
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameColumns
from memlens.store.stacks.tree import Stacks
from memlens.store.trace.device import Device, scope_of


def open_with(archive: Path, libraries: Libraries) -> Snapshot:
    """Open an archive whose frames have the kinds that ``libraries`` give them. Raises :class:`ArchiveError`."""
    snapshot = Snapshot.open(archive)
    try:
        relabel(snapshot, libraries)
    except BaseException:
        snapshot.close()
        raise
    return snapshot


def relabel(snapshot: Snapshot, libraries: Libraries) -> None:
    """Replace the archive's kinds of frames by those of ``libraries``, and everything that depends on them.

    If no kind changes, nothing else does, and :attr:`Snapshot.relabelled` stays 0, unless modules get names of classes.
    Raises :class:`ArchiveError`.
    """
    if libraries:
        snapshot.ask(lambda asked: _relabel(asked, libraries))


def _relabel(snapshot: Snapshot, libraries: Libraries) -> None:
    if libraries.classes and snapshot.info.model == "timeline":
        snapshot.classes = libraries.classes
        snapshot.replace({}, libraries.key)
    frames = snapshot.frames
    # native code and frames without a file keep their kind
    others = np.flatnonzero((frames.kind != NATIVE) & (frames.file != 0))
    distinct, places = frames.distinct(others)
    kinds, doubtful = frames.kind.copy(), frames.doubtful.copy()
    decided = [(libraries.kind_of(*each), libraries.is_users(*each[:2]) is None) for each in distinct]
    of_distinct = np.array(decided, np.uint8).reshape(-1, 2)
    kinds[others] = of_distinct[places, 0]
    doubtful[others] &= of_distinct[places, 1]
    if bool((kinds == frames.kind).all() and (doubtful == frames.doubtful).all()):
        return
    old, of_kinds = (
        snapshot.stacks.label,
        {FrameColumns.kind.file: kinds, FrameColumns.doubtful.file: doubtful},
    )
    # compute what depends on kinds with the new ones
    snapshot.replace(of_kinds, libraries.key)
    labels = charged_by_rule(snapshot, "mine")
    following = {Stacks.label.file: labels, **_inferred(snapshot, old, labels)}
    snapshot.replace({**of_kinds, **following}, libraries.key)


def has_files_in(snapshot: Snapshot, folder: str) -> bool:
    """Return whether frames of a snapshot are in files of a folder."""
    start = folder.replace("\\", "/").rstrip("/") + "/"
    return bool(snapshot.frames.in_file(lambda file: file.replace("\\", "/").startswith(start)).any())


def module_places(snapshot: Snapshot) -> dict[str, list[Place]]:
    """The places whose sources name the classes of a trace's modules, by file; none for other models."""
    found: dict[str, dict[Place, None]] = {}
    modules = snapshot.modules() if snapshot.info.model == "timeline" else []
    # the first is "in no module": without others the pack needn't be loaded
    if len(modules) > 1:
        for each in snapshot.module_places(modules):
            for place in each:
                found.setdefault(place[1], {})[place] = None
    return {file: list(each) for file, each in found.items()}


def files_in_doubt(snapshot: Snapshot) -> list[str]:
    """The files without a folder that count as libraries only because of their names, in the order of their frames.

    A file is left out if any of its functions has a library's namespace or prefix.
    """
    frames = snapshot.frames
    without_folder = frames.in_file(lambda file: "/" not in file and "\\" not in file)
    chosen = frames.rows(np.flatnonzero(without_folder & (frames.kind == LIBRARY)).tolist())
    by_name: dict[str, bool] = {}
    for file, function in dict.fromkeys((row[0], row[2]) for _, row in sorted(chosen.items())):
        by_name[file] = by_name.get(file, True) and is_by_name_only(file, function)
    return [file for file, is_doubtful in by_name.items() if is_doubtful]


def _inferred(snapshot: Snapshot, old: U32, labels: U32) -> dict[str, U32]:
    """The inferred lines of each device: they are labels of other stacks, and change if those all agree."""
    devices = [snapshot.device(info.device) for info in devices_of(snapshot.info)]
    inferred = {device.info.device: device.inferred for device in devices if device.inferred is not None}
    if not inferred:
        return {}
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
