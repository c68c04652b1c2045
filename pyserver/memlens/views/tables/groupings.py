"""What allocations can be grouped by: a number for each allocation's group, and the groups' names."""

from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.kernels.trace.timeline import BEFORE_TRACE as BEFORE_FLAG
from memlens.model.attribution import Attribution
from memlens.model.frames import INFERRED, NATIVE
from memlens.model.timeline import NEVER, NO_CATEGORY
from memlens.store.frames import FrameRow
from memlens.store.models import devices_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.units import format_bytes
from memlens.views.answers import Frame
from memlens.views.naming.attribution import FILTER_FIELD, charged_frames
from memlens.views.naming.labels import detail_of, labels_of
from memlens.views.naming.modules import inferred_names, modules_of_stacks
from memlens.views.naming.operators import operators_of_stacks
from memlens.views.naming.pools import pool_name, pools_of
from memlens.views.selection.columns import frame
from memlens.views.selection.filters import Term

GroupKind = Literal[
    "line",
    "function",
    "file",
    "module",
    "stack",
    "category",
    "stream",
    "pool",
    "size",
    "package",
    "thread",
    "label",
]

OF_SAMPLES = ("package", "thread", "label")
"""What only samples of profiles can be grouped by; they in turn have no module, category, stream or pool."""

U32 = npt.NDArray[np.uint32]

ONLY_NATIVE = "only C++ frames"

_POWERS = 1 << np.arange(63, dtype=np.int64)

NO_STACK, BEFORE_TRACE, FIRST = 0, 1, 2
"""Groups of what has no stack; those told by the stack are numbered from FIRST on."""


class GroupName(Struct, frozen=True):
    """A group in words. ``place`` is the line to open; ``filter`` the term that finds its allocations, if one does."""

    name: str
    detail: str
    place: Frame | None
    filter: str


NameOf = Callable[[int], GroupName]


class Grouping(Struct, frozen=True):
    """Each row's group, how many numbers of groups there are, and what a number is called."""

    codes: U32
    groups: int
    name: NameOf


def grouping(
    snapshot: Snapshot, device: Device, rows: U32, kind: GroupKind, attribution: Attribution
) -> Grouping:
    """Group some rows of a device."""
    if kind in _BY_LABEL:
        labels = _labels(snapshot, kind, attribution)
        codes = _bare_told(device, rows, labels.codes_of(snapshot, device, rows))
        return Grouping(codes, len(labels.names), labels.name)
    if kind in _BY_STACK:
        stacks = snapshot.keep(
            f"groups by {kind}, {attribution}", lambda: _BY_STACK[kind](snapshot, attribution)
        )
        codes = _bare_told(device, rows, stacks.codes[device.stack[rows]])
        if kind == "module" and device.inferred_module is not None:
            inferred = device.inferred_module[rows]
            # they are the last groups, of which module 0 has none
            first = stacks.groups - len(snapshot.modules())
            codes = np.where(inferred == 0, codes, inferred + np.uint32(first)).astype(np.uint32)
        return Grouping(codes, stacks.groups, stacks.name)
    if kind in OF_SAMPLES:
        raise BadRequestError(f"Only samples of profiles can be grouped by {kind}")
    if kind == "size":
        # 0 for no bytes, else the number of the highest bit + 1
        codes = np.searchsorted(_POWERS, device.size[rows], "right").astype(np.uint32)
        return Grouping(codes, len(_POWERS) + 1, _size_class)
    if kind == "category":
        names = timeline_of(snapshot.info, "categories").categories
        return Grouping(device.category[rows].astype(np.uint32), 256, lambda code: _category(names, code))
    if kind == "stream":
        streams = snapshot.manifest.streams
        return Grouping(
            device.stream[rows].astype(np.uint32),
            len(streams),
            lambda code: _plain(f"Stream {streams[code]}", Term("stream", ":", (str(streams[code]),))),
        )
    return Grouping(
        pools_of(snapshot, device)[rows].astype(np.uint32),
        len(snapshot.manifest.pools),
        lambda code: _pool(snapshot, code),
    )


def _bare_told(device: Device, rows: U32, codes: U32) -> U32:
    """Tell what was allocated before recording from the rest that has no stack."""
    bare = codes == NO_STACK
    if bare.any():
        codes[bare & ((device.flags[rows] & BEFORE_FLAG) != 0)] = BEFORE_TRACE
    return codes


def _plain(name: str, term: Term | None, detail: str = "", place: Frame | None = None) -> GroupName:
    return GroupName(name, detail, place, "" if term is None else str(term))


def _size_class(code: int) -> GroupName:
    if code == 0:
        return _plain("0 B", Term("size", "=", ("0",)))
    low, high = 1 << (code - 1), 1 << code
    name = f"{format_bytes(low)} to {format_bytes(high)}"
    return GroupName(name, "", None, f"size>={low} size<{high}")


def _category(names: list[str], code: int) -> GroupName:
    if code == NO_CATEGORY or code >= len(names):
        return _plain("No category", Term("category", ":", ("none",)))
    return _plain(names[code], Term("category", ":", (f"={names[code]}",)))


def _pool(snapshot: Snapshot, code: int) -> GroupName:
    name = pool_name(snapshot, code)
    words = {"unknown": "Pool not in the file", "default": "Default pool"}.get(name, f"Private pool {name}")
    return _plain(words, Term("pool", ":", (name,)))


# ---- by the frame that is shown ----------------------------------------------------------------------------

_BARE = [
    GroupName("No stack in the file", "allocated while recording", None, "stack:0 -is:before"),
    GroupName("Allocated before recording", "no stack in the file", None, "stack:0 is:before"),
]

Key = tuple[str, ...]


class _Labels:
    """Groups by the frame that is shown for an allocation; what has native frames only is grouped by its operator.

    A frame has two groups, one of them of those allocations for which it is only inferred.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        key_of: Callable[[FrameRow], Key],
        name_of: Callable[[FrameRow, str], GroupName],
        attribution: Attribution,
    ) -> None:
        self.names = [*_BARE]
        self.attribution = attribution
        field = FILTER_FIELD[attribution]
        known: dict[Key, int] = {}
        frames = snapshot.frames.all_rows()
        self.of_frame = np.zeros(len(frames), np.uint32)
        self.native = np.zeros(len(frames), bool)
        # a line that is inferred for others is told apart from the line itself
        guesses = any(snapshot.device(info.device).inferred is not None for info in devices_of(snapshot.info))
        for number, told in enumerate(frames):
            native = told[3] == NATIVE
            key = ("native", told[2]) if native else key_of(told)
            if key not in known:
                known[key] = len(self.names)
                name = _native(told, field) if native else name_of(told, field)
                self.names += [_recorded(name) if guesses else name, _inferred(name)]
            self.of_frame[number] = known[key]
            self.native[number] = native
        operators, operator_names = snapshot.keep("operators", lambda: operators_of_stacks(snapshot))
        self.of_operator = np.where(
            operators == NEVER, np.uint32(NO_STACK), operators + np.uint32(len(self.names))
        )
        self.names += [
            GroupName(
                name, ONLY_NATIVE, None, f"{Term('operator', ':', (f'={name}',))} is:native -is:inferred"
            )
            for name in operator_names
        ]

    def name(self, code: int) -> GroupName:
        """What a group is called."""
        return self.names[code]

    def codes_of(self, snapshot: Snapshot, device: Device, rows: U32) -> U32:
        """Each row's group; NO_STACK where there is no frame."""
        labels, sources = labels_of(snapshot, device, rows, self.attribution)
        inferred = sources == INFERRED
        return self.codes(labels, inferred, device.stack[rows])

    def codes(self, labels: U32, inferred: npt.NDArray[np.bool_], stacks: U32) -> U32:
        """The groups of some frames on their stacks."""
        told = labels != NEVER
        codes = np.zeros(len(labels), np.uint32)
        codes[told] = self.of_frame[labels[told]] + inferred[told]
        native = told.copy()
        native[told] = self.native[labels[told]]
        if native.any():
            operators = self.of_operator[stacks]
            codes = np.where(native & (operators != NO_STACK), operators, codes).astype(np.uint32)
        return codes


def _recorded(name: GroupName) -> GroupName:
    return msgspec.structs.replace(name, filter=f"{name.filter} -is:inferred") if name.filter else name


def _inferred(name: GroupName) -> GroupName:
    """The same frame where it is not recorded but inferred."""
    place = None if name.place is None else msgspec.structs.replace(name.place, source="inferred")
    detail = f"{name.detail}, inferred" if name.detail else "inferred"
    return GroupName(name.name, detail, place, f"{name.filter} is:inferred")


def _line(row: FrameRow, field: str) -> GroupName:
    file, line, function, kind = row
    place = f"{file}:{line}"
    detail = detail_of(function, kind)
    return _plain(f"{_base(file)}:{line}", Term(field, ":", (f"={place}",)), detail, frame(row))


def _function(row: FrameRow, field: str) -> GroupName:
    file, _line, function, kind = row
    detail = detail_of(_base(file), kind)
    terms = f"{Term(field, ':', (f'={function}',))} {Term(field, ':', (f'={file}',))}"
    return GroupName(function, detail, frame(row), terms)


def _file(row: FrameRow, field: str) -> GroupName:
    file = row[0]
    folder = file.replace("\\", "/").rpartition("/")[0]
    return _plain(
        _base(file),
        Term(field, ":", (f"={file}",)),
        detail_of(folder, row[3]),
        msgspec.structs.replace(frame(row), line=1, function=""),
    )


def _native(row: FrameRow, field: str) -> GroupName:
    function = row[2]
    terms = f"{Term(field, ':', (f'={function}',))} operator:none is:native" if function else ""
    return GroupName(function or "C++", ONLY_NATIVE, None, terms)


def _base(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


_BY_LABEL: dict[str, tuple[Callable[[FrameRow], Key], Callable[[FrameRow, str], GroupName]]] = {
    "line": (lambda row: (row[0], str(row[1])), _line),
    "function": (lambda row: ("", row[0], row[2]), _function),
    "file": (lambda row: (row[0],), _file),
}


def _labels(snapshot: Snapshot, kind: str, attribution: Attribution) -> _Labels:
    return snapshot.keep(
        f"groups by {kind}, {attribution}", lambda: _Labels(snapshot, *_BY_LABEL[kind], attribution)
    )


# ---- by stack ----------------------------------------------------------------------------------------------


class _Groups(Struct, frozen=True):
    """Each stack's group, NO_STACK where there are no frames."""

    codes: U32
    groups: int
    name: NameOf


def _modules(snapshot: Snapshot, _: Attribution) -> _Groups:
    modules, names = snapshot.keep("modules", lambda: modules_of_stacks(snapshot))
    outside = len(names) + FIRST
    codes = np.where(modules == NEVER, np.uint32(outside), modules + np.uint32(FIRST)).astype(np.uint32)
    codes[snapshot.stacks.label == NEVER] = NO_STACK
    named = [_plain(name, Term("module", ":", (f"={name}",))) for name in names]
    bare = [msgspec.structs.replace(name, filter=f"{name.filter} module:none") for name in _BARE]
    guesses = [_plain(name, Term("module", ":", (f"={name}",))) for name in inferred_names(names)]
    every = [*bare, *named, GroupName("In no module", "", None, "module:none -stack:0"), *guesses]
    return _Groups(codes, len(every), every.__getitem__)


def _stacks(snapshot: Snapshot, attribution: Attribution) -> _Groups:
    lines = _labels(snapshot, "line", attribution)
    labels = charged_frames(snapshot, attribution)
    count = len(labels)
    of_lines = lines.codes(labels, np.zeros(count, bool), np.arange(count, dtype=np.uint32))
    codes = np.arange(FIRST, FIRST + count, dtype=np.uint32)
    codes[labels == NEVER] = NO_STACK

    def name(code: int) -> GroupName:
        if code < FIRST:
            return _BARE[code]
        stack = code - FIRST
        line = lines.names[int(of_lines[stack])]
        detail = f"{line.detail}, stack {stack}" if line.detail else f"stack {stack}"
        return GroupName(line.name, detail, line.place, str(Term("stack", ":", (str(stack),))))

    return _Groups(codes, FIRST + count, name)


_BY_STACK: dict[str, Callable[[Snapshot, Attribution], _Groups]] = {"module": _modules, "stack": _stacks}
