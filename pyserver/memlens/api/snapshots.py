"""Snapshots for programs and notebooks: :func:`open_snapshot` is ``memlens.open``.

Each question is one of a command; its table has the same figures, and ``table.data`` is what the command prints with
``--json``. A snapshot isn't for several threads at once.
"""

import contextlib
import os
import warnings
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Self, TypeVar, assert_never

from memlens.api.archives import answered, asked, files_in_filter, make_archive_if_missing, with_classes
from memlens.api.comparisons import Compared, compared_in_a_row, compared_side
from memlens.api.heaps import types
from memlens.api.lines import Definitions, LinesOfProfile, LinesOfTrace, lines
from memlens.api.queries import rows_of
from memlens.api.reports import report
from memlens.api.rows import (
    ComparedPlace,
    Definition,
    Finding,
    Replay,
    Step,
    compared_places,
    replays_of,
    series_of_places_table,
    series_of_types_table,
    steps_of,
)
from memlens.api.table import Table, as_data, table_of
from memlens.background import Background
from memlens.errors import BadRequestError, FileError, MemlensError, named
from memlens.export.report import excerpt
from memlens.formats.tools import Tools
from memlens.local_paths import is_url
from memlens.model.attribution import Attribution
from memlens.model.graph import RETAINING, Strength
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.model.own_libraries import Libraries
from memlens.store.files.cache import Cache
from memlens.store.models import LackingError, devices_of, has_stacks
from memlens.store.relabel import open_with
from memlens.store.snapshot import Snapshot as Archived
from memlens.texts import as_text, phrase
from memlens.views.answers import SourceLine
from memlens.views.compare.heaps import ComparedType, compare_heaps, series_of, side_of_series
from memlens.views.compare.kinds import check_comparable
from memlens.views.compare.rows import CompareBy, Measure, compare
from memlens.views.compare.series import SeriesBy
from memlens.views.findings.ahead import headline
from memlens.views.findings.contents import headline_without_contents
from memlens.views.heap.filters.unmatched import check_filter
from memlens.views.heap.listing.contents import row_without_contents
from memlens.views.heap.objects.rows import MOST_ROWS, number_of
from memlens.views.heap.objects.types import TypeOrder, TypeRow
from memlens.views.heap.paths.merged import PathBranch
from memlens.views.heap.paths.with_cut import paths_to_object, paths_to_objects
from memlens.views.heap.retained.left_out import parsed
from memlens.views.lines.totals import LineOrder, ProfileLine
from memlens.views.selection.changes import Changes
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.held import HeldAllocations, HeldOfProfile, HeldOfTrace, HeldSamples, Part
from memlens.views.trace.what_if import what_if

T = TypeVar("T")

_MOST_LINES = 10_000


def open_snapshot(
    path: str | os.PathLike[str],
    *,
    libraries: Iterable[str] = (),
    values: bool = False,
    symbols: Iterable[str | os.PathLike[str]] = (),
    cache_dir: str | os.PathLike[str] | None = None,
) -> "Trace | Profile | Heap":
    """Open a snapshot: a :class:`Trace`, a :class:`Profile` or a :class:`Heap`, by what the file is.

    The file is read once; what is made of it is kept in the cache of the command line, or in ``cache_dir``. Of a URL
    (https, s3, gs, az, ssh, where fsspec is installed) a copy is kept until the snapshot is closed. Nothing in the file
    is executed. ``libraries`` are patterns of paths or functions that aren't your own code, or with a leading
    ``!`` are. Only with ``values`` do answers quote what objects of a heap dump contain. Binaries of native programs
    are looked for in ``symbols`` as well. Raises :class:`memlens.MemlensError`.
    """
    tools = Tools.of_environment().with_symbols([Path(each) for each in symbols])
    chosen = Libraries(list(libraries))
    with contextlib.ExitStack() as opened:
        named_file = os.fspath(path)
        if is_url(named_file):
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="memlens-")))
            file, cache = _fetched(named_file, folder), Cache(folder / "archives", tools=tools)
        else:
            file = Path(named_file)
            cache = Cache(None if cache_dir is None else Path(cache_dir), tools=tools)
        if cache.warning is not None:
            warnings.warn(str(cache.warning), stacklevel=2)
        # in a thread, so that an interrupt ends only the wait for it, and never a notebook
        archived = Background(
            lambda: answered(
                file, cache, _silent, lambda archive: open_with(archive, with_classes(archive, chosen))
            )
        ).result()
        opened.callback(archived.close)
        match archived.info:
            case TimelineInfo():
                kind = Trace
            case ProfileInfo():
                kind = Profile
            case GraphInfo():
                kind = Heap
            case _:
                assert_never(archived.info)
        return kind(file, cache, archived, opened.pop_all(), values=values)


def _fetched(url: str, folder: Path) -> Path:
    """A copy of the file at a URL, in a folder of its own so that it keeps its name."""
    # imported here, because few snapshots are elsewhere
    from memlens.remote_files import fetch, file_at

    own = folder / "file"
    own.mkdir()

    def check(_read_bytes: int) -> None:
        if not own.exists():
            raise FileError(phrase("The wait for {url} was interrupted", url=place.named))

    place = file_at(url)
    copy, _checksum = Background(lambda: fetch(place, own, check)).result()
    return copy


def _silent(_stage: str, _fraction: float) -> None:
    pass


class Snapshot:
    """An open file. ``with memlens.open(path) as snapshot:`` closes it; else it is closed when nothing refers to it."""

    def __init__(
        self, path: Path, cache: Cache, archived: Archived, opened: contextlib.ExitStack, *, values: bool
    ) -> None:
        self.path = path
        self._cache = cache
        self._archived = archived
        self._values = values
        self._close = weakref.finalize(self, opened.close)

    def close(self) -> None:
        """Release the file. The snapshot can't be asked afterwards."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<memlens.{type(self).__name__} {self.path.name}: {self.info.kind}>"

    def _repr_html_(self) -> str:
        """The headline, the picture with which the view opens, findings and the largest items, for a notebook."""
        return self._ask("a page", lambda archived: excerpt(archived, values=self._values))

    @property
    def info(self) -> SnapshotInfo:
        """What ``memlens info`` prints: devices and peaks, a profile's values or a heap's sizes, and warnings."""
        return self._archived.info

    @property
    def headline(self) -> str:
        """What fills the memory and what would help, in one or two sentences."""
        first = self._ask("headline", lambda archived: headline(archived, None))
        return (first if self._values else headline_without_contents(first)).text

    def findings(self, *, device: int | None = None, top: int = 20) -> Table:
        """What is worth a look, the most important first, as ``memlens findings``."""
        found = self._ask("findings()", lambda archived: report(archived, device, top, values=self._values))
        return table_of([Finding.of(each) for each in found.findings], Finding, as_data(found))

    def lines(
        self,
        at: str | None = None,
        *,
        by: Literal["line", "function", "file"] = "line",
        matching: str = "",
        value: str | None = None,
        device: int | None = None,
        sort: LineOrder = "self",
        any_code: bool = False,
        top: int = _MOST_LINES,
    ) -> Table:
        """The lines of source that hold the most, as ``memlens lines``.

        ``at`` is the moment: ``peak`` (that of a trace if nothing is said), ``end``, ``all``, or as ``300 ms`` or
        ``11712 events``. ``matching`` is a filter. ``value`` is that of a profile. What is charged to a line itself is
        that of the innermost frame of your own code, or with ``any_code`` of any code. For a heap dump without stacks
        they are the lines that define what retains most.
        """
        return self._places("lines()", Part(at, device, value, matching), by, sort, top, any_code=any_code)

    def live(
        self,
        at: str | None = None,
        *,
        by: GroupKind = "line",
        matching: str = "",
        value: str | None = None,
        device: int | None = None,
        any_code: bool = False,
        top: int = _MOST_LINES,
    ) -> Table:
        """What is live at a moment by line, function, file, or other groups, as ``memlens lines --by``.

        A trace also has ``module``, ``category``, ``stream``, ``pool`` and ``freed``, a profile ``package``, ``thread``
        and ``label``. The other arguments are those of :meth:`lines`.
        """
        return self._places("live()", Part(at, device, value, matching), by, "self", top, any_code=any_code)

    def sql(self, query: str) -> Table:
        """The rows of a read-only query, as ``memlens sql``. All are kept in memory: use ``LIMIT``."""

        def rows(archived: Archived) -> Table:
            return rows_of(archived, query, values=self._values)

        table = self._ask("sql()", rows)
        self._cache.evict(keep=self._archived.archive)
        return table

    def compare(
        self,
        other: "Snapshot",
        *,
        by: CompareBy = "line",
        at: Literal["peak", "end"] | None = None,
        value: str | None = None,
        device: int | None = None,
        other_device: int | None = None,
        inclusive: bool = False,
        any_code: bool = False,
        search: str = "",
        top: int = _MOST_LINES,
    ) -> Table:
        """How ``other``, which came after, differs from this one, as ``memlens compare``. Lines that moved are paired.

        ``inclusive`` adds what a line allocated through the functions it called.
        """
        self._check_comparable(other)
        attribution = _attribution(any_code=any_code)
        second = device if other_device is None else other_device
        before = self._ask("compare()", lambda each: compared_side(each, at, device, value, attribution))
        after = other._ask("compare()", lambda each: compared_side(each, at, second, value, attribution))
        compared = compare(before.side, after.side, by)
        answer = compared.answer(_measure(inclusive=inclusive), search, "difference", 0, min(top, MOST_ROWS))
        return table_of([*compared_places(answer)], ComparedPlace, as_data(answer))

    def _check_comparable(self, other: "Snapshot") -> None:
        check_comparable(self.info, other.info)

    def _places(
        self, name: str, part: Part, by: GroupKind, order: LineOrder, top: int, *, any_code: bool
    ) -> Table:
        if not has_stacks(self.info):
            self._check_definitions(name, part, by, any_code=any_code)

        def question(archived: Archived) -> Any:
            answer = lines(archived, by, part, _attribution(any_code=any_code), order, top)
            self._check_matching(archived, part.filter, part.device)
            return answer

        answer = self._ask(name, question, part.filter)
        data = as_data(answer)
        match answer:
            case LinesOfTrace():
                return table_of(answer.lines, SourceLine, data)
            case LinesOfProfile():
                return table_of(answer.lines, ProfileLine, data)
            case HeldOfTrace():
                return table_of(answer.rows, HeldAllocations, data)
            case HeldOfProfile():
                return table_of(answer.rows, HeldSamples, data)
            case Definitions():
                return table_of([Definition.of(each) for each in answer.lines], Definition, data)
            case _:
                assert_never(answer)

    def _check_definitions(self, name: str, part: Part, by: GroupKind, *, any_code: bool) -> None:
        """Refuse what a heap dump without stacks can't answer."""
        if name != "lines()" or by != "line" or part != Part() or any_code:
            raise named(LackingError(self.info.model, "allocation stacks", as_text(name)), self.path)

    def _check_matching(self, archived: Archived, matching: str, device: int | None) -> None:
        """Raise :class:`BadRequestError` if a filter matches nothing, with what would match."""
        if matching.strip():
            devices = [] if device is None or not devices_of(archived.info) else [device]
            check_filter(archived, matching, devices)

    def _ask(self, name: str, question: Callable[[Archived], T], matching: str = "") -> T:
        """Answer a question, of which a refusal says the ``name``."""
        if not self._close.alive:
            raise BadRequestError(
                phrase("{file} is closed", file=self.path.name), advice=phrase("Open it again.")
            )
        for other in files_in_filter(matching, self.path):
            Background(lambda file=other: make_archive_if_missing(file, self._cache, _silent)).result()
        try:
            return asked(self._archived, question)
        except LackingError as error:
            raise named(error.to(as_text(name)), self.path) from None
        except MemlensError as error:
            named(error, self.path)
            raise

    def _shown(self, answer: object) -> Any:
        """An answer as data, without what objects contain unless the snapshot was opened with ``values``."""
        return as_data(answer) if self._values else as_data(answer, row_without_contents)


class Profile(Snapshot):
    """Stacks with values: what each allocated, or what of it was live."""


class Trace(Snapshot):
    """Allocations in time."""

    def what_if(
        self,
        settings: Sequence[str] = (),
        *,
        without: Sequence[str] = (),
        halve: Sequence[str] = (),
        free_at_once: Sequence[str] = (),
        recompute: Sequence[str] = (),
        capacity_bytes: int | None = None,
        device: int | None = None,
    ) -> Table:
        """What would have been live and reserved at the peak with other settings of the allocator, or with some
        allocations changed, as ``memlens what-if``. The recorded trace is the first row.

        ``without``, ``halve``, ``free_at_once`` and ``recompute`` are filters. ``data["calibration"]`` says how exactly
        a replay with the recorded settings reproduces the trace: the figures are only as good.
        """
        changes = Changes(
            without=(*without,), halve=(*halve,), free_at_once=(*free_at_once,), recompute=(*recompute,)
        )
        found = self._ask(
            "what_if()",
            lambda archived: what_if(
                archived, device, settings=[*settings], changes=changes, capacity_bytes=capacity_bytes
            ),
        )
        return table_of([*replays_of(found)], Replay, as_data(found))


class Heap(Snapshot):
    """Objects and references."""

    def types(
        self,
        order: TypeOrder = "retained",
        *,
        matching: str = "",
        search: str = "",
        since: float | None = None,
        until: float | None = None,
        top: int = MOST_ROWS,
    ) -> Table:
        """The types of the objects that match a filter, those that retain the most first, as ``memlens types``.

        ``search`` are words that names of types contain; ``since`` and ``until`` are seconds of a recording, between
        which objects were allocated.
        """

        def question(archived: Archived) -> Any:
            answer = types(
                archived, order, filter_=matching, search=search, since=since, until=until, top=top
            )
            self._check_matching(archived, matching, None)
            return answer

        answer = self._ask("types()", question, matching)
        return table_of(answer.types, TypeRow, as_data(answer))

    def paths(
        self,
        of: int | str,
        *,
        through: Collection[Strength] = RETAINING,
        without: Sequence[str] = (),
        top: int | None = None,
    ) -> Table:
        """Why objects are alive, as ``memlens paths``: the paths from roots to the object with the id ``of``, or merged
        those to all objects that match the filter ``of``.

        ``without`` leaves out what ``Type.name``, ``.name``, a type, or ``@id`` refer to, to see what else holds them.
        """
        if isinstance(of, int):
            found = self._ask(
                "paths()",
                lambda archived: paths_to_object(
                    archived,
                    number_of(archived, of),
                    top or 3,
                    through,
                    [parsed(archived, each) for each in without],
                ),
            )
            return table_of([*steps_of(found, values=self._values)], Step, self._shown(found))

        def question(archived: Archived) -> Any:
            left_out = [parsed(archived, each) for each in without]
            answer = paths_to_objects(archived, of, top or 40, through, left_out)
            self._check_matching(archived, of, None)
            return answer

        merged = self._ask("paths()", question, of)
        return table_of(merged.rows, PathBranch, self._shown(merged))

    def compare(
        self,
        other: "Snapshot",
        *,
        by: CompareBy | Literal["type"] = "type",
        at: Literal["peak", "end"] | None = None,
        value: str | None = None,
        device: int | None = None,
        other_device: int | None = None,
        inclusive: bool = False,
        any_code: bool = False,
        search: str = "",
        top: int = _MOST_LINES,
    ) -> Table:
        """How ``other``, which came after, differs from this one, as ``memlens compare``: by type, or for dumps with
        stacks by line, function, file or stack, of which :meth:`Snapshot.compare` says more.
        """
        if by != "type":
            return super().compare(
                other, by=by, at=at, value=value, device=device, other_device=other_device, inclusive=inclusive,
                any_code=any_code, search=search, top=top,
            )  # fmt: skip
        if at or value or inclusive or any_code or device is not None or other_device is not None:
            raise _only_whole()
        self._check_comparable(other)
        answer = self._ask(
            "compare()",
            lambda before: other._ask(
                "compare()", lambda after: compare_heaps(before, after, search, min(top, MOST_ROWS))
            ),
        )
        return table_of(answer.types, ComparedType, self._shown(answer))


def series(
    snapshots: Sequence[Snapshot],
    *,
    by: SeriesBy | Literal["type"] | None = None,
    at: Literal["peak", "end"] | None = None,
    value: str | None = None,
    device: int | None = None,
    inclusive: bool = False,
    any_code: bool = False,
    search: str = "",
    top: int = _MOST_LINES,
) -> Table:
    """What grew over several snapshots of one kind, the earliest first, as ``memlens compare`` of them: by line,
    function or file, and heap dumps by type.

    What never shrinks and has grown most comes first. ``bytes_1`` and so on are the figures in each snapshot; for types
    ``retained_bytes_1`` and ``count_1``. ``grows`` says that each is larger than the one before.
    """
    check_comparable(*(each.info for each in snapshots))
    if by == "type" or (by is None and all(isinstance(each, Heap) for each in snapshots)):
        if at or value or inclusive or any_code or device is not None:
            raise _only_whole()
        dumps = [each._ask("series()", side_of_series) for each in snapshots]
        of_types = series_of(dumps, search, min(top, MOST_ROWS))
        return series_of_types_table(of_types, as_data(of_types))
    attribution = _attribution(any_code=any_code)

    def side(archived: Archived) -> Compared:
        return compared_side(archived, at, device, value, attribution)

    sides = [each._ask("series()", side).side for each in snapshots]
    of_places = compared_in_a_row(
        sides, by or "line", _measure(inclusive=inclusive), search, min(top, MOST_ROWS)
    )
    return series_of_places_table(of_places, as_data(of_places))


def _only_whole() -> BadRequestError:
    return BadRequestError(
        phrase("Types of heap dumps are compared as a whole"),
        advice=phrase("Other arguments than search and top are for by='line' and the like."),
    )


def _measure(*, inclusive: bool) -> Measure:
    return "inclusive" if inclusive else "own"


def _attribution(*, any_code: bool) -> Attribution:
    return "any" if any_code else "mine"
