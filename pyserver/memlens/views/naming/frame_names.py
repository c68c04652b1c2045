"""Names of frames, by number: the names of the nodes of a call tree.

A number below the number of frames is a frame, the first of those that are merged with it; then follow the names of
stacks without frames; then the packages, each of which represents any of its frames.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, U32
from memlens.model.attribution import Attribution
from memlens.model.charging import passed_over, ranks
from memlens.model.frames import KIND_NAMES, NATIVE, NATIVE_CODE, SOURCE_NAMES, is_remark, package_of
from memlens.model.info import Model
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameColumns, FrameRow
from memlens.texts import Text, phrase
from memlens.units import SOURCE_WORDS
from memlens.views.answers import FrameSource

Merge = Literal["function", "line"]
Place = tuple[str, int, str]
"""File, line and function."""
NameKind = Literal["user", "library", "native", "none"]

NO_STACK, BEFORE_TRACE = 0, 1
SPECIAL_NAMES = (phrase("no stack recorded"), phrase("allocated before recording"))
"""The names of stacks without frames."""

ALL_LIBRARIES = "*"
_NO_KIND = 3


class FlameName(Struct, frozen=True):
    """The name of a box. ``line`` is 0 if several lines are merged, and for names without a source position."""

    name: int
    function: str
    file: str
    line: int
    kind: NameKind
    package: str
    """Empty for the user's code."""
    is_package: bool
    """Whether it represents consecutive frames of its package."""
    source: FrameSource = "recorded"
    """How the frame is known; frames of a forward stack or an FX trace are not calls."""
    said: Text | None = None
    """What Memlens calls it, if the name isn't the file's; ``function`` is that in English."""
    declared: str = ""
    """What a frame without a line stands for, a type or a field that source may declare; else empty."""

    @classmethod
    def own(cls, number: int, said: Text) -> "FlameName":
        """One of Memlens's own names, for what isn't a frame."""
        return cls(number, said.text, "", 0, "none", "", False, said=said)

    @property
    def text(self) -> str:
        """The function, with words on how it is known if it isn't a recorded frame."""
        # the lines of a function share one text, which may be long
        return self.function if self.source == "recorded" else f"{self.function}{SOURCE_WORDS[self.source]}"


class FrameNames:
    """The names of one snapshot's frames, for trees (:class:`memlens.views.flame.names.Names`).

    Made once for a snapshot, see :func:`frame_names`.
    """

    def __init__(
        self,
        frames: FrameColumns,
        merged: Mapping[Merge, U32] | None = None,
        *,
        model: Model = "profile",
        packages: tuple[U32, list[str]] | None = None,
        kind: str = "",
    ) -> None:
        """``merged`` has the frame that names each frame, if that isn't derived from texts and sources.

        ``packages`` are each frame's package, as a number, and their names, if these are known. ``kind`` is that of the
        file. Raises ValueError for inconsistent arguments.
        """
        self._frames = frames
        self.model = model
        self._kind_of_file = kind
        self.frames = len(frames)
        self.kind = frames.kind
        self.source = frames.source
        if self.frames and int(self.kind.max()) >= _NO_KIND:
            raise InconsistentError("frames have unknown kinds")
        self.package, self.packages = packages or _packages(frames)
        if self.packages[:1] != [NATIVE_CODE] or len(self.package) != self.frames:
            raise ValueError("the packages are not those of the frames")
        if self.frames and int(self.package.max()) >= len(self.packages):
            raise ValueError("frames have unknown packages")
        self.package_kind = np.full(len(self.packages), _NO_KIND, np.uint8)
        self.package_kind[0] = NATIVE
        self.package_kind[self.package] = self.kind
        self.count = self.frames + len(self.packages) + len(SPECIAL_NAMES)
        self._others = np.arange(self.frames, self.count, dtype=np.uint32)
        self._merged: dict[Merge, U32] = {}
        for merge, numbers in (merged or {}).items():
            if len(numbers) != self.frames or (self.frames and int(numbers.max()) >= self.frames):
                raise ValueError("frames are named by unknown ones")
            self._merged[merge] = np.concatenate((numbers, self._others))
        self._searched: list[str] = []
        """The searchable text of each name, in lower case; empty until the first search."""
        self.merge: Merge = "line"
        self._known: dict[Merge, dict[int, FlameName]] = {merge: {} for merge in get_args(Merge)}
        """The texts of names that were used, because the next picture has most of them again."""
        self._passed: U8 | None = None
        specials = len(SPECIAL_NAMES)
        self._kinds = np.concatenate((self.kind, np.full(specials, _NO_KIND, np.uint8), self.package_kind))
        numbers = np.arange(len(self.packages), dtype=np.uint32)
        of_names = np.concatenate((self.package, np.full(specials, 0xFFFF, np.uint32), numbers))
        self._package_numbers = np.minimum(of_names, 0xFFFF).astype(np.uint32)

    def special(self, which: int) -> int:
        """The name of :data:`NO_STACK` or :data:`BEFORE_TRACE`."""
        return self.frames + which

    def merged(self, merge: Merge) -> U32:
        """The name of each number: frames of one function (and line), known in the same way, share one."""
        numbers = self._merged.get(merge)
        if numbers is None:
            alike = self._frames.alike(by_line=merge == "line")
            numbers = self._merged[merge] = np.concatenate((alike, self._others))
        return numbers

    def of_function(self) -> U32:
        """The first frame of each frame's function."""
        return self.merged("function")[: self.frames]

    def collapsed(self, names: U32, packages: Iterable[str]) -> U32:
        """``names`` with the packages' names for the frames of some packages; remarks of readers are unchanged."""
        wanted = set(packages)
        libraries = ALL_LIBRARIES in wanted
        chosen = np.fromiter(
            (bool(name) and (libraries or name in wanted) for name in self.packages), bool, len(self.packages)
        )
        named = np.arange(len(self.packages), dtype=np.uint32)
        if libraries:
            # its namespaces don't matter if all of it is one box
            named[self.package_kind == NATIVE] = 0
        result = names.copy()
        first = np.uint32(self.packages_as_names().start)
        frames = self._frames
        remarks = (frames.file == 0) & (self.kind == NATIVE) & frames.in_function(is_remark)
        result[: self.frames] = np.where(
            chosen[self.package] & ~remarks, named[self.package] + first, names[: self.frames]
        )
        return result

    def packages_as_names(self) -> slice:
        """The names of packages."""
        return slice(self.frames + len(SPECIAL_NAMES), self.count)

    def kinds(self) -> U8:
        """Each name's kind: 0 user, 1 library, 2 native, 3 none."""
        return self._kinds

    def ranks(self, attribution: Attribution) -> U8:
        """The rank by which names are charged with stacks that contain them; see :mod:`memlens.model.attribution`."""
        if self._passed is None:
            distinct, places = self._frames.distinct()
            passed = passed_over(distinct, self.model)[places]
            self._passed = np.concatenate((passed, np.zeros(self.count - self.frames, np.uint8)))
        return ranks(self.kinds(), self._passed, attribution, self.model)

    def package_numbers(self) -> U32:
        """Each name's package, as a number below 65,536 that determines its colour; the last one is for no package."""
        return self._package_numbers

    def by(self, merge: Merge) -> "FrameNames":
        """The same names with frames of one function (and line) merged, as in the nodes of trees."""
        found = copy.copy(self)
        found.merge = merge
        return found

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        """Some names in words."""
        known = self._known[self.merge]
        missing = [number for number in numbers if number not in known]
        rows = self._rows(missing)
        for number in missing:
            known[number] = self._name(number, rows)
        return [known[number] for number in numbers]

    def _name(self, number: int, rows: Mapping[int, FrameRow]) -> FlameName:
        if number < self.frames:
            file, line, function, kind = rows[number]
            package = self.packages[int(self.package[number])]
            shown = line if self.merge == "line" else 0
            source = SOURCE_NAMES[self.source[number]]
            declared = declared_name(self._kind_of_file, rows[number])
            return FlameName(
                number, function, file, shown, KIND_NAMES[kind], package, False, source, declared=declared
            )
        which = number - self.special(0)
        if which < len(SPECIAL_NAMES):
            return FlameName.own(number, SPECIAL_NAMES[which])
        which -= len(SPECIAL_NAMES)
        package = self.packages[which]
        whose = KIND_NAMES[int(self.package_kind[which])]
        said = phrase("native code") if package == NATIVE_CODE else None
        return FlameName(number, package, "", 0, whose, package, True, said=said)

    def places(self, numbers: Sequence[int]) -> list[Place | None]:
        """File, line and function of frames, regardless of merging; None for names that aren't frames."""
        rows = self._rows(numbers)
        return [rows[number][:3] if number < self.frames else None for number in numbers]

    def _rows(self, numbers: Sequence[int]) -> dict[int, FrameRow]:
        return self._frames.rows(number for number in numbers if number < self.frames)

    def matching(self, text: str) -> U8:
        """1 for the names that contain a text, ignoring case, in their function, file, line or package."""
        if not self._searched:
            self._searched += [f"{row[2]}\n{row[0]}:{row[1]}".casefold() for row in self._frames.each()]
            self._searched += [str(name).casefold() for name in (*SPECIAL_NAMES, *self.packages)]
        wanted = text.casefold()
        matches = np.fromiter((wanted in each for each in self._searched), np.bool_, self.count)
        # merged frames have the same file and function and differ only in lines: any of them will do
        result = np.zeros(self.count, np.uint8)
        result[self.merged(self.merge)[matches]] = 1
        return result


def _packages(frames: FrameColumns) -> tuple[U32, list[str]]:
    """The package of each frame, as a number, and the names of the packages."""
    numbers: dict[str, int] = {NATIVE_CODE: 0}
    distinct, places = frames.distinct()
    known = [numbers.setdefault(package_of(*each), len(numbers)) for each in distinct]
    return np.array(known, np.uint32)[places], list(numbers)


def declared_name(kind: str, row: FrameRow) -> str:
    """The type or field that a frame without a line stands for in a file of ``kind``, "" for other frames."""
    file, line, function, whose = row
    known = registry.declarations_of(kind) if whose == NATIVE and file and line <= 0 else None
    if known is None or known.name_of_frame is None:
        return ""
    return known.name_of_frame.load()(function, file)


@kept
def frame_names(snapshot: Snapshot) -> FrameNames:
    """The names of a snapshot's frames, made on first use."""
    return FrameNames(snapshot.frames, model=snapshot.info.model, kind=snapshot.info.kind)
