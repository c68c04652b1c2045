"""The page of the Python API, ``docs/python-api.md``: signatures, docstrings and columns of what ``memlens`` offers."""

import inspect
import re
import types
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import Struct

from memlens.api import rows, snapshots
from memlens.api.table import Table, table_of
from memlens.errors import MemlensError
from memlens.views.answers import SourceLine
from memlens.views.compare.heaps import ComparedType
from memlens.views.heap.objects.types import TypeRow
from memlens.views.heap.paths.merged import PathBranch
from memlens.views.lines.totals import ProfileLine
from memlens.views.tables.held import HeldAllocations, HeldSamples

_INTRODUCTION = (
    "Every name of the package. [In Python and notebooks](python.md) shows how they are used. Sizes are in bytes, "
    "times in microseconds."
)
COLUMNS: dict[str, dict[str, type[Struct]]] = {
    "findings": {"": rows.Finding},
    "lines": {
        "of a trace": SourceLine,
        "of a trace at a moment": HeldAllocations,
        "of a profile": ProfileLine,
        "of a profile at a moment": HeldSamples,
        "of a heap dump without stacks": rows.Definition,
    },
    "live": {"of a trace": HeldAllocations, "of a profile": HeldSamples},
    "compare": {"": rows.ComparedPlace, "by type": ComparedType},
    "what_if": {"": rows.Replay},
    "types": {"": TypeRow},
    "paths": {"to an object": rows.Step, "merged": PathBranch},
}
"""The rows of each method's table, by what they are of."""
_ROLE = re.compile(r":\w+:`(?:~?[\w.]+\.)?([\w.]+)`")


def page() -> str:
    """Return the page, in Markdown."""
    return "\n".join((
        "# The Python API", "",
        "<!-- Made from the package by `npm run contract`: change it there. -->", "",
        *wrap(_INTRODUCTION, 125, break_on_hyphens=False), "",
        *_function("memlens.open", snapshots.open_snapshot),
        *_function("memlens.series", snapshots.series),
        *_class("Every snapshot", snapshots.Snapshot),
        *_class("memlens.Trace", snapshots.Trace),
        *_class("memlens.Profile", snapshots.Profile),
        *_class("memlens.Heap", snapshots.Heap),
        *_class("memlens.Table", Table),
        "## memlens.MemlensError", "", *_paragraphs(MemlensError),
    )).rstrip() + "\n"  # fmt: skip


def _class(title: str, kind: type) -> Iterator[str]:
    yield from (f"## {title}", "", *_paragraphs(kind))
    for name, member in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield from (f"### {name}", "", *_paragraphs(member))
        elif callable(member):
            yield from _function(name, member, level=3)


def _function(name: str, function: Callable[..., Any], *, level: int = 2) -> Iterator[str]:
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.name != "self"]
    begin, end = f"{name.rpartition('.')[2]}(", f") -> {_type(signature.return_annotation)}"
    written = [*_parameters(own)]
    lines = [begin, *(f"    {each}," for each in written), end] if written else [begin + end]
    yield from (f"{'#' * level} {name}", "", "```py", *lines, "```", "", *_paragraphs(function))
    for of, kind in COLUMNS.get(name, {}).items():
        names = ", ".join(f"`{column}`" for column in table_of([], kind).columns)
        yield from wrap(f"Columns{of and f' {of}'}: {names}.", 125, break_on_hyphens=False)
        yield ""


def _parameters(parameters: Sequence[inspect.Parameter]) -> Iterator[str]:
    is_keyword = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            yield "*"
        default = f'"{each.default}"' if isinstance(each.default, str) else repr(each.default)
        yield f"{each.name}: {_type(each.annotation)}{'' if each.default is each.empty else f' = {default}'}"


def _type(annotation: Any) -> str:
    """An annotation as one reads it: the texts that a parameter takes, and names without their modules."""
    if annotation is type(None):
        return "None"
    if isinstance(annotation, str):
        return annotation
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " | ".join(map(_type, parts))
    if origin is Literal:
        return " | ".join(f'"{each}"' for each in parts)
    if parts:
        return f"{origin.__name__}[{', '.join(map(_type, parts))}]"
    return getattr(annotation, "__name__", str(annotation))


def _paragraphs(documented: object) -> Iterator[str]:
    text = _ROLE.sub(r"`\1`", inspect.getdoc(documented) or "").replace("``", "`")
    for paragraph in text.split("\n\n"):
        yield from (*wrap(" ".join(paragraph.split()), 125, break_on_hyphens=False), "")
