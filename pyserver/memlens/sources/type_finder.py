"""Finds the declaration of a type of a heap dump among the local files."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memlens.sources.declarations import TypeName, file_names, line_of, suffixes_of, text_of, type_name
from memlens.sources.finder import Finder
from memlens.sources.paths import common_components, parse
from memlens.texts import Text, one_of, phrase

_MOST_S = 3.0
"""How long files with other names than the type's are searched."""

_MOST_FOUND = 20
_MOST_FOLDERS = 3


class FoundType(NamedTuple):
    """A local file that declares a type, and the line."""

    path: str
    line: int


async def find_type(finder: Finder, kind: str, name: str) -> list[FoundType]:
    """The declarations of a type of a dump of ``kind``; only the likeliest if one is likelier than all others.

    Files with the type's name are read first, then all files of the language: few languages require that a
    file is named after its type.
    """
    wanted = type_name(kind, name)
    if wanted is None:
        return []
    by_name = await finder.find(file_names(kind, wanted))
    found = await asyncio.to_thread(
        _declaring, sorted({path for each in by_name.values() for path in each}), wanted
    )
    if not found:
        for suffix in suffixes_of(kind):
            found += await asyncio.to_thread(_declaring, await finder.ending_with(suffix), wanted)
    return _likeliest(found, wanted)


def searched_for(folders: list[Path], kind: str, name: str) -> list[Text]:
    """What :func:`find_type` looks for and where, for a message; nothing if no source can declare the type."""
    wanted = type_name(kind, name)
    if wanted is None:
        return []
    where = below(folders)
    return [
        phrase("{files} {below}", files=one_of(file_names(kind, wanted)), below=where),
        phrase(
            "a declaration of {type} in {suffixes} {below}",
            type=wanted.names[-1],
            suffixes=one_of([f"*{suffix}" for suffix in suffixes_of(kind)]),
            below=where,
        ),
    ]


def below(folders: list[Path]) -> Text:
    """The folders that are searched."""
    if not folders:
        return phrase("(no folder is open)")
    return phrase("below {folders}", folders=some_of(folders, _MOST_FOLDERS))


def some_of(places: Sequence[Path], most: int) -> Text:
    """Places as alternatives in a sentence, at most ``most`` of them by name."""
    others = [phrase("others")] if len(places) > most else []
    return one_of([*places[:most], *others])


def _declaring(paths: list[str], wanted: TypeName) -> list[FoundType]:
    found: list[FoundType] = []
    deadline = time.monotonic() + _MOST_S
    outermost = wanted.names[0]
    for path in paths:
        text = text_of(path)
        # a search for the name is much faster than one for declarations
        is_likely = outermost in text or Path(path).stem.lower() == outermost.removesuffix("Kt").lower()
        line = line_of(text, wanted) if is_likely else 0
        if line:
            found.append(FoundType(path, line))
        if len(found) >= _MOST_FOUND or time.monotonic() > deadline:
            break
    return found


def _likeliest(found: list[FoundType], wanted: TypeName) -> list[FoundType]:
    """The declarations in folders named after the package; copies of a file in several modules are equally likely."""
    shared = []
    for each in found:
        foreign = parse("/".join([*wanted.package.split("."), Path(each.path).name]))
        shared.append(common_components(foreign, each.path) if foreign else 0)
    return [each for each, count in zip(found, shared, strict=True) if count == max(shared)]
