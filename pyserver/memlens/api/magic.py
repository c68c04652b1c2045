"""``%%memlens`` in notebooks: records what a cell does to memory, and shows it.

It is loaded by ``%load_ext memlens``, and so only where there is IPython.
"""

import ast
import tempfile
from pathlib import Path
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from memlens.api.snapshots import Heap, Profile, Trace, open_snapshot
from memlens.errors import MemlensError
from memlens.export.pictures.svg import escaped
from memlens.packs import registry
from memlens.packs.api import Meter, NoMeterError
from memlens.units import format_bytes

_FILE = "cell"


class Recorded:
    """What a cell did to memory. ``snapshot`` is what is left of it, by line; None where nothing is."""

    def __init__(self, meter: Meter, keep: Path | None) -> None:
        self.title = meter.title
        self.peak_bytes = meter.peak_bytes
        self.left_bytes = meter.left_bytes
        # removed with this object; a recording that is kept elsewhere has only its archive here
        self._folder = tempfile.TemporaryDirectory(prefix="memlens-", ignore_cleanup_errors=True)
        place = Path(self._folder.name)
        self.file = meter.left_file((place / _FILE if keep is None else keep).absolute())
        self.snapshot: Trace | Profile | Heap | None = None
        if self.file is not None and self.left_bytes:
            self.snapshot = open_snapshot(self.file, cache_dir=place / "archives")

    def __repr__(self) -> str:
        return (
            f"Peak {format_bytes(self.peak_bytes)} above what was there before; {format_bytes(self.left_bytes)} of it "
            f"is left ({self.title})."
        )

    def _repr_html_(self) -> str:
        more = "" if self.snapshot is None else self.snapshot._repr_html_()
        return f"<p><strong>{escaped(repr(self))}</strong></p>{more}"


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%memlens`` to IPython's shell."""

    @magic_arguments()
    @argument("name", nargs="?", help="a variable that gets what was recorded")
    @argument("--by", default="", help="what records (default: Python's own memory)")
    @argument(
        "-o", "--out", type=Path, help="keep the recording as this file, to whose name its ending is added"
    )
    def memlens(line: str, cell: str) -> None:
        """Record what a cell does to memory, and show it."""
        options = parse_argstring(memlens, line)
        try:
            meter = registry.meter_named(options.by)
            codes = _compiled(shell, line, cell)
            meter.start(None)
        except (MemlensError, NoMeterError) as error:
            raise UsageError(str(error)) from None
        try:
            _run(codes, shell.user_ns)
        finally:
            meter.stop()
            recorded = Recorded(meter, options.out)
            if options.name:
                shell.user_ns[options.name] = recorded
            # also of a cell that fails
            display(recorded)

    shell.register_magic_function(memlens, "cell", "memlens")


def _compiled(shell: Any, line: str, cell: str) -> list[CodeType]:
    """The cell as IPython would compile it: its last expression is shown. All of that is done before recording.

    Its file is called after the whole cell, and its lines are counted from the one of the magic: so they are found.
    """
    text = f"\n{shell.transform_cell(cell)}"
    whole = "\n".join((f"%%memlens {line}".rstrip(), cell))
    file = shell.compile.cache(text, shell.execution_count, raw_code=whole)
    body = shell.transform_ast(shell.compile.ast_parse(text, file)).body
    last = [body.pop()] if body and isinstance(body[-1], ast.Expr) else []
    trees = ((ast.Module(body, []), "exec"), (ast.Interactive(last), "single"))
    return [shell.compile(tree, file, mode) for tree, mode in trees if tree.body]


def _run(codes: list[CodeType], names: dict[str, Any]) -> None:
    for code in codes:
        exec(code, names)  # noqa: S102 - the cell that the user runs
