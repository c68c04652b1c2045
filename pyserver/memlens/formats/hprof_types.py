"""The types of a heap dump of Java: its classes, and those that it mentions but doesn't contain."""

import numpy as np
import numpy.typing as npt

from memlens.kernels.readers import hprof_objects, hprof_references
from memlens.model.graph import NONE, Types

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

TYPE_KINDS = ("class", "array")

_UNKNOWN = "(class that is not in the file)"
_PRIMITIVES = ("", "", "", "", "boolean", "char", "float", "double", "byte", "short", "int", "long")


def types_of(references: hprof_references.References, numbers: U32) -> tuple[U32, Types]:
    """Return the number of each object's type, changing ``numbers`` of the kernel in place, and the types.

    A type's module is the class loader, unless that is the boot loader.
    """
    records, classes = references.objects.records, references.objects.class_count
    names, ordinals = np.empty(classes, np.uint32), np.empty(classes, np.uint32)
    loaders, arrays = np.empty(classes, np.uint64), np.empty(classes, np.uint8)
    references.class_rows(names, ordinals, loaders, arrays)
    is_made = numbers >= classes
    made = np.unique(numbers[is_made])
    numbers[is_made] = classes + np.searchsorted(made, numbers[is_made]).astype(np.uint32)
    texts = [_made_name(number - classes) for number in made.tolist()]
    names[names == 0] = records.named("(class without a name)")
    names = np.append(names, np.array([records.named(text) for text in texts], np.uint32))
    modules = _modules(references.objects, names, numbers, loaders)
    return numbers, Types(
        names,
        np.append(arrays, np.array([text.endswith("[]") for text in texts], np.uint8)),
        module=np.append(modules, np.zeros(len(made), np.uint32)),
        object=np.append(ordinals, np.full(len(made), NONE, np.uint32)),
    )


def _made_name(number: int) -> str:
    """Return the name of a type that the kernel made because the file has no class for it."""
    if number == hprof_references.UNKNOWN_TYPE:
        return _UNKNOWN
    if number == hprof_references.CLASS_TYPE:
        return "java.lang.Class"
    return f"{_PRIMITIVES[number - hprof_references.PRIMITIVE_ARRAY_TYPES]}[]"


def _modules(objects: hprof_objects.Objects, names: U32, numbers: U32, loaders: U64) -> U32:
    """Return the text of each class's loader: the loader's class, with its id if the class's name is ambiguous.

    Ids differ from run to run, so they are left out for names that only one class has.
    """
    records, classes = objects.records, len(loaders)
    distinct, of_classes = np.unique(loaders, return_inverse=True)
    found = np.empty(len(distinct), np.uint32)
    objects.numbers(distinct, found)
    plain, exact = np.zeros(len(distinct), np.uint32), np.zeros(len(distinct), np.uint32)
    for row, (loader, number) in enumerate(zip(distinct.tolist(), found.tolist(), strict=True)):
        if loader:
            name = records.text_at(names[numbers[number]]) if number != NONE else "class loader"
            plain[row], exact[row] = records.named(name), records.named(f"{name} @ {loader:#x}")
    _, of_names, uses = np.unique(names[:classes], return_inverse=True, return_counts=True)
    return np.where(uses[of_names] > 1, exact[of_classes], plain[of_classes]).astype(np.uint32)
