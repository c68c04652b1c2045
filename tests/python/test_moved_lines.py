"""Which function a line is in, where lines move while a file is edited, and which cell a frame's name means."""

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.python.tries import tries

from memlens.sources.cells import Cell, cell_name, defines, murmur2, names_of, read_cells
from memlens.sources.functions import Functions
from memlens.sources.line_map import LineEdit, LineMap

CODE = '''\
import torch


class Net(torch.nn.Module):
    @torch.compile
    def forward(self, x):
        """Say
def decoy():
        """
        def inner(y):
            return (
y
            )
        return [inner(z) for z in x]


class Other:
    async def forward(self, x): return x
    # a remark
    size = 3


def run(
    net,
) -> None:
    net(lambda: 1)
'''


@pytest.mark.parametrize("damage", ["", "\n\ndef half(:\n"], ids=["whole", "damaged"])
def test_a_line_is_in_the_functions_around_it(damage: str) -> None:
    functions = Functions.of(CODE + damage)
    assert functions.whole == (not damage)
    for function, lines in {
        "forward": (6, 7, 10, 12, 14, 18),
        "inner": (10, 12, 13),
        "Net": (4, 14),
        "run": (23, 24, 26),
        "Net.forward": (6, 14),
        "Net.forward.<locals>.inner": (11,),
        "<lambda>": (1, 26),
        "<module>": (5,),
        "not a name": (1,),
        "": (1,),
    }.items():
        for line in lines:
            assert functions.elsewhere(function, line) is None, (function, line)
    assert functions.elsewhere("run", 14) == [23]
    assert functions.elsewhere("inner", 18) == [10]
    assert functions.elsewhere("forward", 26) == [6, 18]
    assert functions.elsewhere("Net.forward", 18) == [6]
    assert functions.elsewhere("run", 1000) == [23]
    assert functions.elsewhere("decoy", 5) == (None if damage else [])
    assert functions.definition("Other.forward", 18) == 18
    assert functions.definition("run", 2) == 23
    assert functions.definition("forward", 26) == 0


def test_decorators_belong_to_their_function() -> None:
    functions = Functions.of(CODE)
    assert functions.elsewhere("forward", 5) is None
    assert functions.definition("forward", 5) == 6


@pytest.mark.slow
def test_scopes_of_this_project_agree_with_pythons_compiler() -> None:
    """Code objects have the exact lines of functions. Of the files a third, unless ``--slow`` asks for all."""
    folder = Path(__file__).parents[2] / "pyserver" / "memlens"
    checked = 0
    for path in sorted(folder.rglob("*.py"))[:: 4 - tries(3)]:
        text = path.read_text()
        functions, indented = Functions.of(text), Functions.of(f"{text}\ndef (")
        assert functions.whole
        assert not indented.whole
        waiting = [compile(text, str(path), "exec")]
        while waiting:
            code = waiting.pop()
            waiting += [each for each in code.co_consts if isinstance(each, type(code))]
            if code.co_name.startswith("<") or "TypeParam" in code.co_name or code.co_name == "__annotate__":
                continue
            for line in {line for *_, line in code.co_lines() if line}:
                checked += 1
                for found in (functions, indented):
                    assert found.elsewhere(code.co_qualname, line) is None, (path, code.co_qualname, line)
    assert checked > 10_000


def test_invalid_python_is_read_by_its_indentation() -> None:
    for text in ("\0", "(" * 100_000, "def f():\n" * 3, "\t def x(\n '''", "é" * 10, ""):
        Functions.of(text).elsewhere("f", 2)
    with pytest.raises(SyntaxError):
        ast.parse("def f():\n" * 3)


@given(
    edits=st.lists(st.builds(LineEdit, st.integers(1, 30), st.integers(0, 5), st.integers(0, 5)), max_size=12)
)
def test_lines_move_as_in_a_list(edits: list[LineEdit]) -> None:
    lines: list[int] = list(range(1, 200))
    moved = LineMap()
    for line, removed, added in edits:
        lines[line - 1 : line - 1 + removed] = [0] * added
        moved = moved.edited(LineEdit(line, removed, added))
    for there in range(1, 150):
        assert moved.here(there) == (lines.index(there) + 1 if there in lines else 0)
    for here in range(1, 100):
        assert moved.there(here) == lines[here - 1]


def test_an_edit_that_is_undone_leaves_one_run() -> None:
    moved = LineMap()
    for _ in range(50):
        moved = moved.edited(LineEdit(10, 0, 2)).edited(LineEdit(10, 2, 0))
    assert len(moved._runs) == 1


# From ipykernel 7.4's own get_file_name, and the same from the PyPI package murmurhash2.
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 3990065800),
        ("a", 2167009006),
        ("ab", 2805137849),
        ("abc", 3350977461),
        ("x = 1\n", 1602534638),
        ("import torch\nx = torch.zeros(1024, device='cuda')", 2963578125),
        ("größe = '€ 𝄞'\n", 1546001240),
    ],
)
def test_cells_are_named_as_ipykernel_names_them(text: str, number: int) -> None:
    assert murmur2(text.encode()) == number
    name = cell_name(f"/tmp/ipykernel_114/{number}.py")
    assert name is not None
    assert dict(names_of(text))[name.key] == 0
    assert dict(names_of(text.replace("\n", "\r\n")))[name.key] == 0


# From IPython 7.16.3: code_name(TransformerManager().transform_cell(text), count).
@pytest.mark.parametrize(
    ("text", "name", "skipped"),
    [
        ("x = 1", "<ipython-input-1-e139f73e3432>", 0),
        ("\n\n  y = 2\n  z = 3\n", "<ipython-input-2-62b3fff58091>", 2),
        (
            "%matplotlib inline\n!nvidia-smi  -L\nimport torch\nm = torch.zeros(3)\n",
            "<ipython-input-3-d02a97b8232e>",
            0,
        ),
        ("%time  x = 3  \n%pwd\n", "<ipython-input-4-0a844818689f>", 0),
        ("x = !ls -l\n", "<ipython-input-5-bd22d79eb451>", 0),
    ],
)
def test_cells_are_named_as_ipython_names_them(text: str, name: str, skipped: int) -> None:
    meant = cell_name(name)
    assert meant is not None
    assert meant.execution_count == int(name.split("-")[2])
    assert dict(names_of(text))[meant.key] == skipped
    assert meant.key not in dict(names_of(f"{text}#"))


def test_a_cell_with_a_long_line_of_blanks_has_names() -> None:
    """A pattern for magics that tries each part of them would take hours."""
    assert len(names_of(f"{' ' * 200_000}x")) > 3


def test_other_files_are_not_cells() -> None:
    for file in (
        "/tmp/ipykernel_114/x.py",
        "/tmp/ipykernel_114/3105878423.pyc",
        "/tmp/ipykernel/3105878423.py",
        "/tmp/3105878423.py",
        "<ipython-input-1>",
        "<string>",
        "x" * 100_000,
    ):
        assert cell_name(file) is None, file
    windows = cell_name("C:\\Users\\a\\AppData\\Local\\Temp\\ipykernel_1\\3105878423.py")
    assert windows is not None
    assert windows.hash == "3105878423"


def test_notebooks_are_read_as_data(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["# x"]},
        {
            "cell_type": "code",
            "source": ["%pwd\n", "def f():\n", "  pass"],
            "execution_count": 3,
            "outputs": [{}],
        },
        {"cell_type": "code", "source": 7},
        {"cell_type": "code", "source": "x" * 300_000},
        {"cell_type": "raw", "source": "y"},
    ]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "metadata": {}}))
    found = read_cells(path)
    assert found == [Cell(1, "%pwd\ndef f():\n  pass", 3), Cell(2, "", None)]
    assert defines(found[0], "f")
    assert not defines(found[0], "pass")
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a\n", "b"]}]}]}
    path.write_text(json.dumps(old))
    assert read_cells(path) == [Cell(0, "a\nb", None)]
    for content in ("", "[]", "{", '{"cells": {}}', '{"cells": [3]}', '{"cells": ' + "[" * 100_000):
        path.write_text(content)
        assert read_cells(path) == []
    assert read_cells(tmp_path / "none.ipynb") == []
