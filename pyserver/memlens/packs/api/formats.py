"""What a pack may declare of files: those that it reads and writes, and those that it doesn't read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec import Struct

from memlens.packs.api.objects import Declarations, Objects
from memlens.packs.api.parts import NOTHING, Part
from memlens.texts import Text

if TYPE_CHECKING:
    from memlens.export.samples import Samples
    from memlens.formats import Reader
    from memlens.formats.containers import Source
    from memlens.formats.redacted import Wanted
    from memlens.formats.redaction.output import Output
    from memlens.formats.redaction.people import People
    from memlens.model.inferred import Inference, ModuleClasses
    from memlens.progress import Report
    from memlens.proof.items import Reader as ProofReader
    from memlens.store.files.output import Output as FileOutput
    from memlens.store.snapshot import Snapshot
    from memlens.store.trace.device import Device
    from memlens.views.trace.oom.answers import MarksAnswer, OomAnswer, ReplayBudget
    from memlens.views.trace.what_if import Replayed

    StacksWriter = Callable[[Samples, str], bytes]
    TraceWriter = Callable[[Snapshot, int | None, FileOutput, Report], None]


T = TypeVar("T")


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
        """Write the dump; return the offset where it breaks off, None if it is whole.

        With a list for the lines of a ``mapping`` the program's names are replaced.
        """


class WithoutPeople(Protocol):
    """Writes a profile without the names of people and machines."""

    def __call__(
        self, source: "Source", people: "People", *, keeps_time: bool
    ) -> Iterator[tuple[int, bytes]]:
        """What is written, with the offset in the file up to which it was read."""


class Writer(Struct, Generic[T], frozen=True, kw_only=True):
    """Writes a format for other tools; the format's name is the option of ``memlens export``."""

    file: str
    """What the help calls the file, as ``OUT.pb.gz``."""
    help: str
    write: Part[T]


class Ooms(Protocol):
    """A module that explains out-of-memory events by the state of an allocator."""

    def marks(self, snapshot: "Snapshot") -> "MarksAnswer":
        """The events of all devices that are marked on the time axis."""

    def oom(
        self, snapshot: "Snapshot", number: int, event: int, budget: "ReplayBudget | None" = None
    ) -> "OomAnswer":
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
    label: str = ""
    """Of heap dumps, as their makers write it: ``HPROF``; the name if empty."""
    several: Text = NOTHING
    """Of files that may have no objects, in a list: ``pprof profiles``."""
    reader: "Part[Reader]"
    """The module that recognises and reads such files."""
    file_names: tuple[str, ...] = ()
    """Patterns of names whose files are mostly snapshots, as ``*.gcdump``: these open by themselves."""
    shared: tuple[str, ...] = ()
    """Those of them that files of other programs have as well: what is no snapshot opens as without Memlens."""
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
    objects: Objects | None = None
    """Of heap dumps."""
    declarations: Declarations | None = None
    """Of profiles with frames that stand for types and fields: where source declares them."""
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
    writer: "Writer[StacksWriter] | None" = None
    """Returns the file of stacks with values, with a title."""
    trace_writer: "Writer[TraceWriter] | None" = None
    """Takes a snapshot, the number of a device (None: the one that is shown first), and where to write it."""
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
