"""What a call of a tool touches: one function says it, to VS Code, which asks the user, and to ``memlens mcp``."""

# paths are only written down: none is looked up here
# ruff: noqa: PTH111

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from memlens.server.tools.parameters import CompareArguments, SeriesArguments, WhatIfArguments, given
from memlens.views.heap.filters.filters import files_in, queries_in
from memlens.views.heap.objects.same_objects import file_named

_FILTERS = ("filter", "of", "without", "halve", "free_at_once", "recompute")
"""Arguments that are filters, or lists of them; ``of`` of another tool isn't one, and has neither file nor query."""


class Touched(NamedTuple):
    """The files that a call opens, all that its filters name included; its SQL; whether it asks for contents."""

    files: list[str]
    queries: list[str]
    contents: bool


def own_files(asked: Any) -> list[str]:
    """The files that the arguments name themselves, as they are written there."""
    match asked:
        case CompareArguments():
            named = [asked.before, given(asked.after)]
        case WhatIfArguments():
            named = [given(asked.path), given(asked.beside)]
        case SeriesArguments():
            named = [*asked.paths]
        case _:
            named = [given(asked.path)]
    return [each for each in named if each]


def touched(asked: Any, whole: Callable[[str], str], real: Callable[[str], str | None]) -> Touched:
    """The files, SQL and contents that a call with these arguments touches.

    ``whole`` makes a path absolute, and ``real`` returns its target; None where that isn't to be looked up. Raises
    :class:`BadRequestError` for a file that is never opened.
    """
    files = [whole(local(path)) for path in own_files(asked)]
    filters = [text for name in _FILTERS for text in _texts(getattr(asked, name, ""))]
    queries = [query for text in filters for query in queries_in(text)]
    query = getattr(asked, "query", "")
    if query.strip():
        queries.insert(0, query)
    beside = list(dict.fromkeys(real(path) or path for path in files))
    for text in filters:
        for value in files_in(text):
            files += [str(file_named(value, Path(path))) for path in beside]
    return Touched(
        list(dict.fromkeys(map(os.path.abspath, files))), queries, bool(getattr(asked, "values", False))
    )


def _texts(value: Any) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def local(path: str) -> str:
    """A path on this machine, of which some models write the URI."""
    if not path.startswith("file://"):
        return os.path.expanduser(path)
    # imported here, because few ask so, and the import takes longer than all others of this module
    from urllib.request import url2pathname

    return url2pathname(urlsplit(path).path)
