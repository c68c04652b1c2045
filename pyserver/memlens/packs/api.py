"""What a pack may declare: formats with all that is known of their files, runtimes whose heaps are dumped, and rules.

Packs of other packages declare the same, by the entry point ``memlens.packs`` (docs/dev/packs.md).

A declaration is small, as every start reads all of them. Code is a :class:`Part`, which is imported when it is first
asked for: ``Part("memlens.packs.NAME.reader")`` is a module, ``Part("memlens.packs.NAME.names:type_name")`` a name in
one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar, cast

from msgspec import Struct

from memlens.texts import Text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memlens.dumping.options import Cost, Options, Recording
    from memlens.dumping.processes import Process
    from memlens.export.samples import Samples
    from memlens.formats import Reader
    from memlens.formats.containers import Source
    from memlens.formats.redacted import Wanted
    from memlens.formats.redaction.output import Output
    from memlens.formats.redaction.people import People
    from memlens.model.inferred import Inference, ModuleClasses
    from memlens.progress import Report
    from memlens.proof.items import Reader as ProofReader
    from memlens.sources.archives import Holding
    from memlens.sources.declarations import TypeName
    from memlens.store.files.output import Output as FileOutput
    from memlens.store.snapshot import Snapshot
    from memlens.store.trace.device import Device
    from memlens.views.findings.answers import TextPart
    from memlens.views.findings.graph.case import GraphCase
    from memlens.views.findings.profile.case import ProfileCase
    from memlens.views.findings.writing import Ranked
    from memlens.views.graph.contents import Collections, Content, Usage
    from memlens.views.graph.dump_bytes import DumpReader
    from memlens.views.graph.fields import Numbers
    from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer
    from memlens.views.trace.what_if import Replayed

    Lineless = Callable[[Snapshot, Device, str], tuple["npt.NDArray[np.bool_]", Text]]

T = TypeVar("T")
NOTHING = Text("")


class Part(Struct, Generic[T], frozen=True):
    """Code that is imported when it is needed, by its module or by ``module:name``: of a pack, or of a higher layer."""

    place: str

    def load(self) -> T:
        """Import it. Raises ImportError and AttributeError for a place that isn't there."""
        module, _, name = self.place.partition(":")
        loaded = import_module(module)
        return cast("T", getattr(loaded, name) if name else loaded)


class Language(Struct, frozen=True, kw_only=True):
    """A language whose files are always recorded with their folder, and whose functions may have any name."""

    suffixes: tuple[str, ...]
    is_compiled: bool = False
    packaged: tuple[str, ...] = ()
    """Endings of files whose functions' names begin with a package, by which projects are known."""
    package_names: tuple[str, ...] = ()
    """How names of packages begin that look like hosts."""
    runtime_functions: re.Pattern[str] | None = None
    """How the names begin of functions of its runtime that no program has."""


class Declarations(Struct, frozen=True, kw_only=True):
    """Where a format's types are declared in source."""

    language: str
    """What an editor knows the language by, as ``jvm``."""
    suffixes: tuple[str, ...]
    """Endings of source files."""
    type_name: "Part[Callable[[str], TypeName | None]]"
    """Splits the name of a type in a dump; None for one that no source declares."""
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


class Objects(Struct, frozen=True, kw_only=True):
    """What is known of the objects of a heap dump, beside what the file says."""

    runtime: str
    """Whose objects they are, as ``Java``: dumps of one runtime are compared by the names of their types."""
    declarations: Declarations | None = None
    static_roots: bool = False
    """Whether the detail of a root is the name of a static field, which needs no path."""
    platform: re.Pattern[str] | None = None
    """Matches the beginnings of packages that no user of the platform writes."""
    is_managed: bool = False
    """Whether what the platform's own objects collect for themselves is kept apart by ``platform``."""
    platform_package: "Part[Callable[[str], bool]] | None" = None
    """Whether a package, empty for none, is one that no user of the platform writes, where no pattern says that."""
    strings: frozenset[str] = frozenset()
    """Types of strings, which have their texts as names, where kinds of types don't say so."""
    numbers: frozenset[str] = frozenset()
    """Types of numbers that have their texts as names."""
    has_empty_strings: bool = False
    """Whether a string without a name is empty, and not one that isn't known."""
    boxes: frozenset[str] = frozenset()
    """Types of numbers that are objects of their own."""
    collections: re.Pattern[str] | None = None
    """Matches types of the library's collections, and nothing that they consist of."""
    collection_package: str = ""
    """How the names of these types and of what they consist of begin."""
    plain: frozenset[str] = frozenset()
    """Types of the language itself that its runtime has many objects of before a program begins."""
    timers: frozenset[str] = frozenset()
    """Types of the runtime's timers, which hold what they call."""
    thread_locals: re.Pattern[str] | None = None
    """Matches types that hold the values of thread-local variables."""
    type_note: re.Pattern[str] | None = None
    """What a tool adds to the names of types."""
    built_in: frozenset[str] = frozenset()
    """Classes of the language itself, where classes have no package."""
    classes: frozenset[str] = frozenset()
    """Types of the objects that are classes, which have names."""
    code: frozenset[str] = frozenset()
    """Types of the objects that are code, where it is more than classes: a program has many of them anyway."""
    named_in_code: frozenset[str] = frozenset()
    """Further types of the objects that have names of the program's own, and no contents."""
    module_type: str | None = None
    """The type of the objects that are modules, which have names for what they hold."""
    namespaces: "Namespaces | None" = None
    """Of runtimes in which the attributes of classes, modules and instances are in objects of their own."""
    frame_variables: "FrameVariables | None" = None
    """Of runtimes whose roots are variables of the functions that run."""
    not_of_the_program: frozenset[str] = frozenset()
    """Types whose own bytes are none of the program's memory."""
    says_superclasses: bool = False
    """Whether dumps say which classes extend which."""
    lineage: str | None = None
    """The attribute of a class with the tuple of itself and all that it extends, in the order in which attributes are
    looked up."""
    mute_roots: bool = False
    """Whether a root's kind by itself says nothing, and is called a root."""
    text_bytes: int | None = None
    """Of a text of so many bytes a dump may have a part alone, or Memlens may keep one."""
    text_kinds: frozenset[str] = frozenset()
    """Kinds of types whose objects' names are their texts."""
    number_texts: tuple[str, str] | None = None
    """The kind of types of numbers, and the name of the reference from one to its text."""
    joined_texts: "JoinedTexts | None" = None
    """Of engines in which a text may be two others."""
    lasting_ids: Text | None = None
    """Where an object's id is a number that no other object ever gets, and no address: a sentence that says between
    which dumps."""
    has_packages: bool = True
    """Whether the names of types begin with packages; otherwise the scripts that define them are in some."""
    program_kinds: frozenset[str] = frozenset()
    """The kinds of types that may be the program's, where a type's kind says that."""
    engine_types: tuple[str, ...] = ()
    """How the names of the engine's own types begin."""
    has_internal_parts: bool = False
    """Whether objects of internal types, as ``(array)``, are parts of others: none of them is named by itself."""
    global_object: re.Pattern[str] | None = None
    """Matches the name and the type of the object that has everything global, and what it is called as group 1. Names
    along paths begin at it, and roots say nothing."""
    global_scopes: tuple[str, ...] = ()
    """How the names of types begin whose objects hold everything that is global."""
    entries: re.Pattern[str] | None = None
    """Matches the names of references that lead through a collection's own parts to one of its elements."""
    variables_type: str | None = None
    """The type of the objects that are the variables of a function."""
    variables_references: str = ""
    """The kind of references from these to what the variables have."""
    named_references: tuple[str, ...] = ()
    """Names of references that the pack's rules look for, which are found together."""
    platform_files: tuple[str, ...] = ()
    """How the names of the platform's source files begin."""
    platform_name: Text = NOTHING
    """Whose these are, as ``Node.js``."""
    platform_globals: frozenset[str] = frozenset()
    """What the platform keeps of its own in the global object."""
    collection_sizes: "Part[Callable[[GraphCase], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]] | None" = None
    """Finds the reachable collections, and how many elements each has."""
    unseen_elements: Text = NOTHING
    """Which elements these leave out, in a sentence after ``are empty``."""
    has_examples: bool = False
    """Whether ``examples.sql`` in the pack's folder has queries for its dumps."""
    unstable_names: tuple[str, ...] = ()
    """Patterns of parts of names that another process would name otherwise, with what stays in a group."""
    shared_spaces: frozenset[str] = frozenset()
    """Heaps that no process has for itself."""
    without_pixels: "Part[Callable[[str], Text]] | None" = None
    """Says of an image of a type why there are no pixels in the dump."""
    contents: "Part[Contents] | None" = None
    """Of dumps with the values of fields."""
    thread_values: "Part[ThreadValues] | None" = None
    """Where threads are objects that hold their thread-local variables, and roots say their names."""
    exhausted: "Part[Exhausted] | None" = None
    generated: re.Pattern[str] | None = None
    """Matches the names of classes that programs make while they run: their static fields are nobody's."""
    has_static_fields: bool = False
    """Whether classes hold by static fields what stays when the functions that use it have returned."""
    has_boot_loader: bool = False
    """Whether types without a module are of the runtime's own loader."""
    realms: "Part[Realms] | None" = None
    terms: "tuple[FilterTerm, ...]" = ()
    class_declaration: re.Pattern[str] | None = None
    """Where dumps have the lines of constructors: matches the beginning of a class in source, with its name as group 1.
    """


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
        """Those of a thread's object: what each is called, and the number of its value."""

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


class JoinedTexts(Struct, frozen=True, kw_only=True):
    """How a dump has texts that an engine keeps as two others."""

    kind: str
    """The kind of their types."""
    most_bytes: int
    """Of a text of so many bytes the rest may be missing."""
    unknown_part: str
    """What stands for a part whose text the dump doesn't have."""


def _never(*_: object) -> bool:
    return False


class JsonFormat(Struct, frozen=True, kw_only=True):
    """Recognises a format's files among those of JSON, in whatever order a tool has written the keys."""

    sniff: Callable[[bytes], bool] = _never
    """Whether the first bytes of a file can only be of this format."""
    is_object: Callable[[Callable[[str, bytes], bool]], bool] = _never
    """Whether a file that is one object is of this format; ``has`` says whether a key's value contains a text."""
    is_list: Callable[[bytes], bool] = _never
    """Whether a file that is a list is of this format, by the first bytes."""
    is_item: Callable[[Mapping[str, object]], bool] = _never
    """Whether a file that is a list is of this format, by its first item."""
    explains: Callable[[bytes], bool] = _never
    """Whether the format's reader is to say what is wrong with a file that is none of JSON, by the first bytes."""
    others: tuple[tuple[frozenset[str], Text], ...] = ()
    """Keys of the same tools' files that Memlens doesn't read, and what these files are."""


class Redaction(Protocol):
    """A module that writes dumps anew without their values."""

    def redact(
        self,
        source: "Source",
        output: "Output",
        wanted: "Wanted",
        report: "Report",
        mapping: list[str] | None = None,
    ) -> int | None:
        """Write the dump; return the offset where it breaks, None if it is whole.

        With a list for the lines of a ``mapping`` names of the program become others.
        """


class WithoutPeople(Protocol):
    """Writes a profile anew."""

    def __call__(
        self, source: "Source", people: "People", *, keeps_time: bool
    ) -> Iterator[tuple[int, bytes]]:
        """What is written, with the offset in the file up to which it was read."""


class Writer(Struct, frozen=True, kw_only=True):
    """Writes stacks with values in a format, for other tools; the format's name is the option of ``memlens export``."""

    file: str
    """What the help calls the file, as ``OUT.pb.gz``."""
    help: str
    write: "Part[Callable[[Samples, str], bytes]]"
    """Returns the file of some samples, with a title."""


class TraceWriter(Struct, frozen=True, kw_only=True):
    """Writes the trace of a device, as :class:`Writer` does stacks."""

    file: str
    help: str
    write: "Part[Callable[[Snapshot, int | None, FileOutput, Report], None]]"
    """Takes a snapshot, the number of a device (None: the one that is shown first), and where to write it."""


class Program(Struct, frozen=True, kw_only=True):
    """A program of the user's that reads files of a format, which only it knows."""

    setting: str
    """In the editor, after ``memlens.``, as ``memray.python``."""
    description: str
    """In the help: ``a Python that has memray``."""

    @property
    def option(self) -> str:
        """Of ``memlens ingest``."""
        return f"--{self.setting.replace('.', '-')}"

    @property
    def variable(self) -> str:
        """Of the environment."""
        return f"MEMLENS_{self.setting.replace('.', '_').upper()}"


class Ooms(Protocol):
    """A module that explains out-of-memory events by the state of an allocator."""

    def marks(self, snapshot: "Snapshot") -> "MarksAnswer":
        """The events of all devices that are marked on the time axis."""

    def oom(self, snapshot: "Snapshot", number: int, event: int) -> "OomAnswer":
        """An out-of-memory event of a device, by its number there. Raises BadRequestError."""

    def helps(self, answer: "OomAnswer") -> Text | None:
        """A setting or a limit that would have helped by itself, in a sentence."""


class Operators(Protocol):
    """A module that knows a framework's operators by the native functions that run them."""

    def is_recorder(self, function: str) -> bool:
        """Whether a function is the recorder's or the allocator's, which are in every stack."""

    def is_entry(self, function: str) -> bool:
        """Whether a function is the entry of an operator, not one of its kernels."""

    def operator_of(self, functions: Sequence[str]) -> str | None:
        """The operator that a stack's native functions, innermost first, ran; None if unknown."""


class Proof(Struct, frozen=True, kw_only=True):
    """A second reading of a format's files, which knows nothing of the first, for what a redacted dump still has."""

    recognises: Part[Callable[[bytes], bool]]
    """By the first bytes of a file, without a byte order mark and blanks."""
    reader: "Part[type[ProofReader]]"


class Format(Struct, frozen=True, kw_only=True):
    """A kind of file that Memlens reads."""

    name: str
    """Unique: on the command line, in archives and in JSON."""
    title: str
    """In a sentence: ``heap dump of Java``."""
    kind: str = ""
    """In archives and in JSON where it isn't the name."""
    several: Text = NOTHING
    """Of files without objects, in a list: ``pprof profiles``."""
    reader: "Part[Reader]"
    """The module that recognises and reads such files."""
    file_names: tuple[str, ...] = ()
    """Patterns of names that no other program's files have, as ``*.gcdump``: these open as snapshots by themselves."""
    contested: tuple[str, ...] = ()
    """Those of them for which VS Code has an editor of its own."""
    endings: tuple[str, ...] = ()
    """Endings of names that other programs' files have as well, as ``json``."""
    beginning: bytes = b""
    """The first bytes of most files, which no other format has: these are read without trying other formats."""
    comes_first: bool = False
    """Whether its files are tried before those of other packs: of a kind of file that several formats are, such as
    pickles, which is recognised by more than others are."""
    is_mapped: bool = False
    """Whether its reader undoes changes of names by the mapping that lies beside a dump."""
    keeps_memory: bool = False
    """Whether its columns have the length that the file says beforehand, so that the memory of one can become
    another's. Of columns that grow while they are read too much would be kept."""
    program: Program | None = None
    """What reads the files where Memlens itself can't."""
    objects: Objects | None = None
    """Of heap dumps."""
    json: Part[JsonFormat] | None = None
    """Of files of JSON."""
    only_json: bool = True
    """Whether those with ``json`` are always files of JSON."""
    looks_like: Part[Callable[[bytes], bool]] | None = None
    """Whether a file with these first bytes is one, where the reader takes others to say what they lack."""
    redaction: Part[Redaction] | None = None
    """Of heap dumps that are written anew without values."""
    without_people: Part[WithoutPeople] | None = None
    """Of profiles that are written anew without the names of people and machines."""
    inference: Part["type[Inference]"] | None = None
    """Of traces: what is inferred when their reading ends."""
    module_classes: Part["type[ModuleClasses]"] | None = None
    """Of traces with modules: how sources name the classes of these."""
    writer: Writer | None = None
    trace_writer: TraceWriter | None = None
    replay: "Part[Callable[[Snapshot, Device], Replayed]] | None" = None
    """Of traces: serves their requests again, with other settings of the allocator."""
    without_ooms: str = ""
    """Why traces of this format never have out-of-memory events, where a program may have had some."""
    proof: Proof | None = None
    not_redacted: tuple[Text, Text] | None = None
    """What the files may have that nobody should see where they can't be written anew, and what to do about it. With
    :data:`NOTHING` stacks are to be exported to a format that can."""


class Foreign(Struct, frozen=True, kw_only=True):
    """A file of this world that Memlens doesn't read: what it is, and what to do instead."""

    recognises: Callable[[bytes], object]
    """By the first bytes; true for such a file."""
    description: Text
    advice: Text


class Grown(Protocol):
    """Gets how much is written."""

    def __call__(self, written: int, fraction: float | None = None, /) -> None:
        """Take the bytes written so far, and how much is done, 0 to 1, where that is known."""


class DumpWriter(Protocol):
    """Writes the heap of a process into a file. Raises DumpError."""

    def __call__(self, process: "Process", file: Path, options: "Options", report: Grown) -> "Cost | None":
        """Write the dump of a process, and return what the runtime says that it took."""


class Recorder(Protocol):
    """Records the allocations of a process into a file. Raises DumpError."""

    def __call__(
        self,
        process: "Process",
        file: Path,
        options: "Recording",
        stopped: Callable[[], bool],
        report: Callable[[int, float | None], None],
    ) -> None:
        """Record until ``stopped``, which is asked again and again, and then write."""


class Page(Protocol):
    """A page of a browser, or something else that has a heap of its own and is no process."""

    @property
    def target(self) -> str:
        """The name by which :meth:`Pages.named` finds it: ``browser/id``."""

    @property
    def browser(self) -> str:
        """Where its browser is reached: ``127.0.0.1:9222``."""

    @property
    def type(self) -> str:
        """In JSON."""

    @property
    def kind(self) -> Text:
        """What it is."""

    @property
    def name(self) -> str:
        """Its title, if it has one."""

    @property
    def title(self) -> str:
        """Empty where it has none."""

    @property
    def url(self) -> str:
        """Its address."""

    def write(self, file: Path, options: "Options", report: Grown) -> None:
        """Write its heap, as :class:`DumpWriter`."""

    def record(
        self,
        file: Path,
        options: "Recording",
        stopped: Callable[[], bool],
        report: Callable[[int, float | None], None],
    ) -> None:
        """Record its allocations, as :class:`Recorder`."""


class Pages(Protocol):
    """A module that finds pages."""

    def found(self, processes: "Iterable[Process]") -> Sequence[Page]:
        """Those of browsers among the processes of this machine."""

    def at(self, name: str) -> Sequence[Page] | None:
        """Those of a browser by its address; None if the name is none. Raises DumpError if no browser answers."""

    def named(self, name: str) -> Page:
        """The page that a person names. Raises DumpError, BadRequestError."""


class RuntimeKind(Struct, frozen=True, kw_only=True):
    """What a process may run on."""

    name: str
    """In JSON."""
    title: str
    programs: re.Pattern[str]
    """The names of its programs, without ``.exe``; a group is the version that a name says."""
    libraries: re.Pattern[str] | None = None
    """Matches shared libraries that only its programs have loaded. A process with those of several runtimes is of the
    first that is declared."""
    embedded: re.Pattern[str] | None = None
    """Matches shared libraries that programs of other runtimes may have loaded as well; the group is the version."""
    version_in_path: re.Pattern[str] | None = None
    """Finds the version, a group, in a program's path, where its name has none."""
    first_version: int | None = None
    """The first version whose heap can be written from outside; None where that is any."""
    dumped: str = ""
    """What of it is dumped, where that isn't all: ``Python 3.14 and later``."""
    can_omit_texts: bool = False
    """Whether its dumps can be written without texts."""
    can_write_garbage: bool = False
    """Whether its dumps can be written with what nothing refers to any more."""
    with_value: frozenset[str] = frozenset()
    """Options of its programs that are followed by their value, for others than what the program runs."""
    ending: str = ""
    """Of the dumps that Memlens takes of its heap; empty where it takes none."""
    dump: Part[DumpWriter] | None = None
    record: Part[Recorder] | None = None
    tools: tuple[str, ...] = ()
    """Programs that taking a dump needs."""
    advice: Text = NOTHING
    """What to do instead where Memlens takes none."""


class Machinery(Struct, frozen=True, kw_only=True):
    """A kind of what a framework allocates for itself, by functions on the stack."""

    name: str
    """In the filter's ``machinery:``."""
    title: Text
    """In a sentence: ``workspaces of cuDNN``."""
    advice: Text | None
    """What the framework documents that can be done about them."""
    functions: tuple[str, ...]
    """Patterns of the filter's ``function:``, any of which may match."""
    fits: tuple[str, ...]
    """Functions that they must match."""
    near: tuple[str, ...]
    """Functions that they must not match."""
    file: str = ""
    """How the files of these functions end, with ``/`` between folders; empty for any file."""
    outside: tuple[str, ...] = ()
    """Patterns of functions that aren't on the stack."""

    @property
    def term(self) -> str:
        """The filter term that finds them."""
        return f"machinery:={self.name}"


class OwnMemory(Struct, frozen=True, kw_only=True):
    """All that a framework allocates for itself."""

    title: Text
    """Of the finding about it: ``PyTorch's own``."""
    kinds: tuple[Machinery, ...]
    """A stack with functions of several kinds is of the first."""


class Rule(Struct, frozen=True, kw_only=True):
    """A rule about files of the pack's formats, with the names that its findings have as their ``rule``."""

    findings: tuple[str, ...]
    find: "Part[Callable[[GraphCase], Iterator[Ranked]] | Callable[[ProfileCase], Iterator[Ranked]]]"
    """Gets the case of the model that the formats have."""
    model: Literal["", "timeline", "profile", "graph"] = ""
    """The model that it is about, of a pack whose formats have several."""
    of_waste: bool = False
    """Whether it is about what is wasted: such rules are also asked about a part of a heap dump alone."""


class Pack(Struct, frozen=True, kw_only=True):
    """One world."""

    name: str
    """Its folder, of Memlens's own packs."""
    title: str
    """In a list of what Memlens reads: ``Java``."""
    builds_on: str = ""
    """Another of Memlens's own packs, whose objects it has as well: that one's rules are about its formats, too."""
    language: Language | None = None
    libraries: tuple[str, ...] = ()
    """The tables ``libraries/NAME.toml`` in its folder, which say whose code frames are, see ``model/libraries.py``."""
    language_libraries: tuple[str, ...] = ()
    """Those of the libraries that make a language's own values and containers: who calls them allocates itself."""
    packages: tuple[str, ...] = ()
    """Python packages that readers use where they are installed, for diagnostics."""
    allocation_functions: bool = False
    """Whether ``allocation_functions.toml`` in its folder says which functions allocate, see ``model/languages.py``."""
    cut_folders: tuple[str, ...] = ()
    """Packages at which paths begin that a profiler has cut."""
    core_advice: Text = NOTHING
    """What to do with the core dump of a process of this world."""
    zip_files: tuple[tuple[str, Text], ...] = ()
    """How names of entries end in zip files without a snapshot, and what such a file is: ``it is a Java archive``."""
    library_folders: tuple[str, ...] = ()
    """Folders that a language's installers put libraries into, with slashes: after them a path is a library's."""
    formats: tuple[Format, ...] = ()
    foreign: Part[tuple[Foreign, ...]] | None = None
    own_memory: Part[OwnMemory] | None = None
    operators: Part[Operators] | None = None
    ooms: Part[Ooms] | None = None
    namespaces: tuple[str, ...] = ()
    """The outermost namespaces of a framework's native code."""
    lineless: Part["Lineless"] | None = None
    """Finds rows of a device that have no line of the program, and names those of an operator."""
    runtimes: tuple[RuntimeKind, ...] = ()
    pages: Part[Pages] | None = None
    """What Memlens takes dumps of besides processes."""
    recordings: tuple[str, str] | None = None
    """Endings of recordings of allocations, and of those that only estimate."""
    rules: tuple[Rule, ...] = ()
