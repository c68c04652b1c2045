"""Reports loops that assert something of each item and had no item in any test: they pass whatever they are for.

While pytest rewrites the assertions of a test file, this has each such loop, and each ``all(...)`` in an assertion,
note whether there was an item. The summary of a run names those that ran and never had one. A run of all tests
shouldn't have any: a test makes what its loop needs, or loops over ``perhaps(...)`` of ``counted.py`` if only real
files have it.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite

_NAME = "__looked_at__"
_seen: dict[str, bool] = {}
"""For each loop that ran: whether it ever had an item."""


def _looked_at(items: Iterable[Any], place: str) -> Iterator[Any]:
    iterator = iter(items)
    for first in iterator:
        _seen[place] = True
        return chain((first,), iterator)
    _seen.setdefault(place, False)
    return iter(())


class _Counted(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, file: str) -> None:
        self._file = file
        self._asserting = {
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and self._asserts(node, set())
        }

    def _asserts(self, node: ast.AST, functions: set[str]) -> bool:
        """Whether a statement asserts something, also by ``pytest.raises`` or by a function of the file."""
        return any(
            isinstance(each, ast.Assert)
            or (isinstance(each, ast.Attribute) and each.attr == "raises")
            or (isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in functions)
            for each in ast.walk(node)
        )

    def _reported(self, items: ast.expr) -> ast.expr:
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id == "perhaps":
            return items
        place = ast.Constant(f"{self._file}:{items.lineno}")
        call = ast.Call(ast.Name(_NAME, ast.Load()), [items, place], [])
        return ast.fix_missing_locations(ast.copy_location(call, items))

    def visit_For(self, node: ast.For) -> ast.For:
        if any(self._asserts(each, self._asserting) for each in node.body):
            node.iter = self._reported(node.iter)
        self.generic_visit(node)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        for each in ast.walk(node.test):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "all":
                for inside in each.args:
                    if isinstance(inside, ast.GeneratorExp):
                        first = inside.generators[0]
                        first.iter = self._reported(first.iter)
        return node


def pytest_configure() -> None:
    """Rewrite test files with loops that report, and keep them under another name than without."""
    plain = rewrite.rewrite_asserts

    def rewritten(
        tree: ast.Module, source: bytes, module_path: str | None = None, config: Any = None
    ) -> None:
        if module_path and Path(module_path).parent == Path(__file__).parent:
            _Counted(tree, Path(module_path).name).visit(tree)
        plain(tree, source, module_path, config)

    setattr(builtins, _NAME, _looked_at)
    setattr(rewrite, "rewrite_asserts", rewritten)  # noqa: B010 - pyrefly knows the parameters' names
    rewrite.PYC_TAIL = f"-loops{rewrite.PYC_TAIL}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a process of several saw to the one that reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["loops"] = _seen


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what another process saw."""
    for place, found in getattr(node, "workeroutput", {}).get("loops", {}).items():
        _seen[place] = found or _seen.get(place, False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the loops that looked at nothing."""
    if empty := sorted(place for place, found in _seen.items() if not found):
        terminalreporter.write_line(f"Loops that looked at nothing: {', '.join(empty)}", yellow=True)
