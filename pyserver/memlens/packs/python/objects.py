"""The meaning of the objects in Python's heap dumps of any format: types, references, and roots."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from memlens.arrays import U32
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.scanning import run_through
from memlens.formats.stacks import Numbers
from memlens.formats.warnings import counted_warnings
from memlens.kernels.graph.columns import References
from memlens.kernels.graph.reach import leaders, reached_from
from memlens.model.distinct import distinct
from memlens.model.frames import MOST_LINE
from memlens.model.graph import (
    ENTRY,
    MOST_BYTES,
    NONE,
    ROOT_DTYPE,
    THREAD_DTYPE,
    VARIABLE_DTYPE,
    Column,
    ReferenceKind,
    Threads,
    Types,
)
from memlens.model.info import FileWarning
from memlens.model.texts import Texts
from memlens.packs.python.kernels import heap as kernel
from memlens.packs.python.kernels.attributes import set_by_data
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
    ReferenceKind(ENTRY, "text"),
)
"""Kinds in the kernel's order, followed by values of dictionaries that are not an object's attributes."""

_OWN_DICT, _BASE = "__dict__", "__base__"
_OF_CODE = ("type", "module", "Type", "Meta")
"""Suffixes of names of types whose objects are classes or modules."""

UNKNOWN = "unknown"
"""The kind of roots without referrers in the dump: C code holds them."""

_MOST_NAME = 4096
_ENTRIES = len(KINDS) - 1


Names = Mapping[int, tuple[str, str]]
"""Qualified name and module of types, by their addresses."""


class ThreadRow(NamedTuple):
    """A thread of the file: the address of its object, 0 if that isn't known, and its frames, innermost first."""

    address: int
    name: str
    state: str
    frames: list[int]
    out_of_memory: bool = False


class RootRow(NamedTuple):
    """A root of the file; ``frame`` is NONE if it has none.

    A variable of a thread's frame has its name, the number of the thread, and the depth of the frame.
    """

    address: int
    kind: str
    detail: str
    frame: int
    variable: str = ""
    thread: int = NONE
    depth: int = NONE


class Linked(NamedTuple):
    """The columns of a dump's objects, with numbers of objects in place of the file's addresses."""

    columns: dict[str, Column]
    texts: Texts
    type_of: U32
    types: Types
    roots: Column
    root_kinds: tuple[str, ...]
    threads: Threads
    missing_roots: int
    """The number of roots whose object isn't in the file."""
    unknown_classes: int
    """The number of objects whose type has no name in the file."""


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


def link(
    objects: kernel.Heap,
    names: Names,
    roots: Sequence[RootRow],
    threads: Sequence[ThreadRow],
    *,
    all_held: bool = False,
) -> Linked:
    """Number objects, types and roots.

    Of a dump without garbage ``all_held`` is true: C code then holds what the roots don't lead to.

    Raises :class:`DamagedSnapshotError`, :class:`NotASnapshotError` or MemoryError.
    """
    of_types, type_of = np.unique(np.frombuffer(objects.types(), np.uint64), return_inverse=True)
    if not len(of_types):
        raise NotASnapshotError(phrase("The dump has no objects"))
    addresses = [root.address for root in roots] + [thread.address for thread in threads]
    wanted = np.concatenate((of_types, np.array(addresses, np.uint64)))
    found = objects.link(wanted)
    if found is None:
        raise MemoryError
    numbers: U32 = np.asarray(found)
    columns = {name: np.asarray(column) for name, column in objects.take().items()}
    if float(columns["shallow"].sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any machine's memory"))
    texts = Texts(columns["utf8"], columns["text_end"])
    of_code = np.array([_has_names_of_code(names.get(each)) for each in of_types.tolist()], np.bool_)
    columns["kind"] = _with_entries(columns, texts, numbers[: len(of_types)], type_of, of_code)
    more = Numbers[str]()
    type_names = [more[_type_name(names.get(address), address)] for address in of_types.tolist()]
    details = [more[shortened(root.detail, _MOST_NAME)] if root.detail else None for root in roots]
    kinds = Numbers[str]()
    rows = np.zeros(len(roots), ROOT_DTYPE)
    rows["object"] = numbers[len(of_types) : len(of_types) + len(roots)]
    rows["kind"] = [kinds[root.kind] for root in roots]
    rows["detail"] = [0 if detail is None else detail + len(texts) for detail in details]
    rows["frame"] = [root.frame for root in roots]
    linked_threads = _threads(threads, roots, rows, numbers[len(of_types) + len(roots) :], texts, more)
    known = rows["object"] != NONE
    missing_roots = sum(
        not found and root.address != 0 for found, root in zip(known.tolist(), roots, strict=True)
    )
    rows = rows[known]
    held = np.zeros(len(columns["address"]), bool)
    held[columns["target"]] = True
    held[rows["object"]] = True
    by_c = np.flatnonzero(~held)
    if all_held:
        start, target = columns["start"], columns["target"]
        by_c = np.append(by_c, _circles(start, target, np.append(rows["object"], by_c)))
    alone = np.zeros(len(by_c), ROOT_DTYPE)
    alone["object"], alone["kind"], alone["frame"] = by_c, kinds[UNKNOWN], NONE
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
        linked_threads,
        missing_roots,
        int(np.count_nonzero(np.array([address not in names for address in of_types.tolist()])[type_of])),
    )


def _with_entries(
    columns: dict[str, Column], texts: Texts, classes: U32, type_of: Column, of_code: Column
) -> Column:
    """The kinds of references, in which values of dictionaries are entries unless they are some object's attributes.

    An attribute whose name isn't an identifier, or isn't there, was set by data, and is an entry as well. So are those
    of instances that are used as dictionaries, unless half of their type have them. ``of_code`` says of which types the
    objects are classes or modules.
    """
    kind, name = columns["kind"].copy(), columns["reference_name"]
    named = np.flatnonzero((kind == kernel.ATTRIBUTE) | (kind == kernel.VALUE))
    known = distinct(name[named])
    words = [texts[number] for number in known.tolist()]
    is_own = np.array([word == _OWN_DICT for word in words], np.bool_)
    is_code_s = np.array([word.isidentifier() for word in words], np.bool_)
    is_special = np.array([len(word) > 4 and word[:2] == "__" == word[-2:] for word in words], np.bool_)
    own_dicts = np.zeros(len(columns["address"]), np.bool_)
    to_own = named[is_own[np.searchsorted(known, name[named])]]
    own_dicts[columns["target"][to_own]] = True
    # the type of each object that may be used as a dictionary, and of the dictionary of its attributes another
    form = np.where(of_code[type_of], -1, type_of.astype(np.int64))
    bases = named[np.array([word == _BASE for word in words], np.bool_)[np.searchsorted(known, name[named])]]
    form[_sources(columns, bases)] = -1
    del named
    # PyHeap has no name for the dictionary of a class
    for number in classes[classes != NONE].tolist():
        form[number] = -1
        own_dicts[columns["target"][columns["start"][number] : columns["start"][number + 1]]] = True
    owners = form[_sources(columns, to_own)]
    form[columns["target"][to_own]] = np.where(owners < 0, -1, owners + len(of_code))
    values = np.flatnonzero(kind == kernel.VALUE)
    kind[values[~own_dicts[_sources(columns, values)]]] = _ENTRIES
    odd = np.flatnonzero((kind == kernel.ATTRIBUTE) | (kind == kernel.VALUE))
    words_of = np.searchsorted(known, name[odd])
    kind[odd[~is_code_s[words_of]]] = _ENTRIES
    chosen = is_code_s[words_of] & ~is_special[words_of]
    # PyHeap writes a name once for each object
    numbers = Numbers[str]()
    equal = np.array([numbers[word] for word in words], np.int64)
    odd, words_of = odd[chosen], equal[words_of[chosen]]
    kind[odd[_set_by_data(_sources(columns, odd), words_of, form)]] = _ENTRIES
    return kind


def _has_names_of_code(known: tuple[str, str] | None) -> bool:
    """Whether a type's objects are classes or modules, whose attributes code names; an unknown type's may be."""
    return not known or not known[0] or known[0].endswith(_OF_CODE)


def _sources(columns: dict[str, Column], references: Column) -> Column:
    """Return the source of each reference."""
    start = columns["start"]
    return np.searchsorted(start, references.astype(start.dtype), "right") - 1


def _set_by_data(sources: Column, words: Column, form: Column) -> Column:
    """Whether attributes, in the order of their objects, were set by data.

    ``form`` is the type of each object, below 0 for those that aren't judged.
    """
    found = np.zeros(len(sources), np.bool_)
    if not set_by_data(
        sources.astype(np.int64), words.astype(np.int64), form.astype(np.int64), found.view(np.uint8)
    ):
        raise MemoryError
    return found


def _circles(start: Column, target: Column, roots: Column) -> U32:
    """Return one object of each cycle of unreachable objects without other referrers: these reach all others."""
    reached = np.zeros(len(start) - 1, np.uint8)
    follows, kind = np.ones(256, np.uint8), np.zeros(len(target), np.uint8)
    reached_from(References(start, target, kind, follows), roots.astype(np.uint32), reached)
    first = np.asarray(leaders(start, target, reached.copy(), np.flatnonzero(reached == 0).astype(np.uint32)))
    # an object that reaches one of them, but isn't reached by it, comes later, so the reverse order leaves it out
    return np.array(leaders(start, target, reached, first[::-1].copy()), np.uint32)


def _threads(
    threads: Sequence[ThreadRow],
    roots: Sequence[RootRow],
    rows: Column,
    objects: U32,
    texts: Texts,
    more: Numbers[str],
) -> Threads:
    """Return threads and variables; ``rows`` has an item for each of ``roots``, ``objects`` for each of ``threads``."""

    def number(text: str) -> int:
        return more[shortened(text, _MOST_NAME)] + len(texts) if text else 0

    found = np.zeros(len(threads), THREAD_DTYPE)
    found["object"] = objects
    found["name"] = [number(each.name) for each in threads]
    found["state"] = [number(each.state) for each in threads]
    found["out_of_memory"] = [each.out_of_memory for each in threads]
    found["end"] = np.cumsum([len(each.frames) for each in threads])
    held = [place for place, root in enumerate(roots) if root.thread != NONE]
    variables = np.zeros(len(held), VARIABLE_DTYPE)
    variables["thread"] = [roots[place].thread for place in held]
    variables["depth"] = [roots[place].depth for place in held]
    variables["name"] = [number(roots[place].variable) for place in held]
    variables["object"], variables["kind"] = rows["object"][held], rows["kind"][held]
    variables = variables[variables["object"] != NONE]
    order = np.lexsort((variables["depth"], variables["thread"]))
    frames = np.array([frame for each in threads for frame in each.frames], np.uint32)
    return Threads(found, frames, variables[order])


def _type_name(known: tuple[str, str] | None, address: int) -> str:
    if known is None or not known[0]:
        return f"(type @{address:#x})"
    name, module = known
    return shortened(name if module in ("", "builtins") else f"{module}.{name}", _MOST_NAME)


def warnings_of(
    objects: kernel.Heap, linked: Linked, *, cut: bool, surplus: int, lines: Iterable[int], unknown: int
) -> list[FileWarning]:
    """Warnings about what files of both formats may lack, or have wrong.

    ``surplus`` are bytes after the end, ``lines`` those of all frames, ``unknown`` impossible facts about it.
    """
    warnings = []
    if cut:
        said = phrase(
            "The dump is truncated at byte {n}: the objects after that are missing, so what seems unreachable or "
            "retained may not be.",
            n=objects.offset,
        )
        warnings.append(FileWarning("cut-file", said))
    warnings += counted_warnings(
        dangling=objects.dangling,
        duplicate_ids=objects.duplicates,
        missing_roots=linked.missing_roots,
        # names of types follow the objects, and may be cut off
        unknown_classes=0 if cut else linked.unknown_classes,
        surplus_bytes=0 if cut else surplus,
        impossible_lines=sum(line > MOST_LINE for line in lines),
        unknown_settings=unknown,
    )
    return warnings
