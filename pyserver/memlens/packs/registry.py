"""The packs that there are. Everything outside of packs asks here, and names none of them."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module, resources
from types import MappingProxyType

from memlens.packs.api import Foreign, Format, Objects, Pack, Rule, RuntimeKind, Writer
from memlens.texts import Text

_NAMES = ("dotnet", "ruby", "native", "go")
"""In the order in which their formats are tried."""


@cache
def packs() -> tuple[Pack, ...]:
    """All packs."""
    return tuple(import_module(f"memlens.packs.{name}").PACK for name in _NAMES)


def suffixes(*, compiled: bool = False) -> list[str]:
    """Endings of source files in the packs' languages, or in those that are compiled."""
    languages = (pack.language for pack in packs())
    return [
        ending
        for each in languages
        if each is not None and (each.is_compiled or not compiled)
        for ending in each.suffixes
    ]


def heap_worlds(*, proved: bool = False) -> list[str]:
    """What heap dumps of the packs are of, for a list in a sentence; ``proved``: that Memlens can verify."""
    return [
        pack.title
        for pack in packs()
        if any(each.objects is not None and (each.proof is not None or not proved) for each in pack.formats)
    ]


def profiles() -> list[Text]:
    """What the packs' other files are called, for a list in a sentence."""
    return [each.several for each in formats().values() if each.objects is None]


def writers() -> Iterator[tuple[str, Writer]]:
    """The formats that stacks with values are also written in."""
    for each in formats().values():
        if each.writer is not None:
            yield each.name, each.writer


def readable_output() -> str:
    """The option of ``memlens export`` for stacks in a format that Memlens opens."""
    name, writer = next(writers())
    return f"--{name} {writer.file}"


@cache
def formats() -> Mapping[str, Format]:
    """The formats of all packs by their names."""
    return MappingProxyType({each.name: each for pack in packs() for each in pack.formats})


def foreign() -> Iterator[Foreign]:
    """The files of all packs' worlds that Memlens doesn't read."""
    for pack in packs():
        if pack.foreign is not None:
            yield from pack.foreign.load()


def runtimes() -> Iterator[RuntimeKind]:
    """The runtimes of all packs."""
    for pack in packs():
        yield from pack.runtimes


def rules() -> Iterator[Rule]:
    """The rules of all packs."""
    for pack in packs():
        yield from pack.rules


def rules_for(kind: str) -> Iterator[Rule]:
    """The rules of the pack that has a format."""
    for pack in packs():
        if any(each.name == kind for each in pack.formats):
            yield from pack.rules


def library_tables() -> Iterator[tuple[str, str]]:
    """The packs' tables of libraries by their names, in TOML."""
    for pack in packs():
        for name in pack.libraries:
            yield name, _text(pack, f"libraries/{name}.toml")


def allocation_tables() -> Iterator[str]:
    """The packs' tables of functions that allocate, in TOML."""
    for pack in packs():
        if pack.allocation_functions:
            yield _text(pack, "allocation_functions.toml")


def _text(pack: Pack, file: str) -> str:
    return resources.files(f"memlens.packs.{pack.name}").joinpath(file).read_text("utf-8")


_UNKNOWN = Objects(runtime="")


def objects_of(kind: str) -> Objects:
    """What the pack of a format knows of its objects; nothing for formats of no pack."""
    own = formats().get(kind)
    return _UNKNOWN if own is None or own.objects is None else own.objects


def all_objects() -> Iterator[tuple[str, Objects]]:
    """The formats of heap dumps, and what their packs know of the objects."""
    for each in formats().values():
        if each.objects is not None:
            yield each.name, each.objects
