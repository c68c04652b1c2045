"""Heap dumps of .NET, .gcdump, as PerfView, dotnet-gcdump and Mono's tools write them.

The file (``gcdump_file.py``) has types, sizes, references and addresses, but neither the names of
fields nor stacks. Nodes of the dump itself say what holds objects ("[static var Program.cache]"); they are below one
root. PerfView samples heaps with many objects: then an object represents several, depending on its type.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import F32, U32, Mask
from memlens.formats.containers import Source
from memlens.formats.interned import Interned
from memlens.formats.scanning import run_through
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import distinct
from memlens.model.graph import (
    NONE,
    OWN_NODE,
    ROOT_DTYPE,
    Column,
    Facts,
    Graph,
    Objects,
    ReferenceKind,
    References,
    Types,
)
from memlens.model.info import FileWarning
from memlens.packs.dotnet.gcdump_file import MAGIC, GcDump, read_file
from memlens.packs.dotnet.kernels import gcdump as kernel
from memlens.progress import Report
from memlens.texts import phrase
from memlens.units import format_bytes

KIND = "gcdump"

KINDS = (ReferenceKind("reference", "none"),)
TYPE_KINDS = ("class", "array", OWN_NODE)
_OWN = TYPE_KINDS.index(OWN_NODE)
_OTHER = "other roots"
"""A group of groups."""

_MOST_NODES = 10_000_000
"""The number of objects at which dotnet-gcdump stops."""
_MOST_MULTIPLIER = 1e9


def sniff(head: bytes) -> bool:
    """Whether the file is PerfView's and has a heap; PerfView's traces begin in the same way."""
    return head.startswith(MAGIC) and b"GCHeapDump" in head[:64]


def read(source: Source, _scratch: Path, report: Report) -> Graph:
    """Read a dump: see :class:`memlens.formats.Reader`."""
    source.unpack()
    dump = read_file(source.data)
    sizes = np.array(dump.sizes, np.int32)
    nodes = kernel.Nodes(source.data, dump.table, dump.node_count, dump.blob, dump.blob_bytes, sizes)
    if run_through(nodes, source, report, dump.table) == kernel.NO_MEMORY:
        raise MemoryError
    return _graph(dump, nodes, cut=source.truncated or dump.cut)


def _graph(dump: GcDump, nodes: kernel.Nodes, *, cut: bool) -> Graph:
    types, shallow, starts, targets = (np.asarray(column) for column in nodes.take())
    ids = np.zeros(dump.node_count, np.uint64)
    known = min(len(dump.addresses), dump.node_count)
    ids[:known] = dump.addresses[:known]
    texts = Interned()
    names = np.array([texts.number(name) for name in dump.names], np.uint32)
    modules = np.array([texts.number(module) for module in dump.modules], np.uint32)
    kinds = np.array([_kind(name) for name in dump.names], np.uint8)
    own = ids == 0
    own[own] = kinds[types[own]] == _OWN
    root_kinds, rows = _Roots(dump, types, starts, targets, own).rows(texts)
    multipliers = _multipliers(dump)
    return Graph(
        KIND,
        Objects(types, shallow, ids, np.zeros(dump.node_count, np.uint32)),
        Types(names, kinds, module=modules, multiplier=multipliers),
        References(starts, targets, np.zeros(len(targets), np.uint8), np.zeros(len(targets), np.uint32)),
        KINDS,
        rows,
        texts.texts(),
        type_kinds=TYPE_KINDS,
        root_kinds=root_kinds,
        root=dump.root,
        facts=Facts(
            id_bytes=8 if dump.is_64_bit else 4,
            count_multiplier=_sane(dump.count_multiplier),
            size_multiplier=_sane(dump.size_multiplier),
            capped=_is_capped(dump),
            truncated=cut,
        ),
        settings=_settings(dump),
        warnings=_warnings(dump, nodes, cut=cut),
    )


def _kind(name: str) -> int:
    """Return the kind. The dump's own nodes look like "[static vars]", compilers' classes like "[]c__DisplayClass1"."""
    if name == "UNDEFINED" or (name.startswith("[") and name.endswith("]") and not name.startswith("[]")):
        return _OWN
    return TYPE_KINDS.index("array" if name.endswith("]") else "class")


class _Roots:
    """What the dump's own nodes below the root hold.

    A root's kind is the group under the root, as "static vars", and its detail the node, as "static var Program.cache".
    """

    def __init__(self, dump: GcDump, types: U32, starts: Column, targets: U32, own: Column) -> None:
        self._dump, self._types, self._starts, self._targets, self._own = dump, types, starts, targets, own
        self._kinds: dict[str, int] = {}

    def rows(self, texts: Interned) -> tuple[tuple[str, ...], Column]:
        """Return the kinds, and rows of ROOT_DTYPE."""
        parts: list[Column] = []
        seen = {self._dump.root}
        waiting: list[tuple[int, str]] = [(self._dump.root, "")]
        while waiting:
            node, group = waiting.pop()
            children = self._targets[int(self._starts[node]) : int(self._starts[node + 1])]
            is_own = self._own[children]
            name = self._name(node)
            if not is_own.all():
                part = np.zeros(int((~is_own).sum()), ROOT_DTYPE)
                part["object"], part["frame"] = children[~is_own], NONE
                part["kind"] = self._kinds.setdefault(group or name, len(self._kinds))
                part["detail"] = texts.number(name)
                parts.append(part)
            for child in sorted(set(children[is_own].tolist())):
                if child not in seen:
                    seen.add(child)
                    waiting.append((child, group if group and group != _OTHER else self._name(child)))
        rows = np.concatenate(parts) if parts else np.zeros(0, ROOT_DTYPE)
        return tuple(self._kinds) or ("root",), rows

    def _name(self, node: int) -> str:
        return self._dump.names[self._types[node]].removeprefix("[").removesuffix("]") or "root"


def _sane(multiplier: float) -> float:
    """Return a multiplier of the file; 1 if it is impossible."""
    return multiplier if 1 <= multiplier <= _MOST_MULTIPLIER else 1.0


def _multipliers(dump: GcDump) -> F32 | None:
    """Return how many objects one object of each type represents; None if all are in the file."""
    if dump.multipliers is None:
        return None
    whole = np.ones(len(dump.names), np.float32)
    known = min(len(whole), len(dump.multipliers))
    whole[:known] = dump.multipliers[:known]
    whole[~_possible(whole)] = 1
    return whole if bool((whole > 1).any()) else None


def _impossible_multipliers(dump: GcDump) -> int:
    """Return how many multipliers of the file can't be true."""
    of_all = np.array([dump.count_multiplier, dump.size_multiplier])
    of_types = np.empty(0, np.float32) if dump.multipliers is None else dump.multipliers
    return sum(int(np.count_nonzero(~_possible(each))) for each in (of_all, of_types))


def _possible(multipliers: npt.NDArray[np.floating]) -> Mask:
    """Return a mask of the multipliers that can be true; none of them is NaN."""
    return (multipliers >= 1) & (multipliers <= _MOST_MULTIPLIER)


def _is_capped(dump: GcDump) -> bool:
    return dump.node_count >= _MOST_NODES and "dotnet-gcdump" in dump.tool


def _settings(dump: GcDump) -> dict[str, Any]:
    known = {
        "tool": dump.tool,
        "machine": dump.machine,
        "process": dump.process,
        "process_id": dump.process_id,
        "written_ms": dump.time_ms,
        "working_set_bytes": dump.working_set_bytes,
        "log": dump.log,
    }
    return {"format_version": dump.version} | {name: value for name, value in known.items() if value}


def _warnings(dump: GcDump, nodes: kernel.Nodes, *, cut: bool) -> list[FileWarning]:
    warnings = []
    if cut:
        said = phrase(
            "The dump is truncated: {n} objects at its end are unknown, and so is how they were sampled.",
            n=nodes.broken,
        )
        if not nodes.broken:
            said = phrase(
                "The dump is truncated: objects have no addresses, and how they were sampled is unknown."
            )
        warnings.append(FileWarning("cut-file", said))
    elif nodes.broken:
        warnings.append(
            FileWarning(
                "broken-nodes",
                phrase("Damaged nodes, shown as empty: {n}.", n=nodes.broken),
            )
        )
    lost = abs(dump.node_count - len(dump.addresses))
    # nodes of the dump itself have none
    known = dump.addresses[dump.addresses != 0]
    warnings += counted_warnings(
        dangling=nodes.dangling,
        lost_addresses=0 if cut else lost,
        equal_ids=len(known) - len(distinct(known)),
        impossible_multipliers=_impossible_multipliers(dump),
        unknown_settings=dump.impossible,
    )
    if not cut and nodes.total_bytes != dump.total_bytes:
        said = phrase(
            "The objects' sizes add up to {sum}, but the file says {total}.",
            sum=format_bytes(nodes.total_bytes),
            total=format_bytes(dump.total_bytes),
        )
        warnings.append(FileWarning("other-total", said))
    if _sane(dump.count_multiplier) > 1 or _multipliers(dump) is not None:
        said = phrase(
            "Sampled: each object in the file stands for {n} in the program on average, more or fewer "
            "depending on its type. Counts and sizes are those of the objects in the file unless marked as "
            "estimates.",
            n=f"{_sane(dump.count_multiplier):.3g}",
        )
        warnings.append(FileWarning("sampled", said))
    if _is_capped(dump):
        said = phrase("dotnet-gcdump stopped at {n} objects; what they alone hold is missing.", n=_MOST_NODES)
        warnings.append(FileWarning("capped", said))
    return warnings
