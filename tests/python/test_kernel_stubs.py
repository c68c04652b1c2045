"""What type checkers know of kernels is what these declare."""

import ast
import builtins
from pathlib import Path

import pytest
from tests.python.counted import some

from kernel_stubs import stub

PACKAGE = Path(__file__).parents[2] / "pyserver" / "memlens"
SOURCE = '''
"""A kernel."""
from libc.stdint cimport uint8_t, uint32_t
from memlens.kernels.base.work cimport Work

OK, MORE = range(2)
NAMES = (
    "a", "b",   # and a comment
)
cdef enum:
    HIDDEN = 1

cdef class Sums(Base):
    """Adds."""

    cdef size_t count
    cdef readonly bint is_whole

    def __cinit__(self, const uint8_t[::1] data: Buffer, *_):
        pass

    def __dealloc__(self):
        pass

    @property
    def offset(self) -> int:
        return 0

    cdef int hidden(self) except -1:
        return 0

    def add(
        self, const uint32_t[:, ::1] rows, Work work not None, Work other or None,
        pairs: tuple[int, dict[str, int]] | None = None, *, size_t most=1, bint at_once,
    ):
        cdef int64_t each

def total(double scale, object made: Iterable[int]) -> tuple[int, float] | None:
    return None
'''
STUB = """from collections.abc import Iterable
from memlens.arrays import U32
from memlens.kernels.base.work import Work
from typing_extensions import Buffer
OK: int
MORE: int
NAMES: tuple[str, ...]
class Sums(Base):
    is_whole: bool
    error: int
    def __init__(self, data: Buffer, *_: object) -> None: ...
    @property
    def offset(self) -> int: ...
    def add(self, rows: U32, work: Work, other: Work | None, pairs: tuple[int, dict[str, int]] | None = ..., *, \
most: int = ..., at_once: bool) -> None: ...
def total(scale: float, made: Iterable[int]) -> tuple[int, float] | None: ...
"""


def test_a_kernel_says_its_types() -> None:
    found = stub(
        SOURCE, "cdef class Sums(Base):\n    cdef public int error\n    cdef int hidden(self) except -1\n"
    )
    assert sorted(found.splitlines()) == sorted(STUB.splitlines())


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.pyx")), ids=lambda path: path.stem)
def test_every_type_is_known(path: Path) -> None:
    """A name that a stub doesn't import would be no type to a checker, which then accepts anything."""
    stub_file = ast.parse(path.with_suffix(".pyi").read_text())
    nodes = [*some(ast.walk(stub_file))]
    known = {*dir(builtins)}
    known |= {
        name.asname or name.name
        for each in nodes
        if isinstance(each, ast.ImportFrom | ast.Import)
        for name in each.names
    }
    known |= {each.name for each in nodes if isinstance(each, ast.ClassDef)}
    assert {each.id for each in nodes if isinstance(each, ast.Name)} - {
        each.target.id
        for each in nodes
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    } <= known
