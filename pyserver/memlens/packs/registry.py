"""The packs that there are. Everything outside of packs asks here, and names none of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module, resources
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from memlens.errors import BadRequestError
from memlens.packs.api import (
    Declarations,
    Foreign,
    Format,
    Launch,
    Machinery,
    Message,
    Meter,
    MeterKind,
    NextTime,
    Objects,
    Ooms,
    Operators,
    Pack,
    Pages,
    RecordingKind,
    Rule,
    RuntimeKind,
    Writer,
)
from memlens.texts import Text, one_of, phrase

if TYPE_CHECKING:
    from memlens.model.inferred import Inference, ModuleClasses
    from memlens.packs.api import LibraryArchives, Lineless
    from memlens.packs.api.formats import StacksWriter, TraceWriter
    from memlens.packs.others import Other
    from memlens.store.snapshot import Snapshot
    from memlens.store.trace.device import Device
    from memlens.views.trace.what_if import Replayed

T = TypeVar("T")

_FIRST = ("pytorch", "go", "v8", "jvm", "android", "dotnet", "ruby", "native", "python")
"""Those whose formats are tried before others, the most frequent first."""


@cache
def packs() -> tuple[Pack, ...]:
    """Memlens's own packs: the folders beside this file, but what a pack may declare."""
    folders = {each.name for each in iter_modules([str(Path(__file__).parent)]) if each.ispkg} - {"api"}
    names = (*_FIRST, *sorted(folders.difference(_FIRST)))
    return tuple(import_module(f"memlens.packs.{name}").PACK for name in names)


def suffixes(*, compiled: bool = False) -> list[str]:
    """Endings of source files in the packs' languages, or in those that are compiled."""
    languages = (pack.language for pack in packs())
    return [
        ending
        for each in languages
        if each is not None and (each.is_compiled or not compiled)
        for ending in each.suffixes
    ]


def packaged_suffixes() -> tuple[str, ...]:
    """Endings of source files whose functions' names begin with packages."""
    return tuple(ending for pack in packs() if pack.language is not None for ending in pack.language.packaged)


def package_names() -> list[str]:
    """How names of packages begin that look like hosts."""
    return [name for pack in packs() if pack.language is not None for name in pack.language.package_names]


def runtime_functions() -> list[re.Pattern[str]]:
    """Beginnings of the names of functions that only the packs' language runtimes have."""
    languages = (pack.language for pack in packs())
    return [
        each.runtime_functions
        for each in languages
        if each is not None and each.runtime_functions is not None
    ]


def machinery() -> Iterator[Machinery]:
    """The kinds of memory that frameworks allocate for themselves."""
    for pack in packs():
        if pack.machinery is not None:
            yield from pack.machinery.load()


def lineless() -> Iterator["Lineless"]:
    """The functions that find, and name, rows of a trace without a line of the program."""
    for pack in packs():
        if pack.lineless is not None:
            yield pack.lineless.load()


def heap_worlds(*, proved: bool = False, lasting_ids: bool = False) -> list[str]:
    """The worlds of the packs' heap dumps, for a list in a sentence.

    ``proved``: only those that Memlens can verify; ``lasting_ids``: those whose objects have lasting ids.
    """
    return [
        pack.title
        for pack in packs()
        if any(
            each.objects is not None
            and (each.proof is not None or not proved)
            and (each.objects.lasting_ids is not None or not lasting_ids)
            for each in pack.formats
        )
    ]


def profiles() -> list[Text]:
    """The names of the packs' other files, for a list in a sentence."""
    return [each.several for each in formats().values() if each.several.text]


def writers() -> Iterator[tuple[str, "Writer[StacksWriter]"]]:
    """The formats to which stacks with values can be exported."""
    for each in formats().values():
        if each.writer is not None:
            yield each.name, each.writer


def trace_writers() -> Iterator[tuple[str, "Writer[TraceWriter]"]]:
    """The formats to which traces can be exported."""
    for each in formats().values():
        if each.trace_writer is not None:
            yield each.name, each.trace_writer


def format_of_kind(kind: str) -> Format | None:
    """The format of a snapshot's kind; None where no pack has it."""
    return _by_kind().get(kind)


@cache
def _by_kind() -> Mapping[str, Format]:
    return {each.kind or each.name: each for each in formats().values()}


def inference_of(kind: str, default: "type[Inference]") -> "type[Inference]":
    """The inference of categories, modules and lines for traces of a kind."""
    known = format_of_kind(kind)
    return default if known is None or known.inference is None else known.inference.load()


def operators() -> Operators:
    """The framework's operators."""
    return next(pack.operators.load() for pack in packs() if pack.operators is not None)


def ooms() -> Ooms:
    """The module that explains out-of-memory events."""
    return next(pack.ooms.load() for pack in packs() if pack.ooms is not None)


def module_classes(kind: str) -> "ModuleClasses | None":
    """The module that finds the classes of modules in sources, for traces of a kind; None if there is none."""
    known = format_of_kind(kind)
    return None if known is None or known.module_classes is None else known.module_classes.load()()


def replay_of(kind: str) -> "Callable[[Snapshot, Device], Replayed] | None":
    """The replay for traces of a kind; None if there is none."""
    known = format_of_kind(kind)
    return None if known is None or known.replay is None else known.replay.load()


def readable_output() -> str:
    """The option of ``memlens export`` for stacks in a format that Memlens opens."""
    name, writer = next(writers())
    return f"--{name} {writer.file}"


@cache
def formats() -> Mapping[str, Format]:
    """The formats of Memlens's own packs by their names, in the order in which they are tried."""
    declared = [each for pack in packs() for each in pack.formats]
    return MappingProxyType(
        {each.name: each for each in sorted(declared, key=lambda each: not each.comes_first)}
    )


@cache
def others() -> tuple["Other", ...]:
    """The packs of other packages, found and loaded on first use."""
    from memlens.packs import others

    runtimes = [each.name for pack in packs() for each in pack.runtimes]
    return tuple(others.find({*formats()}, [pack.name for pack in packs()], runtimes))


def all_packs() -> Iterator[Pack]:
    """The packs of Memlens and of other packages."""
    yield from packs()
    for other in others():
        yield other.pack


def other_with(name: str) -> "Other | None":
    """The pack of another package that has a format."""
    if name in formats():
        return None
    return next((each for each in others() if any(form.name == name for form in each.pack.formats)), None)


def recognised_by_others(head: bytes) -> str | None:
    """The first format of another package's pack whose reader recognises the first bytes of a file."""
    for other in others():
        for each in other.pack.formats:
            if _guarded(other, partial(_sniffed, each, head)):
                return each.name
    return None


def _sniffed(form: Format, head: bytes) -> bool:
    return form.reader.load().sniff(head)


def failures() -> list[Text]:
    """Sentences about what failed in other packages' packs."""
    from memlens.packs import others

    return others.failures()


def edition(kind: str) -> str:
    """A version of the other package's pack that has a format; empty for Memlens's own."""
    other = other_with(kind)
    return "" if other is None else other.edition


def format_named(name: str) -> Format | None:
    """A format of any pack, by its name; None if no pack has it."""
    if (own := formats().get(name)) is not None:
        return own
    other = other_with(name)
    return None if other is None else next(each for each in other.pack.formats if each.name == name)


def foreign() -> Iterator[Foreign]:
    """The kinds of files from the packs' worlds that Memlens doesn't read."""
    for pack in packs():
        if pack.foreign is not None:
            yield from pack.foreign.load()
    for other in others():
        for each in _guarded(other, partial(_foreign, other.pack)) or ():
            yield replace(each, recognises=partial(_guarded_recognition, other, each))


def _foreign(pack: Pack) -> tuple[Foreign, ...]:
    return () if pack.foreign is None else pack.foreign.load()


def _guarded_recognition(other: "Other", known: Foreign, head: bytes) -> object:
    return _guarded(other, partial(known.recognises, head))


def _guarded(other: "Other", question: Callable[[], T]) -> T | None:
    from memlens.packs.others import guarded

    return guarded(other, question)


def runtimes() -> Iterator[RuntimeKind]:
    """The runtimes of all packs."""
    for pack in all_packs():
        yield from pack.runtimes


def pages() -> Pages:
    """The modules that find pages of browsers."""
    return next(pack.pages.load() for pack in packs() if pack.pages is not None)


def page_recordings() -> tuple[RecordingKind, ...]:
    """The ways to record a page's allocations."""
    return tuple(each for pack in packs() for each in pack.recordings)


def recorded_formats() -> list[str]:
    """The formats of recordings."""
    return [
        each.name
        for pack in packs()
        if pack.recordings or any(kind.recordings for kind in pack.runtimes)
        for each in pack.formats
    ]


def rules_about(model: str) -> Iterator[Rule]:
    """The rules of all packs about a model; without a model, those about heap dumps."""
    for pack in all_packs():
        only = "graph" if any(each.objects is not None for each in pack.formats) else ""
        yield from (rule for rule in pack.rules if (rule.model or only) == model)


def rules_for(kind: str) -> Iterator[Rule]:
    """The rules of the pack that has a format, and of the pack that it builds on."""
    own = next(
        (pack for pack in packs() if any((each.kind or each.name) == kind for each in pack.formats)), None
    )
    for pack in packs():
        if own is not None and pack.name in (own.name, own.builds_on):
            yield from pack.rules


def meters() -> Iterator[MeterKind]:
    """What measures the memory of a part of a running program."""
    for pack in packs():
        yield from pack.meters


def meter_named(name: str) -> Meter:
    """A meter by its name; the default one without. Raises :class:`BadRequestError`."""
    kinds = list(meters())
    for kind in kinds:
        if kind.name == name or (not name and kind.is_default):
            return kind.meter.load()()
    raise BadRequestError(
        phrase("{name} records nothing", name=name),
        advice=phrase("There are {names}.", names=one_of([kind.name for kind in kinds])),
    )


def launches() -> Iterator[Launch]:
    """How programs are started so that they leave a file when memory runs out."""
    for pack in packs():
        yield from pack.launches


def messages() -> Iterator[tuple[Message, NextTime | None]]:
    """What programs say when memory runs out, and what to record next time."""
    for pack in packs():
        for each in pack.messages:
            yield each, pack.next_time


def next_times() -> Iterator[NextTime]:
    """What to record next time, for the programs of each pack."""
    for pack in packs():
        if pack.next_time is not None:
            yield pack.next_time


def library_tables() -> Iterator[tuple[str, str]]:
    """The packs' tables of libraries by their names, in TOML."""
    for pack in packs():
        for name in pack.libraries:
            yield name, _text(pack, f"libraries/{name}.toml")


def library_archives() -> "LibraryArchives":
    """The module that knows archives of libraries, from the first pack that has one."""
    return next(
        objects.declarations.libraries.load()
        for _, objects in all_objects()
        if objects.declarations is not None and objects.declarations.libraries is not None
    )


def has_library_archives(kind: str) -> bool:
    """Whether such archives may declare a dump's types."""
    known = declarations_of(kind)
    return known is not None and known.libraries is not None


def sql_examples(kind: str) -> str:
    """Queries that the pack of a format has for its dumps, in SQL."""
    for pack in packs():
        for each in pack.formats:
            if kind == (each.kind or each.name) and each.objects is not None and each.objects.has_examples:
                return _text(pack, "examples.sql")
    return ""


def unstable_names() -> list[str]:
    """Patterns of the parts of names that differ from process to process; their groups match the rest."""
    return [name for _, objects in all_objects() for name in objects.classes.unstable_names]


def allocation_tables() -> Iterator[str]:
    """The packs' tables of functions that allocate, in TOML."""
    for pack in packs():
        if pack.allocation_functions:
            yield _text(pack, "allocation_functions.toml")


def _text(pack: Pack, file: str) -> str:
    return _read(f"memlens.packs.{pack.name}", file)


def _read(package: str, file: str) -> str:
    return resources.files(package).joinpath(file).read_text("utf-8")


def library_tables_of_others(parse: Callable[[str], T]) -> Iterator[T]:
    """The library tables of other packages' packs, except those that ``parse`` refuses."""
    for other in others():
        yield from _tables(other, [f"libraries/{name}.toml" for name in other.pack.libraries], parse)


def allocation_tables_of_others(parse: Callable[[str], T]) -> Iterator[T]:
    """Their tables of allocation functions, except those that ``parse`` refuses."""
    for other in others():
        yield from _tables(other, ["allocation_functions.toml"][: other.pack.allocation_functions], parse)


def _parsed(other: "Other", file: str, parse: Callable[[str], T]) -> T:
    return parse(_read(other.package, file))


def _tables(other: "Other", files: Iterable[str], parse: Callable[[str], T]) -> Iterator[T]:
    for file in files:
        table = _guarded(other, partial(_parsed, other, file, parse))
        if table is not None:
            yield table


_UNKNOWN = Objects(runtime="")


def objects_of(kind: str) -> Objects:
    """What the pack of a format declares about its objects; nothing for formats without a pack."""
    own = format_of_kind(kind) or format_named(kind)
    return _UNKNOWN if own is None or own.objects is None else own.objects


def declarations_of(kind: str) -> Declarations | None:
    """Where the types of a file of ``kind`` are declared; None if no source can declare them."""
    own = format_of_kind(kind) or format_named(kind)
    return own.declarations or objects_of(kind).declarations if own is not None else None


@cache
def types_named_in_code() -> frozenset[str]:
    """The types whose objects have names from the program; names of other objects are their contents."""
    known = (each.objects for each in formats().values() if each.objects is not None)
    return frozenset[str]().union(
        *(
            types
            for each in known
            for types in (each.classes.types, each.classes.code, each.classes.named_in_code)
        )
    )


def all_formats() -> Iterator[Format]:
    """The formats of all packs."""
    for pack in all_packs():
        yield from pack.formats


def all_objects() -> Iterator[tuple[str, Objects]]:
    """The formats of heap dumps, with what their packs declare about objects."""
    for each in all_formats():
        if each.objects is not None:
            yield each.name, each.objects
