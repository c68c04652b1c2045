"""Cells of notebooks: which cell a frame's file name means.

ipykernel 6 and later compiles a cell under ``TMP/ipykernel_PID/HASH.py``, where HASH is the murmur2 of the cell as it
was sent (``ipykernel.compiler.get_file_name``); xeus-python does the same. Earlier, IPython itself named a cell
``<ipython-input-COUNT-HASH>``, where HASH is the first 12 digits of the MD5 (in later versions SHA-1) of the code after
IPython's own syntax was replaced (``IPython.core.compilerop.code_name``). Either way the same code has the same name,
and edited code has a different one.
"""

import hashlib
import re
import struct
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from memlens.regular_files import content
from memlens.sources.functions import Functions

NOTEBOOK_LIMIT_BYTES = 64 << 20
"""Larger notebooks are skipped; outputs are in the file as well."""
CELL_LIMIT = 1 << 18
"""Characters; longer cells are skipped."""
CELLS_LIMIT = 5_000

_SEED = 0xC70F6907  # ipykernel.compiler.get_tmp_hash_seed
_KERNEL_FILE = re.compile(r"(?:^|[\\/])(?:ipykernel|xpython)_\d+[\\/](?P<hash>\d{1,10})\.py", re.ASCII)
_INPUT = re.compile(r"<ipython-input-(?P<count>\d{1,9})-(?P<hash>[0-9a-f]{12})>", re.ASCII)


class CellName(NamedTuple):
    """What a frame's file name says about its cell."""

    kind: Literal["kernel", "input"]
    hash: str
    execution_count: int | None
    """The execution count, if the name has it."""

    @property
    def key(self) -> tuple[str, str]:
        """The hash, which is the same for the same code."""
        return (self.kind, self.hash)


class Cell(NamedTuple):
    """A code cell of a notebook; ``number`` counts all cells from 0."""

    number: int
    text: str
    execution_count: int | None


class Placed(NamedTuple):
    """A name that some code may have been run under, and how many of its first lines weren't run."""

    key: tuple[str, str]
    skipped: int


def cell_name(file: str) -> CellName | None:
    """The cell that a frame's file names; None for any other file."""
    found = _INPUT.fullmatch(file)
    if found is not None:
        return CellName("input", found["hash"], int(found["count"]))
    found = _KERNEL_FILE.search(file) if len(file) < 4096 else None
    if found is None or found.end() != len(file):
        return None
    return CellName("kernel", found["hash"], None)


def names_of(text: str) -> list[Placed]:
    """Every name under which the code of a cell may have been run."""
    text = text.replace("\r\n", "\n")
    names: dict[tuple[str, str], int] = {}
    # front ends differ in whether they send the newline at the end
    for sent in (text, text.rstrip("\n"), f"{text}\n"):
        names.setdefault(("kernel", str(murmur2(sent.encode("utf-8", "surrogatepass")))), 0)
    for run, skipped in _as_run(text):
        content = run.encode("utf-8", "surrogatepass")
        for digest in (
            hashlib.sha1(content, usedforsecurity=False),
            hashlib.md5(content, usedforsecurity=False),
        ):
            names.setdefault(("input", digest.hexdigest()[:12]), skipped)
    return [Placed(key, skipped) for key, skipped in names.items()]


def murmur2(data: bytes) -> int:
    """MurmurHash2 (Appleby, 32 bit) with ipykernel's seed."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = _SEED ^ len(data)
    whole = len(data) & ~3
    for (k,) in struct.iter_unpack("<I", data[:whole]):
        k = k * m & mask  # noqa: PLW2901 - the algorithm as it is written everywhere
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def _as_run(text: str) -> Iterator[tuple[str, int]]:
    """The code as sent, and as IPython's input transformers leave it, each with the number of lines left out."""
    for sent in (text, text.rstrip("\n"), text.rstrip("\n") + "\n"):
        yield sent, 0
    lines = text.rstrip("\n").split("\n")
    skipped = next((number for number, line in enumerate(lines) if line.strip()), 0)
    kept = "\n".join(lines[skipped:])
    yield kept + "\n", skipped
    # the transformer removes the first line's indentation from every line that has it
    dedented = textwrap.dedent(kept)
    yield dedented + "\n", skipped
    yield "\n".join(map(_without_magic, dedented.split("\n"))) + "\n", skipped


_ESCAPED = re.compile(r"(?P<before>\s*(?:[\w.,\[\]][\w., \[\]]*=\s*)?)(?P<escape>[%!])(?P<rest>[^%!\s=].*)")


def _without_magic(line: str) -> str:
    """The call that IPython makes of a line magic or a shell command (``IPython.core.inputtransformer2``)."""
    found = _ESCAPED.fullmatch(line)
    if found is None:
        return line
    if found["escape"] == "!":
        call = f"{'getoutput' if found['before'].strip() else 'system'}({found['rest']!r})"
    else:
        name, _, arguments = found["rest"].partition(" ")
        call = f"run_line_magic({name!r}, {arguments!r})"
    return f"{found['before']}get_ipython().{call}"


def read_cells(path: str | Path) -> list[Cell]:
    """The code cells of a notebook file (nbformat 3, 4); none if it can't be read."""
    data = content(Path(path), NOTEBOOK_LIMIT_BYTES)
    if data is None:
        return []
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return []
    cells = notebook.cells or [cell for sheet in notebook.worksheets for cell in sheet.cells]
    return [
        Cell(number, text, cell.execution_count if isinstance(cell.execution_count, int) else None)
        for number, cell in enumerate(cells[:CELLS_LIMIT])
        if cell.cell_type == "code" and len(text := _joined(cell.source or cell.input)) <= CELL_LIMIT
    ]


def defines(cell: Cell, function: str) -> bool:
    """Whether a function of that name begins in the cell."""
    name = function.rsplit(".", 1)[-1]
    if name not in cell.text:
        return False
    text = "\n".join(map(_without_magic, cell.text.split("\n")))
    return any(scope.path[-1] == name for scope in Functions.of(text).scopes)


class _Cell(msgspec.Struct):
    cell_type: Any = None
    source: Any = ""
    input: Any = ""
    execution_count: Any = None


class _Sheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []
    worksheets: list[_Sheet] = []


def _joined(source: Any) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(part, str) for part in source):
        return "".join(map(str, source))
    return ""
