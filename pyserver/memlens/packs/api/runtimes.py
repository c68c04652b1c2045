"""What a pack may declare of processes: what they run on, and how their heaps are dumped and recorded."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from memlens.packs.api.parts import NOTHING, Part
from memlens.texts import Text

if TYPE_CHECKING:
    from memlens.dumping.options import Cost, Options, Recording
    from memlens.dumping.processes import Process


class Grown(Protocol):
    """Receives how much has been written."""

    def __call__(self, written: int, fraction: float | None = None, /) -> None:
        """Take the bytes written so far, and how much is done, 0 to 1, where that is known."""


class DumpWriter(Protocol):
    """Writes the heap of a process into a file. Raises DumpError."""

    def __call__(self, process: "Process", file: Path, options: "Options", report: Grown) -> "Cost | None":
        """Write the dump of a process, and return what that took, if the runtime reports it."""


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


class RecordingKind(Struct, frozen=True, kw_only=True):
    """A way of recording allocations."""

    title: Text
    detail: Text
    """What it shows, and what it costs."""
    ending: str
    """Of the names of its files."""
    sampling: bool = False
    """Whether it only estimates which stacks hold how much."""


class Page(Protocol):
    """A page of a browser, or anything else with a heap of its own that isn't a process."""

    @property
    def target(self) -> str:
        """The name by which :meth:`Pages.named` finds it: ``browser/id``."""

    @property
    def browser(self) -> str:
        """Its browser's address: ``127.0.0.1:9222``."""

    @property
    def type(self) -> str:
        """Its type, for JSON."""

    @property
    def kind(self) -> Text:
        """What it is, for people."""

    @property
    def name(self) -> str:
        """Its title, if it has one."""

    @property
    def title(self) -> str:
        """Its title; empty if it has none."""

    @property
    def url(self) -> str:
        """Its address."""

    @property
    def ending(self) -> str:
        """The ending of its dumps' names."""

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
        """The pages of browsers among these processes."""

    def at(self, name: str) -> Sequence[Page] | None:
        """The pages of the browser at an address; None if ``name`` isn't an address.

        Raises DumpError if no browser answers.
        """

    def named(self, name: str) -> Page:
        """The page that a person names. Raises DumpError, BadRequestError."""


class RuntimeKind(Struct, frozen=True, kw_only=True):
    """A runtime that processes may run on."""

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
    recordings: tuple[RecordingKind, ...] = ()
    """What it records, the most detailed first."""
    tools: tuple[str, ...] = ()
    """Programs that taking a dump needs."""
    advice: Text = NOTHING
    """What to do instead where Memlens takes none."""
