"""The tables for SQL of a heap dump: types, objects, references, roots and texts, a range of rows at a time."""

from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from memlens.arrays import U32, U64, Mask
from memlens.kernels.base.sqlite_trees import Texts
from memlens.kernels.graph.shortest import sum_below
from memlens.model.distinct import distinct
from memlens.model.frames import INFERRED
from memlens.model.graph import ENTRY, NONE
from memlens.model.packages import package_of
from memlens.model.timeline import NEVER
from memlens.progress import Report
from memlens.store.hierarchy import hierarchy_of
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.models import graph_of
from memlens.store.objects.moments import UNKNOWN, allocated_us
from memlens.store.objects.places import class_frames, place_frames
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.tables.database_file import Column as TreeColumn
from memlens.store.tables.database_file import Filler, Rows, insert
from memlens.store.tables.long import batches, index_rows, number_column, sorted_rows, watched
from memlens.store.tables.schema import Part
from memlens.store.tables.texts import COUNTED_ROWS, fitting_rows, fitting_texts, longest, longest_of
from memlens.units import shortened

Column = npt.NDArray[Any]

_MOST_NAME_BYTES = 256
_MOST_NAMES_KEPT = 100_000


def graph_texts(snapshot: Snapshot, part: Part) -> list[str]:
    """The texts of a heap dump that are in the rows of a part in full."""
    if part == "refs":
        return [kind.name for kind in snapshot.graph_names.reference_kinds]
    if part != "objects":
        return []
    files = snapshot.strings.texts(distinct(snapshot.frames.file))
    return [*_type_names(snapshot), *files, *snapshot.graph_names.spaces]


def _type_names(snapshot: Snapshot) -> list[str]:
    """The name of each type, as in each row of its objects."""
    starts = snapshot.types.instance_start.astype(np.int64)
    return fitting_rows(snapshot, snapshot.types.name, times=starts[1:] - starts[:-1])


def fill_roots_and_types(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Fill the tables of types and of roots."""
    types, names = snapshot.types, snapshot.graph_names
    counts = np.diff(types.instance_start.astype(np.int64)).tolist()
    none = [None] * len(counts)
    natives = (
        none if column is None else column.tolist() for column in (types.native, types.native_retained)
    )
    packages, modules = packages_and_modules(snapshot)
    classes = (
        none if types.object is None else [None if item == NONE else item for item in types.object.tolist()]
    )
    shown, hierarchy = fitting_rows(snapshot, types.name), hierarchy_of(snapshot)
    above = [None if item is None else hierarchy.nearest(item) for item in classes]
    columns = (
        types.kind.tolist(), counts, types.shallow.tolist(), types.retained.tolist(), *natives, packages, modules,
        classes, above,
    )  # fmt: skip
    insert(
        database, "types",
        (
            (number, name, names.type_kinds[kind], *figures)
            for number, (name, kind, *figures) in enumerate(zip(shown, *columns, strict=True))
        ),
    )  # fmt: skip
    roots = snapshot.objects.roots
    frames = _frame_rows(snapshot, roots["frame"][roots["frame"] < len(snapshot.frames)])
    details = fitting_texts(snapshot, roots["detail"])
    insert(
        database, "roots",
        (
            (item, names.root_kinds[kind], details[detail], *_place(frames, frame))
            for item, kind, detail, frame in roots.tolist()
        ),
    )  # fmt: skip


@kept
def packages_and_modules(snapshot: Snapshot) -> tuple[list[str | None], list[str | None]]:
    """The package and the module of each type, None for none."""
    types = snapshot.types
    kind = graph_of(snapshot.info).kind
    packages = [package_of(name, kind) or None for name in fitting_rows(snapshot, types.name)]
    if types.module is None:
        return packages, [None] * len(packages)
    return packages, [text or None for text in fitting_rows(snapshot, types.module)]


def _retained_counts(snapshot: Snapshot) -> U64:
    """How many objects each dominates, itself included."""
    objects = snapshot.objects
    # what dominates an object is in a node of the compact tree above its own, and that has a lower number
    order = np.argsort(objects.group, kind="stable").astype(np.uint32)
    counts = np.ones(len(order), np.uint64)
    sum_below(order, objects.dominator, counts, counts)
    return counts


def fill_threads(snapshot: Snapshot, database: apsw.Connection) -> None:
    """Fill the tables of threads, of their frames and of variables. Raises IndexError for damaged columns."""
    stored, kinds = snapshot.threads, snapshot.graph_names.root_kinds
    rows, frames, variables = stored.rows, stored.frames["frame"], stored.variables
    texts = fitting_texts(snapshot, rows["name"], rows["state"], variables["name"])
    insert(
        database, "threads",
        (
            (thread, None if own == NONE else own, texts[name], texts[state], failed)
            for thread, (own, name, state, _, failed) in enumerate(rows.tolist())
        ),
    )  # fmt: skip
    known = _frame_rows(snapshot, frames[frames != NONE])
    ends = rows["end"].tolist()
    insert(
        database, "thread_frames",
        (
            (thread, depth, known[frame][2] if frame in known else "", *_place(known, frame))
            for thread, (start, end) in enumerate(zip([0, *ends], ends, strict=False))
            for depth, frame in enumerate(frames[start:end].tolist())
        ),
    )  # fmt: skip
    insert(
        database, "variables",
        (
            (thread, None if depth == NONE else depth, texts[name], kinds[kind], item)
            for thread, depth, item, name, kind in variables.tolist()
        ),
    )  # fmt: skip


def _frame_rows(snapshot: Snapshot, chosen: Column) -> dict[int, FrameRow]:
    """The frames of the rows of a table, by number, with texts that fit it. Raises IndexError for an unknown one."""
    frames = snapshot.frames
    most = longest(snapshot, frames.file[chosen], frames.function[chosen])
    rows = frames.rows(distinct(chosen).tolist()).items()
    return {
        number: (shortened(file, most), line, shortened(function, most), kind)
        for number, (file, line, function, kind) in rows
    }


def _place(frames: dict[int, FrameRow], frame: int) -> tuple[str | None, int | None]:
    file, line, _, _ = frames.get(frame, ("", 0, "", 0))
    return (file, line) if file and line > 0 else (None, None)


def fill_objects(snapshot: Snapshot, filler: Filler, report: Report) -> None:
    """Fill the table of objects. Raises IndexError and ValueError for damaged columns."""
    objects = snapshot.objects
    filler.fill("objects", watched(_object_rows(snapshot), len(objects.type), 0.8, report))
    above = objects.dominator.astype(np.int64)
    above[objects.dominator == NEVER] = -1
    order = sorted_rows(np.arange(len(above), dtype=np.uint32), above)
    filler.fill("objects_by_dominator", _dominator_rows(order, above))
    ids = objects.id.view(np.int64)
    filler.fill(
        "objects_by_id", index_rows(sorted_rows(np.arange(len(ids), dtype=np.uint32), ids), {"id": ids})
    )


def _dominator_rows(order: U32, above: Column) -> Iterator[Rows]:
    for part in batches(len(order)):
        rows = order[part]
        columns = {"dominator": number_column(above[rows], above[rows] < 0), "rowid": number_column(rows)}
        yield Rows(len(rows), columns)


def _object_rows(snapshot: Snapshot) -> Iterator[Rows]:
    objects, names = snapshot.objects, _Names(snapshot, longest(snapshot, snapshot.objects.name))
    types = Texts(_type_names(snapshot))
    counts, heaps, space = _retained_counts(snapshot), Texts(snapshot.graph_names.spaces), objects.space
    frames, lines = snapshot.frames, np.append(snapshot.frames.line, 0).astype(np.int64)
    # a file that is inferred from a class's name is known without a line
    unknown = np.append(frames.source == INFERRED, True)
    counts_of = np.zeros(len(lines), np.int64)
    for _, frame in _object_frames(snapshot, lines):
        counts_of += np.bincount(frame, minlength=len(lines))
    files = Texts([*fitting_rows(snapshot, frames.file, times=counts_of[:-1]), None])
    for part, frame in _object_frames(snapshot, lines):
        dominator, distance = objects.dominator[part], objects.distance[part]
        moment = allocated_us(objects, part)
        of_types = objects.type[part].astype(np.int64)
        columns: dict[str, TreeColumn] = {
            "id": number_column(objects.id[part].view(np.int64)),
            "type_id": number_column(of_types),
            "type": (of_types, None, types),
            "name": names.column(objects.name[part]),
            "shallow_bytes": number_column(objects.shallow[part].view(np.int64)),
            "retained_bytes": number_column(objects.retained[part].view(np.int64)),
            "retained_count": number_column(counts[part].view(np.int64)),
            "dominator": number_column(dominator, dominator == NEVER),
            "distance": number_column(distance, distance == NEVER),
            "file": (frame.astype(np.int64), None, files),
            "line": number_column(lines[frame], unknown[frame]),
            "name_string": number_column(objects.name[part]),
            "allocated_us": number_column(moment, moment == UNKNOWN),
            "native_bytes": _native_column(snapshot, "native", part),
            "native_retained_bytes": _native_column(snapshot, "retained", part),
            "heap": None if space is None else (space[part].astype(np.int64), None, heaps),
        }
        yield Rows(part.stop - part.start, columns, part.start)


def _object_frames(snapshot: Snapshot, lines: Column) -> Iterator[tuple[slice, Column]]:
    """Ranges of objects with the frame of each; without a line the last of ``lines``, which has no frame."""
    objects, classes = snapshot.objects, snapshot.types.object
    of_type = None if classes is None else class_frames(objects, classes)
    for part in batches(len(objects.type)):
        frame = place_frames(objects, snapshot.stacks.label, np.arange(part.start, part.stop))
        if of_type is not None:
            frame = np.where(frame == NEVER, of_type[objects.type[part]], frame)
        frame = np.minimum(frame, len(lines) - 1)
        yield part, np.where(lines[frame] > 0, frame, len(lines) - 1)


def _native_column(snapshot: Snapshot, field: str, part: slice) -> TreeColumn:
    """A field of OWNED_DTYPE for each of a range of objects; NULL for all where there are no rows."""
    owned, values = snapshot.objects.owned, np.zeros(part.stop - part.start, np.int64)
    first, last = np.searchsorted(owned["object"], (part.start, part.stop)).tolist()
    values[owned["object"][first:last] - part.start] = owned[field][first:last]
    return number_column(values, np.full(len(values), not len(owned)))


class _Names:
    """Names in a column, cut to what a page can hold and all rows may have; the last ones read are cached."""

    def __init__(self, snapshot: Snapshot, most: int) -> None:
        self._strings = snapshot.strings
        self._most = min(most, _MOST_NAME_BYTES)
        self._kept: dict[int, str] = {}

    def column(self, chosen: Column) -> TreeColumn:
        """The texts of some numbers."""
        distinct, places = np.unique(chosen, return_inverse=True)
        return places.astype(np.int64), None, Texts([self.text(number) for number in distinct.tolist()])

    def text(self, number: int) -> str:
        """One text, cut."""
        text = self._kept.get(number)
        if text is None:
            if len(self._kept) >= _MOST_NAMES_KEPT:
                self._kept.clear()
            head = shortened(self._strings.head(number, self._most + 1), self._most)
            text = self._kept[number] = head.encode("utf-8", "replace")[:_MOST_NAME_BYTES].decode(
                "utf-8", "ignore"
            )
        return text


def fill_references(snapshot: Snapshot, filler: Filler, report: Report) -> None:
    """Fill the table of references. Raises IndexError and ValueError for damaged columns."""
    stored = snapshot.references
    ends = stored.start.astype(np.int64)
    counts = ends[1:] - ends[:-1]
    sources = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
    rows = _reference_rows(snapshot, sources)
    filler.fill("refs", watched(rows, len(stored.target), 0.7, report))
    # references are ordered by source already
    order = np.arange(len(sources), dtype=np.uint32)
    filler.fill("refs_by_source", index_rows(order, {"source": sources}))
    del sources
    report("filling", 0.85)
    filler.fill("refs_by_target", index_rows(sorted_rows(order, stored.target), {"target": stored.target}))


def _reference_rows(snapshot: Snapshot, sources: U32) -> Iterator[Rows]:
    stored = snapshot.references
    own = snapshot.graph_names.reference_kinds
    kinds, strengths = Texts([kind.name for kind in own]), Texts([kind.strength for kind in own])
    retains = np.array([kind.retains for kind in own], np.int64)
    namings = np.array([("none", "text", "index").index(kind.naming) for kind in own], np.int64)
    is_entry = np.array([kind.name == ENTRY for kind in own], np.bool_)
    has_entries = bool(is_entry.any())
    counts = np.zeros(len(snapshot.strings.end), np.int64)
    for part in batches(len(sources), COUNTED_ROWS):
        numbers = stored.name[part][(namings == 1)[stored.kind[part]]]
        if int(numbers.max(initial=0)) >= len(counts):
            raise InconsistentError("A string's number is out of range")
        counts += np.bincount(numbers, minlength=len(counts))
    names = _Names(snapshot, longest_of(snapshot, counts))
    for part in batches(len(sources)):
        kind = stored.kind[part].astype(np.int64)
        columns: dict[str, TreeColumn] = {
            "source": number_column(sources[part]),
            "target": number_column(stored.target[part]),
            "kind": (kind, None, kinds),
            "strength": (kind, None, strengths),
            "retains": number_column(retains[kind]),
            "name": _reference_names(names, stored.name[part], np.where(is_entry[kind], 0, namings[kind])),
            "key": _keys(names, stored.name[part], is_entry[kind]) if has_entries else None,
        }
        yield Rows(part.stop - part.start, columns, part.start)


def _reference_names(names: _Names, name: Column, naming: Column) -> TreeColumn:
    """Names as texts: those of fields, and indexes in decimal."""
    keys = name.astype(np.int64) << 2 | naming
    distinct, places = np.unique(keys, return_inverse=True)
    texts = [_reference_name(names, key >> 2, key & 3) for key in distinct.tolist()]
    return places.astype(np.int64), None, Texts(texts)


def _keys(names: _Names, name: Column, is_entry: Mask) -> TreeColumn:
    """The texts of entries' keys; NULL for other references."""
    keys = np.where(is_entry, name, 0)
    distinct, places = np.unique(keys, return_inverse=True)
    texts = Texts([names.text(key) if key else "" for key in distinct.tolist()])
    return places.astype(np.int64), (~is_entry).astype(np.uint8), texts


def _reference_name(names: _Names, name: int, naming: int) -> str:
    if naming == 1:
        return names.text(name)
    return str(name) if naming and name != NONE else ""


def fill_strings(snapshot: Snapshot, filler: Filler) -> None:
    """Fill the table of texts. Raises IndexError and ValueError for damaged columns."""
    strings = snapshot.strings

    def rows() -> Iterator[Rows]:
        for part in batches(len(strings.end)):
            known = strings.some(range(part.start, part.stop))
            texts = Texts([known[number] for number in range(part.start, part.stop)])
            columns: dict[str, TreeColumn] = {
                "text": (np.arange(part.stop - part.start, dtype=np.int64), None, texts)
            }
            yield Rows(part.stop - part.start, columns, part.start)

    filler.fill("strings", rows())
