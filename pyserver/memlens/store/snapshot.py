"""An archive opened for reading: its columns, released at once by :meth:`close`."""

import bisect
import contextlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar, assert_never, cast

import apsw
import numpy.typing as npt

from memlens.errors import BadRequestError, MemlensError, reason, stopped
from memlens.kernels.base import mapped_faults
from memlens.kernels.base.work import Work
from memlens.model.inferred import Place
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo, device_phrase
from memlens.packs import registry
from memlens.result_cache import ResultCache, Uncounted
from memlens.store.columns import Columns, Count, Declared
from memlens.store.files.column_files import MappedFiles
from memlens.store.files.verify import StoppedError, verify
from memlens.store.manifest import (
    ArchiveError,
    GraphNames,
    GraphShares,
    InconsistentError,
    Manifest,
    Origin,
    hold,
    is_of_process,
    read_manifest,
)
from memlens.store.models import graph_of, profile_of, timeline_of
from memlens.store.objects.columns import (
    CompactColumns,
    FieldColumns,
    ObjectColumns,
    ReferenceColumns,
    ThreadColumns,
    TypeColumns,
)  # fmt: skip
from memlens.store.samples.columns import LineValues, Samples, Times
from memlens.store.stacks.frames import FrameColumns
from memlens.store.stacks.lines import LineColumns
from memlens.store.stacks.strings import Strings
from memlens.store.stacks.tree import Stacks, Tree
from memlens.store.trace.columns import ModuleColumns, TraceColumns
from memlens.store.trace.device import Device, scope_of
from memlens.store.trace.modules import named
from memlens.texts import phrase

if TYPE_CHECKING:
    from memlens.store.objects.queried import QueriedObjects

T = TypeVar("T")
C = TypeVar("C", bound=Columns)
Column = npt.NDArray[Any]

mapped_faults.install()

_MOST_NARROWED = 4
"""How many narrowed versions of a device are kept: those of the filters in use, and the last few."""


class Key(NamedTuple):
    """Identifies a kept result: what computes it, and the arguments, of which a device's number is the first."""

    name: str
    arguments: tuple[Hashable, ...] = ()


class Snapshot(Uncounted):
    """An open archive; columns are mapped or unpacked when they are first used. Not thread-safe."""

    def __init__(self, archive: Path, manifest: Manifest, held: BinaryIO) -> None:
        self.archive = archive
        self._held = held
        self.manifest = manifest
        self.info: SnapshotInfo = manifest.info
        self._files = MappedFiles(archive, manifest)
        self._holders: dict[type[Columns], Columns] = {}
        self.relabelled = 0
        """Identifies the kinds of frames and classes of modules if they differ from the archive's; 0 if they don't."""
        self.classes: Mapping[Place, str] = {}
        """The classes that sources have for modules, see :mod:`memlens.store.trace.modules`."""
        self._devices: dict[int, Device] = {}
        self._narrowed: dict[int, dict[str, None]] = {}
        """The names of each device's narrowed versions, the least recently used first."""
        self.verified = False
        """Whether all files were verified since the archive was opened."""
        self._verified_files = set[str]()
        self.background: list[Callable[[], object]] = []
        """Work to run after an answer, so that the next one is faster; see :meth:`work_in_background`."""
        self.work = Work()
        """The question that is being answered, if it takes long: another thread may stop it, or ask how far it is."""
        self.queried: QueriedObjects | None = None
        """Where the queries of filters are answered, if not by this snapshot itself."""
        self._kept = ResultCache(defer=self.background.append)

    @classmethod
    def open(cls, archive: Path) -> "Snapshot":
        """Open an archive folder. Raises :class:`ArchiveError` if it is damaged or has another version."""
        try:
            held = hold(archive)
        except OSError as error:
            if is_of_process(error):
                raise
            raise ArchiveError(
                phrase(
                    "The archive {archive} can't be read: {reason}",
                    archive=archive.name or archive,
                    reason=reason(error),
                )
            ) from error
        try:
            return cls(archive, read_manifest(archive), held)
        except BaseException:
            held.close()
            raise

    def again(self) -> "Snapshot":
        """Open the same archive once more, with the same kinds of frames. Raises :class:`ArchiveError`."""
        opened = Snapshot.open(self.archive)
        if self.relabelled:
            opened.replace(self._files.replaced, self.relabelled)
            opened.classes = self.classes
        return opened

    def close(self) -> None:
        """Release maps. The snapshot can't be used afterwards."""
        self._devices.clear()
        self._holders.clear()
        self._files.replaced = {}
        self._files.close()
        self._kept.clear()
        self.background.clear()
        self._held.close()

    def drop_pages(self) -> None:
        """Take the pages of mapped columns out of this process's memory, for work that continues with other columns."""
        self._files.drop_pages()

    def forget(self, number: int) -> None:
        """Unmap a device's columns; they are mapped again when they are used."""
        self._devices.pop(number, None)
        scope = scope_of(number)
        self._files.mapped -= {file for file in self._files.mapped if file.startswith(scope)}
        self._kept.drop(lambda key: key.arguments[:1] == (number,))

    def keep(self, key: Key, make: Callable[[], T]) -> T:
        """The cached result of ``make`` for ``key``, which may have been evicted; see ``kept.py``."""
        return self._kept.get(key, make)

    def has_kept(self, key: Key) -> bool:
        """Whether something is kept for ``key``."""
        return self._kept.find(key, self) is not self

    def go_on(self) -> None:
        """Raise :class:`CancelledError` if the question that is being answered was stopped."""
        if self.work.is_stopped:
            raise stopped()

    def report(self, done: float) -> None:
        """The same, reporting the fraction of the question's work that is done."""
        if not self.work.report(done):
            raise stopped()

    def ask(self, question: Callable[["Snapshot"], T]) -> T:
        """Answer a question. Raises :class:`ArchiveError` if the archive fails one of its own checks.

        Any unexpected exception is a bug and raised unchanged; but values that were damaged on disk can cause one as
        well, so the checksums are verified first unless they have been.
        """
        gone = mapped_faults.seen()
        try:
            answer = question(self)
        except (apsw.CorruptError, apsw.NotADBError, apsw.IOError) as error:
            raise ArchiveError(
                phrase(
                    "The archive {archive} is damaged: {reason}", archive=self.archive.name, reason=str(error)
                )
            ) from error
        except (MemlensError, MemoryError):
            raise
        except Exception:
            with contextlib.suppress(StoppedError):
                self.verify()
            raise
        finally:
            # a column file that became shorter is read as zeros, with unpredictable results
            if mapped_faults.seen() != gone:
                raise ArchiveError(
                    phrase(
                        "The archive {archive} is damaged: a column became shorter", archive=self.archive.name
                    )
                )
        return answer

    def verify(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Verify the checksums of all files, in any thread. Raises :class:`ArchiveError` and :class:`StoppedError`."""
        if not self.verified:
            verify(self.archive, self.manifest, self._held, stop)
            self.verified = True

    def verify_used(self) -> None:
        """The same for the columns that were mapped since the last time, before an answer is given out."""
        names = [] if self.verified else [*self._files.mapped - self._verified_files]
        with contextlib.suppress(StoppedError):
            verify(self.archive, self.manifest, self._held, names=names)
        self._verified_files.update(names)

    def unpack_in_background(self, columns: Columns, name: str) -> None:
        """Unpack and check a column, a part now and the rest as further work in the background."""
        column: Declared = getattr(type(columns), name)
        # files keep only weak references to it, until it becomes an attribute
        unpacked = self._files.go_on(column.file)
        if unpacked is None:
            self.background.append(partial(self.unpack_in_background, columns, name))
        else:
            getattr(columns, name)

    def work_in_background(self) -> None:
        """Run all work that answers put off."""
        while self.background:
            self.work_once()

    def work_once(self) -> None:
        """Run only the latest of it, so that a new question needn't wait for the rest."""
        if self.background:
            self.background.pop()()

    @property
    def origin(self) -> Origin:
        """The archive that answers are computed from."""
        return Origin(self.archive, self.manifest.checksum, self.relabelled)

    @property
    def timeline(self) -> TimelineInfo:
        """The figures of a timeline. Raises :class:`LackingError` for another model."""
        return timeline_of(self.info, "devices")

    @property
    def profile(self) -> ProfileInfo:
        """The figures of a profile. Raises :class:`LackingError` for another model."""
        return profile_of(self.info, "samples")

    @property
    def tree(self) -> Tree:
        """The prefix tree of the stacks."""
        return self._holder(Tree)

    @property
    def stacks(self) -> Stacks:
        """The columns of stacks."""
        return self._holder(Stacks)

    @property
    def strings(self) -> Strings:
        """The texts that columns refer to by number."""
        return self.frames.strings

    @property
    def frames(self) -> FrameColumns:
        """The columns of frames."""
        return self._holder(FrameColumns)

    @property
    def lines(self) -> LineColumns:
        """The source lines with figures."""
        return self._holder(LineColumns)

    @property
    def trace(self) -> TraceColumns:
        """The columns of a trace as a whole. Raises :class:`LackingError` for another model."""
        timeline_of(self.info, "events")
        return self._holder(TraceColumns)

    @property
    def module_columns(self) -> ModuleColumns:
        """A trace's modules. Raises :class:`LackingError` for another model."""
        timeline_of(self.info, "modules")
        return self._holder(ModuleColumns)

    @property
    def samples(self) -> Samples:
        """A profile's samples. Raises :class:`LackingError` for another model."""
        profile_of(self.info, "samples")
        return self._holder(Samples)

    @property
    def line_values(self) -> LineValues:
        """The sums of source lines for a profile's values. Raises :class:`LackingError` for another model."""
        profile_of(self.info, "samples")
        return self._holder(LineValues)

    @property
    def times(self) -> Times | None:
        """A profile over time, None if it has no times. Raises :class:`LackingError` for another model."""
        return self._holder(Times) if profile_of(self.info, "samples").bins else None

    @property
    def objects(self) -> ObjectColumns:
        """A heap dump's objects. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        return self._holder(ObjectColumns)

    @property
    def references(self) -> ReferenceColumns:
        """A heap dump's references. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        return self._holder(ReferenceColumns)

    @property
    def fields(self) -> FieldColumns | None:
        """Fields that aren't references, None if the dump has none. Raises :class:`LackingError`."""
        graph_of(self.info)
        return self._holder(FieldColumns) if FieldColumns.start.file in self.manifest.columns else None

    @property
    def types(self) -> TypeColumns:
        """A heap dump's types. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        return self._holder(TypeColumns)

    @property
    def threads(self) -> ThreadColumns:
        """A heap dump's threads. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        return self._holder(ThreadColumns)

    @property
    def compact(self) -> CompactColumns:
        """A heap dump's dominator tree grouped by type. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        return self._holder(CompactColumns)

    @property
    def graph_names(self) -> GraphNames:
        """The names for numbers in a heap dump's columns. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        if self.manifest.graph is None:
            raise InconsistentError("The archive has no names of references")
        return self.manifest.graph

    @property
    def graph_shares(self) -> GraphShares:
        """A heap dump's sums for its overview. Raises :class:`LackingError` for another model."""
        graph_of(self.info)
        if self.manifest.shares is None:
            raise InconsistentError("The archive has no sums of objects")
        return self.manifest.shares

    def _holder(self, kind: type[C]) -> C:
        found = self._holders.get(kind)
        if found is None:
            found = self._holders[kind] = kind(self._files, counts_of(self.manifest))
        return cast("C", found)

    def replace(self, columns: Mapping[str, Column], relabelled: int) -> None:
        """Replace columns of the archive's files; ``relabelled`` is as the attribute."""
        self.relabelled = relabelled
        self._files.replaced = columns
        self._holders.clear()
        self._devices.clear()

    def device(self, number: int) -> Device:
        """A device's columns. Raises :class:`BadRequestError` for a device that the snapshot doesn't have."""
        found = self._devices.get(number)
        if found is None:
            devices = self.timeline.devices
            index = (
                [info.device for info in devices].index(number)
                if number in {d.device for d in devices}
                else -1
            )
            if index < 0:
                raise BadRequestError(phrase("The snapshot has no {device}", device=device_phrase(number)))
            found = Device(
                self._files,
                counts_of(self.manifest),
                devices[index],
                self.manifest.first_allocations[index],
            )
            self._devices[number] = found
        return found

    def narrowed(self, number: int, name: str, narrow: Callable[[Device], Device]) -> Device:
        """A device narrowed to some of its rows or changed by ``narrow``, cached by ``name``.

        Raises :class:`BadRequestError` for a device that the snapshot doesn't have.
        """
        names = self._narrowed.setdefault(number, {})
        names.pop(name, None)

        def make() -> Device:
            whole = self.device(number)
            if len(names) >= _MOST_NARROWED:
                # before the next one is made, which needs the memory
                oldest = next(iter(names))
                del names[oldest]
                self._kept.drop(lambda key: key == Key("narrowed", (number, oldest)))
            return narrow(whole)

        device = self.keep(Key("narrowed", (number, name)), make)
        names[name] = None
        return device

    def device_of(self, allocation: int) -> Device:
        """The device of an allocation. Raises :class:`BadRequestError` for an unknown number."""
        devices = timeline_of(self.info, "individual allocations").devices
        ends = self.manifest.first_allocations[1:]
        if 0 <= allocation < self.manifest.first_allocations[-1]:
            return self.device(devices[bisect.bisect_right(ends, allocation)].device)
        raise BadRequestError(phrase("The snapshot has no allocation {allocation}", allocation=allocation))

    def stack_frame_ids(self, stack: int) -> list[int]:
        """The frames of a stack, innermost first."""
        parents, frames = self.tree.parent, self.tree.frame
        node = int(self.stacks.node[stack])
        ids = []
        # a parent's number is lower than its child's
        while node:
            ids.append(int(frames[node]))
            node = int(parents[node])
        return ids

    def modules(self) -> list[tuple[int, str, str]]:
        """The modules: parent, name, path. ``trace.stack_module`` has each stack's number here.

        Those of one path are one. 0 is "in no module", with an empty name. Other models have none.
        """
        match self.info:
            case TimelineInfo():
                modules = self.module_columns
            case ProfileInfo() | GraphInfo():
                return []
            case _:
                assert_never(self.info)
        names, paths = (self.strings.texts(column) for column in (modules.name, modules.path))
        found = list(zip(modules.parent.tolist(), names, paths, strict=True))
        return named(found, self.module_places(found), self.classes) if self.classes else found

    def module_places(self, modules: list[tuple[int, str, str]]) -> Iterable[list[Place]]:
        """For each module the places whose sources may name its class, the best one first."""
        known = registry.module_classes(self.info.kind)
        if known is None:
            return [[] for _ in modules]
        names, parents = [name for _, name, _ in modules], [parent for parent, _, _ in modules]
        return known.places(names, parents, self.module_lines())

    def module_lines(self) -> dict[int, tuple[str, int]]:
        """The file and the line of each module's function, by the module's number, where there is one."""
        numbers = self.module_columns.frame.tolist()
        rows = self.frames.rows(number for number in numbers if number < len(self.frames))
        return {module: rows[number][:2] for module, number in enumerate(numbers) if number in rows}


def counts_of(manifest: Manifest) -> dict[Count, int]:
    """The number of each thing that columns have items for, in the archive as a whole."""

    def length(column: Declared) -> int:
        entry = manifest.columns.get(column.file)
        return 0 if entry is None else entry.count

    counts: dict[Count, int] = {
        "strings": length(Strings.end), "string bytes": length(Strings.utf8), "frames": length(FrameColumns.kind),
        "lines": length(LineColumns.frame), "stacks": length(Stacks.node), "nodes": length(Tree.parent),
        "modules": length(ModuleColumns.parent),
    }  # fmt: skip
    match manifest.info:
        case TimelineInfo():
            return counts
        case ProfileInfo(samples=samples, bins=bins):
            return {**counts, "samples": samples, "edges": bins + 1, "change offsets": bins + 2}
        case GraphInfo():
            allocations = manifest.info.allocations
            samples, bins = (allocations.samples, allocations.bins) if allocations else (0, 0)
            return {
                **counts, "samples": samples, "edges": bins + 1, "change offsets": bins + 2,
                "objects": manifest.info.objects, "object ends": manifest.info.objects + 1,
                "holders": manifest.info.objects + 2,
                "references": manifest.info.references,
                "types": manifest.info.types, "type ends": manifest.info.types + 1,
                "compact nodes": manifest.info.compact_nodes, "field values": length(FieldColumns.bits),
            }  # fmt: skip
        case _:
            assert_never(manifest.info)
