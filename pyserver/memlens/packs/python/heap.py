"""Heap dumps of Python by Memlens itself, ``memlens.dump.heap(path)`` and ``memlens dump PID``.

docs/python-heap.md describes the file, and ``memlens/dump.py`` writes it.
"""

import functools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from memlens.arrays import U32
from memlens.dump import MAGIC, VERSION
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.redacted import REMOVALS, mark_graph
from memlens.formats.stacks import distinct_frames
from memlens.formats.warnings import counted_warnings
from memlens.model.frames import Frames, profiled_frame
from memlens.model.graph import NONE, PLACE_DTYPE, Column, Facts, Graph, Objects, References
from memlens.model.info import FileWarning
from memlens.packs.python.kernels import heap as kernel
from memlens.packs.python.objects import KINDS, RootRow, ThreadRow, link, scan, warnings_of
from memlens.progress import Report
from memlens.texts import phrase, plural
from memlens.units import shortened

KIND = "python"

_HEADER = struct.Struct("<II")
START = len(MAGIC) + _HEADER.size
COLLECTED = "collected"
"""The note on whether garbage was collected first."""

REMOVED = "removed"
"""The note of what ``memlens redact`` removed."""

REDIRECTED = "redirected"
"""The note on how many references ``memlens redact`` redirected."""

_NUMBERS = ("process_id", "peak_bytes", REDIRECTED)
_POINTERS = (4, 8)
_PYTHON_MOST = 200
_MOST_DIGITS = 15
_LOCAL, _EXCEPTION = "local", "exception"
_OUT_OF_MEMORY = MemoryError.__name__
_MOST_COMPARED = 4096


def sniff(head: bytes) -> bool:
    """Whether the first bytes are those of such a dump."""
    return head.startswith(MAGIC)


def read(source: Source, _scratch: Path, report: Report) -> Graph:
    """Read a dump: see :class:`memlens.formats.Reader`."""
    source.unpack()
    pointer_bytes = check_version(source)
    objects = kernel.Dump(source.data, START)
    scan(objects, source, report, START)
    cut = source.truncated or objects.is_cut
    tables = {name: np.asarray(table) for name, table in objects.tables().items()}
    graph = _graph(objects, tables, pointer_bytes, cut=cut, surplus=source.length - objects.offset)
    redirected = graph.settings.pop(REDIRECTED, None)
    mark_graph(
        graph,
        REMOVALS.get(graph.settings.get(REMOVED)),
        redirected=redirected if isinstance(redirected, int) else None,
    )
    return graph


def check_version(source: Source) -> int:
    """Return the bytes of a pointer. Raises :class:`DamagedSnapshotError` or :class:`NotASnapshotError`."""
    if source.length < START:
        raise DamagedSnapshotError(phrase("The dump is truncated within its header"), offset=source.length)
    version, pointer_bytes = _HEADER.unpack_from(source.data, len(MAGIC))
    if version != VERSION:
        raise NotASnapshotError(
            phrase("The dump has version {version} of its format, which is not supported", version=version),
            advice=phrase("Open it with the version of Memlens that wrote it, or a later one."),
        )
    return int(pointer_bytes)


def _graph(
    objects: kernel.Dump, tables: dict[str, Column], pointer_bytes: int, *, cut: bool, surplus: int
) -> Graph:
    known = _Texts(objects)
    notes = {known[key]: known[value] for key, value in _rows(tables["notes"], 2)}
    types = {int(row[0]): (known[int(row[1])], known[int(row[2])]) for row in tables["types"].tolist()}
    rows = _rows(tables["frames"], 3)
    frames, number_of = distinct_frames(
        profiled_frame(known[file], line, known[function]) for file, function, line in rows
    )
    threads, activations = _threads(known, tables, number_of)
    variable_of = functools.cache(_variable)
    roots = [
        _root(
            address,
            known[kind],
            known[detail],
            _frame(number_of, frame),
            activations,
            activation,
            variable_of,
        )
        for address, (kind, detail, frame, activation) in zip(
            tables["root_address"].tolist(), _rows(tables["roots"], 4), strict=True
        )
    ]
    failed = {
        activations[activation].thread
        for kind, detail, _, activation in _rows(tables["roots"], 4)
        if activation != NONE and _is_out_of_memory(known, kind, detail, activations[activation])
    }
    threads = [each._replace(out_of_memory=number in failed) for number, each in enumerate(threads)]
    linked = link(objects, types, roots, threads, all_held=notes.get(COLLECTED) == "1" and not cut)
    columns = linked.columns
    is_miscounted = not cut and objects.recorded_objects != len(columns["address"])
    places = np.zeros(int((columns["place"] != NONE).sum()), PLACE_DTYPE)
    places["object"] = np.flatnonzero(columns["place"] != NONE)
    numbers = columns["place"][places["object"]]
    places["frame"] = number_of[numbers] if len(places) else 0
    return Graph(
        KIND,
        Objects(linked.type_of, columns["shallow"], columns["address"], columns["name"], columns["stack"]),
        linked.types,
        References(columns["start"], columns["target"], columns["kind"], columns["reference_name"]),
        KINDS,
        linked.roots,
        linked.texts,
        root_kinds=linked.root_kinds,
        frames=Frames(frames, tables["stack_ends"], number_of[tables["stack_frames"]]),
        places=places,
        threads=linked.threads,
        facts=Facts(id_bytes=pointer_bytes if pointer_bytes in _POINTERS else 8, truncated=cut),
        settings=_settings(notes),
        warnings=[
            *warnings_of(
                objects,
                linked,
                cut=cut,
                surplus=surplus,
                lines=[line for *_, line in rows],
                unknown=sum(key in _NUMBERS and not _is_number(value) for key, value in notes.items())
                + (pointer_bytes not in _POINTERS),
            ),
            *counted_warnings(other_count=objects.recorded_objects if is_miscounted else 0),
            *_unread(notes),
        ],
    )


def _unread(notes: dict[str, str]) -> list[FileWarning]:
    """Return a warning if some objects couldn't be examined whole."""
    count = notes.get("unread", "")
    if not _is_number(count) or not int(count):
        return []
    n = int(count)
    said = phrase(
        plural(
            n,
            "{n} object couldn't be examined whole, so a size, a name or references are missing ({example}).",
            "{n} objects couldn't be examined whole, so sizes, names or references are missing (first {example}).",
        ),
        n=n,
        example=shortened(notes.get("unread_example", ""), _PYTHON_MOST),
    )
    return [FileWarning("unread-objects", said)]


class _Activation(NamedTuple):
    """A frame of a thread's stack: the numbers of the thread and of the frame in it."""

    thread: int
    thread_name: str
    depth: int


def _threads(
    known: "_Texts", tables: dict[str, Column], number_of: U32
) -> tuple[list[ThreadRow], list[_Activation]]:
    """Return the threads, and what each frame of their stacks is; the innermost begins a thread."""
    threads, activations = list[ThreadRow](), list[_Activation]()
    rows = zip(tables["activation_thread"].tolist(), _rows(tables["activations"], 3), strict=True)
    for address, (name, depth, frame) in rows:
        if not depth or not threads:
            threads.append(ThreadRow(address, known[name], "", []))
        frames = threads[-1].frames
        activations.append(_Activation(len(threads) - 1, threads[-1].name, len(frames)))
        frames.append(_frame(number_of, frame))
    return threads, activations


def _root(
    address: int,
    kind: str,
    detail: str,
    frame: int,
    activations: list[_Activation],
    activation: int,
    variable_of: Callable[[str, str], str],
) -> RootRow:
    """Return a root; a local is a variable of the frame before it."""
    if kind != _LOCAL or activation == NONE:
        return RootRow(address, kind, detail, frame)
    thread, thread_name, depth = activations[activation]
    return RootRow(address, kind, detail, frame, variable_of(detail, thread_name), thread, depth)


def _variable(detail: str, thread_name: str) -> str:
    """The name of a variable, from the detail of its root, which ends in the thread's name."""
    return detail.removesuffix(f" ({thread_name})")


def _is_out_of_memory(known: "_Texts", kind: int, detail: int, activation: _Activation) -> bool:
    """Whether a root is the MemoryError that the thread of the frame before it is handling."""
    # texts may be long, and many roots may share them
    if known[kind] != _EXCEPTION or len(known[detail]) > _MOST_COMPARED:
        return False
    return known[detail] == f"{_OUT_OF_MEMORY} ({activation.thread_name[:_MOST_COMPARED]})"


class _Texts(dict[int, str]):
    """The file's texts by number, each decoded on use."""

    def __init__(self, objects: kernel.Dump) -> None:
        self._objects = objects

    def __missing__(self, number: int) -> str:
        text = self[number] = self._objects.text(number)
        return text


def _rows(table: Column, width: int) -> list[list[int]]:
    rows: list[list[int]] = table.reshape(-1, width).tolist()
    return rows


def _frame(number_of: U32, frame: int) -> int:
    return NONE if frame == NONE else int(number_of[frame])


def _settings(notes: dict[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {"format_version": VERSION}
    for key, value in notes.items():
        if key not in _NUMBERS:
            settings[key[:_PYTHON_MOST]] = value
        elif _is_number(value):
            settings[key] = int(value)
    return settings


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS
