"""The meaning of the rows of V8's heap snapshots: types, roots, and the figures that DevTools shows."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import U8, U32, U64
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.interned import Interned
from memlens.formats.warnings import counted_warnings
from memlens.kernels.graph.columns import References
from memlens.kernels.graph.reach import reached_from
from memlens.model.distinct import distinct
from memlens.model.graph import (
    NONE,
    ROOT_DTYPE,
    UNREAD_DTYPE,
    Facts,
    Graph,
    Naming,
    ReferenceKind,
    Strength,
    Types,
)  # fmt: skip
from memlens.model.info import FileWarning
from memlens.packs.v8.kernels import graph as kernel
from memlens.packs.v8.keys import mark_keys
from memlens.packs.v8.places import Places, places_of
from memlens.packs.v8.scopes import Unread, unread_variables
from memlens.packs.v8.sections import NAMED_BY_INDEX
from memlens.packs.v8.snapshot import Snapshot
from memlens.packs.v8.source_maps import SourceMaps
from memlens.packs.v8.texts import joined_texts, without_entries
from memlens.texts import phrase, plural
from memlens.units import format_bytes, shortened

KIND = "v8"


_ATTACHED, _DETACHED = 1, 2
"""``detachedness`` of nodes of the DOM, by whether they are in a document (``v8-profiler.h``, ``Detachedness``)."""
_NO_STATE = ("hidden", "invisible", "weak")
"""Kinds of references through which the state isn't inherited."""
_DETACHED_NAME = b"Detached "
"""The prefix of names of detached nodes, in files without ``detachedness``."""

_OF_NODE = b"Node / "
"""The prefix of names of Node.js's own objects, which have a state but are not in a DOM."""

_PARTS = ("hidden", "array")
_PART_NAME = "system / ExternalStringData"
_DOCUMENTS = "(Document DOM trees)"

_TYPE_NAMES = {
    "code": "(compiled code)", "closure": "Function", "regexp": "RegExp", "array": "(array)", "string": "(string)",
    "concatenated string": "(concatenated string)", "sliced string": "(sliced string)", "number": "(number)",
    "bigint": "(bigint)", "symbol": "(symbol)", "synthetic": "(synthetic)", "object shape": "(object shape)",
    "String": "String", "jl_sym_t": "Symbol", "jl_module_t": "Module", "jl_datatype_t": "DataType",
}  # fmt: skip
"""Types whose objects have names of their own and not a class's, the last four Julia's; others are grouped by name."""

_ELEMENT = re.compile(r"(?:Detached )?<[A-Za-z][\w:.-]*(?=[ />])(?!>)")
"""The beginning of the name of an element of the DOM that has attributes: ``<a href="https://example.com">``."""
_PAGE = re.compile(r"Window / data:[\w+./-]*(?=[;,])")
"""The beginning of the name of a page whose address is all that it contains."""
_SCOPE = re.compile(r"system / Context(?= / scope @\d+$)")
"""A context, before the number of its scope, as V8 names them since 2026."""
_AFTER = {_ELEMENT: ">", _PAGE: ",…"}
"""Replaces the omitted part of a type's name."""

_PLAIN, _PROTOTYPE = "Object", "__proto__"
_MOST_SHAPES, _MOST_PROPERTIES, _MOST_SHAPE = 1_000, 100, 120

_FIRST_LETTERS = b"<DsW"
"""The first bytes of such names; the other names, perhaps millions, aren't examined."""

_MOST_CATEGORIES = 10_000


def graph_of(snapshot: Snapshot, maps: SourceMaps, *, is_redacted: bool = False) -> Graph:
    """Build the model from a file's columns, with lines in the original sources if scripts have ``maps``.

    Raises :class:`DamagedSnapshotError`.
    """
    references = snapshot.references
    by_index = np.zeros(256, np.uint8)
    for name in NAMED_BY_INDEX:
        if name in snapshot.edge_types:
            by_index[snapshot.edge_type(name)] = 1
    wrong = kernel.number_names(references.kind, references.name, by_index, len(snapshot.texts) - 1)
    if wrong >= 0:
        raise DamagedSnapshotError(
            phrase("Reference {number} is named by a string that the file doesn't have", number=wrong)
        )
    tables = np.zeros(len(snapshot.texts), np.uint64)
    kernel.weak_map_tables(snapshot.texts.utf8, snapshot.texts.end, tables)
    snapshot.texts = without_entries(snapshot.texts, np.flatnonzero(tables))
    mark_keys(snapshot, is_redacted=is_redacted)
    with ThreadPoolExecutor(1) as pool:
        # walks all references without the GIL
        walks = pool.submit(_walk, snapshot)
        unread = None if snapshot.scopes is None else unread_variables(snapshot, snapshot.scopes)
        places = places_of(
            snapshot.edges(), snapshot.objects.name, snapshot.texts, snapshot.functions, snapshot.trace,
            snapshot.locations, None if unread is None else unread.declared, maps,
        )  # fmt: skip
        owned = walks.result()
    roots, root_kinds = _roots(snapshot)
    _mark_uncounted(snapshot, owned, tables)
    texts = Interned(snapshot.texts)
    unread_rows = _unread(unread, places, texts)
    types, type_of = _types(snapshot, texts)
    _split_by_place(snapshot, types, type_of, texts, places)
    _split_by_shape(snapshot, types, type_of, texts)
    objects = snapshot.objects
    objects.type = type_of
    objects.stack = places.stacks
    objects.flags = _flags(snapshot)
    snapshot.has_unknown_scopes |= unread is None and snapshot.scopes is not None
    # last, because the steps before read the names in the file
    joined, warnings = joined_texts(snapshot, texts), _warnings(snapshot, maps)
    if joined is not None:
        objects.name[joined.objects] = joined.numbers
        warnings += joined.warnings()
    warnings += counted_warnings(lost_stacks=places.lost, equal_ids=_equal_ids(objects.ids))
    all_texts = texts.texts() if joined is None else texts.texts(joined.texts)
    return Graph(
        KIND, objects, types, references, _reference_kinds(snapshot.edge_types), roots, all_texts,
        type_kinds=snapshot.node_types, root_kinds=root_kinds, root=snapshot.root, flags=("detached",),
        frames=places.frames, tree=places.tree, allocated=places.allocated, places=places.places,
        samples=snapshot.samples, unread=unread_rows, facts=Facts(unreachable_attached=True),
        settings={"extra_native_bytes": snapshot.extra_native_bytes}, warnings=warnings,
    )  # fmt: skip


def _unread(unread: Unread | None, places: Places, texts: Interned) -> npt.NDArray[Any]:
    """Rows of UNREAD_DTYPE; names of functions are added to the texts."""
    rows = np.empty(0 if unread is None else len(unread.object), UNREAD_DTYPE)
    if unread is None or not len(rows):
        return rows
    of = unread.declared.of_row
    functions = [texts.number(name) if name else 0 for name in unread.declared.name]
    rows["object"], rows["name"], rows["scope"] = unread.object, unread.name, unread.scope
    rows["function"], rows["frame"] = np.array(functions, np.uint32)[of], places.declared[of]
    return rows


def _walk(snapshot: Snapshot) -> U8:
    """Charge internal parts to their owners; return a mask, one item per object: 1 for what the page owns."""
    _charge_parts(snapshot)
    return _page_owned(snapshot)


def _charge_parts(snapshot: Snapshot) -> None:
    """Charge internal parts to the objects that they belong to, as DevTools does if there are user roots."""
    is_synthetic = snapshot.is_of_type("synthetic")
    from_root = _targets(snapshot, snapshot.root)
    documents = snapshot.texts.mask(_DOCUMENTS)[snapshot.objects.name[from_root]]
    if not bool((documents | (is_synthetic[from_root] == 0)).any()):
        return
    is_part = snapshot.is_of_type(*_PARTS)
    is_part |= snapshot.is_named(snapshot.is_of_type("native"), snapshot.texts.mask(_PART_NAME))
    references = snapshot.references
    kernel.charge_parts(
        references.start, references.target, references.kind, snapshot.edge_type("weak"), is_part, is_synthetic,
        snapshot.objects.shallow,
    )  # fmt: skip


def _targets(snapshot: Snapshot, item: int) -> U32:
    references = snapshot.references
    return references.target[int(references.start[item]) : int(references.start[item + 1])]


def _mark_uncounted(snapshot: Snapshot, owned: U8, tables: U64) -> None:
    """Mark references that DevTools excludes from dominators, by kinds with numbers after the file's."""
    kernel.mark_uncounted(
        snapshot.edges(), snapshot.references.kind, snapshot.objects.ids, tables, owned, snapshot.root,
        snapshot.edge_type("shortcut"),
    )  # fmt: skip


def _page_owned(snapshot: Snapshot) -> U8:
    """Return one item per object: 1 if reachable from the page's global objects and documents without weak references.

    These are the targets of the root's shortcuts, and those of its elements that are documents.
    """
    references = snapshot.references
    span = slice(int(references.start[snapshot.root]), int(references.start[snapshot.root + 1]))
    targets, kinds = references.target[span], references.kind[span]
    documents = snapshot.texts.mask(_DOCUMENTS)[snapshot.objects.name[targets]]
    documents &= snapshot.is_of_type("synthetic")[targets]
    held = (kinds == snapshot.edge_type("element")) & (documents != 0)
    held |= kinds == snapshot.edge_type("shortcut")
    follows = np.ones(256, np.uint8)
    follows[: len(snapshot.edge_types)] = [name != "weak" for name in snapshot.edge_types]
    owned = np.empty(len(snapshot.objects.ids), np.uint8)
    reached_from(
        References(references.start, references.target, references.kind, follows), targets[held], owned
    )
    return owned


def _reference_kinds(names: list[str]) -> list[ReferenceKind]:
    """The file's kinds, followed by two copies for references that dominators ignore.

    The first copy is for references from WeakMaps to their values; see :func:`kernel.mark_uncounted`.
    """

    def kind(name: str, group: int) -> ReferenceKind:
        naming: Naming = "index" if name in NAMED_BY_INDEX else "text"
        strength: Strength = "ephemeron" if group == 1 and name == "internal" else "strong"
        if name == "weak":
            strength = "weak"
        return ReferenceKind(name, naming, strength, group == 0 and name != "weak")

    return [kind(name, group) for group in range(3) for name in names]


def _types(snapshot: Snapshot, texts: Interned) -> tuple[Types, U32]:
    """Types, and the type of each object; names of types that the file doesn't name are added to the texts."""
    node_types, objects = snapshot.node_types, snapshot.objects
    by_name = np.zeros(256, np.uint8)
    by_name[: len(node_types)] = [name not in _TYPE_NAMES for name in node_types]
    type_of, kinds = np.empty(len(objects.ids), np.uint32), np.empty(len(objects.ids), np.uint8)
    names = np.empty(len(objects.ids), np.uint32)
    short = _short_names(snapshot, texts)
    fixed = {
        number: texts.number(_TYPE_NAMES[name])
        for number, name in enumerate(node_types)
        if name in _TYPE_NAMES
    }
    named = objects.name if short is None else short[objects.name]
    count = kernel.number_types(snapshot.node_type, named, len(texts), by_name, type_of, kinds, names)
    kinds, names = kinds[:count].copy(), names[:count].copy()
    for number, text in fixed.items():
        names[kinds == number] = text
    return Types(names, kinds), type_of


def _split_by_place(snapshot: Snapshot, types: Types, type_of: U32, texts: Interned, places: Places) -> None:
    """Make separate types of classes with the same name, as in minified scripts.

    Their modules are then the places of their definitions, in the file's name and line. ``types`` and ``type_of`` are
    changed.
    """
    rows = places.places[snapshot.is_of_type("object")[places.places["object"]] != 0]
    of, frames = type_of[rows["object"]], rows["frame"]
    first = np.full(len(types), NONE, np.uint32)
    # the first row of each type
    first[of[::-1]] = frames[::-1]
    others = distinct(of[frames != first[of]])
    if not len(others):
        return
    chosen = np.flatnonzero(np.isin(of, others))
    pairs, pair_of = np.unique(
        of[chosen].astype(np.uint64) << np.uint64(32) | frames[chosen], return_inverse=True
    )
    where = [places.frames.frames[int(pair) & NONE] for pair in pairs]
    kinds = (pairs >> np.uint64(32)).astype(np.uint32)
    # the first class of each name keeps the existing type
    is_first = np.append(True, kinds[1:] != kinds[:-1])
    numbers = np.where(is_first, kinds, len(types) + np.cumsum(~is_first) - 1).astype(np.uint32)
    type_of[rows["object"][chosen]] = numbers[pair_of]
    module = np.zeros(len(types) + int((~is_first).sum()), np.uint32)
    module[numbers] = [texts.number(f"{PurePath(frame.file).name}:{frame.line}") for frame in where]
    added = kinds[~is_first]
    types.name, types.kind = (
        np.append(types.name, types.name[added]),
        np.append(types.kind, types.kind[added]),
    )
    types.module = module


def _split_by_shape(snapshot: Snapshot, types: Types, type_of: U32, texts: Interned) -> None:
    """Make a type of the plain objects with the same properties, if there are several.

    These are the types of programs without classes: ``{id, name}``. ``types``, ``type_of`` and the names of such
    objects are changed.
    """
    references, property_ = snapshot.references, snapshot.edge_type("property")
    named = np.flatnonzero(types.name == snapshot.text_number(_PLAIN)).tolist()
    plain = [kind for kind in named if snapshot.node_types[int(types.kind[kind])] == "object"]
    numbers = np.flatnonzero(np.isin(type_of, plain)).astype(np.uint32)
    if not len(numbers) or property_ < 0:
        return
    hashes = np.empty(len(numbers), np.uint64)
    kernel.shapes(
        references.start,
        references.kind,
        references.name,
        numbers,
        property_,
        snapshot.text_number(_PROTOTYPE),
        hashes,
    )
    values, first, shape_of, counts = np.unique(
        hashes, return_index=True, return_inverse=True, return_counts=True
    )
    several = np.flatnonzero((counts > 1) & (values != 0))
    several = np.sort(several[np.argsort(-counts[several], kind="stable")][:_MOST_SHAPES])
    if not len(several):
        return
    added = [
        texts.number(_shape(snapshot, int(numbers[first[shape]]), property_)) for shape in several.tolist()
    ]
    of_shape = np.full(len(values), NONE, np.uint32)
    of_shape[several] = np.arange(len(types), len(types) + len(several))
    shaped = of_shape[shape_of] != NONE
    type_of[numbers[shaped]] = of_shape[shape_of][shaped]
    # the type says what the objects are
    snapshot.objects.name[numbers[shaped]] = 0
    types.name = np.append(types.name, np.array(added, np.uint32))
    types.kind = np.append(types.kind, np.full(len(added), types.kind[plain[0]]))
    if types.module is not None:
        types.module = np.append(types.module, np.zeros(len(added), np.uint32))


def _shape(snapshot: Snapshot, item: int, property_: int) -> str:
    """Return the names of an object's properties: ``{id, name}``."""
    references = snapshot.references
    span = slice(int(references.start[item]), int(references.start[item + 1]))
    numbers = references.name[span][references.kind[span] == property_][:_MOST_PROPERTIES].tolist()
    named = [snapshot.texts[number] for number in numbers]
    return shortened(f"{{{', '.join(name for name in named if name != _PROTOTYPE)}}}", _MOST_SHAPE)


def _short_names(snapshot: Snapshot, more: Interned) -> U32 | None:
    """Return the shortened type name for each text, adding texts if needed; None if no text is shortened.

    Names of DOM elements include attributes, those of contexts the number of a scope, and those of pages may include
    their contents: each object would be its own type.
    """
    texts = snapshot.texts
    numbers = distinct(snapshot.objects.name[snapshot.is_of_type("native", "object") != 0])
    numbers = numbers[numbers > 0]
    # an empty text at the end has no first byte
    first = np.minimum(texts.end[numbers.astype(np.int64) - 1].astype(np.int64), len(texts.utf8) - 1)
    numbers = numbers[np.isin(texts.utf8[first], np.frombuffer(_FIRST_LETTERS, np.uint8))]
    known = texts.some(numbers.tolist())
    shorter: dict[int, str] = {}
    for number, name in known.items():
        found = _ELEMENT.match(name) or _SCOPE.match(name) or _PAGE.match(name)
        if found is not None and found.end() < len(name):
            shorter[number] = found[0] + _AFTER.get(found.re, "")
    if not shorter:
        return None
    for number, name in known.items():
        # all other names stay as they are
        more.know(name, number)
    table = np.arange(len(texts), dtype=np.uint32)
    for number, name in shorter.items():
        table[number] = more.number(name)
    return table


def _flags(snapshot: Snapshot) -> U8:
    """An item per object: 1 for nodes of the DOM that DevTools calls detached."""
    state, is_native = snapshot.detachedness, snapshot.is_of_type("native")
    if state is None:
        return _natives_called(snapshot, is_native, _DETACHED_NAME)
    if state.any():
        references, kinds = snapshot.references, snapshot.edge_types
        follows = np.zeros(256, np.uint8)
        # references that dominators ignore count here; see _reference_kinds
        follows[: 3 * len(kinds)] = [name not in _NO_STATE for name in kinds] * 3
        kernel.spread_states(
            references.start,
            references.target,
            references.kind,
            follows,
            is_native,
            _ATTACHED,
            _DETACHED,
            state,
        )
    flags: U8 = (state == _DETACHED).astype(np.uint8)
    if flags.any():
        flags &= is_native & ~_natives_called(snapshot, is_native, _OF_NODE)
    return flags


def _natives_called(snapshot: Snapshot, is_native: U8, begin: bytes) -> U8:
    """Return one item per object: 1 for native objects whose names have a prefix."""
    own = distinct(snapshot.objects.name[is_native != 0]).tolist()
    is_name = np.zeros(len(snapshot.texts), np.uint8)
    is_name[[name for name in own if snapshot.texts.bytes_of(name).startswith(begin)]] = 1
    return snapshot.is_named(is_native, is_name)


def _roots(snapshot: Snapshot) -> tuple[npt.NDArray[Any], list[str]]:
    """Return V8's roots: the targets of the synthetic objects below the root, whose names are the kinds of roots."""
    references, is_synthetic = snapshot.references, snapshot.is_of_type("synthetic")
    weak = snapshot.edge_type("weak")
    rows, kinds = [], []
    seen, waiting = {snapshot.root}, [snapshot.root]
    while waiting and len(seen) < _MOST_CATEGORIES:
        category = waiting.pop()
        kinds.append(
            "user root" if category == snapshot.root else snapshot.texts[int(snapshot.objects.name[category])]
        )
        span = slice(int(references.start[category]), int(references.start[category + 1]))
        targets, kind, name = references.target[span], references.kind[span], references.name[span]
        holds = kind != weak
        below = sorted(set(targets[holds & (is_synthetic[targets] == 1)].tolist()))
        waiting += [each for each in below if each not in seen]
        seen.update(below)
        own = np.flatnonzero(holds & (is_synthetic[targets] == 0))
        found = np.empty(len(own), ROOT_DTYPE)
        found["object"], found["kind"], found["frame"] = targets[own], len(kinds) - 1, NONE
        by_index = np.array([each in NAMED_BY_INDEX for each in snapshot.edge_types])[kind[own]]
        found["detail"] = np.where(by_index, 0, name[own])
        rows.append(found)
    return np.concatenate(rows), kinds


def _equal_ids(ids: U64) -> int:
    """Return the number of objects that share an id; V8 assigns each id once."""
    sorted_ids = np.sort(ids)
    return int(np.count_nonzero(sorted_ids[1:] == sorted_ids[:-1]))


def _warnings(snapshot: Snapshot, maps: SourceMaps) -> list[FileWarning]:
    warnings = []
    if maps.used:
        said = phrase(
            plural(
                len(maps.used),
                "Lines in {n} script are those of its original sources, by the source maps as they were when "
                "the file was read.",
                "Lines in {n} scripts are those of their original sources, by the source maps as they were "
                "when the file was read.",
            ),
            n=len(maps.used),
        )
        warnings.append(FileWarning("source-maps", said))
    if snapshot.extra_native_bytes > 0:
        amount = format_bytes(snapshot.extra_native_bytes)
        said = phrase(
            "V8 knew of {amount} of native memory that belongs to no object; no figure contains it.",
            amount=amount,
        )
        warnings.append(FileWarning("extra-native-bytes", said))
    if snapshot.has_unknown_scopes:
        said = phrase(
            "The file's scopes of variables are damaged, or in a layout that Memlens doesn't know: it can't say which "
            "variables of closures nothing reads."
        )
        warnings.append(FileWarning("unknown-scopes", said))
    return warnings
