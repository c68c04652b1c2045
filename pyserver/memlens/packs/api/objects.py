"""What a pack may declare of the objects of heap dumps."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from memlens.packs.api.parts import NOTHING, Part
from memlens.texts import Text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memlens.sources.archives import Holding
    from memlens.sources.declarations import TypeName
    from memlens.store.snapshot import Snapshot
    from memlens.views.findings.answers import TextPart
    from memlens.views.findings.graph.case import GraphCase
    from memlens.views.heap.objects.contents import Collections, Content, Usage
    from memlens.views.heap.objects.dump_bytes import DumpReader
    from memlens.views.heap.objects.fields import Numbers


class Declarations(Struct, frozen=True, kw_only=True):
    """Where a format's types are declared in source."""

    language: str
    """What an editor knows the language by, as ``jvm``."""
    suffixes: tuple[str, ...]
    """Endings of source files."""
    type_name: "Part[Callable[[str], TypeName | None]]"
    """Splits the name of a type in a dump; None for one that no source declares."""
    name_of_frame: "Part[Callable[[str, str], str]] | None" = None
    """Of profiles: the name of the type or the field that a frame without a line stands for, as ``type_name`` takes it,
    by the frame's function and file."""
    libraries: "Part[LibraryArchives] | None" = None
    """Where archives have the source and the classes of libraries."""
    whole_file: str = ""
    """What names of types end in that stand for a whole file."""


class LibraryArchives(Protocol):
    """A module that knows archives of libraries."""

    SOURCES: "Holding"
    CLASSES: "Holding"

    def of_source(self, environment: Mapping[str, str]) -> list[Path]:
        """Where archives of source are."""

    def of_classes(self, environment: Mapping[str, str]) -> list[Path]:
        """Where archives of classes are."""

    def text_of(self, archive: Path, member: str) -> str:
        """The text of a source file in an archive. Raises SourceArchiveError, and BadRequestError for other files."""

    def compiled_from(self, archive: Path, member: str, wanted: "TypeName") -> tuple[str, int]:
        """The name of the file that a class was compiled from, empty if unknown, and its first line with code."""


class Namespaces(Struct, frozen=True, kw_only=True):
    """Objects that hold attributes."""

    type: str
    attribute: str
    """The attribute of a class, a module or an instance that is such an object."""


class FrameVariables(Struct, frozen=True, kw_only=True):
    """Roots that are variables of the functions that run."""

    root: str
    """The kind of these roots."""
    module_level: str
    """The function that runs a module, whose variables are the module's own: they are global."""


class JoinedTexts(Struct, frozen=True, kw_only=True):
    """How a dump has texts that an engine keeps as two others."""

    kind: str
    """The kind of their types."""
    most_bytes: int
    """Of a text of so many bytes the rest may be missing."""
    unknown_part: str
    """What stands for a part whose text the dump doesn't have."""


class Texts(Struct, frozen=True, kw_only=True):
    """What objects have as texts and numbers."""

    strings: frozenset[str] = frozenset()
    """Types of strings, which have their texts as names, where kinds of types don't say so."""
    numbers: frozenset[str] = frozenset()
    """Types of numbers that have their texts as names."""
    has_empty_strings: bool = False
    """Whether a string without a name is empty, and not one that isn't known."""
    boxes: frozenset[str] = frozenset()
    """Types of numbers that are objects of their own."""
    most_bytes: int | None = None
    """Of a text of so many bytes a dump may have a part alone, or Memlens may keep one."""
    kinds: frozenset[str] = frozenset()
    """Kinds of types whose objects' names are their texts."""
    number_texts: tuple[str, str] | None = None
    """The kind of types of numbers, and the name of the reference from one to its text."""
    joined: "JoinedTexts | None" = None
    """Of engines in which a text may be two others."""


class Platform(Struct, frozen=True, kw_only=True):
    """What is the platform's or the engine's own, and not the program's."""

    packages: re.Pattern[str] | None = None
    """Matches the beginnings of packages that no user of the platform writes."""
    is_package: "Part[Callable[[str], bool]] | None" = None
    """Whether a package, empty for none, is one that no user of the platform writes, where no pattern says that."""
    is_managed: bool = False
    """Whether what the platform's own objects collect for themselves is kept apart by ``packages``."""
    has_packages: bool = True
    """Whether the names of types begin with packages; otherwise the scripts that define them are in some."""
    program_kinds: frozenset[str] = frozenset()
    """The kinds of types that may be the program's, where a type's kind says that."""
    engine_types: tuple[str, ...] = ()
    """How the names of the engine's own types begin."""
    built_in: frozenset[str] = frozenset()
    """Classes of the language itself, where classes have no package."""
    plain: frozenset[str] = frozenset()
    """Types of the language itself that its runtime has many objects of before a program begins."""
    timers: frozenset[str] = frozenset()
    """Types of the runtime's timers, which hold what they call."""
    files: tuple[str, ...] = ()
    """How the names of the platform's source files begin."""
    name: Text = NOTHING
    """Whose these are, as ``Node.js``."""
    global_names: frozenset[str] = frozenset()
    """What the platform keeps of its own in the global object."""
    shared_spaces: frozenset[str] = frozenset()
    """Heaps that no process has for itself."""
    has_boot_loader: bool = False
    """Whether types without a module are of the runtime's own loader."""


class CollectionTypes(Struct, frozen=True, kw_only=True):
    """The library's collections."""

    types: re.Pattern[str] | None = None
    """Matches types of the library's collections, and nothing that they consist of."""
    package: str = ""
    """How the names of these types and of what they consist of begin."""
    entries: re.Pattern[str] | None = None
    """Matches the names of references that lead through a collection's own parts to one of its elements."""
    sizes: "Part[Callable[[GraphCase], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]] | None" = None
    """Finds the reachable collections, and how many elements each has."""
    unseen_elements: Text = NOTHING
    """Which elements these leave out, in a sentence after ``are empty``."""


class Scopes(Struct, frozen=True, kw_only=True):
    """What holds variables: globals, static fields, modules, functions, threads."""

    static_roots: bool = False
    """Whether the detail of a root is the name of a static field, which needs no path."""
    has_static_fields: bool = False
    """Whether classes hold by static fields what stays when the functions that use it have returned."""
    generated: re.Pattern[str] | None = None
    """Matches the names of classes that programs make while they run: their static fields are nobody's."""
    mute_roots: bool = False
    """Whether a root's kind by itself says nothing, and is called a root."""
    global_object: re.Pattern[str] | None = None
    """Matches the name and the type of the object that has everything global, and what it is called as group 1. Names
    along paths begin at it, and roots say nothing."""
    global_scopes: tuple[str, ...] = ()
    """How the names of types begin whose objects hold everything that is global."""
    module_type: str | None = None
    """The type of the objects that are modules, which have names for what they hold."""
    namespaces: "Namespaces | None" = None
    """Of runtimes in which the attributes of classes, modules and instances are in objects of their own."""
    frame_variables: "FrameVariables | None" = None
    """Of runtimes whose roots are variables of the functions that run."""
    variables_type: str | None = None
    """The type of the objects that are the variables of a function."""
    variables_references: str = ""
    """The kind of references from these to what the variables have."""
    thread_locals: re.Pattern[str] | None = None
    """Matches types that hold the values of thread-local variables."""


class Classes(Struct, frozen=True, kw_only=True):
    """Classes, and names of types."""

    types: frozenset[str] = frozenset()
    """Types of the objects that are classes, which have names."""
    code: frozenset[str] = frozenset()
    """Types of the objects that are code, where it is more than classes: a program has many of them anyway."""
    named_in_code: frozenset[str] = frozenset()
    """Further types of the objects that have names of the program's own, and no contents."""
    says_superclasses: bool = False
    """Whether dumps say which classes extend which."""
    lineage: str | None = None
    """The attribute of a class with the tuple of itself and all that it extends, in the order in which attributes are
    looked up."""
    declaration: re.Pattern[str] | None = None
    """Where dumps have the lines of constructors: matches the beginning of a class in source, with its name as group 1.
    """
    note: re.Pattern[str] | None = None
    """What a tool adds to the names of types."""
    unstable_names: tuple[str, ...] = ()
    """Patterns of parts of names that another process would name otherwise, with what stays in a group."""


class Objects(Struct, frozen=True, kw_only=True):
    """What a pack knows about the objects of a heap dump, beyond what the file says."""

    runtime: str
    """Whose objects they are, as ``Java``: dumps of one runtime are compared by the names of their types."""
    declarations: Declarations | None = None
    texts: Texts = Texts()
    platform: Platform = Platform()
    collections: CollectionTypes = CollectionTypes()
    scopes: Scopes = Scopes()
    classes: Classes = Classes()
    requests: frozenset[str] = frozenset()
    """Types of servers whose objects are HTTP requests, which the reader names by method and address."""
    all_roots: frozenset[str] = frozenset()
    """Types of objects without a name that stand for all roots, and are none of the program's."""
    common_flags: frozenset[str] = frozenset()
    """Flags that most objects have, so that they tell none from another."""
    not_of_the_program: frozenset[str] = frozenset()
    """Types whose own bytes are none of the program's memory."""
    lasting_ids: Text | None = None
    """Where an object's id is a number that no other object ever gets, and no address: a sentence that says between
    which dumps."""
    has_internal_parts: bool = False
    """Whether objects of internal types, as ``(array)``, are parts of others: none of them is named by itself."""
    named_references: tuple[str, ...] = ()
    """Names of references that the pack's rules look for, which are found together."""
    has_examples: bool = False
    """Whether ``examples.sql`` in the pack's folder has queries for its dumps."""
    without_pixels: "Part[Callable[[str], Text]] | None" = None
    """Says of an image of a type why there are no pixels in the dump."""
    contents: "Part[Contents] | None" = None
    """Of dumps with the values of fields."""
    thread_values: "Part[ThreadValues] | None" = None
    """Where threads are objects that hold their thread-local variables, and roots say their names."""
    exhausted: "Part[Exhausted] | None" = None
    realms: "Part[Realms] | None" = None
    terms: "tuple[FilterTerm, ...]" = ()


class Realms(Protocol):
    """A module that knows which parts of a program have globals of their own, as the frames of a page do."""

    def realms(self, snapshot: "Snapshot") -> list[int]:
        """The objects that are realms, ascending."""

    def owners(self, snapshot: "Snapshot", found: list[int]) -> "npt.NDArray[np.uint32]":
        """By object, the index of its realm, or SEVERAL of ``kernels/graph/owners``, or NONE."""

    def name_of(self, snapshot: "Snapshot", number: int, script: str) -> Text:
        """A realm's name; ``script`` defines most of its functions."""


class Contents(Protocol):
    """A module that knows what objects contain."""

    def words_of(self, snapshot: "Snapshot", number: int) -> str:
        """The value of an object in words, "" where it isn't of a class whose values are known."""

    def contents_of(self, snapshot: "Snapshot", number: int) -> "Iterator[Content] | None":
        """What a collection contains, None for another object."""

    def count_of(self, snapshot: "Snapshot", number: int) -> int:
        """How many elements or entries a collection has; 0 for another object."""

    def all_collections(self, snapshot: "Snapshot") -> "Collections":
        """All collections."""

    def all_reference_arrays(self, snapshot: "Snapshot") -> "Numbers":
        """All arrays of references, ascending."""

    def usage_of_arrays(self, snapshot: "Snapshot", arrays: "Numbers") -> "Usage":
        """What arrays of references use of themselves."""

    def numbers_in(self, snapshot: "Snapshot", number: int, dump: "DumpReader") -> Iterator[int | float]:
        """The elements of an array of numbers, in order; nothing for another object. Raises BadRequestError."""

    def whole_contents(self, snapshot: "Snapshot", number: int) -> bytes:
        """The elements of an array of numbers, or the text of a string in UTF-8. Raises BadRequestError for others."""


class ThreadValues(Protocol):
    """A module that knows the thread-local variables of threads."""

    def thread_locals(self, snapshot: "Snapshot", thread: int) -> list[tuple[str, int]]:
        """The variables of a thread's object: the name of each, and the number of its value."""

    def may_have_locals(self, snapshot: "Snapshot", objects: "Numbers") -> "npt.NDArray[np.bool_]":
        """Which of some objects may be threads with such variables."""

    def is_entry(self, type_name: str) -> bool:
        """Whether objects of a type hold the value of such a variable."""

    def entry_of(self, snapshot: "Snapshot", entry: int) -> tuple[str, int] | None:
        """What the variable of such an object is called, and its value; None where either isn't known."""


class Exhausted(Protocol):
    """A function that finds what a thread ran out of."""

    def __call__(
        self, case: "GraphCase", thread: int, name: "TextPart", where: Text | str
    ) -> tuple[Text, Text] | None:
        """The beginning of a sentence about it, and an explanation; None where nothing in the dump says it."""


class FilterTerm(Struct, frozen=True, kw_only=True):
    """A term of the filter that only some heap dumps have, as the filter's help shows it."""

    begins: str
    """The field with its colon, as ``realm:``, or a whole term."""
    finds: str
    examples: tuple[str, ...] = ()
    note: str = ""
    """On the examples."""
