"""The meaning of the objects in Python's heap dumps of any format: types, references, and roots."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.graph_notices import counted_notices
from memlens.formats.scanning import run_through
from memlens.formats.stacks import Numbers
from memlens.kernels.readers import python_heap as kernel
from memlens.model.graph import MOST_BYTES, NONE, ROOT_DTYPE, Column, ReferenceKind, Types
from memlens.model.info import Notice
from memlens.model.texts import Texts
from memlens.progress import Report
from memlens.texts import phrase
from memlens.units import shortened

KINDS = (
    ReferenceKind("reference", "none"),
    ReferenceKind("key", "none"),
    ReferenceKind("value", "text"),
    ReferenceKind("item", "index"),
    ReferenceKind("attribute", "text"),
    ReferenceKind("element", "none"),
)
"""In the order of the kernel's kinds."""

UNKNOWN = "unknown"
"""The kind of roots to which nothing in the dump refers, because C code holds them."""

_MOST_NAME = 4096

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

Names = Mapping[int, tuple[str, str]]
"""Qualified name and module of types, by their addresses."""


class RootRow(NamedTuple):
    """A root of the file; ``frame`` is NONE if it has none."""

    address: int
    kind: str
    detail: str
    frame: int


class Linked(NamedTuple):
    """The columns of a dump's objects, with numbers of objects in place of the file's addresses."""

    columns: dict[str, Column]
    texts: Texts
    type_of: U32
    types: Types
    roots: Column
    root_kinds: tuple[str, ...]


def scan(objects: kernel.Heap, source: Source, report: Report, start: int) -> None:
    """Read all records. Raises :class:`DamagedSnapshotError` or MemoryError."""
    status = run_through(objects, source, report, start)
    if status == kernel.NO_MEMORY:
        raise MemoryError
    if status != kernel.OK:
        raise DamagedSnapshotError(
            phrase(
                "The dump has an unknown record"
                if status == kernel.BAD_RECORD
                else "The dump has an impossible number"
            ),
            offset=objects.error_offset,
        )


def link(objects: kernel.Heap, names: Names, roots: Sequence[RootRow]) -> Linked:
    """Number objects, types and roots.

    Raises :class:`DamagedSnapshotError`, :class:`NotASnapshotError` or MemoryError.
    """
    of_types, type_of = np.unique(np.frombuffer(objects.types(), np.uint64), return_inverse=True)
    if not len(of_types):
        raise NotASnapshotError(phrase("The dump has no objects"))
    wanted = np.concatenate((of_types, np.array([root.address for root in roots], np.uint64)))
    found = objects.link(wanted)
    if found is None:
        raise MemoryError
    numbers: U32 = np.asarray(found)
    columns = {name: np.asarray(column) for name, column in objects.take().items()}
    if float(columns["shallow"].sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The sizes of the objects add up to more than any memory"))
    texts = Texts(columns["utf8"], columns["text_end"])
    more = Numbers[str]()
    type_names = [more[_type_name(names.get(address), address)] for address in of_types.tolist()]
    details = [more[shortened(root.detail, _MOST_NAME)] if root.detail else None for root in roots]
    kinds = Numbers[str]()
    rows = np.zeros(len(roots), ROOT_DTYPE)
    rows["object"] = numbers[len(of_types) :]
    rows["kind"] = [kinds[root.kind] for root in roots]
    rows["detail"] = [0 if detail is None else detail + len(texts) for detail in details]
    rows["frame"] = [root.frame for root in roots]
    rows = rows[rows["object"] != NONE]
    held = np.zeros(len(columns["address"]), bool)
    held[columns["target"]] = True
    held[rows["object"]] = True
    alone = np.zeros(int((~held).sum()), ROOT_DTYPE)
    alone["object"], alone["kind"], alone["frame"] = np.flatnonzero(~held), kinds[UNKNOWN], NONE
    types = Types(
        np.array(type_names, np.uint32) + np.uint32(len(texts)),
        np.zeros(len(of_types), np.uint8),
        object=numbers[: len(of_types)].copy(),
    )
    return Linked(
        columns,
        texts.with_more(more),
        type_of.astype(np.uint32),
        types,
        np.concatenate((rows, alone)),
        tuple(kinds),
    )


def _type_name(known: tuple[str, str] | None, address: int) -> str:
    if known is None or not known[0]:
        return f"(type @{address:#x})"
    name, module = known
    return shortened(name if module in ("", "builtins") else f"{module}.{name}", _MOST_NAME)


def notices_of(objects: kernel.Heap, *, cut: bool) -> list[Notice]:
    """Notices about what files of both formats may lack."""
    notices = []
    if cut:
        said = phrase(
            "The dump is truncated at byte {n}: the objects after that are missing, so what seems unreachable or "
            "retained may not be.",
            n=objects.offset,
        )
        notices.append(Notice("cut-file", said))
    notices += counted_notices(dangling=objects.dangling, duplicate_ids=objects.duplicates)
    return notices
