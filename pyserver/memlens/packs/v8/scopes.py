"""Variables of closures that nothing can read any more, from the scopes in V8's heap snapshots since mid-2026.

A closure keeps its context, and so all variables that the functions around it share. For each scope of a script, V8
lists its variables and those that its code reads. A variable is dead in a context if no code that can still run with
that context in its chain reads it, neither itself nor in a nested function, which may have no closure yet. What can run
are closures, suspended generators and asynchronous functions, and what is on the stack.

Source: the sections ``scopes``, ``scope_context_vars`` and ``scope_uses`` of
``src/profiler/heap-snapshot-generator.cc`` of V8, and their interpretation in ``ContextAnalyzer.ts`` of
ChromeDevTools/devtools-frontend, which considers closures alone.
"""

from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U64, Mask
from memlens.kernels.graph.columns import References
from memlens.kernels.graph.owners import named_targets
from memlens.model.distinct import distinct
from memlens.model.graph import NONE
from memlens.model.spans import spans
from memlens.packs.v8.places import Declared
from memlens.packs.v8.snapshot import Scopes, Snapshot

_CONTEXT, _SCOPE_INFO = b"system / Context", b"system / ScopeInfo"
_SHARED = b"system / SharedFunctionInfo"
_BETWEEN = b" / "
"""The separator between that and the name of the function."""
_STACK, _LINE_FEED = b"(Stack roots)", 10
_ROOT_SCOPE = -2
"""The outermost scope of a script; numbers of scopes are positions in its source otherwise."""
_NO_SCOPE = -(1 << 31)
_FUNCTION = "FUNCTION_SCOPE"
_MOST_DEPTH = 10_000
"""Limit on nested scopes and on nested contexts."""
_MOST_STEPS = 1 << 27
"""Limit on examined pairs of functions with contexts and variables; large pages have a few million."""


class Unread(NamedTuple):
    """Variables that no code can read, by the contexts that hold them; names are numbers of texts."""

    object: I64
    name: I64
    scope: I64
    """The scope's number."""
    declared: Declared


def scopes_of(
    scopes: dict[str, I64],
    variables: dict[str, I64],
    uses: dict[str, I64],
    node_fields: int,
    objects: int,
    texts: int,
) -> Scopes | None:
    """The scopes, from the columns of the three sections; None if these contradict each other or the snapshot.

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
    above = np.append(-1, found.depth[:-1])[: len(found.depth)]
    above[np.append(True, found.script[1:] != found.script[:-1])[: len(above)]] = -1
    fits = (
        not (scopes["script_node_index"] % node_fields).any()
        and _are_within(found.script, 0, objects)
        and _are_within(found.names, 1, texts)
        and _are_counts(found.variables, len(found.names))
        and _are_counts(found.uses, len(found.used_scope))
        and _are_within(found.depth, 0, _MOST_DEPTH)
        and bool((found.depth <= above + 1).all())
        and all(_are_within(ids, _NO_SCOPE + 1, -_NO_SCOPE) for ids in (found.id, found.used_scope))
    )
    return found if fits else None


def _are_within(numbers: I64, least: int, below: int) -> bool:
    return not numbers.size or (int(numbers.min()) >= least and int(numbers.max()) < below)


def _are_counts(numbers: I64, total: int) -> bool:
    return _are_within(numbers, 0, total + 1) and float(numbers.sum(dtype=np.float64)) == total


def unread_variables(snapshot: Snapshot, scopes: Scopes) -> Unread | None:
    """Variables that nothing can read; None if that takes too long, which no file written by V8 does."""
    heap, tree = _Heap(snapshot), _Tree(scopes)
    contexts = _Contexts(heap, tree)
    runs = _running(heap, tree, contexts)
    chains = _chains(runs, contexts)
    fields = _fields(snapshot, tree, contexts)
    read = None if chains is None else _read(tree, chains, contexts, fields)
    if read is None:
        return None
    dead = fields.context[~read]
    declared = _declared(heap, tree, runs, contexts, dead)
    return Unread(contexts.object[dead], scopes.names[fields.variable[~read]], contexts.scope[dead], declared)


class _Tree:
    """The scopes of all scripts, by number."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.begin = np.cumsum(scopes.variables) - scopes.variables
        """The start of each scope's variables."""
        self.above = _parents(scopes.depth)
        """The scope around each; -1 for an outermost one."""
        self.scope_of_variable = np.repeat(np.arange(len(scopes.id)), scopes.variables)
        keys = _keys(scopes.script, scopes.id)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        user = np.repeat(np.arange(len(scopes.id)), scopes.uses)
        declaring = self.numbers(scopes.script[user], scopes.used_scope)
        known = (declaring >= 0) & (scopes.used_slot >= 0) & (scopes.used_slot < scopes.variables[declaring])
        self.user = user[known]
        """The scope of each use."""
        self.used = self.begin[declaring[known]] + scopes.used_slot[known]
        """The variable of each use."""

    def numbers(self, script: I64, scope: I64) -> I64:
        """The numbers of scopes by script and id; -1 if unknown."""
        keys = _keys(script, scope)
        # if several have one id, the last wins
        places = np.maximum(np.searchsorted(self._keys, keys, "right") - 1, 0)
        found: I64 = np.where(self._keys[places] == keys, self._order[places], -1)
        return found


def _keys(script: I64, scope: I64) -> U64:
    return script.astype(np.uint64) << np.uint64(32) | (scope - _NO_SCOPE).astype(np.uint64)


def _parents(depth: I64) -> I64:
    """Return for each item the nearest previous one with a depth one less; -1 at depth 0."""
    found = np.full(len(depth), -1, np.int64)
    order = np.argsort(depth, kind="stable")
    ends = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
    for level in range(1, len(ends) - 1):
        above, own = order[ends[level - 1] : ends[level]], order[ends[level] : ends[level + 1]]
        found[own] = above[np.searchsorted(above, own) - 1]
    return found


class _Contexts:
    """The contexts of scopes that are known, and of others; by number."""

    def __init__(self, heap: "_Heap", tree: _Tree) -> None:
        self.object = heap.called(_CONTEXT, "object")
        self.info = heap.targets(self.object, "scope_info")
        script = heap.scripts_of_scope_infos(distinct(tree.scopes.script), self.info)
        self.scope = np.where(
            script == NONE,
            -1,
            tree.numbers(np.where(script == NONE, 0, script), heap.numbers(self.info, "scope_id")),
        )
        """The scope of each; -1 if it isn't known."""
        self._number = np.full(heap.objects + 1, -1, np.int64)
        self._number[self.object] = np.arange(len(self.object))
        self.previous = self.numbers(heap.targets(self.object, "previous"))
        """The context around each; -1 for an outermost one."""

    def numbers(self, objects: I64) -> I64:
        """Return the numbers of the contexts that some objects are; -1 for other objects and for NONE."""
        return self._number[np.minimum(objects, len(self._number) - 1)]


class _Running(NamedTuple):
    """Code that can run: a scope, and the context it runs with."""

    scope: I64
    context: I64
    closure: I64
    """The closure; NONE if it isn't one."""


def _running(heap: "_Heap", tree: _Tree, contexts: _Contexts) -> _Running:
    closures = heap.of_type("closure")
    waiting = heap.suspended()
    functions = np.concatenate((closures, heap.targets(waiting, "function")))
    shared = heap.targets(functions, "shared")
    script, ids = heap.targets(shared, "script"), heap.numbers(shared, "scope_id")
    scope = np.where(script == NONE, -1, tree.numbers(np.where(script == NONE, 0, script), ids))
    context = contexts.numbers(heap.targets(np.concatenate((closures, waiting)), "context"))
    closure = np.concatenate((closures, np.full(len(waiting), NONE)))
    # a frame on the stack may have its own function's context, or one around it
    at = contexts.numbers(heap.on_stack())
    at = distinct(at[at >= 0])
    frames = [at]
    for _ in range(_MOST_DEPTH):
        at = contexts.previous[at]
        at = distinct(at[at >= 0])
        if not len(at):
            break
        frames.append(at)
    held = distinct(np.concatenate(frames))
    found = _Running(
        np.concatenate((scope, contexts.scope[held])),
        np.concatenate((context, held)),
        np.concatenate((closure, np.full(len(held), NONE))),
    )
    known = found.scope >= 0
    return _Running(*(column[known] for column in found))


class _Chains(NamedTuple):
    """Distinct pairs of a scope whose code can run and a context in its chain, sorted."""

    scope: I64
    context: I64


def _chains(runs: _Running, contexts: _Contexts) -> _Chains | None:
    own = runs.context >= 0
    level = distinct(runs.scope[own] << 32 | runs.context[own])
    found, steps = [level], 0
    for _ in range(_MOST_DEPTH):
        above = contexts.previous[level & NONE]
        level = distinct((level >> 32 << 32 | above)[above >= 0])
        steps += len(level)
        if not len(level):
            pairs = distinct(np.concatenate(found))
            return _Chains(pairs >> 32, pairs & NONE)
        if steps > _MOST_STEPS:
            break
        found.append(level)
    return None


class _Fields(NamedTuple):
    """The variables that contexts have, and that are known."""

    context: I64
    variable: I64


def _fields(snapshot: Snapshot, tree: _Tree, contexts: _Contexts) -> _Fields:
    """By context. If several variables of a scope have one name, only the first is known."""
    stored, scopes = snapshot.references, tree.scopes
    known = np.flatnonzero(contexts.scope >= 0)
    begin, end = (stored.start[contexts.object[known] + after].astype(np.int64) for after in (0, 1))
    rows = spans(begin, end - begin)
    context = np.repeat(known, end - begin)
    own = stored.kind[rows] == snapshot.edge_type("context")
    rows, context = rows[own], context[own]
    keys = tree.scope_of_variable.astype(np.uint64) << np.uint64(32) | scopes.names.astype(np.uint64)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    wanted = contexts.scope[context].astype(np.uint64) << np.uint64(32) | stored.name[rows].astype(np.uint64)
    places = np.searchsorted(keys, wanted)
    found = places < len(keys)
    found[found] = keys[places[found]] == wanted[found]
    pairs = distinct(context[found] << 32 | order[places[found]])
    return _Fields(pairs >> 32, pairs & NONE)


def _read(tree: _Tree, chains: _Chains, contexts: _Contexts, fields: _Fields) -> Mask | None:
    """Return a mask of the contexts' variables that can be read; None if that takes too many steps."""
    # the variables that each runnable scope's code reads, nested scopes included
    runs, has_context = (np.zeros(len(tree.above), np.bool_) for _ in range(2))
    runs[chains.scope] = True
    has_context[contexts.scope[contexts.scope >= 0]] = True
    wanted = has_context[tree.scope_of_variable[tree.used]]
    at, variable = tree.user[wanted], tree.used[wanted]
    found, steps = [np.empty(0, np.int64)], 0
    while len(at):
        found.append((at << 32 | variable)[runs[at]])
        at = tree.above[at]
        at, variable = at[at >= 0], variable[at >= 0]
        steps += len(at)
        if steps > _MOST_STEPS:
            return None
    reads = distinct(np.concatenate(found))
    # those of one scope are next to each other, and so are those that one scope reads of another
    groups = reads >> 32 << 32 | tree.scope_of_variable[reads & NONE]
    wanted_groups = chains.scope << 32 | contexts.scope[chains.context]
    known = contexts.scope[chains.context] >= 0
    begin, end = (np.searchsorted(groups, wanted_groups[known], side) for side in ("left", "right"))
    count = end - begin
    if int(count.sum()) > _MOST_STEPS:
        return None
    pairs = np.repeat(chains.context[known], count) << 32 | (reads & NONE)[spans(begin, count)]
    own = fields.context << 32 | fields.variable
    read = np.zeros(len(own), np.bool_)
    places = np.searchsorted(own, pairs)
    found_here = places < len(own)
    found_here[found_here] = own[places[found_here]] == pairs[found_here]
    read[places[found_here]] = True
    return read


def _declared(heap: "_Heap", tree: _Tree, runs: _Running, contexts: _Contexts, of: I64) -> Declared:
    """The functions that declare the variables of some contexts: the innermost one at or around each scope."""
    scopes, functions = tree.scopes, heap.functions(distinct(tree.scopes.script))
    # by scope: all functions that scripts list, and all that have closures
    shared, closure = (np.full(len(scopes.id), NONE, np.int64) for _ in range(2))
    numbers = tree.numbers(functions.script, functions.scope)
    shared[numbers[numbers >= 0]] = functions.shared[numbers >= 0]
    own = np.flatnonzero(runs.closure != NONE)[::-1]
    closure[runs.scope[own]] = runs.closure[own]
    shared[runs.scope[own]] = heap.targets(runs.closure[own], "shared")
    numbers = contexts.scope[of]
    chosen = distinct(numbers)
    infos = np.full(len(scopes.id), NONE, np.int64)
    infos[numbers] = contexts.info[of]
    is_function = heap.is_named(heap.targets(infos[chosen], "scope_type_name"), _FUNCTION)
    around = chosen.copy()
    for _ in range(_MOST_DEPTH):
        is_inner = ~is_function & (shared[around] == NONE) & (tree.above[around] >= 0)
        if not is_inner.any():
            break
        around[is_inner] = tree.above[around[is_inner]]
    return Declared(
        np.searchsorted(chosen, numbers), heap.names_of_functions(shared[around]), closure[around],
        *heap.places(scopes.script[around], np.maximum(scopes.id[around], 0)),
    )  # fmt: skip


class _Functions(NamedTuple):
    """Functions of scripts, with or without closures."""

    script: I64
    scope: I64
    shared: I64
    """V8's description of the function, shared by its closures."""


class _Heap:
    """The engine's own objects of a snapshot. Kinds of its references are the file's, and names those of texts.

    In place of an object, NONE means that there is none.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._texts = snapshot.texts
        self.objects = len(snapshot.objects.ids)
        self._internal = np.zeros(256, np.uint8)
        self._internal[: len(snapshot.edge_types)] = [name == "internal" for name in snapshot.edge_types]

    def of_type(self, name: str) -> I64:
        """The objects of a type of the file."""
        return np.flatnonzero(self._snapshot.is_of_type(name))

    def called(self, name: bytes, type_name: str) -> I64:
        """Return the objects of a type whose names begin with ``name``."""
        found = self.of_type(type_name)
        own = self._snapshot.objects.name[found]
        names = [number for number in distinct(own).tolist() if self._texts.bytes_of(number).startswith(name)]
        called: I64 = found[np.isin(own, names)]
        return called

    def targets(self, objects: I64, name: str) -> I64:
        """Return the target of each object's internal reference of a name."""
        stored, found = self._snapshot.references, np.full(len(objects), NONE, np.uint32)
        wanted = self._snapshot.text_number(name)
        if wanted != NONE:
            references = References(stored.start, stored.target, stored.kind, self._internal)
            named_targets(references, stored.name, objects.astype(np.uint32), wanted, found)
        return found.astype(np.int64)

    def numbers(self, objects: I64, name: str) -> I64:
        """Return the integer that each object refers to by a name, or _NO_SCOPE."""
        texts = self.targets(self.targets(objects, name), "value")
        known = texts != NONE
        names = self._snapshot.objects.name[texts[known]]
        chosen = distinct(names)
        values = np.array([_whole(self._texts.bytes_of(number)) for number in chosen.tolist()], np.int64)
        found = np.full(len(objects), _NO_SCOPE, np.int64)
        found[known] = values[np.searchsorted(chosen, names)]
        return found

    def is_named(self, objects: I64, name: str) -> Mask:
        """Return a mask of the objects with a name."""
        found: Mask = objects != NONE
        found[found] = self._texts.mask(name)[self._snapshot.objects.name[objects[found]]]
        return found

    def names_of_functions(self, shared: I64) -> list[str]:
        """The names of functions; empty if unnamed, and for NONE."""
        names = self._snapshot.objects.name[np.where(shared == NONE, 0, shared)]
        found = [self._texts.bytes_of(number) for number in names.tolist()]
        return [
            text.removeprefix(_SHARED).removeprefix(_BETWEEN).decode("utf-8", "replace") if is_known else ""
            for text, is_known in zip(found, (shared != NONE).tolist(), strict=True)
        ]

    def suspended(self) -> I64:
        """Generators and asynchronous functions that have begun."""
        stored, wanted = self._snapshot.references, self._snapshot.text_number("parameters_and_registers")
        if wanted == NONE:
            return np.empty(0, np.int64)
        rows = np.flatnonzero((stored.name == wanted) & (stored.kind == self._snapshot.edge_type("internal")))
        return np.searchsorted(stored.start, rows.astype(np.uint64), "right") - 1

    def on_stack(self) -> I64:
        """The objects that the stack refers to."""
        stored, groups = self._snapshot.references, self.called(_STACK, "synthetic")
        begin, end = (stored.start[groups + after].astype(np.int64) for after in (0, 1))
        return stored.target[spans(begin, end - begin)].astype(np.int64)

    def functions(self, scripts: I64) -> _Functions:
        """The functions that some scripts list."""
        script, listed = self._listed(scripts)
        is_shared = np.isin(listed, self.called(_SHARED, "code"))
        script, listed = script[is_shared], listed[is_shared]
        return _Functions(script, self.numbers(listed, "scope_id"), listed)

    def _listed(self, scripts: I64) -> tuple[I64, I64]:
        """The functions that scripts list, each with its script."""
        stored, lists = self._snapshot.references, self.targets(scripts, "infos")
        scripts, lists = scripts[lists != NONE], lists[lists != NONE]
        begin, end = (stored.start[lists + after].astype(np.int64) for after in (0, 1))
        return np.repeat(scripts, end - begin), stored.target[spans(begin, end - begin)].astype(np.int64)

    def scripts_of_scope_infos(self, scripts: I64, wanted: I64) -> I64:
        """The script of each of some ScopeInfos, of those ``scripts``.

        A script lists its functions, each of which has a ScopeInfo, or if it isn't compiled that of the scope around
        it, and the scopes that have an ``eval``. What is around these is of the same script up to its outermost scope.
        Code of an ``eval`` is a script of its own, whose scopes end before that of the call.
        """
        infos = self.called(_SCOPE_INFO, "code")
        is_info = np.zeros(self.objects + 1, np.bool_)
        is_info[infos] = True
        outer, is_outermost = np.full(self.objects, NONE, np.int64), np.zeros(self.objects, np.bool_)
        outer[infos] = self.targets(infos, "outer_scope_info")
        is_outermost[infos] = self.numbers(infos, "scope_id") == _ROOT_SCOPE
        end = np.full(self.objects, NONE, np.int64)
        end[scripts] = self.targets(scripts, "eval_from_scope_info")
        functions, (script, listed) = self.functions(scripts), self._listed(scripts)
        own = self.targets(functions.shared, "name_or_scope_info")
        is_compiled = is_info[np.minimum(own, self.objects)]
        # around a script's outermost function is another script
        is_within = ~is_compiled & (functions.scope != _NO_SCOPE) & (functions.scope != _ROOT_SCOPE)
        around = self.targets(functions.shared, "raw_outer_scope_info_or_feedback_metadata")
        at = np.concatenate((listed, own[is_compiled], around[is_within]))
        script = np.concatenate((script, functions.script[is_compiled], functions.script[is_within]))
        found = np.full(self.objects + 1, NONE, np.int64)
        for _ in range(_MOST_DEPTH):
            at = np.minimum(at, self.objects)
            new = is_info[at] & (at != end[script]) & (found[at] == NONE)
            at, script = at[new], script[new]
            if not len(at):
                break
            found[at] = script
            script, at = script[~is_outermost[at]], outer[at[~is_outermost[at]]]
        # of a function that is no longer listed, a scope around it may be known
        at = np.minimum(wanted, self.objects)
        for _ in range(_MOST_DEPTH):
            unknown = np.flatnonzero(is_info[at] & (found[at] == NONE))
            unknown = unknown[~is_outermost[at[unknown]]]
            if not len(unknown):
                break
            at[unknown] = np.minimum(outer[at[unknown]], self.objects)
        of_wanted: I64 = found[at]
        return of_wanted

    def places(self, scripts: I64, positions: I64) -> tuple[I64, I64, I64]:
        """The names of scripts as texts, and the lines and columns of positions in them, both from 1.

        Lines are 0 if the file doesn't have the script's source up to there.
        """
        lines, columns = (np.zeros(len(scripts), np.int64) for _ in range(2))
        chosen = distinct(scripts)
        sources = self.targets(chosen, "source")
        offsets = [np.maximum(self.numbers(chosen, name), 0) for name in ("line_offset", "column_offset")]
        for script, source, line, column in zip(
            chosen.tolist(), sources.tolist(), *(each.tolist() for each in offsets), strict=True
        ):
            if source == NONE:
                continue
            # V8 counts units of UTF-16
            text = self._texts[int(self._snapshot.objects.name[source])].encode("utf-16-le")
            units = np.frombuffer(text, "<u2")
            begins = np.append(0, np.flatnonzero(units == _LINE_FEED) + 1)
            own = np.flatnonzero((scripts == script) & (positions <= len(units)))
            number = np.searchsorted(begins, positions[own], "right") - 1
            lines[own] = number + line + 1
            columns[own] = positions[own] - begins[number] + np.where(number == 0, column, 0) + 1
        return self._snapshot.objects.name[scripts].astype(np.int64), lines, columns


def _whole(text: bytes) -> int:
    """Parse an integer of 32 bits; _NO_SCOPE for anything else."""
    value = int(text) if 0 < len(text) < 12 and text.removeprefix(b"-").isdigit() else _NO_SCOPE
    return value if abs(value) < -_NO_SCOPE else _NO_SCOPE
