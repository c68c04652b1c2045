"""Separates the program's own names in a V8 heap snapshot from those of the engine and of libraries.

A function belongs to a library by the path of its script, and to the engine without a script. The names of such
functions, the constants of their code, the variables that they use, and the properties of these functions and of their
prototypes are not the program's. Nor are names of engine parts and of the references between them.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, Mask
from memlens.formats.redaction.own_names import OwnNames
from memlens.model.distinct import distinct, without
from memlens.model.libraries import library_of
from memlens.packs.v8.kernels import places as kernel
from memlens.packs.v8.kernels.edges import Edges
from memlens.packs.v8.keys import PARTS_OF_CODE
from memlens.packs.v8.places import path_of
from memlens.packs.v8.snapshot import Snapshot

_SHARED, _CONTEXT, _CONSTRUCTOR = "shared", "context", "constructor"
_SCRIPT = ("script", "script_or_debug_info")
_ENGINES_TYPES = ("hidden", "synthetic", "array", "object shape")
_ENGINES_EDGES = ("internal", "shortcut", "weak")
_OF_ENGINE = re.compile(
    r"(?:system / |Node / |\d+ / )?[\w ]+|\([\w ,.-]+\)"
    r"|system / Map \((?:Internalized|External|OneByte|TwoByte|Seq|Cons|Sliced|Thin|Shared|Uncached)*String\)"
)
"""Names of engine parts that contain no address, DOM element or name of another object."""
_OF_CODE = re.compile(r"system / (?:Code / )?[\w ]+(?: \(builtin\))?|\((?!bytecode|code|builtin)[\w ,.-]+\)")
"""Such names of compiled code, except those with the name of a function."""

_WORD = re.compile(r"[^\W\d]\w*")
_IDENTIFIER = re.compile(r"[#$]?[^\W\d][\w$]*")
_NEUTRAL = re.compile(r"[nC][0-9]+")
_LONGEST_NEUTRAL = 10
_HOLDERS = (
    "system / SharedFunctionInfo", "system / BytecodeArray", "system / InterpreterData", "system / BytecodeWrapper",
)  # fmt: skip
"""References on the way from a function to the constants of its code."""

_MOST_STEPS = 12
"""Limit on nested functions and on the parts of each."""


@cache
def _of_the_language() -> frozenset[str]:
    """Words of the language, the engine and of pages, and of what every program's paths may have."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    return frozenset(word for words in table.values() for word in words.split())


Rows = npt.NDArray[np.intp]


def own_names(snapshot: Snapshot) -> OwnNames:
    """Return the replacement for the program's names. ``snapshot`` is as it stands in the file."""
    theirs = _Theirs(snapshot)
    # a name that a function of the program also has is replaced
    words = frozenset(_words(theirs.texts())).difference(_words(theirs.own_functions()))
    return OwnNames(_of_the_language(), words | {"node"}, taken=theirs.neutral_texts())


def _words(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        yield from _WORD.findall(text)
        if _IDENTIFIER.fullmatch(text):
            yield from text.split("$")


class _Theirs:
    """Finds the names that aren't the program's own."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._references, self._objects = snapshot.references, snapshot.objects
        start = self._references.start.astype(np.intp)
        self._start = start
        # only references with a name
        self._edge_names = self._references.name.astype(np.int64) + 1
        self._own = self._own_closures()

    def texts(self) -> Iterable[str]:
        """Return all texts that stay."""
        snapshot, names = self._snapshot, self._objects.name
        is_closure = snapshot.is_of_type("closure") != 0
        is_named = is_closure.copy() if snapshot.locations is not None else np.zeros_like(is_closure)
        is_named[self._own] = False
        theirs = np.flatnonzero(is_named)
        numbers = [names[theirs], *self._constants(theirs), *self._variables(theirs, self._own)]
        numbers += self._properties(is_named)
        yield from self._some(np.concatenate(numbers), _IDENTIFIER.fullmatch)
        yield from self._some(np.concatenate(list(self._engines())), _OF_ENGINE.fullmatch)
        yield from self._some(names[snapshot.is_of_type("code") != 0], _OF_CODE.fullmatch)

    def own_functions(self) -> Iterable[str]:
        """Names of the program's functions."""
        return self._some(self._objects.name[self._own], _IDENTIFIER.fullmatch)

    def neutral_texts(self) -> frozenset[str]:
        """Return texts that look like replacements."""
        texts = self._snapshot.texts
        lengths = np.diff(texts.end, prepend=np.zeros(1, texts.end.dtype))
        short = texts.some(np.flatnonzero((lengths > 1) & (lengths <= _LONGEST_NEUTRAL)).tolist())
        return frozenset(text for text in short.values() if _NEUTRAL.fullmatch(text))

    def _some(self, numbers: npt.NDArray[np.integer], is_theirs: Callable[[str], object]) -> Iterable[str]:
        known = self._snapshot.texts.some(distinct(numbers).tolist())
        return (text for text in known.values() if is_theirs(text))

    def _own_closures(self) -> Rows:
        """Functions whose script isn't a library's."""
        snapshot, locations = self._snapshot, self._snapshot.locations
        if locations is None:
            return np.flatnonzero(snapshot.is_of_type("closure"))
        objects = locations["object_index"]
        rows_of = np.empty(len(snapshot.node_type), np.uint32)
        kernel.rows_of(objects, rows_of)
        ids, script = np.unique(locations["script_id"], return_inverse=True)
        named = np.zeros(len(ids) + 1, np.uint32)
        texts, references = snapshot.texts, self._references
        edges = Edges(
            references.start, references.target, references.kind, self._edge_names.astype(np.uint32),
            len(snapshot.edge_types), snapshot.edge_type("internal"),
        )  # fmt: skip
        kernel.name_scripts(
            rows_of, script.astype(np.uint64), locations.get("script_object_index", np.empty(0, np.uint32)), edges,
            texts.mask(_SHARED), texts.mask(*_SCRIPT), self._objects.name, named,
        )  # fmt: skip
        is_own = np.array([not library_of(path_of(texts[number])) for number in named.tolist()])
        return objects[is_own[script]].astype(np.intp)

    def _edges_of(self, objects: Rows) -> tuple[Rows, Rows]:
        """Return the references of some objects, and the source of each."""
        first, count = self._start[objects], self._start[objects + 1] - self._start[objects]
        before = np.cumsum(count) - count
        return np.arange(int(count.sum())) + np.repeat(first - before, count), np.repeat(objects, count)

    def _named(self, edges: Rows, *texts: str) -> Mask:
        internal = self._references.kind[edges] == self._snapshot.edge_type("internal")
        return internal & (self._snapshot.texts.mask(*texts)[self._names_of(edges)] != 0)

    def _names_of(self, edges: Rows) -> I64:
        """Return the texts that name some references; indexes have none."""
        numbers = self._edge_names[edges]
        return np.where(numbers < len(self._snapshot.texts), numbers, 0)

    def _constants(self, closures: Rows) -> Iterable[U32]:
        """Return the names of nested functions, and the strings among the constants of their code."""
        snapshot, names = self._snapshot, self._objects.name
        edges, _ = self._edges_of(closures)
        at = distinct(self._references.target[edges[self._named(edges, _SHARED)]]).astype(np.intp)
        is_text = snapshot.is_of_type("string") != 0
        is_part, is_code = (
            snapshot.texts.mask(*PARTS_OF_CODE, *_HOLDERS),
            snapshot.is_of_type("code", "array", "hidden"),
        )
        # nested functions have names of their own
        is_function = snapshot.is_of_type("code") != 0
        named = snapshot.texts.some(distinct(names[is_function]).tolist())
        is_part[[number for number, text in named.items() if not text.startswith("system / ")]] = 1
        is_code = snapshot.is_named(is_code, is_part) != 0
        seen = np.zeros(len(is_code), np.bool_)
        for _ in range(_MOST_STEPS):
            seen[at] = True
            yield names[at]
            edges, _ = self._edges_of(at)
            edges = edges[~self._named(edges, *_SCRIPT, "outer_scope_info", "feedback_metadata")]
            targets = distinct(self._references.target[edges]).astype(np.intp)
            yield names[targets[is_text[targets]]]
            at = targets[is_code[targets] & ~seen[targets]]
            if not len(at):
                break

    def _variables(self, theirs: Rows, own: Rows) -> Iterable[I64]:
        """Variables of scopes that contain only library functions."""
        scopes = []
        for closures in (theirs, own):
            edges, _ = self._edges_of(closures)
            scopes.append(distinct(self._references.target[edges[self._named(edges, _CONTEXT)]]))
        edges, _ = self._edges_of(without(scopes[0], scopes[1]).astype(np.intp))
        yield self._names_of(edges[self._references.kind[edges] == self._snapshot.edge_type("context")])

    def _properties(self, is_theirs: Mask) -> list[I64]:
        """Return properties of functions and of their prototypes, except those that are functions of the program."""
        references, snapshot = self._references, self._snapshot
        rows = np.flatnonzero(references.kind == snapshot.edge_type("property"))
        owners = np.searchsorted(self._start, rows, "right") - 1
        names, targets = self._names_of(rows), references.target[rows]
        is_owner = is_theirs.copy()
        is_owner[owners[(snapshot.texts.mask(_CONSTRUCTOR)[names] != 0) & is_theirs[targets]]] = True
        is_function = snapshot.is_of_type("closure") != 0
        # an instance that has the property itself is judged as the prototype is, which has only functions
        chosen = is_owner[owners] & is_function[targets] & is_theirs[targets]
        return [names[chosen]]

    def _engines(self) -> Iterable[I64]:
        """The engine's names for its own parts and for references to them."""
        snapshot, references = self._snapshot, self._references
        yield self._objects.name[snapshot.is_of_type(*_ENGINES_TYPES) != 0].astype(np.int64)
        yield self._objects.name[snapshot.is_of_type("native") != 0].astype(np.int64)
        for kind in _ENGINES_EDGES:
            if (number := snapshot.edge_type(kind)) >= 0:
                yield self._names_of(np.flatnonzero(references.kind == number))
