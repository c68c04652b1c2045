"""Every function, class, method and constant of the package is used by the package, not by tests alone."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from tests.python.counted import some

PACKAGE = Path(__file__).parents[2] / "pyserver" / "memlens"
CALLED_BY_LIBRARIES = {
    *("BestIndexObject", "Eof"),  # SQLite's tables
    *("xCheckReservedLock", "xClose", "xDeviceCharacteristics", "xFileControl", "xLock", "xOpen", "xRead"),
    *("xSectorSize", "xSync", "xTruncate", "xWrite", "xUnlock"),  # SQLite's files
    "_check_value",  # argparse
    "get_abbrev_table",  # pyelftools
    "seekable",  # zipfile
    "dask_setup",  # dask
    "missing_host_key",  # paramiko
    "misjudged",  # tests of other packages' packs
}
_WORD = re.compile(r"[A-Za-z_]\w*")
_TEXTS = re.compile(r'^\s*"""[\s\S]*?"""|(?:^|(?<=\s))#.*', re.MULTILINE)
_IN_CYTHON = re.compile(
    r"^(?: {4})?(?:def|cdef|cpdef)(?! (?:class|extern|struct|enum|fused)) (?:[\w\[\]:, *]*[ *])?(\w+)\(",
    re.MULTILINE,
)


def in_python(tree: ast.Module) -> tuple[list[str], list[str]]:
    """The names that a module declares at its top and in classes, but what a decorator registers, and what it uses."""
    names: list[str] = []
    used: list[str] = []
    texts = {
        id(each.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
    }
    for each in ast.walk(tree):
        match each:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.alias(name=name):
                used.append(name)
            case ast.Constant(value=str(text)) if id(each) not in texts:
                used += _WORD.findall(text)
            case ast.Module() | ast.ClassDef():
                for node in each.body:
                    match node:
                        case ast.FunctionDef(name=name, decorator_list=[]) | ast.ClassDef(name=name):
                            names.append(name)
                        case ast.Assign(targets=[ast.Name(name)]) if isinstance(each, ast.Module):
                            names.append(name)
    return names, used


def in_cython(text: str) -> tuple[list[str], list[str]]:
    """The functions and methods that a kernel declares, each once, and the words that it has otherwise."""
    text = _TEXTS.sub("", text)
    names = _IN_CYTHON.findall(text)
    return names, [*(Counter(_WORD.findall(text)) - Counter(names)).elements()]


@pytest.mark.slow
def test_what_is_declared_is_used() -> None:
    names: set[str] = set()
    used: set[str] = set()
    for path in some([path for path in sorted(PACKAGE.rglob("*.*")) if "tests" not in path.parts]):
        if path.suffix == ".py":
            more = in_python(ast.parse(path.read_text()))
        elif path.suffix in (".pyx", ".pxd"):
            more = in_cython(path.read_text())
        elif path.suffix in (".sql", ".toml"):
            more = [], _WORD.findall(path.read_text())
        else:
            continue
        names.update(name for name in more[0] if not name.startswith("__"))
        used.update(more[1])
    assert names - used == CALLED_BY_LIBRARIES
