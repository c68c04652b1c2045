"""What a pack may declare: formats with all that is known of their files, runtimes whose heaps are dumped, and rules.

Packs of other packages declare the same, by the entry point ``memlens.packs`` (docs/dev/packs.md).

A declaration is small, as every start reads all of them. Code is a :class:`Part`, which is imported when it is first
asked for: ``Part("memlens.packs.NAME.reader")`` is a module, ``Part("memlens.packs.NAME.names:type_name")`` a name in
one.
"""

import re
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from memlens.packs.api.formats import (
    Foreign,
    Format,
    JsonFormat,
    Ooms,
    Operators,
    Proof,
    Redaction,
    WithoutPeople,
    Writer,
)
from memlens.packs.api.launches import Launch
from memlens.packs.api.messages import Message, NextTime
from memlens.packs.api.meters import Meter, MeterKind, NoMeterError
from memlens.packs.api.objects import (
    Classes,
    CollectionTypes,
    Contents,
    Declarations,
    Exhausted,
    FilterTerm,
    FrameVariables,
    JoinedTexts,
    LibraryArchives,
    Namespaces,
    Objects,
    Platform,
    Realms,
    Scopes,
    Texts,
    ThreadValues,
)
from memlens.packs.api.parts import NOTHING, Part
from memlens.packs.api.runtimes import (
    DumpWriter,
    Grown,
    Page,
    Pages,
    Recorder,
    RecordingKind,
    RuntimeKind,
)
from memlens.texts import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt

    from memlens.store.snapshot import Snapshot
    from memlens.store.trace.device import Device
    from memlens.views.findings.graph.case import GraphCase
    from memlens.views.findings.profile.case import ProfileCase
    from memlens.views.findings.writing import Ranked

    Lineless = Callable[[Snapshot, Device, str], tuple["npt.NDArray[np.bool_]", Text]]


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


class Machinery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of memory that a framework allocates for itself, recognised by functions on the stack."""

    name: str
    """In the filter's ``machinery:``."""
    owner: Text = NOTHING
    """The title of findings about it: ``PyTorch's own``."""
    title: Text = NOTHING
    """In a sentence: ``workspaces of cuDNN``."""
    advice: Text | None = None
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
    """A world: a runtime or a framework, with its formats."""

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
    machinery: Part[tuple[Machinery, ...]] | None = None
    """What a framework allocates for itself; a stack with functions of several kinds is of the first."""
    operators: Part[Operators] | None = None
    ooms: Part[Ooms] | None = None
    namespaces: tuple[str, ...] = ()
    """The outermost namespaces of a framework's native code."""
    lineless: Part["Lineless"] | None = None
    """Finds rows of a device that have no line of the program, and names those of an operator."""
    runtimes: tuple[RuntimeKind, ...] = ()
    pages: Part[Pages] | None = None
    """What Memlens takes dumps of besides processes."""
    recordings: tuple[RecordingKind, ...] = ()
    """How allocations of its pages are recorded."""
    rules: tuple[Rule, ...] = ()
    meters: tuple[MeterKind, ...] = ()
    """What measures the memory of a part of a running program, such as one test."""
    launches: tuple[Launch, ...] = ()
    """How its programs are started so that they leave a file when memory runs out, the likeliest first."""
    messages: tuple[Message, ...] = ()
    """What its programs say when memory runs out."""
    next_time: NextTime | None = None
    """What to record before its programs run out of memory again."""
