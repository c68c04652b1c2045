"""Which names of V8's properties are keys, though they look like names: of objects that are used as dictionaries.

Names of code are those that compiled code has among its constants, those of prototypes, and those of the engine's own
objects. In a file without such constants the objects of a class decide: with more than 256 properties, or three
or more with more than twice as many in all as any of them has, only what half of them have is a name.
"""

import re
from collections.abc import Iterable

import numpy as np

from memlens.arrays import I64, U8, U32, Mask

IDENTIFIER = re.compile(
    r"<symbol.*|(?:(?:get|set) |#)?(?:[^\W\d]|\$)(?:\w|\$)*(?:(?<=\$).)?|(?:get |set |#)?", re.DOTALL
)
"""Names that code can write without quotes."""

_PARTS = {
    "(constant pool)", "", "system / ObjectBoilerplateDescription", "system / ClassBoilerplate", "system / ScopeInfo",
    "(context local names)",
}  # fmt: skip
_POOL = "(constant pool)"
_ENGINES = {
    "Math", "JSON", "Reflect", "Atomics", "Intl", "WebAssembly", "console", "process", "Temporal", "Symbol",
}  # fmt: skip
_ENGINES_BEGIN = ("system / ", "Intl.", "WebAssembly.")
_NO_KEYS = {
    "__proto__", "prototype", "NaN", "Infinity", "undefined", "globalThis", "global", "window", "self", "document",
    "location", "top",
}  # fmt: skip
_GLOBALS = ("Window / ", "Window (", "Window [", "global / ", "global (", "Object (global")
_PLAIN, _CONSTRUCTOR, _PART, _IS_POOL, _ENGINE, _NEVER, _ACCESSOR, _GLOBAL = 1, 2, 4, 8, 16, 32, 64, 128
_MOST, _LEAST = 256, 3


class Properties:
    """Takes the rows of objects, then those of references."""

    def __init__(self, node_types: list[str], edge_types: list[str]) -> None:
        self._type = {name: number for number, name in enumerate(node_types)}
        self._edge = {name: number for number, name in enumerate(edge_types)}
        self._types: list[U8] = []
        self._names: list[U32] = []
        self._columns: tuple[U8, U32] | None = None
        self._rows: list[U32] = []
        self._constants: list[U32] = []

    def take_nodes(self, types: I64, names: I64) -> None:
        """Record the types and names of the next objects."""
        self._types.append(types.astype(np.uint8))
        self._names.append(names.astype(np.uint32))

    def take_edges(self, kinds: I64, names: I64, targets: I64, owners: I64) -> None:
        """Record properties and strings of code among the next references."""
        types, named = self._objects()
        kept = targets < len(types)
        kinds, names, targets, owners = (each[kept] for each in (kinds, names, targets, owners))
        chosen = kinds == self._edge.get("property", -1)
        self._rows.append(np.stack([owners[chosen], names[chosen], targets[chosen]]).astype(np.uint32))
        of_code = types[owners] == self._type.get("code", 256)
        of_code &= types[targets] == self._type.get("string", 256)
        self._constants.append(np.stack([named[owners[of_code]], named[targets[of_code]]]))

    def _objects(self) -> tuple[U8, U32]:
        if self._columns is None:
            self._columns = (np.concatenate(self._types), np.concatenate(self._names))
        return self._columns

    def keys(self, texts: Iterable[str], count: int) -> Mask:
        """A mask, one item per text: whether properties use it only as a key. ``count`` is the number of texts."""
        forms = np.zeros(count, np.uint8)
        for number, text in zip(range(count), texts, strict=False):
            forms[number] = _form(text)
        found = np.zeros(count, np.bool_)
        if not self._rows:
            return found
        types, named = self._objects()
        owners, names, targets = np.concatenate(self._rows, axis=1)
        # names of the engine are no keys, nor are symbols
        found[names] = forms[names] & _NEVER == 0
        is_object = types[owners] == self._type.get("object", 256)
        is_judged = is_object & (forms[named[owners]] & _ENGINE == 0)
        is_judged |= types[owners] == self._type.get("closure", 256)
        found[names[~is_judged]] = False
        # accessors of globalThis, as what is loaded on its first use
        is_function = types[targets] == self._type.get("closure", 256)
        is_pair = ~is_function & (types[targets] != self._type.get("object", 256))
        is_accessor = np.where(is_function, forms[names], forms[named[targets]] * is_pair) & _ACCESSOR != 0
        found[names[is_object & (forms[named[owners]] & _GLOBAL != 0) & is_accessor]] = False
        is_constructor = is_judged & (forms[names] & _CONSTRUCTOR != 0)
        is_constructor &= types[targets] == self._type.get("closure", 256)
        # of the function whose prototype it is
        holds = (types[owners] == self._type.get("closure", 256)) & (forms[names] & _NEVER != 0)
        pairs = owners[holds].astype(np.int64) << 32 | targets[holds]
        is_constructor &= np.isin(targets.astype(np.int64) << 32 | owners, pairs)
        is_prototype = np.zeros(len(types), np.bool_)
        is_prototype[owners[is_constructor]] = True
        found[names[is_prototype[owners]]] = False
        parts, strings = np.concatenate(self._constants, axis=1)
        found[strings[forms[parts] & _PART != 0]] = False
        is_code = types == self._type.get("code", 256)
        if not (forms[named[is_code]] & _IS_POOL).any():
            counted = is_judged & ~is_prototype[owners] & (forms[names] & _PLAIN != 0)
            found[_common(owners[counted], named[owners[counted]], names[counted])] = False
        return found


def _common(owners: U32, classes: U32, names: U32) -> I64:
    """Names of properties that code has, by the objects of each class."""
    _, first, sizes = np.unique(owners, return_index=True, return_counts=True)
    pairs, counts = np.unique(classes.astype(np.int64) << 32 | names, return_counts=True)
    of_pair = pairs >> 32
    known, each = np.unique(of_pair, return_inverse=True)
    in_all = np.bincount(each, minlength=len(known))
    of_object = np.searchsorted(known, classes[first].astype(np.int64))
    number = np.bincount(of_object, minlength=len(known))
    most = np.zeros(len(known), np.int64)
    np.maximum.at(most, of_object, sizes)
    is_regular = (in_all <= _MOST) & ((number < _LEAST) | (in_all <= 2 * most))
    is_code_s = is_regular[each] | ((number[each] >= _LEAST) & (2 * counts >= number[each]))
    return pairs[is_code_s] & 0xFFFFFFFF


def _form(text: str) -> int:
    form = 0
    if text in _NO_KEYS or text.startswith("<symbol"):
        form = _NEVER
    elif IDENTIFIER.fullmatch(text):
        form = _PLAIN | (_CONSTRUCTOR if text == "constructor" else 0)
    if text in _PARTS:
        form |= _PART | (_IS_POOL if text == _POOL else 0)
    if text in _ENGINES or text.startswith(_ENGINES_BEGIN):
        form |= _ENGINE
    elif text in ("global", "Window") or text.startswith(_GLOBALS):
        form |= _GLOBAL
    if text.startswith(("get ", "set ")) or text == "system / AccessorPair":
        form |= _ACCESSOR
    return form
