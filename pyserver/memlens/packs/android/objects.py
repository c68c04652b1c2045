"""The objects, references and roots of a heap graph of ART, as columns."""

from typing import Any

import numpy as np

from memlens.arrays import I64, U8, U32, U64, Mask
from memlens.kernels.base.addresses import Addresses
from memlens.model.distinct import distinct
from memlens.model.graph import (
    MOST_BYTES,
    MOST_NATIVE_BYTES,
    NATIVE_DTYPE,
    NONE,
    ROOT_DTYPE,
    Column,
    Objects,
    ReferenceKind,
    References,
    Types,
)
from memlens.packs.android.kernels import perfetto as kernel
from memlens.packs.android.types import CLASS, FINALIZER, PHANTOM, SOFT, TYPE_KINDS, WEAK, Names
from memlens.units import dimensions

KINDS = (
    ReferenceKind("field", "text"),
    ReferenceKind("static field", "text"),
    ReferenceKind("element", "index"),
    ReferenceKind("reference", "none"),
    ReferenceKind("runtime reference", "none"),
    ReferenceKind("super class", "none"),
    ReferenceKind("class loader", "none"),
    ReferenceKind("weak referent", "text", "weak", retains=False),
    ReferenceKind("soft referent", "text", "soft"),
    ReferenceKind("phantom referent", "text", "phantom", retains=False),
    ReferenceKind("finalizer referent", "text", "finalizer", retains=False),
)
"""A "reference" has a field that the file doesn't name; a "runtime reference" is in no field."""

_FIELD, _STATIC, _ELEMENT, _REFERENCE, _RUNTIME, _SUPER, _LOADER, _WEAK, _SOFT, _PHANTOM, _FINALIZER = range(
    len(KINDS)
)
_REFERENT_KINDS = {WEAK: _WEAK, SOFT: _SOFT, PHANTOM: _PHANTOM, FINALIZER: _FINALIZER}
_REFERENT = ("referent", "java.lang.ref.Reference")
_OF_CLASSES = {("superClass", CLASS): _SUPER, ("classLoader", CLASS): _LOADER}

ROOT_KINDS = (
    "unknown", "JNI global", "JNI local", "local variable", "native stack", "system class", "thread block", "monitor",
    "thread", "interned string", "finalizing", "debugger", "reference cleanup", "virtual machine", "JNI monitor",
)  # fmt: skip
"""In the order of the file's numbers."""
_UNKNOWN_ROOT, _VIRTUAL_MACHINE = 0, 13

SPACES = ("unknown", "app", "zygote", "boot image")
"""In the order of the file's numbers."""
_ZYGOTE, _BOOT_IMAGE = 2, 3

_NO_FIELD = np.uint64(0xFFFFFFFFFFFFFFFF)
_MALLOCED = 1
"""The bit of a registry's size that tells which allocator was used."""


class Assembly:
    """Builds the model from what a :class:`kernel.Objects` has read, whose tables it takes, and from ``names``.

    ``dangling``, ``duplicates``, ``unknown_classes``, ``unknown_spaces``, ``missing_fields``, ``impossible``,
    ``missing_roots`` and ``unknown_roots`` are counts for warnings, the latter three after :meth:`natives` and
    :meth:`roots`.
    """

    def __init__(self, objects: kernel.Objects, names: Names) -> None:
        self._names = names
        self.ids = np.asarray(objects.take("ids"))
        self._roots = np.asarray(objects.take("roots"))
        self._extras = np.asarray(objects.take("extras"))
        heaps = np.asarray(objects.take("heaps"))
        self.unknown_spaces = int(np.count_nonzero(heaps >= len(SPACES)))
        self._space = np.where(heaps < len(SPACES), heaps, 0).astype(np.uint8)
        addresses = Addresses(self.ids)
        self._addresses = addresses
        self.duplicates = len(self.ids) - addresses.count
        file_types, self._type = np.unique(np.asarray(objects.take("types")), return_inverse=True)
        self._rows = [names.type_or_unknown(number) for number in file_types.tolist()]
        is_known = np.array([number in names.types for number in file_types.tolist()], np.bool_)
        self.unknown_classes = int((~is_known[self._type]).sum()) if len(self.ids) else 0
        sizes = np.asarray(objects.take("sizes"))
        own = np.array([row.object_bytes for row in self._rows], np.uint64)
        self.shallow = np.where(sizes == 0, own[self._type], sizes) if len(self.ids) else sizes
        self._own_names = np.zeros(len(self.ids), np.uint32)
        self._name_objects()
        self._start, self._target, self._kind, self._name, self._field = self._resolved(objects)

    def objects(self) -> Objects:
        """The columns of objects."""
        return Objects(self._numbers[self._type], self.shallow, self.ids, self._own_names, space=self._space)

    def types(self) -> Types:
        """The types of objects, and those of classes without objects."""
        return self._types

    def references(self) -> References:
        """References to objects in the file, without null."""
        return References(self._start, self._target, self._kind, self._name)

    def roots(self) -> Column:
        """Rows of ROOT_DTYPE: those of the file, and the objects that are never collected."""
        number = self._numbered(np.ascontiguousarray(self._roots["object"]))
        kinds = self._roots["kind"]
        kind = np.where(kinds < len(ROOT_KINDS), kinds, _UNKNOWN_ROOT)
        known = number != NONE
        self.unknown_roots = int(np.count_nonzero(kinds >= len(ROOT_KINDS)))
        self.missing_roots = int(np.count_nonzero(~known & (self._roots["object"] != 0)))
        kept = np.flatnonzero((self._space == _ZYGOTE) | (self._space == _BOOT_IMAGE))
        rows = np.zeros(int(known.sum()) + len(kept), ROOT_DTYPE)
        rows["frame"] = NONE
        rows["object"] = np.concatenate((number[known], kept))
        rows["kind"] = np.concatenate((kind[known], np.full(len(kept), _VIRTUAL_MACHINE)))
        return distinct(rows)

    def natives(self) -> Column:
        """Rows of NATIVE_DTYPE: memory that a cleaner frees with an object.

        A cleaner's ``referent`` is the owner, its ``thunk`` belongs to a registry, which has the size.
        """
        sizes = {
            row: native & ~_MALLOCED
            for row, native in self._extras[["object", "native"]].tolist()
            if native != -1
        }
        owners: dict[int, int] = {}
        self.impossible = 0
        for cleaner in self._instances("sun.misc.Cleaner"):
            held = self._by_field(cleaner)
            owner, thunk = held.get(_REFERENT), held.get(("thunk", "sun.misc.Cleaner"))
            # one that has run refers to itself instead of a neighbour
            if owner is None or thunk is None or held.get(("next", "sun.misc.Cleaner")) == cleaner:
                continue
            means = self._by_field(thunk).get(
                ("this$0", "libcore.util.NativeAllocationRegistry$CleanerThunk")
            )
            size = sizes.get(-1 if means is None else means, 0)
            if 0 <= size < MOST_NATIVE_BYTES and sum(owners.values()) + size < MOST_BYTES:
                owners[owner] = owners.get(owner, 0) + size
            else:
                self.impossible += 1
        rows = np.array([each for each in sorted(owners.items()) if each[1]], NATIVE_DTYPE)
        return rows if len(rows) else np.empty(0, NATIVE_DTYPE)

    def _name_objects(self) -> None:
        """Build the types, and name the objects that are classes and bitmaps."""
        texts = self._names.texts
        used = {row.id for row in self._rows}
        whole = self._rows + [row for row in self._names.types.values() if row.id not in used]
        loaders = self._loaders([row.loader for row in whole])
        # all class objects are of one type
        numbers: dict[int, int] = {}
        kinds: list[int] = []
        named: list[int] = []
        modules: list[int] = []
        of_row: list[int] = []
        for row, module in zip(whole, loaders, strict=True):
            number = numbers.setdefault(-1 if row.name == CLASS else row.id, len(numbers))
            of_row.append(number)
            if number == len(named):
                named.append(texts.number(row.name))
                kinds.append(TYPE_KINDS.index("array" if row.is_array else "class"))
                modules.append(0 if row.name == CLASS else module)
        self._numbers = np.array(of_row[: len(self._rows)], np.uint32)
        class_objects = np.full(len(named), NONE, np.uint32)
        by_class: dict[tuple[str, int], int] = {}
        is_class = np.array([bool(row.of) for row in self._rows], np.bool_)
        for number in np.flatnonzero(is_class[self._type]).tolist() if len(self.ids) else []:
            row = self._rows[int(self._type[number])]
            self._own_names[number] = texts.number(row.of)
            by_class.setdefault((row.of, row.location), number)
        for row, number in zip(whole, of_row, strict=True):
            found = by_class.get((row.name, row.location))
            if found is not None and class_objects[number] == NONE:
                class_objects[number] = found
        for number, _native, width, height in self._extras.tolist():
            if width and height:
                self._own_names[number] = texts.number(dimensions(width, height))
        self._types = Types(
            np.array(named, np.uint32),
            np.array(kinds, np.uint8),
            module=np.array(modules, np.uint32),
            object=class_objects,
        )

    def _loaders(self, ids: list[int]) -> list[int]:
        """A text for each class loader: its class, with an id if several have that class; 0 for the boot loader."""
        distinct = sorted(set(ids) - {0})
        rows = self._numbered(np.array(distinct, np.uint64))
        classes = {
            loader: self._rows[int(self._type[row])].name if row != NONE else "class loader"
            for loader, row in zip(distinct, rows.tolist(), strict=True)
        }
        texts: dict[int, int] = {0: 0}
        for loader, name in classes.items():
            others = sum(each == name for each in classes.values())
            text = name if others == 1 else f"{name} @ {loader:#x}"
            texts[loader] = 0 if name == "java.lang.BootClassLoader" else self._names.texts.number(text)
        return [texts[loader] for loader in ids]

    def _numbered(self, ids: U64) -> U32:
        out = np.empty(len(ids), np.uint32)
        self._addresses.numbers(ids, out)
        return out

    def _resolved(self, objects: kernel.Objects) -> tuple[Any, U32, U8, U32, I64]:
        """The starts, targets, kinds and names of references, and the ids of their fields, -1 for none."""
        starts = np.asarray(objects.take("starts")).astype(np.int64)
        file_targets = np.asarray(objects.take("targets"))
        fields = np.asarray(objects.take("fields")).copy()
        is_runtime = np.asarray(objects.take("is_runtime")).astype(np.bool_)
        counts = np.diff(starts)
        source_type = np.repeat(self._type, counts) if len(counts) else np.empty(0, np.int64)
        place = np.arange(len(file_targets)) - np.repeat(starts[:-1], counts)
        is_array = np.array([row.is_array for row in self._rows], np.bool_)
        most = np.zeros(len(self._rows), np.int64)
        np.maximum.at(most, self._type, counts)
        declared = [
            [] if row.is_array else self._names.fields_of(row, count)
            for row, count in zip(self._rows, most.tolist(), strict=True)
        ]
        first = np.cumsum([0, *(len(each) for each in declared)])
        flat = np.array([number for each in declared for number in each] or [0], np.uint64)
        at = first[source_type] + place if len(source_type) else np.empty(0, np.int64)
        inherits = (fields == _NO_FIELD) & ~is_runtime
        inherits &= at < first[source_type + 1] if len(source_type) else False
        fields[inherits] = flat[at[inherits]]
        kind = np.full(len(fields), _REFERENCE, np.uint8)
        name = np.zeros(len(fields), np.uint32)
        has_field = fields != _NO_FIELD
        kind[is_runtime] = _RUNTIME
        elements = ~has_field & ~is_runtime & (is_array[source_type] if len(source_type) else False)
        kind[elements], name[elements] = _ELEMENT, place[elements]
        self._name_fields(fields, has_field, source_type, kind, name)
        target = self._numbered(file_targets)
        known = target != NONE
        self.dangling = int(((file_targets != 0) & ~known).sum())
        kept = np.concatenate((np.zeros(1, np.int64), np.cumsum(known)))
        return (
            kept[starts].astype(np.uint64),
            target[known],
            kind[known],
            name[known],
            fields.astype(np.int64)[known],
        )

    def _name_fields(
        self,
        fields: U64,
        has_field: Mask,
        types: I64,
        kind: U8,
        name: U32,
    ) -> None:
        """Fill in the names and kinds of references by fields."""
        numbers, of = np.unique(fields[has_field], return_inverse=True)
        known = [self._names.fields.get(number) for number in numbers.tolist()]
        texts = np.array(
            [0 if each is None else self._names.texts.number(each.name) for each in known], np.uint32
        )
        of_classes = np.array([each is not None and each.owner != CLASS for each in known], np.bool_)
        referents = np.array([each is not None and each == _REFERENT for each in known], np.bool_)
        unknown = np.array([each is None for each in known], np.bool_)
        # 0 is the field without a name
        lost = unknown & (numbers != 0)
        self.missing_fields = int(np.count_nonzero(lost[of]))
        if not len(numbers):
            return
        is_class = np.array([bool(row.of) for row in self._rows], np.bool_)[types[has_field]]
        kinds = np.where(is_class & of_classes[of], _STATIC, _FIELD)
        special = np.array(
            [_FIELD if each is None else _OF_CLASSES.get(each, _FIELD) for each in known], np.uint8
        )
        kinds = np.where(special[of] != _FIELD, special[of], kinds)
        of_type = np.array([_REFERENT_KINDS.get(row.kind, _FIELD) for row in self._rows], np.uint8)
        kinds = np.where(referents[of], of_type[types[has_field]], kinds)
        kind[has_field] = np.where(unknown[of], _REFERENCE, kinds)
        name[has_field] = np.where(special[of] != _FIELD, 0, texts[of])

    def _instances(self, name: str) -> list[int]:
        rows = np.array([row.name == name for row in self._rows], np.bool_)
        return np.flatnonzero(rows[self._type]).tolist() if len(self.ids) else []

    def _by_field(self, number: int) -> dict[tuple[str, str], int]:
        """The targets of an object, by its fields' names and classes."""
        found: dict[tuple[str, str], int] = {}
        for row in range(int(self._start[number]), int(self._start[number + 1])):
            field = self._names.fields.get(int(self._field[row]))
            if field is not None:
                found.setdefault((field.name, field.owner), int(self._target[row]))
        return found
