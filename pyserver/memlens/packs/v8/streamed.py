"""Heap snapshots that Julia streamed: a header like V8's in ``NAME.metadata.json``, and three binary files beside it.

Source: ``serialize_node`` and ``serialize_edge`` of ``src/gc-heap-snapshot.cpp`` and ``assemble_snapshot`` of
``stdlib/Profile/src/heapsnapshot_reassemble.jl`` in Julia. All numbers are little-endian and rows have no padding.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.kernels.readers import sized_texts
from memlens.model.graph import MOST_BYTES, MOST_OBJECTS, NONE, SAMPLE_DTYPE, Objects, References
from memlens.model.texts import Texts
from memlens.packs.v8.snapshot import Snapshot
from memlens.texts import phrase

_HEADER = ".metadata.json"
_NODE = np.dtype(
    [
        ("type", "u1"),
        ("name", "<u8"),
        ("id", "<u8"),
        ("self_size", "<u8"),
        ("trace", "<u8"),
        ("detached", "u1"),
    ]
)
_EDGE = np.dtype([("type", "u1"), ("name", "<u8"), ("source", "<u8"), ("target", "<u8")])
_MOST_SIZE = 2**60
_MOST_TEXTS = 0xFFFFFFFF

Rows = npt.NDArray[Any]


def read_parts(
    header: Path, node_types: list[str], edge_types: list[str], counts: tuple[int | None, int | None]
) -> Snapshot:
    """Read the files beside a ``header``, which says how many objects and references there are.

    Raises :class:`NotASnapshotError` or :class:`DamagedSnapshotError`.
    """
    texts = _texts(_part(header, ".strings"))
    nodes = _rows(_part(header, ".nodes"), _NODE, counts[0])
    edges = _rows(_part(header, ".edges"), _EDGE, counts[1])
    count = len(nodes)
    if not count:
        raise DamagedSnapshotError(phrase("The snapshot has no objects"))
    for rows, field, below in (
        (nodes, "type", len(node_types)), (nodes, "name", len(texts) - 1), (nodes, "self_size", _MOST_SIZE),
        (edges, "type", len(edge_types)), (edges, "source", count), (edges, "target", count),
    ):  # fmt: skip
        if len(rows) and int(rows[field].max()) >= below:
            raise DamagedSnapshotError(
                phrase(
                    "A number in the field {field} of the snapshot's parts is too large",
                    field=field,
                )
            )
    shallow = nodes["self_size"].astype(np.uint64)
    if float(shallow.sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any machine's memory"))
    sources = edges["source"].astype(np.uint32)
    starts = np.zeros(count + 1, np.uint64)
    np.cumsum(np.bincount(sources, minlength=count), out=starts[1:])
    order = np.argsort(sources, kind="stable")
    return Snapshot(
        # texts are numbered from 1, so that 0 is "none"
        Objects(np.zeros(0, np.uint32), shallow, nodes["id"].astype(np.uint64), nodes["name"].astype(np.uint32) + 1),
        References(
            starts,
            edges["target"].astype(np.uint32)[order],
            edges["type"].copy()[order],
            # for an element with an unknown index Julia writes 2**64 - 1
            np.minimum(edges["name"], NONE).astype(np.uint32)[order],
        ),
        texts, nodes["type"].copy(), None, node_types, edge_types, 0, None, None, None, 0,
        np.empty(0, SAMPLE_DTYPE),
    )  # fmt: skip


def _part(header: Path, suffix: str) -> Path:
    path = header.with_name(header.name.removesuffix(_HEADER) + suffix)
    if not header.name.endswith(_HEADER) or not path.is_file():
        raise NotASnapshotError(
            phrase("The file has only the header of a heap snapshot"),
            advice=phrase(
                "If Julia's take_heap_snapshot(streaming=true) wrote it, put its other files (.nodes, .edges, "
                ".strings) beside it; or make one file of them with Profile.HeapSnapshot.assemble_snapshot."
            ),
        )
    return path


def _rows(path: Path, form: np.dtype[Any], expected: int | None) -> Rows:
    rows, rest = divmod(path.stat().st_size, form.itemsize)
    if rest:
        raise DamagedSnapshotError(
            phrase("{name} has {rows} rows and a part of one", name=path.name, rows=rows),
            offset=rows * form.itemsize,
        )
    if expected is not None and expected != rows:
        raise DamagedSnapshotError(
            phrase(
                "{name} has {rows} rows, but its header says {expected}",
                name=path.name,
                rows=rows,
                expected=expected,
            )
        )
    if rows > MOST_OBJECTS:
        raise DamagedSnapshotError(
            phrase("{name} has more than {most} rows", name=path.name, most=MOST_OBJECTS)
        )
    return np.memmap(path, form, "r") if rows else np.empty(0, form)


def _texts(path: Path) -> Texts:
    data: Rows = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
    count, size, cut = sized_texts.count_texts(data)
    if cut >= 0:
        raise DamagedSnapshotError(phrase("The strings in {name} are truncated", name=path.name), offset=cut)
    if not 0 < count < _MOST_TEXTS - 1:
        raise DamagedSnapshotError(phrase("{name} has no strings, or too many", name=path.name))
    utf8, end = np.empty(size, np.uint8), np.empty(count + 1, np.uint64)
    sized_texts.copy_texts(data, utf8, end)
    return Texts(utf8, end)
