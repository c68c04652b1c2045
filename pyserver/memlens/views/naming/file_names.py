"""Short names of files: the shortest end of the path that no other file has."""

import re
from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from memlens.store.snapshot import Snapshot

_SEPARATOR = re.compile(r"[/\\]")
MOST_NAMED = 20_000
"""The most files whose name has more than the last part, so that an answer stays small."""
_MOST_PARTS = 30
"""Paths that agree in this many last parts are shown whole."""


class FileNamesAnswer(Struct, frozen=True):
    """``names`` are by path, only for files whose last part another file has as well."""

    names: dict[str, str]


def file_names(snapshot: Snapshot) -> FileNamesAnswer:
    """The short names of the files of a snapshot's frames."""
    return FileNamesAnswer(shortest_ends(snapshot.strings.some(snapshot.frames.file).values()))


def shortest_ends(paths: Iterable[str]) -> dict[str, str]:
    """For each path whose last part others have as well, the shortest end that no other has.

    Ends begin at a separator of any system. A path that is the end of another is its own name.
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for path in set(paths):
        alike[_SEPARATOR.split(path)[-1]].append(path)
    found: dict[str, str] = {}
    for group in alike.values():
        if len(group) > 1 and len(found) + len(group) <= MOST_NAMED:
            found.update(_apart(group))
    return found


def _apart(paths: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    # the starts of the last parts of each path, from the last one on
    begins = {
        path: [0, *(each.end() for each in _SEPARATOR.finditer(path))][: -_MOST_PARTS - 1 : -1]
        for path in paths
    }
    left = paths
    for level in range(1, _MOST_PARTS):
        ends: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for path in left:
            found[path] = path[begins[path][min(level, len(begins[path]) - 1)] :]
            ends[tuple(_SEPARATOR.split(found[path]))].append(path)
        left = [path for same in ends.values() if len(same) > 1 for path in same]
    found.update({path: path for path in left})
    return found
