"""Differences by model: type checkers find a ``match`` without a case, and this test a table without a row."""

import ast
from pathlib import Path
from typing import get_args

import memlens
from memlens.model.info import Model


def tables() -> dict[str, set[str]]:
    """The keys of each dictionary that is declared to be keyed by model, by file and line."""
    package, found = Path(memlens.__file__).parent, {}
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
                kind = ast.unparse(node.annotation).strip("'\"")
                if kind.startswith("dict[Model,"):
                    keys = {ast.literal_eval(key) for key in node.value.keys if key is not None}
                    found[f"{path.relative_to(package)}:{node.lineno}"] = keys
    return found


def test_tables_that_are_keyed_by_model_have_a_row_for_each() -> None:
    found = tables()
    assert len(found) >= 5
    assert {place: keys for place, keys in found.items() if keys != set(get_args(Model))} == {}
