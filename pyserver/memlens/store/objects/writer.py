"""Writes a Graph into an archive folder: its own columns, and those that are computed from them.

Dominators, retained sizes, distances, referrers and the compact tree are computed here, once.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U8, U32, U64
from memlens.kernels.graph import reach, referrers, tree
from memlens.kernels.graph.columns import References
from memlens.kernels.tree import calltree
from memlens.model.distinct import distinct
from memlens.model.graph import Graph
from memlens.model.graph_names import cut_names
from memlens.model.info import GraphInfo, ProfileInfo, ValueType, plausible_time
from memlens.model.profile import Profile
from memlens.model.timeline import NEVER
from memlens.progress import Report
from memlens.store.files.column_files import ColumnFiles
from memlens.store.manifest import FORMAT_VERSION, GraphNames, Manifest, SourceFile, write_manifest
from memlens.store.objects.columns import (
    REACHED_DTYPE,
    THREAD_FRAME_DTYPE,
    CompactColumns,
    FieldColumns,
    ObjectColumns,
    ReferenceColumns,
    ThreadColumns,
    TypeColumns,
)  # fmt: skip
from memlens.store.objects.compact import Dominated, compact_tree
from memlens.store.objects.dominators import Dominators, Referrers, dominators_of_graph, entries
from memlens.store.objects.retained import below_own_group, retained_of_topmost
from memlens.store.objects.room import Room
from memlens.store.objects.shares import shares_of
from memlens.store.samples.writer import write_samples
from memlens.store.stacks.strings import StringWriter
from memlens.texts import phrase

Rows = npt.NDArray[Any]

_ALLOCATED = (
    ValueType("shallow_bytes", "bytes", "live", phrase("Live objects' own bytes")),
    ValueType("objects", "count", "live", phrase("Live objects")),
)
"""The values of the profile of allocation stacks."""

_RECORDED = (
    ValueType("allocated_bytes", "bytes", "total", phrase("Allocated while recording")),
    ValueType("allocated_objects", "count", "total", phrase("Objects allocated while recording")),
)
"""Those that follow where the dump says what each stack allocated, whatever became of it."""


class _Derived(Struct):
    """Results computed from a graph, by object."""

    dominator: U32
    retained: U64
    reached: Rows
    """Rows of REACHED_DTYPE."""
    owned: Rows
    """Rows of OWNED_DTYPE."""
    ordered: U32
    """Objects, the largest retained size first."""
    dominated: Dominated
    group: U32
    compact: dict[str, Rows]
    reachable_objects: int
    reachable_bytes: int


def write_graph(graph: Graph, source: SourceFile, folder: Path, report: Report) -> None:
    """Write ``graph`` into the existing empty ``folder``. Its columns are released."""
    report("matching", 0.0)
    cut_names(graph)
    columns, strings = ColumnFiles(folder), StringWriter(graph.texts)
    counts = (len(graph.objects), len(graph.references), len(graph.types), len(graph.roots))
    retains = np.zeros(256, np.uint8)
    retains[: len(graph.reference_kinds)] = [kind.retains for kind in graph.reference_kinds]
    room = Room(folder)
    with ThreadPoolExecutor(1) as pool:
        # kernels release the GIL: references are reversed and written while dominators are computed
        turning = [pool.submit(_turn_around, columns, graph)]
        known = pool.submit(_write_known, columns, graph, retains, turning[0])
        _write_fields(columns, graph)
        _write_identities(columns, graph)
        dominators = dominators_of_graph(graph, retains, lambda: turning.pop().result(), room)
        distance = known.result()
    _release_references(graph)
    derived = _derive(graph, dominators, distance, room)
    shares, lost = shares_of(graph, distance), np.flatnonzero(distance == NEVER)
    # the memory of columns that are no longer needed
    del dominators, room, distance
    report("writing", 0.0)
    _write_derived(columns, graph, derived, lost)
    report("writing", 0.5)
    allocations = _write_allocations(columns, graph, source, strings)
    _write_threads(columns, graph)
    strings.write(columns)
    columns.write(CompactColumns, derived.compact)
    info = _info(graph, source, counts, derived, allocations)
    names = GraphNames(
        list(graph.reference_kinds), list(graph.type_kinds), list(graph.root_kinds), list(graph.flags),
        list(graph.spaces), graph.root, list(graph.held_kinds),
    )  # fmt: skip
    manifest = Manifest(
        FORMAT_VERSION, source, info, [0], [], [], [], graph.settings, columns.entries, graph=names,
        shares=shares,
    )  # fmt: skip
    write_manifest(folder, manifest)


def _turn_around(columns: ColumnFiles, graph: Graph) -> Referrers:
    """Write the references' names, and reverse the references."""
    references = graph.references
    columns.write(ReferenceColumns, {"name": references.name})
    # the names aren't needed any more, and sources take as much memory
    source, references.name = references.name, np.empty(0, np.uint32)
    # of one kind all are alike, whichever way they are turned
    is_mixed = len(graph.reference_kinds) > 1
    kind = np.empty_like(references.kind) if is_mixed else references.kind
    turned = Referrers(np.empty_like(references.start), source, kind)
    of_kind = references.kind if is_mixed else references.kind[:0]
    referrers.referrers(references.start, references.target, of_kind, *turned)
    return turned


def _write_known(columns: ColumnFiles, graph: Graph, retains: U8, turning: "Future[Referrers]") -> U32:
    """Write references, referrers and the file's data about objects; return each object's distance from the roots."""
    references, turned = graph.references, turning.result()
    columns.write(
        ReferenceColumns,
        {
            "start": references.start, "target": references.target, "kind": references.kind,
            "referrer_start": turned.start, "referrer": turned.source, "referrer_kind": turned.kind,
        },
    )  # fmt: skip
    del turned, turning
    distance = np.empty(len(graph.objects), np.uint32)
    followed = References(references.start, references.target, references.kind, retains)
    reach.distances(followed, entries(graph), distance)
    objects = graph.objects
    own: dict[str, Rows | None] = {
        "type": objects.type, "shallow": objects.shallow, "distance": distance, "flags": objects.flags,
        "space": objects.space,
    }  # fmt: skip
    columns.write(ObjectColumns, {name: column for name, column in own.items() if column is not None})
    return distance


def _release_references(graph: Graph) -> None:
    references = graph.references
    references.start = np.empty(0, np.uint64)
    references.target = references.name = np.empty(0, np.uint32)
    references.kind = np.empty(0, np.uint8)


def _derive(graph: Graph, dominators: Dominators, distance: U32, room: Room) -> _Derived:
    count = len(graph.objects)
    dominator, retained, unreached, reached, owned = dominators
    unheld = unreached[distance[unreached] != NEVER]
    rows = np.zeros(len(unheld), REACHED_DTYPE)
    rows["object"], rows["dominator"] = unheld, NEVER
    reachable_bytes = int(graph.objects.shallow.sum()) - int(graph.objects.shallow[unreached].sum())
    ordered, begin, member = room(count, np.uint32), room(count + 2, np.uint32), room(count, np.uint32)
    tree.descending(retained, ordered)
    tree.grouped(dominator, ordered, begin, member)
    dominated = Dominated(begin, member)
    compact, group = compact_tree(
        dominated,
        len(graph.types),
        graph.objects.type,
        graph.objects.shallow,
        retained,
        # what roots don't reach has a node of its own, beside the graph's own root
        graph.root if graph.facts.unreachable_attached else None,
        room,
        unreached,
    )
    return _Derived(
        dominator,
        retained,
        np.sort(np.concatenate((reached, rows)), order="object"),
        owned,
        ordered,
        dominated,
        group,
        compact,
        count - len(unreached),
        reachable_bytes,
    )


def _write_derived(columns: ColumnFiles, graph: Graph, derived: _Derived, lost: I64) -> None:
    """Write what is computed from the whole graph for objects and types; no root reaches the ``lost`` objects."""
    objects, types, dominated = graph.objects, graph.types, derived.dominated
    compact = derived.compact
    below = below_own_group(compact["first"], compact["last"], compact["type"], len(types))
    retained = retained_of_topmost(below, compact["type"], len(types), compact["retained"])
    owned = derived.owned
    columns.write(
        ObjectColumns,
        {
            "retained": derived.retained, "dominator": derived.dominator, "group": derived.group,
            "dominated_start": dominated.begin, "dominated": dominated.member, "roots": graph.roots,
            "places": graph.places, "reached": derived.reached, "moments": graph.samples,
            "arrays": graph.arrays, "owned": owned, "images": graph.images,
            "unread": graph.unread,
        },
    )  # fmt: skip
    instance_start, instance = np.empty(len(types) + 1, np.uint32), dominated.member
    tree.grouped(objects.type, derived.ordered, instance_start, instance)
    shallow, lost_shallow = np.zeros((2, 1, len(types)), np.int64)
    own_bytes = objects.shallow.view(np.int64)[np.newaxis]
    calltree.add_by(objects.type, own_bytes, shallow)
    calltree.add_by(objects.type[lost], own_bytes[:, lost], lost_shallow)
    lost_objects = np.bincount(objects.type[lost], minlength=len(types)).astype(np.uint32)
    of_types: dict[str, Rows | None] = {
        "name": types.name, "kind": types.kind, "module": types.module, "object": types.object,
        "multiplier": types.multiplier, "shallow": shallow[0].view(np.uint64), "retained": retained,
        "instance_start": instance_start, "instance": instance, "unreachable": lost_objects,
        "unreachable_shallow": lost_shallow[0].view(np.uint64),
    }  # fmt: skip
    if len(owned):
        own, held = np.zeros(len(types), np.uint64), np.zeros(len(types), np.uint64)
        kinds, topmost = objects.type[owned["object"]], below[derived.group[owned["object"]]] == 0
        np.add.at(own, kinds, owned["native"])
        np.add.at(held, kinds[topmost], owned["retained"][topmost])
        of_types |= {"native": own, "native_retained": held}
    columns.write(TypeColumns, {name: column for name, column in of_types.items() if column is not None})


def _write_identities(columns: ColumnFiles, graph: Graph) -> None:
    """Write the ids and names of objects, which are released."""
    objects = graph.objects
    columns.write(ObjectColumns, {"id": objects.ids, "name": objects.name})
    objects.ids, objects.name = np.empty(0, np.uint64), np.empty(0, np.uint32)


def _write_fields(columns: ColumnFiles, graph: Graph) -> None:
    """Write fields that aren't references, which are released."""
    values, graph.values = graph.values, None
    if values is not None:
        columns.write(
            FieldColumns,
            {"start": values.start, "name": values.name, "kind": values.kind, "bits": values.bits},
        )


def _write_threads(columns: ColumnFiles, graph: Graph) -> None:
    threads = graph.threads
    if len(threads.rows):
        frames = threads.frames.view(THREAD_FRAME_DTYPE)
        columns.write(ThreadColumns, {"rows": threads.rows, "frames": frames, "variables": threads.variables})


def _write_allocations(
    columns: ColumnFiles, graph: Graph, source: SourceFile, strings: StringWriter
) -> ProfileInfo | None:
    """Write frames and stacks, and as a profile's samples the sums of objects by stack, or what the file has of memory
    outside of the heap.

    Returns the profile's summary, None if it isn't known where any object was allocated.
    """
    if graph.outside is not None:
        return write_samples(columns, graph.outside, source, strings)[0]
    stack, allocated = graph.objects.stack, graph.allocated
    known = stack is not None and (bool(stack.any()) or (allocated is not None and bool(allocated.any())))
    used: U32 = np.empty(0, np.uint32)
    types = list(_ALLOCATED if allocated is None else _ALLOCATED + _RECORDED)
    sums: I64 = np.empty((len(types), 0), np.int64)
    if stack is not None and known:
        recorded = np.empty(0, np.uint32) if allocated is None else np.flatnonzero(allocated.any(axis=0))
        used = distinct(np.concatenate((stack, recorded))).astype(np.uint32)
        samples = np.searchsorted(used, stack)
        sums = np.zeros((len(types), len(used)), np.int64)
        values = np.stack((graph.objects.shallow.view(np.int64), np.ones(len(stack), np.int64)))
        calltree.add_by(samples.astype(np.uint32), values, sums[: len(_ALLOCATED)])
        if allocated is not None:
            sums[len(_ALLOCATED) :] = allocated[:, used]
    profile = Profile(
        graph.kind, graph.frames, types, 0, used, list(sums), tree=graph.tree
    )  # fmt: skip
    info, stacks = write_samples(columns, profile, source, strings)
    if stack is None or not known:
        return None
    columns.write(ObjectColumns, {"stack": stacks[samples]})
    return info


def _info(
    graph: Graph,
    source: SourceFile,
    counts: tuple[int, int, int, int],
    derived: _Derived,
    allocations: ProfileInfo | None,
) -> GraphInfo:
    facts = graph.facts
    objects, references, types, roots = counts
    return GraphInfo(
        kind=graph.kind, path=source.path, file_bytes=source.size,
        warnings=[*graph.warnings, *(allocations.warnings if allocations else [])],
        objects=objects, references=references, types=types, roots=roots, threads=len(graph.threads.rows),
        shallow_bytes=int(graph.objects.shallow.sum()),
        reachable_objects=derived.reachable_objects, reachable_bytes=derived.reachable_bytes,
        compact_nodes=len(derived.compact["type"]), id_bytes=facts.id_bytes,
        count_multiplier=facts.count_multiplier, size_multiplier=facts.size_multiplier, capped=facts.capped,
        sizes_inferred=facts.sizes_inferred, truncated=facts.truncated,
        native_bytes=int(derived.owned["native"].sum()),
        moments=len(graph.samples), has_modules=graph.types.module is not None,
        image_types=distinct(graph.objects.type[graph.images["object"]]).tolist(),
        allocations=allocations, outside=graph.outside is not None,
        written_ms=plausible_time(graph.settings.get("written_ms")),
    )  # fmt: skip
