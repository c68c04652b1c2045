"""Variables of closures that no function can read any more, from the scopes in V8's heap snapshots since mid-2026.

A closure keeps its context, and with that all variables which functions within one share. For each scope of a script
V8 lists these, and which of them its code reads. Nothing can read a variable of a context if no closure whose chain of
contexts has that one can run code that reads it: its own, or that of a function within it which isn't made yet.

Source: the sections ``scopes``, ``scope_context_vars`` and ``scope_uses`` that V8's
``src/profiler/heap-snapshot-generator.cc`` writes, and the rules of ``ContextAnalyzer.ts`` in
ChromeDevTools/devtools-frontend. Unlike there, a suspended generator or asynchronous function reads its own variables.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.formats.v8_snapshot import Scopes, Snapshot
from memlens.kernels.readers import v8_graph as kernel
from memlens.model.distinct import distinct
from memlens.model.graph import NONE, UNREAD_DTYPE

Numbers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.void]

_CONTEXT = b"system / Context"
_SHARED = b"system / SharedFunctionInfo"
_SCOPE_INFO = "system / ScopeInfo"
_ROOT_SCOPE = -2
"""The outermost scope of a script; numbers of scopes are positions in its source."""
_NO_SCOPE = -(1 << 40)
_MOST_DEPTH = 10_000


def scopes_of(
    scopes: dict[str, Numbers],
    variables: dict[str, Numbers],
    uses: dict[str, Numbers],
    node_fields: int,
    objects: int,
    texts: int,
) -> Scopes | None:
    """The scopes by the columns of the three sections; None where these don't fit each other or the snapshot.

    Scripts are numbers of objects times ``node_fields``, names of variables strings of the file, which has one text
    less than ``texts``.
    """
    try:
        found = Scopes(
            scopes["script_node_index"] // node_fields, scopes["scope_id"], scopes["depth"],
            scopes["scope_context_vars_count"], scopes["scope_uses_count"], variables["name"] + 1,
            uses["declaring_scope_id"], uses["slot_index"],
        )  # fmt: skip
    except KeyError:
        return None
    counts = np.stack((found.variables, found.uses))
    above = np.append(-1, found.depth[:-1])[: len(found.depth)]
    above[np.append(True, found.script[1:] != found.script[:-1])[: len(above)]] = -1
    fits = (
        _is_within(scopes["script_node_index"] % node_fields, 1)
        and _is_within(found.script, objects)
        and _is_within(found.names, texts)
        and _is_within(counts, texts + objects)
        and counts.sum(axis=1).tolist() == [len(found.names), len(found.used_scope)]
        and _is_within(found.depth, _MOST_DEPTH)
        and bool((found.depth <= above + 1).all())
        and bool((np.abs(found.id) < -_NO_SCOPE).all())
    )
    return found if fits else None


def _is_within(numbers: Numbers, below: int) -> bool:
    return not numbers.size or (int(numbers.min()) >= 0 and int(numbers.max()) < below)


def unread_variables(snapshot: Snapshot, scopes: Scopes) -> Rows:
    """Rows of UNREAD_DTYPE, by object."""
    heap = _Heap(snapshot)
    scripts = distinct(scopes.script)
    script_of = heap.scripts_of_scope_infos(scripts)
    contexts = heap.called(lambda name: name.startswith(_CONTEXT))
    infos = heap.targets(contexts, "scope_info")
    known = (infos != NONE) & (script_of[np.minimum(infos, len(script_of) - 1)] != NONE)
    contexts, infos = contexts[known], infos[known]
    ids = heap.numbers(infos, "scope_id")
    own = script_of[infos]
    at = _Lookup.of(own, ids)
    closures = heap.closures()
    live = _Live(heap, closures)
    tree = _Tree(scopes)
    found: list[Rows] = []
    for script, scope, rows in at.groups():
        number = tree.scope_of.get((script, scope))
        if number is not None and tree.variables_of(number):
            found += _unread_of(heap, contexts[rows], tree, number, live)
    if not found:
        return np.empty(0, UNREAD_DTYPE)
    whole = np.concatenate(found)
    return whole[np.lexsort((whole["name"], whole["object"]))]


def _unread_of(heap: "_Heap", contexts: Numbers, tree: "_Tree", number: int, live: "_Live") -> list[Rows]:
    """Of contexts of one scope the variables that nothing reads."""
    script = int(tree.scopes.script[number])
    found = []
    for variable, name in tree.variables_of(number):
        unread = heap.targets(contexts, name, "context") != NONE
        for function in tree.readers(variable):
            if not unread.any():
                break
            unread &= ~live.has(script, function, contexts)
        rows = np.empty(int(unread.sum()), UNREAD_DTYPE)
        rows["object"], rows["name"], rows["scope"] = contexts[unread], name, number
        declaring = (live.closure_of(script, scope) for scope in tree.around(number))
        rows["function"] = next((each for each in declaring if each != NONE), NONE)
        if len(rows) and rows["function"][0] == NONE:
            rows["function"] = live.closure_in[rows["object"]]
        found.append(rows)
    return found


class _Tree:
    """The scopes of all scripts, and which of them read each variable."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        ends = np.cumsum(scopes.variables)
        self._begin = ends - scopes.variables
        scripts, ids, depths = (column.tolist() for column in (scopes.script, scopes.id, scopes.depth))
        self.scope_of = {key: number for number, key in enumerate(zip(scripts, ids, strict=True))}
        self._above = np.full(len(ids), -1, np.int64)
        stack: list[int] = []
        for number, depth in enumerate(depths):
            # the first scope of a script has the depth 0
            del stack[depth:]
            self._above[number] = stack[-1] if stack else -1
            stack.append(number)
        self._readers: dict[int, list[int]] = {}
        user = np.repeat(np.arange(len(ids)), scopes.uses).tolist()
        for number, scope, slot in zip(
            user, scopes.used_scope.tolist(), scopes.used_slot.tolist(), strict=True
        ):
            declaring = self.scope_of.get((scripts[number], scope))
            if declaring is not None and 0 <= slot < int(scopes.variables[declaring]):
                self._readers.setdefault(int(self._begin[declaring]) + slot, []).append(number)

    def variables_of(self, number: int) -> list[tuple[int, int]]:
        """The variables of a scope: their numbers and names. Of several with one name only the first is known."""
        begin = int(self._begin[number])
        names = self.scopes.names[begin : begin + int(self.scopes.variables[number])].tolist()
        first = {name: begin + at for at, name in reversed(list(enumerate(names)))}
        return [(variable, name) for name, variable in first.items()]

    def readers(self, variable: int) -> Iterable[int]:
        """The scopes, by their ids, in which running code may read a variable: those that do, and all around them."""
        seen: set[int] = set()
        for number in self._readers.get(variable, ()):
            at = number
            while at >= 0 and at not in seen:
                seen.add(at)
                yield int(self.scopes.id[at])
                at = int(self._above[at])

    def around(self, number: int) -> Iterable[int]:
        """A scope and those around it, the innermost first, by their ids."""
        at = number
        while at >= 0:
            yield int(self.scopes.id[at])
            at = int(self._above[at])


class _Closures(NamedTuple):
    """What can run: closures, and generators and asynchronous functions that are suspended."""

    object: Numbers
    script: Numbers
    scope: Numbers
    """Of the function's own code."""
    context: Numbers
    is_suspended: npt.NDArray[np.bool_]


class _Live:
    """Which contexts are in the chain of a closure of each function."""

    def __init__(self, heap: "_Heap", closures: _Closures) -> None:
        at = _Lookup.of(closures.script, closures.scope)
        self._number = {(script, scope): number for number, (script, scope, _) in enumerate(at.groups())}
        function = at.number_of
        first = np.full(len(self._number), NONE, np.int64)
        is_own = ~closures.is_suspended
        first[function[is_own][::-1]] = closures.object[is_own][::-1]
        self._first = first
        self.closure_in = np.full(heap.objects, NONE, np.uint32)
        """A closure that refers to each context; NONE for all else."""
        self.closure_in[closures.context[is_own][::-1]] = closures.object[is_own][::-1]
        pairs = distinct(function << 32 | closures.context)
        every, more = pairs, pairs
        previous = heap.previous()
        for _ in range(_MOST_DEPTH):
            above = previous[more & NONE]
            more = distinct((more >> 32 << 32 | above)[above != NONE])
            places = np.minimum(np.searchsorted(every, more), max(len(every) - 1, 0))
            more = more[every[places] != more] if len(every) else more
            if not len(more):
                break
            every = distinct(np.concatenate((every, more)))
        self._pairs = every

    def has(self, script: int, scope: int, contexts: Numbers) -> npt.NDArray[np.bool_]:
        """Which contexts are in the chain of a closure of the function whose scope that is."""
        number = self._number.get((script, scope))
        if number is None:
            return np.zeros(len(contexts), np.bool_)
        wanted = number << 32 | contexts
        places = np.minimum(np.searchsorted(self._pairs, wanted), len(self._pairs) - 1)
        found: npt.NDArray[np.bool_] = self._pairs[places] == wanted
        return found

    def closure_of(self, script: int, scope: int) -> int:
        """A closure of the function whose scope that is; NONE if there is none."""
        number = self._number.get((script, scope))
        return NONE if number is None else int(self._first[number])


class _Lookup(NamedTuple):
    """Rows by the scope that they are of."""

    keys: list[tuple[int, int]]
    number_of: Numbers

    @classmethod
    def of(cls, script: Numbers, scope: Numbers) -> "_Lookup":
        """By script and id of the scope; a row without one has none of the groups of others."""
        pairs, number_of = np.unique(np.stack((script, scope)), axis=1, return_inverse=True)
        return cls(list(map(tuple, pairs.T.tolist())), number_of.reshape(-1).astype(np.int64))

    def groups(self) -> list[tuple[int, int, Numbers]]:
        """Each scope with its rows."""
        order = np.argsort(self.number_of, kind="stable")
        ends = np.searchsorted(self.number_of[order], np.arange(len(self.keys) + 1))
        return [(*key, order[ends[number] : ends[number + 1]]) for number, key in enumerate(self.keys)]


class _Heap:
    """The engine's own objects of a snapshot. The kinds of its references are the file's."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.objects = len(snapshot.objects.ids)
        texts = snapshot.texts
        names = distinct(snapshot.objects.name)
        # all that are looked for are named so
        starts = np.append(0, texts.end.astype(np.int64))[names.astype(np.int64)]
        first = texts.utf8[np.minimum(starts, len(texts.utf8) - 1)]
        self._names = {int(name): texts.bytes_of(int(name)) for name in names[first == _CONTEXT[0]].tolist()}

    def called(self, test: Callable[[bytes], bool]) -> Numbers:
        """The objects whose name passes a test."""
        is_name = np.zeros(len(self._snapshot.texts), np.bool_)
        is_name[[number for number, name in self._names.items() if test(name)]] = True
        return np.flatnonzero(is_name[self._snapshot.objects.name])

    def targets(self, objects: Numbers, name: str | int, kind: str = "internal") -> Numbers:
        """What each of some objects refers to by that name; NONE where there is none. Objects may be NONE."""
        stored = self._snapshot.references
        found = np.full(len(objects), NONE, np.uint32)
        wanted = name if isinstance(name, int) else self._snapshot.text_number(name)
        if wanted != NONE and len(objects):
            kernel.named_targets(
                stored.start, stored.target, stored.kind, stored.name, objects.astype(np.uint32),
                self._snapshot.edge_type(kind), wanted, found,
            )  # fmt: skip
        return found.astype(np.int64)

    def numbers(self, objects: Numbers, name: str) -> Numbers:
        """The whole number that each refers to by that name, which stands in a text; _NO_SCOPE where there is none."""
        texts = self.targets(self.targets(objects, name), "value")
        known = texts != NONE
        names = self._snapshot.objects.name[texts[known]]
        values = {}
        for number in distinct(names).tolist():
            text = self._snapshot.texts.bytes_of(number)
            is_number = 0 < len(text) < 12 and text.removeprefix(b"-").isdigit()
            values[number] = int(text) if is_number else _NO_SCOPE
        found = np.full(len(objects), _NO_SCOPE, np.int64)
        found[known] = [values[number] for number in names.tolist()]
        return found

    def previous(self) -> Numbers:
        """The context around each context; NONE for all else."""
        contexts = self.called(lambda name: name.startswith(_CONTEXT))
        above = self.targets(contexts, "previous")
        is_context = np.zeros(self.objects, np.bool_)
        is_context[contexts] = True
        above[above != NONE] = np.where(is_context[above[above != NONE]], above[above != NONE], NONE)
        found = np.full(len(is_context), NONE, np.int64)
        found[contexts] = above
        return found

    def closures(self) -> _Closures:
        """All that can run, and whose script and scope are known."""
        snapshot = self._snapshot
        closures = np.flatnonzero(snapshot.is_of_type("closure"))
        waiting = self._suspended()
        functions = np.concatenate((closures, self.targets(waiting, "function")))
        shared = self.targets(functions, "shared")
        context = self.targets(np.concatenate((closures, waiting)), "context")
        script, scope = self.targets(shared, "script"), self.numbers(shared, "scope_id")
        is_suspended = np.arange(len(functions)) >= len(closures)
        known = (context != NONE) & (script != NONE) & (scope != _NO_SCOPE)
        return _Closures(functions[known], script[known], scope[known], context[known], is_suspended[known])

    def _suspended(self) -> Numbers:
        """Generators and asynchronous functions that have been entered."""
        stored = self._snapshot.references
        wanted = self._snapshot.text_number("parameters_and_registers")
        if wanted == NONE:
            return np.empty(0, np.int64)
        rows = np.flatnonzero((stored.name == wanted) & (stored.kind == self._snapshot.edge_type("internal")))
        return np.searchsorted(stored.start, rows.astype(np.uint64), "right") - 1

    def scripts_of_scope_infos(self, scripts: Numbers) -> Numbers:
        """The script of each ScopeInfo, of those of some scripts; NONE for all else.

        A script lists its functions, each of which has a ScopeInfo; those around it are of the same script up to its
        outermost scope. Code of an ``eval`` is a script of its own: there the scope of the call is where that ends.
        """
        infos = self.called(lambda name: name == _SCOPE_INFO.encode())
        is_info = np.zeros(self.objects, np.bool_)
        is_info[infos] = True
        outer = np.full(len(is_info), NONE, np.int64)
        outer[infos] = self.targets(infos, "outer_scope_info")
        ids = np.full(len(is_info), _NO_SCOPE, np.int64)
        ids[infos] = self.numbers(infos, "scope_id")
        stops = self.targets(scripts, "eval_from_scope_info")
        found = np.full(len(is_info), NONE, np.int64)
        for script, stop, begins in zip(
            scripts.tolist(), stops.tolist(), self._begins(scripts, is_info), strict=True
        ):
            for begin in begins:
                at = begin
                while at != NONE and is_info[at] and at != stop and found[at] == NONE:
                    found[at] = script
                    at = NONE if ids[at] == _ROOT_SCOPE else int(outer[at])
        # those in which there is no function are in no list, but within others
        inner = infos[(found[infos] == NONE) & (ids[infos] != _ROOT_SCOPE) & (outer[infos] != NONE)]
        for _ in range(_MOST_DEPTH):
            script_around = found[outer[inner]]
            if not bool((script_around != NONE).any()):
                break
            found[inner] = script_around
            inner = inner[script_around == NONE]
        return found

    def _begins(self, scripts: Numbers, is_info: npt.NDArray[np.bool_]) -> list[list[int]]:
        """The ScopeInfos of each script's functions; of one that isn't compiled that of the scope around it."""
        stored = self._snapshot.references
        lists = self.targets(scripts, "infos")
        is_shared = np.zeros(len(is_info), np.bool_)
        is_shared[self.called(lambda name: name.startswith(_SHARED))] = True
        found: list[list[int]] = []
        for each in lists.tolist():
            if each == NONE:
                found.append([])
                continue
            listed = stored.target[int(stored.start[each]) : int(stored.start[each + 1])].astype(np.int64)
            shared = listed[is_shared[listed]]
            own = self.targets(shared, "name_or_scope_info")
            compiled = (own != NONE) & is_info[np.minimum(own, len(is_info) - 1)]
            lazy = shared[~compiled]
            ids = self.numbers(lazy, "scope_id")
            around = self.targets(
                lazy[(ids != _NO_SCOPE) & (ids != _ROOT_SCOPE)], "raw_outer_scope_info_or_feedback_metadata"
            )
            begins = np.concatenate((listed[is_info[listed]], own[compiled], around[around != NONE]))
            found.append(begins[is_info[begins]].tolist())
        return found
