"""Keys of objects that a JavaScript program uses as dictionaries: their references are entries, not properties.

A name is code's if it is an identifier that compiled code has among its constants, that a function or a variable has
as well, or that a prototype or one of the engine's own objects has. All others were given by data: ``sessions[user]``.
In a file without constants of code, as older versions and other engines write them, the objects of a class
decide: with more than 256 properties, or three or more with more than twice as many in all as any of them has, only
what half of them have is a name. The redaction's kernel ``rows`` has the same rules.
"""

import re

import numpy as np
import numpy.typing as npt

from memlens.arrays import U32, Mask
from memlens.model.distinct import among
from memlens.model.graph import ENTRY
from memlens.packs.v8.snapshot import Snapshot

_PROPERTY = "property"
_NAMED_BY = ("context", "internal", "shortcut", "weak")
_NAMES_OF = (
    "hidden", "array", "code", "closure", "native", "synthetic", "symbol", "object shape", "wasm object", "jl_task_t",
    "jl_module_t", "jl_array_t", "jl_datatype_t", "jl_svec_t", "jl_sym_t",
)  # fmt: skip
"""Types of objects whose names are not data."""

PARTS_OF_CODE = (
    "(constant pool)", "", "system / ObjectBoilerplateDescription", "system / ClassBoilerplate", "system / ScopeInfo",
    "(context local names)",
)  # fmt: skip
"""Parts of compiled code that have the names it uses. Feedback and machine code also have looked-up keys."""

_POOL, _CONSTRUCTOR, _PROTOTYPES, _SYMBOL = (
    "(constant pool)",
    "constructor",
    ("__proto__", "prototype"),
    "<symbol",
)
_ENGINES = frozenset(
    (
        "Math", "JSON", "Reflect", "Atomics", "Intl", "WebAssembly", "console", "process", "Temporal", "Symbol",
    )
)  # fmt: skip
_CLASSES = _ENGINES | {
    "global", "Window",
    "Object", "Array", "Module", "Generator", "AsyncGenerator", "Arguments", "Iterator", "Array Iterator",
    "Map Iterator", "Set Iterator", "String Iterator", "RegExp String Iterator", "Iterator Helper",
    "Async-from-Sync Iterator",
}  # fmt: skip
"""Names that the engine has for its own classes."""
_ENGINES_BEGIN = ("system / ", "Intl.", "WebAssembly.")
"""Objects that the program doesn't create."""
_GLOBALS_BEGIN = ("Window / ", "Window (", "Window [", "global / ", "global (", "Object (global")
"""Types of globalThis, to which the program may add keys."""
_GLOBALS = frozenset(
    ("NaN", "Infinity", "undefined", "globalThis", "global", "window", "self", "document", "location", "top")
)
"""Properties of globalThis that aren't functions or objects of the same name."""

_CALLED, _PAIR = ("get ", "set "), "system / AccessorPair"
"""Prefixes of accessor properties, and two accessor functions."""

_FIXED = frozenset(("", "heap number", "smi number", "int", "bool", "bigint"))
"""Texts that the engine has for all objects of a kind."""
_REMOVED = "removed "
"""Prefixes of the texts that redaction writes."""

_IDENTIFIER = re.compile(
    r"(?:(?:get|set) |#)?(?:[^\W\d]|\$)(?:\w|\$)*(?:(?<=\$).)?|(?:get |set |#)?", re.DOTALL
)
_MOST_OF_A_CLASS, _LEAST_OBJECTS = 256, 3

Rows = npt.NDArray[np.intp]


def mark_keys(snapshot: Snapshot, *, is_redacted: bool) -> None:
    """Turn properties whose names are keys into entries, with a reference kind of their own.

    In a redacted file these names are gone, and so are the constants that show them.
    """
    references = snapshot.references
    rows = np.flatnonzero(references.kind == snapshot.edge_type(_PROPERTY))
    if not len(rows):
        return
    judgement = _Judgement(snapshot, rows)
    keys = judgement.removed() if is_redacted else judgement.keys()
    if not len(keys):
        return
    if ENTRY not in snapshot.edge_types:
        snapshot.edge_types = [*snapshot.edge_types, ENTRY]
    references.kind[keys] = snapshot.edge_type(ENTRY)


class _Judgement:
    """Decides which property names are keys; ``rows`` are the references that are properties."""

    def __init__(self, snapshot: Snapshot, rows: Rows) -> None:
        self._snapshot = snapshot
        self._references, self._objects = snapshot.references, snapshot.objects
        self._rows, self._names = rows, snapshot.references.name[rows]
        self._is_function = snapshot.is_of_type("closure")
        self._of_texts = len(snapshot.texts)
        self._is_object = snapshot.is_of_type("object") != 0
        of_objects = np.flatnonzero(self._texts(self._objects.name[self._is_object]))
        self._classes = snapshot.texts.some(of_objects.tolist())

    def keys(self) -> Rows:
        """The rows that are named by keys."""
        found = self._texts(self._names)
        words = self._snapshot.texts.some(np.flatnonzero(found).tolist())
        odd = np.zeros_like(found)
        odd[[number for number, word in words.items() if not _IDENTIFIER.fullmatch(word)]] = True
        never = [
            number
            for number, word in words.items()
            if word in _PROTOTYPES or word in _GLOBALS or word.startswith(_SYMBOL) or word in _FIXED
        ]
        found[never] = odd[never] = False
        found &= ~self._declared()
        constants, has_constants = self._constants()
        found &= odd | ~constants
        rows = self._rows[found[self._names]]
        names = self._references.name[rows]
        is_judged = self._judged()
        found[names[self._are_accessors(rows, names, words)]] = False
        found[names[~(odd[names] | is_judged[self._owners(rows)])]] = False
        if not has_constants:
            plain = np.zeros_like(found)
            plain[list(words)] = True
            plain[never] = False
            self._take_common(found, plain & ~odd, is_judged)
        rows = rows[found[names]]
        of_globals = self._are_of_globals(rows)
        # only properties of globalThis are named after the program's variables, whose code is discarded after it ran
        elsewhere = odd.copy()
        elsewhere[self._references.name[rows[~of_globals]]] = True
        return rows[elsewhere[self._references.name[rows]]]

    def removed(self) -> Rows:
        """The rows whose names redaction has removed."""
        known = self._snapshot.texts.some(np.flatnonzero(self._texts(self._names)).tolist())
        found = np.zeros(self._of_texts, np.bool_)
        found[[number for number, word in known.items() if word.startswith(_REMOVED)]] = True
        return self._rows[found[self._names]]

    def _texts(self, *numbers: U32) -> Mask:
        """A mask of some texts."""
        found = np.zeros(self._of_texts, np.bool_)
        for each in numbers:
            found[each] = True
        return found

    def _owners(self, rows: Rows) -> Rows:
        start = self._references.start
        return np.searchsorted(start, rows.astype(start.dtype), "right") - 1

    def _declared(self) -> Mask:
        """Texts that also name something else, such as a function or a variable."""
        kinds = [self._snapshot.edge_type(name) for name in _NAMED_BY]
        named = [self._references.name[self._references.kind == kind] for kind in kinds if kind >= 0]
        found = self._texts(*named, self._objects.name[self._snapshot.is_of_type(*_NAMES_OF) != 0])
        is_sure = "closure" not in self._snapshot.node_types
        classes = self._classes.items()
        found[
            [
                n
                for n, word in classes
                if is_sure or word in _CLASSES or word.startswith((*_ENGINES_BEGIN, *_GLOBALS_BEGIN))
            ]
        ] = True
        return found

    def _constants(self) -> tuple[Mask, bool]:
        """Strings among the constants of compiled code, and whether the file has such constants."""
        texts, start = self._snapshot.texts, self._references.start
        is_code = self._snapshot.is_of_type("code")
        parts = np.flatnonzero(self._snapshot.is_named(is_code, texts.mask(*PARTS_OF_CODE)))
        first, count = start[parts].astype(np.intp), (start[parts + 1] - start[parts]).astype(np.intp)
        before = np.cumsum(count) - count
        targets = self._references.target[np.arange(int(count.sum())) + np.repeat(first - before, count)]
        strings = targets[self._snapshot.is_of_type("string")[targets] != 0]
        has_constants = bool(texts.mask(_POOL)[self._objects.name[parts]].any())
        return self._texts(self._objects.name[strings]), has_constants

    def _judged(self) -> Mask:
        """Objects that the program may use as dictionaries: its own, except prototypes."""
        found: Mask = self._snapshot.is_of_type("object") != 0
        names = np.flatnonzero(self._texts(self._objects.name[found]))
        engines = np.zeros(self._of_texts, np.bool_)
        known = self._snapshot.texts.some(names.tolist())
        engines[[n for n, word in known.items() if word in _ENGINES or word.startswith(_ENGINES_BEGIN)]] = (
            True
        )
        found &= ~engines[self._objects.name]
        found |= self._is_function != 0
        rows = self._rows[self._names == self._snapshot.text_number(_CONSTRUCTOR)]
        rows = rows[self._is_function[self._references.target[rows]] != 0]
        found[self._owners(rows)[self._are_prototypes(rows)]] = False
        return found

    def _are_prototypes(self, rows: Rows) -> Mask:
        """Return a mask of the ``constructor`` properties that belong to the constructor's prototype."""
        known = np.isin(self._names, [self._snapshot.text_number(name) for name in _PROTOTYPES])
        of = self._rows[known]
        owners, target = self._owners(of), self._references.target.astype(np.int64)
        pairs = (owners << 32 | target[of])[self._is_function[owners] != 0]
        return among(target[rows] << 32 | self._owners(rows), pairs)

    def _are_accessors(self, rows: Rows, names: U32, words: dict[int, str]) -> Mask:
        """Accessor properties of globalThis: getter and setter functions, or pairs of them."""
        called = np.zeros(self._of_texts, np.bool_)
        called[[number for number, word in words.items() if word.startswith(_CALLED)]] = True
        targets = self._references.target[rows]
        pairs = self._snapshot.is_named(
            (~self._is_object & (self._is_function == 0)).view(np.uint8), self._snapshot.texts.mask(_PAIR)
        )
        is_accessor = np.where(self._is_function[targets] != 0, called[names], pairs[targets] != 0)
        return self._are_of_globals(rows) & is_accessor

    def _are_of_globals(self, rows: Rows) -> Mask:
        """Properties of globalThis."""
        is_global = np.zeros(self._of_texts, np.bool_)
        is_global[[number for number, word in self._classes.items() if _is_global(word)]] = True
        owners = self._owners(rows)
        return self._is_object[owners] & is_global[self._objects.name[owners]]

    def _take_common(self, found: Mask, plain: Mask, is_judged: Mask) -> None:
        """Remove from the keys the names that occur in a class's code, judged by the objects of the class."""
        rows = self._rows[plain[self._names]]
        owners = self._owners(rows)
        chosen = is_judged[owners]
        owners, names = owners[chosen], self._references.name[rows[chosen]]
        if not len(owners):
            return
        _, first, sizes = np.unique(owners, return_index=True, return_counts=True)
        classes = self._objects.name[owners].astype(np.int64)
        pairs, counts = np.unique(classes << 32 | names, return_counts=True)
        known, of_pair = np.unique(pairs >> 32, return_inverse=True)
        of_object = np.searchsorted(known, classes[first])
        in_all, objects = np.bincount(of_pair), np.bincount(of_object, minlength=len(known))
        most = np.zeros(len(known), np.int64)
        np.maximum.at(most, of_object, sizes)
        is_regular = (in_all <= _MOST_OF_A_CLASS) & ((objects < _LEAST_OBJECTS) | (in_all <= 2 * most))
        is_code_s = is_regular[of_pair] | (
            (objects[of_pair] >= _LEAST_OBJECTS) & (2 * counts >= objects[of_pair])
        )
        found[pairs[is_code_s] & 0xFFFFFFFF] = False


def _is_global(name: str) -> bool:
    return name in ("global", "Window") or name.startswith(_GLOBALS_BEGIN)
