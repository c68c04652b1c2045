"""The types of a heap dump of Java: its classes, and those that it mentions but doesn't contain."""

import numpy as np

from memlens.arrays import U32
from memlens.model.distinct import distinct
from memlens.model.graph import NONE, Types, is_array
from memlens.packs.jvm.kernels import hprof_references

TYPE_KINDS = ("class", "array")

_UNKNOWN = "(class that is not in the file)"
_PLATFORM = "jdk.internal.loader."
"""Where the JDK's own loaders are, which always have the same names."""

_PRIMITIVES = ("", "", "", "", "boolean", "char", "float", "double", "byte", "short", "int", "long")


def types_of(references: hprof_references.References, numbers: U32) -> tuple[U32, Types]:
    """Return the number of each object's type, changing ``numbers`` of the kernel in place, and the types.

    They have no modules yet, see :func:`modules_of`.
    """
    records, classes = references.objects.records, references.objects.class_count
    names, ordinals = np.empty(classes, np.uint32), np.empty(classes, np.uint32)
    loaders, arrays = np.empty(classes, np.uint64), np.empty(classes, np.uint8)
    references.class_rows(names, ordinals, loaders, arrays)
    is_made = numbers >= classes
    made = distinct(numbers[is_made])
    numbers[is_made] = classes + np.searchsorted(made, numbers[is_made]).astype(np.uint32)
    texts = [_made_name(number - classes) for number in made.tolist()]
    names[names == 0] = records.named("(class without a name)")
    names = np.append(names, np.array([records.named(text) for text in texts], np.uint32))
    return numbers, Types(
        names,
        np.append(arrays, np.array([is_array(text) for text in texts], np.uint8)),
        object=np.append(ordinals, np.full(len(made), NONE, np.uint32)),
    )


def _made_name(number: int) -> str:
    """Return the name of a type that the kernel made because the file has no class for it."""
    if number == hprof_references.UNKNOWN_TYPE:
        return _UNKNOWN
    if number == hprof_references.CLASS_TYPE:
        return "java.lang.Class"
    return f"{_PRIMITIVES[number - hprof_references.PRIMITIVE_ARRAY_TYPES]}[]"


def modules_of(references: hprof_references.References, types: Types, numbers: U32, named: U32) -> U32:
    """Return a text for each type: its class loader, unless that is the boot loader.

    That is the loader's class, with the loader's name where the program has given it one (as the path of a web
    application), and with its id if the type's name is ambiguous. Ids differ from run to run, so they are left out for
    names that only one class has. ``numbers`` is the type and ``named`` the text of each object.
    """
    objects = references.objects
    records, classes, names = objects.records, objects.class_count, types.name
    loaders, unused = np.empty(classes, np.uint64), np.empty(classes, np.uint32)
    references.class_rows(unused, unused.copy(), loaders, np.empty(classes, np.uint8))
    distinct, of_classes = np.unique(loaders, return_inverse=True)
    found = np.empty(len(distinct), np.uint32)
    objects.numbers(distinct, found)
    plain, exact = np.zeros(len(distinct), np.uint32), np.zeros(len(distinct), np.uint32)
    for row, (loader, number) in enumerate(zip(distinct.tolist(), found.tolist(), strict=True)):
        if loader:
            name = records.text_at(names[numbers[number]]) if number != NONE else "class loader"
            if number != NONE and named[number] and not name.startswith(_PLATFORM):
                name = f"{name} {records.text_at(named[number])}"
            plain[row], exact[row] = records.named(name), records.named(f"{name} @ {loader:#x}")
    _, of_names, uses = np.unique(names[:classes], return_inverse=True, return_counts=True)
    found = np.where(uses[of_names] > 1, exact[of_classes], plain[of_classes]).astype(np.uint32)
    return np.append(found, np.zeros(len(names) - classes, np.uint32))
