"""Variables of closures that nothing reads: programs made at random against the definition, and damaged scopes."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.python.command_line import memlens
from tests.python.graph_reading import load
from tests.python.heap_files import HeapFile

from memlens.packs.v8.sections import SCOPE_USES, SCOPE_VARIABLES, SCOPES
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.one_object import references
from memlens.views.heap.objects.unread_variables import unread
from memlens.views.heap.retained.by_objects import retained_by
from memlens.views.heap.retained.by_unread_variables import held_by_unread_alone

ROOT_SCOPE = -2
UNKNOWN = "unknown-scopes"
FUNCTION, BLOCK = "function", "block"


class Scope(NamedTuple):
    script: int
    id: int
    above: int | None
    """A number of a scope."""
    kind: str
    variables: list[str]
    uses: list[tuple[int, int]]
    """Pairs of a scope's number and a variable of it."""


class Context(NamedTuple):
    scope: int
    above: int | None
    node: int
    values: list[int]


class Program:
    """Scopes of two scripts, contexts of them, and closures in these; all in a file."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.heap = HeapFile()
        self.root = self.heap.node("synthetic", "")
        self.stack = self.heap.node("synthetic", "(Stack roots)")
        self.heap.edge(self.root, "element", 1, self.stack)
        self.numbers: dict[int, int] = {}
        self.scopes: list[Scope] = []
        scripts = [self.heap.node("code", f"system / Script / /app/{name}.js", 8) for name in "ab"]
        for script in scripts:
            self._scopes_of(script)
        self._infos(scripts)
        self.contexts: list[Context] = []
        self.running: list[tuple[int, int]] = []
        """Pairs of the scope and the context of what can run: of closures the function's and that it was made in."""
        for number in range(len(self.scopes)):
            for _ in range(self.rng.randrange(3)):
                self._context(number)
        for number, scope in enumerate(self.scopes):
            if scope.kind == FUNCTION and scope.above is not None:
                made_in = [at for at, each in enumerate(self.contexts) if each.scope == scope.above]
                for context in self.rng.sample(made_in, min(len(made_in), self.rng.randrange(3))):
                    self._closure(number, context)
        for at in self.rng.sample(range(len(self.contexts)), len(self.contexts) // 8):
            self._frame(at)

    def _scopes_of(self, script: int) -> None:
        first = len(self.scopes)
        self.scopes.append(Scope(script, ROOT_SCOPE, None, FUNCTION, ["top"], []))
        for number in range(first + 1, first + self.rng.randrange(4, 12)):
            # the file has them in the order of a walk: below the last one or one around it
            above = number - 1
            while self.scopes[above].above is not None and self.rng.random() < 0.5:
                above = self.scopes[above].above or first
            variables = [f"v{number}_{at}" for at in range(self.rng.randrange(3))]
            kind = self.rng.choice((FUNCTION, FUNCTION, BLOCK))
            uses: list[tuple[int, int]] = []
            at = number
            own = Scope(script, 10 * (number - first), above, kind, variables, uses)
            self.scopes.append(own)
            while True:
                around = self.scopes[at]
                uses += [(at, slot) for slot in range(len(around.variables)) if self.rng.random() < 0.3]
                if around.above is None:
                    break
                at = around.above
        for each in self.scopes[first:]:
            uses_by_id = [(self.scopes[scope].id, slot) for scope, slot in each.uses]
            self.heap.scopes.append((script, each.id, self._depth(each), each.variables, uses_by_id))

    def _depth(self, scope: Scope) -> int:
        return 0 if scope.above is None else 1 + self._depth(self.scopes[scope.above])

    def _number(self, value: int) -> int:
        """The object that is a number."""
        if value not in self.numbers:
            self.numbers[value] = self.heap.node("hidden", "int")
            self.heap.edge(self.numbers[value], "internal", "value", self.heap.node("string", str(value)))
        return self.numbers[value]

    def _infos(self, scripts: list[int]) -> None:
        lists = {script: self.heap.node("code", "system / WeakFixedArray", 16) for script in scripts}
        for script, listed in lists.items():
            self.heap.edge(script, "internal", "infos", listed)
        self.infos, self.shared = [], []
        for scope in self.scopes:
            info = self.heap.node("code", "system / ScopeInfo", 16)
            self.infos.append(info)
            self.heap.edge(info, "internal", "scope_id", self._number(scope.id))
            if scope.above is not None:
                self.heap.edge(info, "internal", "outer_scope_info", self.infos[scope.above])
        for number, scope in enumerate(self.scopes):
            shared = self.heap.node("code", f"system / SharedFunctionInfo / f{number}", 24)
            self.shared.append(shared)
            if scope.kind != FUNCTION:
                continue
            self.heap.edge(shared, "internal", "script", scope.script)
            self.heap.edge(shared, "internal", "scope_id", self._number(scope.id))
            if scope.above is None or self.rng.random() < 0.7:
                self.heap.edge(shared, "internal", "name_or_scope_info", self.infos[number])
            else:
                # not compiled yet
                name = "raw_outer_scope_info_or_feedback_metadata"
                self.heap.edge(shared, "internal", name, self.infos[scope.above])
            self.heap.edge(lists[scope.script], "weak", len(self.shared), shared)

    def _context(self, number: int) -> None:
        scope = self.scopes[number]
        above = None
        if scope.above is not None:
            around = [at for at, each in enumerate(self.contexts) if each.scope == scope.above]
            if not around:
                return
            above = self.rng.choice(around)
        node = self.heap.node("object", f"system / Context / scope @{number}", 16)
        self.heap.edge(self.root, "property", f"context{node}", node)
        self.heap.edge(node, "internal", "scope_info", self.infos[number])
        if above is not None:
            self.heap.edge(node, "internal", "previous", self.contexts[above].node)
        values = []
        for name in scope.variables:
            value = self.heap.node("object", "Value", self.rng.randrange(1, 100))
            self.heap.edge(node, "context", name, value)
            values.append(value)
        if values and self.rng.random() < 0.3:
            self.heap.edge(self.root, "property", f"also{node}", values[0])
        self.contexts.append(Context(number, above, node, values))

    def _closure(self, number: int, context: int) -> None:
        closure = self.heap.node("closure", f"f{number}", 32)
        self.heap.edge(self.root, "property", f"closure{closure}", closure)
        self.heap.edge(closure, "internal", "shared", self.shared[number])
        self.heap.edge(closure, "internal", "context", self.contexts[context].node)
        self.running.append((number, context))
        own = [at for at, each in enumerate(self.contexts) if each.scope == number]
        if own and self.rng.random() < 0.2:
            # a generator that is suspended
            self.running.append((number, self.rng.choice(own)))
            waits = self.heap.node("object", "Generator", 48)
            self.heap.edge(self.root, "property", f"waits{waits}", waits)
            self.heap.edge(waits, "internal", "function", closure)
            self.heap.edge(waits, "internal", "context", self.contexts[self.running[-1][1]].node)
            self.heap.edge(waits, "internal", "parameters_and_registers", self.heap.node("array", "", 16))

    def _frame(self, context: int) -> None:
        """Something on the stack has a context, and goes on in those around it."""
        self.heap.edge(self.stack, "hidden", 1, self.contexts[context].node)
        at: int | None = context
        while at is not None:
            self.running.append((self.contexts[at].scope, at))
            at = self.contexts[at].above

    def expected(self) -> set[tuple[int, str]]:
        """Each context's variables that nothing can read: by going through all that could run."""
        read: set[tuple[int, int]] = set()
        for function, context in self.running:
            chain: dict[int, int] = {}
            at: int | None = context
            while at is not None:
                chain[self.contexts[at].scope] = at
                at = self.contexts[at].above
            for number, scope in enumerate(self.scopes):
                if self._is_within(number, function):
                    read |= {(chain[declaring], slot) for declaring, slot in scope.uses if declaring in chain}
        return {
            (context.node, name)
            for at, context in enumerate(self.contexts)
            for slot, name in enumerate(self.scopes[context.scope].variables)
            if (at, slot) not in read
        }

    def _is_within(self, number: int | None, function: int) -> bool:
        while number is not None:
            if number == function:
                return True
            number = self.scopes[number].above
        return False


@pytest.fixture
def at(tmp_path: Path) -> Path:
    return tmp_path / "page.heapsnapshot"


def found_in(path: Path) -> set[tuple[int, str]]:
    graph = load(path)
    return {(int(row["object"]), graph.texts[int(row["name"])]) for row in graph.unread}


def test_what_no_closure_can_read(at: Path) -> None:
    several = 0
    for seed in range(60):
        program = Program(seed)
        at.write_bytes(program.heap.data())
        expected = program.expected()
        assert found_in(at) == expected, seed
        several += len(expected) > 1
    assert several > 20


def test_what_they_hold(at: Path, opened: Callable[[Path], Snapshot]) -> None:
    """A value that something else holds as well isn't freed."""
    less = 0
    for seed in range(20):
        program = Program(seed)
        at.write_bytes(program.heap.data())
        snapshot = opened(at)
        every, alone = unread(snapshot), held_by_unread_alone(snapshot)
        owner = {value: context.node for context in program.contexts for value in context.values}
        also = {
            target for _, name, target in program.heap.edges[program.root] if str(name).startswith("also")
        }
        found = list(zip(every.rows["object"].tolist(), every.value.tolist(), alone.tolist(), strict=True))
        assert len(found) == len(program.expected())
        assert all(owner[value] == context for context, value, _ in found)
        assert {value for _, value, is_alone in found if not is_alone} == also & {
            value for _, value, _ in found
        }
        marked = {
            (context.node, row.name)
            for context in program.contexts
            for row in references(snapshot, context.node)[0]
            if row.is_unread
        }
        assert marked == program.expected()
        values = [value for _, value, is_alone in found if is_alone]
        freed = retained_by(snapshot, values).retained_bytes
        assert freed == sum(int(snapshot.objects.shallow[value]) for value in values)
        less += freed < retained_by(snapshot, every.value).retained_bytes
    assert less > 5


def test_scopes_that_do_not_fit(at: Path) -> None:
    """They say nothing, but the file is read, for V8 may change their layout."""
    program = Program(1)
    sections = program.heap.sections()
    assert UNKNOWN not in warnings(at, program.heap.data())
    first = sections[SCOPES]
    changes: tuple[dict[str, Any], ...] = (
        {SCOPES: first[:-1]}, {SCOPES: [first[0] + 1, *first[1:]]}, {SCOPES: [-first[0], *first[1:]]},
        {SCOPES: [first[0], first[1], 3, *first[3:]]}, {SCOPES: [*first[:3], first[3] + 1, *first[4:]]},
        {SCOPES: [*first[:4], 1 << 40, *first[5:]]}, {SCOPES: "scopes"}, {SCOPES: [[1, 2, 3, 4, 5]]},
        {SCOPES: [1.5, *first[1:]]}, {SCOPES: [None, *first[1:]]}, {SCOPES: [1 << 70, *first[1:]]},
        {SCOPE_VARIABLES: [1 << 30, *sections[SCOPE_VARIABLES][1:]]}, {SCOPE_VARIABLES: []}, {SCOPE_USES: [0]},
        {"snapshot": {**sections["snapshot"], "meta": {**sections["snapshot"]["meta"], "scope_fields": ["x"] * 5}}},
    )  # fmt: skip
    for changed in changes:
        assert UNKNOWN in warnings(at, program.heap.data(**changed)), changed
        assert found_in(at) == set()


def warnings(path: Path, data: bytes) -> list[str]:
    path.write_bytes(data)
    return [warning.code for warning in load(path).warnings]


def test_a_copy_without_values_has_no_scopes(at: Path) -> None:
    """By which closures these belong to are numbers."""
    program = Program(1)
    at.write_bytes(program.heap.data())
    copy = at.with_name("copy.heapsnapshot")
    memlens("redact", at, copy)
    assert found_in(at)
    assert not found_in(copy)
    assert b'"scope_uses"' not in copy.read_bytes()


def test_sql(at: Path) -> None:
    program = next(each for each in map(Program, range(20)) if len(each.expected()) > 3)
    at.write_bytes(program.heap.data())
    rows = json.loads(memlens("sql", at, "SELECT context, variable FROM unread_variables", "--json").stdout)
    assert {(row["context"], row["variable"]) for row in rows} == program.expected()
