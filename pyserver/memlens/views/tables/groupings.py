"""The ways to group allocations and samples: a number for each item's group, and the groups' names."""

import functools
from collections.abc import Callable
from typing import Literal, assert_never, get_args

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import U32, U64, Mask
from memlens.errors import BadRequestError
from memlens.model.attribution import Attribution
from memlens.model.distinct import distinct
from memlens.model.frames import LIBRARY, NATIVE, lacks_its_line, package_of
from memlens.model.info import GraphInfo, Model, ProfileInfo, TimelineInfo
from memlens.model.timeline import NEVER, NO_CATEGORY
from memlens.store.kept import kept
from memlens.store.models import devices_of, profile_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameColumns, FrameRow
from memlens.texts import Text, in_a_row, phrase
from memlens.units import format_bytes
from memlens.views.answers import Frame
from memlens.views.naming.attribution import FILTER_FIELD, charged_frames
from memlens.views.naming.frame_names import declared_name
from memlens.views.naming.modules import inferred_modules, inferred_names, merged, modules_of_stacks
from memlens.views.naming.places import charged_places, operator_names
from memlens.views.naming.pools import pool_name, pools_of
from memlens.views.selection.columns import device_of, frame
from memlens.views.selection.frees import stacks_that_freed
from memlens.views.selection.items import sizes_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import Meaning, ValuedStacks, taken
from memlens.views.selection.terms import quoted
from memlens.views.tables.calling import calling_frames
from memlens.views.tables.size_classes import CLASSES, classes_of, edges_of, filter_of

GroupKind = Literal[
    "line",
    "function",
    "file",
    "caller",
    "module",
    "stack",
    "freed",
    "category",
    "stream",
    "pool",
    "size",
    "package",
    "thread",
    "label",
]

_ONLY: dict[GroupKind, Model] = {
    "module": "timeline", "freed": "timeline", "category": "timeline", "stream": "timeline", "pool": "timeline",
    "package": "profile", "thread": "profile", "label": "profile",
}  # fmt: skip
"""Groupings that only one model has."""
KINDS: dict[Model, tuple[GroupKind, ...]] = {
    model: tuple(kind for kind in get_args(GroupKind) if _ONLY.get(kind, model) == model)
    for model in get_args(Model)
}
_ITEMS: dict[Model, Text] = {
    "timeline": phrase("The allocations of a trace"),
    "profile": phrase("The samples of a profile"),
    "graph": phrase("The objects of a heap dump"),
}


ONLY_NATIVE = phrase("only C++ frames")
LINE_UNKNOWN = phrase("line unknown")
YOUR_CODE = "Your code"
INFERRED = " (inferred)"
_THREAD_KEYS = ("thread", "thread_name", "thread name", "thread_id", "tid")

NO_STACK, BEFORE_TRACE, FIRST = 0, 1, 2
"""The groups of missing stacks; the others are numbered from FIRST on."""


NOTHING = Text("")


class GroupName(Struct, frozen=True):
    """A group's name. ``place`` is the line to open; ``filter`` are the terms that find its items, if possible."""

    name: Text
    detail: Text = NOTHING
    place: Frame | None = None
    filter: str = ""
    declared: str = ""
    """As in :class:`FlameName`."""


NameOf = Callable[[int], GroupName]


class Grouping(Struct, frozen=True):
    """Each item's group, the number of groups, and their names.

    If groups consist of whole stacks, ``codes`` are by stack (including missing ones), and ``of_inferred`` is by frame,
    for what is inferred to come from it; None if that stays with its stack. Of items, ``inferred`` are those that
    are in their group by an inferred line, None if there are none.
    """

    codes: U32
    groups: int
    name: NameOf
    of_inferred: U32 | None = None
    inferred: Mask | None = None


def goes_by_stack(snapshot: Snapshot, of: AllocationSet, kind: GroupKind) -> bool:
    """Whether all items of one stack, or of one inferred line, are in one group."""
    return kind in _BY_STACK and _inferred_modules(snapshot, of, kind) is None


def _inferred_modules(snapshot: Snapshot, of: AllocationSet, kind: GroupKind) -> U32 | None:
    """The modules that were inferred for single allocations, by row, if these are grouped by module."""
    return inferred_modules(snapshot, device_of(snapshot, of.device, of.filter)) if kind == "module" else None


@kept
def _by_stack(snapshot: Snapshot, kind: GroupKind, attribution: Attribution) -> Grouping:
    return _BY_STACK[kind](snapshot, attribution)


def check_kind(snapshot: Snapshot, kind: GroupKind) -> None:
    """Raises :class:`BadRequestError` if a snapshot's model can't be grouped like this."""
    model = snapshot.info.model
    if kind not in KINDS[model]:
        raise BadRequestError(
            phrase("{items} can't be grouped by {kind}", items=_ITEMS[model], kind=kind),
            advice=phrase("They can be grouped by {kinds}.", kinds=", ".join(KINDS[model])),
        )


def grouping(
    snapshot: Snapshot,
    of: AllocationSet,
    items: ValuedStacks[Meaning],
    kind: GroupKind,
    attribution: Attribution,
) -> Grouping:
    """Group items of a set, which must be single allocations or samples unless the grouping is by stack."""
    check_kind(snapshot, kind)
    if kind not in _BY_STACK:
        return _BY_ROW[kind](snapshot, of, items.rows)
    found = _by_stack(snapshot, kind, attribution)
    codes = found.codes[items.stacks]
    inferred = None
    if items.inferred is not None and found.of_inferred is not None:
        inferred = items.inferred != NEVER
        codes[inferred] = found.of_inferred[items.inferred[inferred]]
    modules = _inferred_modules(snapshot, of, kind)
    if modules is not None:
        # they are the last groups; module 0 has none
        inferred_module = taken(modules, items.rows)
        first = np.uint32(found.groups - len(merged(snapshot)[1]))
        codes = np.where(inferred_module == 0, codes, inferred_module + first).astype(np.uint32)
    return Grouping(codes, found.groups, found.name, inferred=inferred)


def _found_by(field: str, value: str) -> str:
    """The filter's term for a value, with ``=`` before it if a part of a text would match otherwise."""
    return f"{field}:{quoted(value)}"


# ---- by the place that a stack is charged to ---------------------------------------------------------------

Key = tuple[str, ...]
"""The one or two columns of frames in which a group's frames agree."""

NO_STACK_NAME = phrase("No stack")
NOT_RECORDED = phrase("not recorded")
ALLOCATED_BEFORE = phrase("allocated before recording")
NO_STACK_IN_FILE = phrase("No stack in the file")
_NOTHING = GroupName(NO_STACK_IN_FILE, filter="stack:0")


def _bare(snapshot: Snapshot) -> list[GroupName]:
    """The groups of missing stacks, by their numbers."""
    match snapshot.info:
        case TimelineInfo():
            return [
                GroupName(NO_STACK_NAME, NOT_RECORDED, filter="stack:0 -is:before"),
                GroupName(NO_STACK_NAME, ALLOCATED_BEFORE, filter="stack:0 is:before"),
            ]
        case ProfileInfo() | GraphInfo():
            return [_NOTHING, _NOTHING]
        case _:
            assert_never(snapshot.info)


def _by_place(
    key: Key, name_of: Callable[[FrameRow, str], GroupName]
) -> Callable[[Snapshot, Attribution], Grouping]:
    """Group by the charged frame; ``name`` makes a group's name from a frame and the filter's field that finds it.

    Frames that agree in the columns of ``key`` are one group, with what is only inferred to come from them. Stacks that
    have only C++ and name an operator are grouped by that.
    """

    def make(snapshot: Snapshot, attribution: Attribution) -> Grouping:
        field, bare = FILTER_FIELD[attribution], _bare(snapshot)
        native_key, native_name = _NATIVE[snapshot.info.model]
        guesses = any(snapshot.device(info.device).inferred is not None for info in devices_of(snapshot.info))
        of_frame, named_by = _alike(snapshot.frames, key, native_key)
        if "line" in key:
            named_by = _enclosing(snapshot, of_frame, named_by)
        operators, first_operator = operator_names(snapshot), FIRST + len(named_by)
        groups = first_operator + len(operators)
        of_frames = (of_frame + FIRST).astype(np.uint32)
        of_place = np.concatenate(
            (of_frames, (NO_STACK, BEFORE_TRACE), np.arange(first_operator, groups))
        ).astype(np.uint32)

        # pages of a table need the same names at each moment
        @functools.cache
        def name(group: int) -> GroupName:
            if group < FIRST:
                return bare[group]
            if group >= first_operator:
                return _operator(operators[group - first_operator])
            (row,) = snapshot.frames.rows([int(named_by[group - FIRST])]).values()
            if row[3] != NATIVE:
                return name_of(row, field)
            found = native_name(row, field)
            declared = declared_name(snapshot.info.kind, row)
            if declared:
                return msgspec.structs.replace(found, declared=declared)
            # what has only C++ may have an inferred line
            return _recorded(found) if guesses else found

        codes = of_place[charged_places(snapshot, attribution)]
        return Grouping(codes, groups, name, of_frames)

    return make


def _alike(
    frames: FrameColumns, key: Key, native_key: Key
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The group of each frame, numbered by first occurrence, and the first frame of each group.

    Texts are compared by their numbers, and none is read.
    """
    native = frames.kind == NATIVE
    _, alike = np.unique(
        np.where(native, _packed(frames, native_key), _packed(frames, key)), return_inverse=True
    )
    _, first, groups = np.unique(alike * 2 + native, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[groups], first[order]


def _enclosing(
    snapshot: Snapshot, groups: npt.NDArray[np.intp], named_by: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Name lines with frames of several functions by the first that isn't a part of another, where there is one.

    Python's ``<listcomp>`` and ``<lambda>`` are within a function that is often on the same line.
    """
    function = snapshot.frames.function
    several = distinct(groups[function != function[named_by[groups]]])
    if not len(several):
        return named_by
    members = np.flatnonzero(np.isin(groups, several))
    texts = snapshot.strings.some(distinct(function[members]))
    is_part = {number: text.startswith("<") and text.endswith(">") for number, text in texts.items()}
    whole = members[[not is_part[number] for number in function[members].tolist()]][::-1]
    found = named_by.copy()
    # of those of one group the first is written last
    found[groups[whole]] = whole
    return found


def _packed(frames: FrameColumns, key: Key) -> U64:
    """Combine one or two columns of 32 bits into one."""
    packed = np.zeros(len(frames), np.uint64)
    for name in key:
        column: U64 = getattr(frames, name).astype(np.uint64)
        packed = packed << np.uint64(32) | column
    return packed


def _operator(name: str) -> GroupName:
    terms = f"{_found_by('operator', f'={name}')} is:native -is:inferred"
    return GroupName(Text(name), ONLY_NATIVE, filter=terms)


def _recorded(name: GroupName) -> GroupName:
    return msgspec.structs.replace(name, filter=f"{name.filter} -is:inferred") if name.filter else name


def inferred_part(name: GroupName, part: int, whole: int, *, all_of_it: bool) -> GroupName:
    """A group of which a part is only inferred to belong there, or all: marked so, with its share of the bytes."""
    if all_of_it:
        place = None if name.place is None else msgspec.structs.replace(name.place, source="inferred")
        return GroupName(name.name, listed(name.detail, phrase("inferred")), place, name.filter)
    share = f"{100 * part / whole if whole else 0:.0f}%"
    mark = phrase("{share} inferred", share=share)
    return msgspec.structs.replace(name, detail=listed(name.detail, mark))


def detail_of(text: str, kind: int) -> Text:
    """The detail beside the name of a place, for instance that it is a library's."""
    return listed(Text(text), phrase("library")) if kind == LIBRARY else Text(text)


def perhaps_inferred(name: str) -> Text:
    """A name of the model or of an inference, which marks it."""
    if name.endswith(INFERRED):
        return phrase("{name} (inferred)", name=name.removesuffix(INFERRED))
    return Text(name)


def listed(*details: Text) -> Text:
    """Details beside a name, without those that are empty."""
    said = [each for each in details if each.text]
    return said[0] if len(said) == 1 else in_a_row(said, ", ")


def _line(row: FrameRow, field: str) -> GroupName:
    file, line, function, kind = row
    terms = _found_by(field, f"={file}:{line}")
    name = f"{_base(file)}:{line}"
    # formats that record no functions have the place instead
    return GroupName(Text(name), detail_of("" if function == name else function, kind), frame(row), terms)


def _function(row: FrameRow, field: str) -> GroupName:
    file, _, function, kind = row
    terms = f"{_found_by(field, f'={function}')} {_found_by(field, f'={file}')}"
    return GroupName(Text(function), detail_of(_base(file), kind), frame(row), terms)


def _file(row: FrameRow, field: str) -> GroupName:
    file, kind = row[0], row[3]
    folder = file.replace("\\", "/").rpartition("/")[0]
    return GroupName(
        Text(_base(file)), detail_of(folder, kind), frame((file, 1, "", kind)), _found_by(field, f"={file}")
    )


def _native_of_trace(row: FrameRow, field: str) -> GroupName:
    file, line, function, _ = row
    terms = f"{_found_by(field, f'={function}')} operator:none is:native" if function else ""
    if lacks_its_line(file, line):
        return GroupName(Text(function or "Python"), LINE_UNKNOWN, filter=terms)
    return GroupName(Text(function or "C++"), ONLY_NATIVE, filter=terms)


def _native_of_profile(row: FrameRow, field: str) -> GroupName:
    file, _, function, _ = row
    # a stack that "my code" charges to native code has nothing else
    only = " is:native" if field == "by" else ""
    terms = f"{_found_by(field, f'={function}')}{only}" if function else ""
    return GroupName(Text(function or "?"), Text(_base(file)) if file else NO_SOURCE, filter=terms)


NO_SOURCE = phrase("no source")
_NATIVE_BY_FILE: tuple[Key, Callable[[FrameRow, str], GroupName]] = (("file", "function"), _native_of_profile)
_NATIVE: dict[Model, tuple[Key, Callable[[FrameRow, str], GroupName]]] = {
    "timeline": (("function",), _native_of_trace),
    "profile": _NATIVE_BY_FILE,
    "graph": _NATIVE_BY_FILE,
}


def _base(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


_lines = _by_place(("file", "line"), _line)


def _stacks(snapshot: Snapshot, attribution: Attribution) -> Grouping:
    lines = _by_stack(snapshot, "line", attribution)
    known, bare = len(snapshot.stacks.node), _bare(snapshot)

    def name(stack: int) -> GroupName:
        if stack >= known:
            return bare[stack - known]
        line = lines.name(int(lines.codes[stack]))
        detail = listed(line.detail, phrase("stack {stack}", stack=str(stack)))
        return GroupName(line.name, detail, line.place, f"stack:{stack}")

    return Grouping(np.arange(len(lines.codes), dtype=np.uint32), len(lines.codes), name)


NO_CALLER = phrase("No caller")


def _callers(snapshot: Snapshot, attribution: Attribution) -> Grouping:
    """Group by the line that called the charged one."""
    bare, native_key = _bare(snapshot), _NATIVE[snapshot.info.model][0]
    native_name = _NATIVE[snapshot.info.model][1]
    of_frame, named_by = _alike(snapshot.frames, ("file", "line"), native_key)
    named_by = _enclosing(snapshot, of_frame, named_by)
    callers, none = calling_frames(snapshot, attribution), FIRST + len(named_by)
    codes = np.full(len(callers), none, np.uint32)
    codes[callers != NEVER] = of_frame[callers[callers != NEVER]] + FIRST
    codes[charged_frames(snapshot, attribution) == NEVER] = NO_STACK

    @functools.cache
    def name(group: int) -> GroupName:
        if group < FIRST:
            return bare[group]
        if group == none:
            return GroupName(NO_CALLER, phrase("the stack begins there"))
        (row,) = snapshot.frames.rows([int(named_by[group - FIRST])]).values()
        found = native_name(row, "by") if row[3] == NATIVE else _line(row, "by")
        # no term finds what a line called
        return msgspec.structs.replace(found, filter="", declared=declared_name(snapshot.info.kind, row))

    return Grouping(np.concatenate((codes, (NO_STACK, BEFORE_TRACE))).astype(np.uint32), none + 1, name)


def _modules(snapshot: Snapshot, _: Attribution) -> Grouping:
    modules, names = modules_of_stacks(snapshot)
    outside = len(names) + FIRST
    codes = np.where(modules == NEVER, np.uint32(outside), modules + np.uint32(FIRST))
    bare = [msgspec.structs.replace(name, filter=f"{name.filter} module:none") for name in _bare(snapshot)]
    named, inferred = (
        [GroupName(perhaps_inferred(name), filter=_found_by("module", f"={name}")) for name in each]
        for each in (names, inferred_names(names))
    )
    every = [*bare, *named, GroupName(phrase("In no module"), filter="module:none -stack:0"), *inferred]
    codes = np.concatenate((codes, (NO_STACK, BEFORE_TRACE))).astype(np.uint32)
    return Grouping(codes, len(every), every.__getitem__)


def _packages(snapshot: Snapshot, _: Attribution) -> Grouping:
    """Group by the package of the innermost frame, which is the code that requested the memory."""
    functions, of_frame = snapshot.frames.distinct()
    numbers: dict[str, int] = {"": 0}
    packages = [numbers.setdefault(package_of(*each) or YOUR_CODE, len(numbers)) for each in functions]
    of_place = np.zeros(len(of_frame) + FIRST, np.uint32)
    of_place[: len(of_frame)] = np.array(packages, np.uint32)[of_frame]
    names = [_NOTHING, *(GroupName(_package(name)) for name in list(numbers)[1:])]
    return Grouping(of_place[charged_places(snapshot, "any")], len(names), names.__getitem__)


def _package(name: str) -> Text:
    return phrase("Your code") if name == YOUR_CODE else Text(name)


_BY_STACK: dict[GroupKind, Callable[[Snapshot, Attribution], Grouping]] = {
    "line": _lines,
    "function": _by_place(("file", "function"), _function),
    "file": _by_place(("file",), _file),
    "stack": _stacks,
    "caller": _callers,
    "module": _modules,
    "package": _packages,
}


# ---- by what single allocations or samples have --------------------------------------------------------------


_UNKNOWN_SIZE = phrase("Size not in the file")
_WITHOUT_SIZE: dict[Model, Text] = {"timeline": Text("0 B"), "profile": _UNKNOWN_SIZE, "graph": _UNKNOWN_SIZE}
"""The name of the class of size 0."""


def _sizes(snapshot: Snapshot, of: AllocationSet, rows: U32) -> Grouping:
    sizes = sizes_of(snapshot, of)
    if sizes is None:
        raise BadRequestError(phrase("The profile has no block sizes"))
    nothing = _WITHOUT_SIZE[snapshot.info.model]

    def name(code: int) -> GroupName:
        low, high = edges_of(code)
        words = phrase("{low} to {high}", low=format_bytes(low), high=format_bytes(high))
        return GroupName(words if code else nothing, filter=filter_of(code))

    return Grouping(classes_of(taken(sizes, rows)), CLASSES, name)


_FREED_UNKNOWN = phrase("Freed by no recorded line")
_NEVER_FREED = phrase("Never freed")


def _freed(snapshot: Snapshot, of: AllocationSet, rows: U32) -> Grouping:
    """Group by the line that freed an allocation."""
    device = device_of(snapshot, of.device, of.filter)
    stacks = taken(stacks_that_freed(snapshot, device), rows)
    lines = _by_stack(snapshot, "line", "mine")
    # the two groups of missing stacks: the second is for what nothing freed
    codes = np.where(stacks == 0, taken(device.end, rows) == NEVER, lines.codes[stacks]).astype(np.uint32)

    def name(code: int) -> GroupName:
        if code < FIRST:
            never = code == BEFORE_TRACE
            return GroupName(
                _NEVER_FREED if never else _FREED_UNKNOWN, filter="is:live" if never else "freed-by:none"
            )
        found = lines.name(code)
        place = found.place
        terms = "" if place is None else _found_by("freed-by", f"={place.file}:{place.line}")
        return msgspec.structs.replace(found, filter=terms)

    return Grouping(codes, lines.groups, name)


NO_CATEGORY_NAME = phrase("No category")


def _categories(snapshot: Snapshot, of: AllocationSet, rows: U32) -> Grouping:
    names = timeline_of(snapshot.info, "categories").categories

    def name(code: int) -> GroupName:
        if code == NO_CATEGORY or code >= len(names):
            return GroupName(NO_CATEGORY_NAME, filter="category:none")
        return GroupName(Text(names[code]), filter=_found_by("category", f"={names[code]}"))

    codes = taken(device_of(snapshot, of.device, of.filter).category, rows)
    return Grouping(codes.astype(np.uint32), 256, name)


def _streams(snapshot: Snapshot, of: AllocationSet, rows: U32) -> Grouping:
    streams = snapshot.manifest.streams
    codes = taken(device_of(snapshot, of.device, of.filter).stream, rows)
    return Grouping(
        codes.astype(np.uint32),
        len(streams),
        lambda code: GroupName(
            phrase("Stream {stream}", stream=str(streams[code])),
            filter=_found_by("stream", str(streams[code])),
        ),
    )


def _pools(snapshot: Snapshot, of: AllocationSet, rows: U32) -> Grouping:
    def name(code: int) -> GroupName:
        pool = pool_name(snapshot, code)
        match pool:
            case "unknown":
                words = phrase("Pool not in the file")
            case "default":
                words = phrase("Default pool")
            case _:
                words = phrase("Private pool {pool}", pool=pool)
        return GroupName(words, filter=_found_by("pool", pool))

    codes = taken(pools_of(snapshot, device_of(snapshot, of.device, of.filter)), rows)
    return Grouping(codes.astype(np.uint32), len(snapshot.manifest.pools), name)


Labels = Literal["thread", "label"]
_WITHOUT_LABELS: dict[Labels, Text] = {"thread": phrase("No thread in the file"), "label": phrase("No label")}


def _labelled(which: Labels) -> Callable[[Snapshot, AllocationSet, U32], Grouping]:
    """Group by the combined texts of some labels: "request: 7, user: me"."""

    def make(snapshot: Snapshot, _: AllocationSet, rows: U32) -> Grouping:
        found = _of_labels(snapshot, which)
        return msgspec.structs.replace(found, codes=found.codes[rows])

    return make


def _is_wanted(which: Labels, key: str) -> bool:
    return key.casefold() in _THREAD_KEYS if which == "thread" else key != "bytes"


@kept
def _of_labels(snapshot: Snapshot, which: Labels) -> Grouping:
    """Every sample's group."""
    labels = snapshot.samples.labels
    strings = snapshot.strings.some(np.concatenate([labels[field] for field in ("key", "text", "unit")]))
    keys = [key for key in distinct(labels["key"]).tolist() if _is_wanted(which, strings[key])]
    labels = labels[np.isin(labels["key"], keys)]
    kinds, kind = np.unique(labels[["key", "text", "number", "unit"]], return_inverse=True)
    texts, terms = [], []
    for key, text, number, unit in kinds.tolist():
        value = strings[text] if text else f"{number:,} {strings[unit]}".strip()
        texts.append(f"{strings[key]}: {value}" if len(keys) > 1 else value)
        exact = strings[text] if text else str(number)
        terms.append(_found_by("label", f"={strings[key]}:{exact}"))
    names: dict[tuple[int, ...], int] = {(): 0}
    codes = np.zeros(profile_of(snapshot.info).samples, np.uint32)
    of_sample: dict[int, list[int]] = {}
    for sample, number in zip(labels["sample"].tolist(), kind.tolist(), strict=True):
        of_sample.setdefault(sample, []).append(number)
    for sample, numbers in of_sample.items():
        codes[sample] = names.setdefault(tuple(sorted(set(numbers))), len(names))
    groups = list(names)

    def name(code: int) -> GroupName:
        if code == 0:
            return GroupName(_WITHOUT_LABELS[which])
        numbers = groups[code]
        return GroupName(
            Text(", ".join(texts[n] for n in numbers)), filter=" ".join(terms[n] for n in numbers)
        )

    return Grouping(codes, len(groups), name)


_BY_ROW: dict[GroupKind, Callable[[Snapshot, AllocationSet, U32], Grouping]] = {
    "size": _sizes,
    "freed": _freed,
    "category": _categories,
    "stream": _streams,
    "pool": _pools,
    "thread": _labelled("thread"),
    "label": _labelled("label"),
}
