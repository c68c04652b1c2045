"""Objects of a heap dump by the source line that defines them: instances of a class, closures of a function."""

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from memlens.model.frames import INFERRED
from memlens.store.kept import kept
from memlens.store.objects.retained import retained_by_object_group
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.definitions import frames_of_types, places_of_types
from memlens.views.heap.objects.rows import Numbers, plain_type_names, type_names
from memlens.views.heap.objects.types import figures_of, instances_of


class HeapLine(Struct, frozen=True):
    """A definition and its objects. ``type`` is the number of a type; None for a function, whose objects are closures.

    Objects that another one of them retains are counted once. ``line`` counts from 1. Types with one name, of several
    class loaders or assemblies, are one definition: ``type`` is the first of ``types``, named without its loader.
    """

    file: str
    line: int
    name: str
    type: int | None
    count: int
    shallow_bytes: int
    retained_bytes: int
    types: int = 1


@kept
def heap_lines(snapshot: Snapshot) -> dict[str, list[HeapLine]]:
    """Return all definitions by file, as the dump spells it; those known only by name are left out."""
    found: dict[str, list[HeapLine]] = {}
    # if all closures of a dump are one function's, their type has the function's place
    kinds = [name == "closure" for name in snapshot.graph_names.type_kinds]
    of_types = {
        kind: frame
        for kind, frame in frames_of_types(snapshot).items()
        if int(snapshot.frames.source[frame]) != INFERRED and not kinds[int(snapshot.types.kind[kind])]
    }
    rows = snapshot.frames.rows(of_types.values())
    for kind, frame in of_types.items():
        file, line, _, _ = rows[frame]
        if file and line > 0:
            found.setdefault(file, []).append(line_of_type(snapshot, kind, file, line))
    for row in _functions(snapshot, of_types):
        found.setdefault(row.file, []).append(row)
    for each in found.values():
        each.sort(key=lambda row: (row.line, -row.retained_bytes))
    return found


class HeapFile(Struct, frozen=True):
    """A definition whose file is inferred from its class name, and whose line is unknown; else as :class:`HeapLine`."""

    file: str
    line: None
    name: str
    type: int
    count: int
    shallow_bytes: int
    retained_bytes: int


def largest_lines(snapshot: Snapshot, limit: int) -> list[HeapLine | HeapFile]:
    """Return at most ``limit`` definitions, those whose objects retain most first; files only if no line is known."""
    lines = [row for rows in heap_lines(snapshot).values() for row in rows]
    every: list[HeapLine | HeapFile] = [*lines, *_files(snapshot)]
    return sorted(every, key=lambda row: (-row.retained_bytes, row.file, row.line or 0, row.name))[:limit]


def _files(snapshot: Snapshot) -> Iterator[HeapFile]:
    for kind, (file, line) in places_of_types(snapshot).items():
        if line is None:
            row = line_of_type(snapshot, kind, file, 0)
            if row.count:
                yield HeapFile(file, None, row.name, kind, row.count, row.shallow_bytes, row.retained_bytes)


def line_of_type(snapshot: Snapshot, number: int, file: str, line: int) -> HeapLine:
    """Return the objects of a type whose definition was found by searching sources."""
    figures = figures_of(snapshot)
    count, shallow, retained = (int(figures[name][number]) for name in ("count", "shallow", "retained"))
    return HeapLine(file, line, type_names(snapshot)[number], number, count, shallow, retained)


def line_of_types(snapshot: Snapshot, numbers: Sequence[int], file: str, line: int) -> HeapLine:
    """Return the objects of the types of one name whose definition was found by searching sources."""
    if len(numbers) == 1:
        return line_of_type(snapshot, numbers[0], file, line)
    return _line_of_types(snapshot, tuple(numbers), file, line)


@kept
def _line_of_types(snapshot: Snapshot, numbers: tuple[int, ...], file: str, line: int) -> HeapLine:
    members = np.concatenate([instances_of(snapshot, number) for number in numbers])
    shallow = int(snapshot.objects.shallow[members].sum())
    retained = int(_retained(snapshot, members, np.zeros(len(members), np.uint32), 1)[0])
    name = plain_type_names(snapshot)[numbers[0]]
    return HeapLine(file, line, name, numbers[0], len(members), shallow, retained, len(numbers))


def _functions(snapshot: Snapshot, of_types: dict[int, int]) -> list[HeapLine]:
    """Return the definitions of functions, by their closures."""
    places, objects = snapshot.objects.places, snapshot.objects
    if not len(places):
        return []
    numbers, frames = places["object"], places["frame"]
    types = objects.type[numbers].astype(np.int64)
    own = np.full(int(types.max()) + 1, -1, np.int64)
    for kind, frame in of_types.items():
        if kind < len(own):
            own[kind] = frame
    classes = np.array(sorted(set(of_types.values())), np.int64)
    # a class object represents its instances
    chosen = (own[types] != frames) & ~np.isin(frames, classes)
    chosen &= snapshot.frames.source[frames] != INFERRED
    numbers, frames = numbers[chosen], frames[chosen]
    if not len(numbers):
        return []
    groups, of_group, counts = np.unique(frames, return_inverse=True, return_counts=True)
    shallow = np.bincount(of_group, objects.shallow[numbers]).astype(np.int64)
    retained = _retained(snapshot, numbers, of_group, len(groups))
    rows = snapshot.frames.rows(groups.tolist())
    names = snapshot.strings
    first = numbers[np.unique(of_group, return_index=True)[1]]
    made = []
    for at, frame in enumerate(groups.tolist()):
        file, line, function, _ = rows[frame]
        if file and line > 0:
            name = function or names.head(int(objects.name[first[at]]), 200) or "(anonymous)"
            made.append(
                HeapLine(file, line, name, None, int(counts[at]), int(shallow[at]), int(retained[at]))
            )
    return made


def _retained(snapshot: Snapshot, numbers: Numbers, of_group: Numbers, groups: int) -> Numbers:
    stored = snapshot.objects
    group_of = np.full(len(stored.type), groups, np.uint32)
    group_of[numbers] = of_group
    return retained_by_object_group(
        stored.dominated_start, stored.dominated, group_of, groups, stored.retained
    )
