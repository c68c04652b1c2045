"""Names of frames, by number: what the nodes of a call tree are called.

A name is a number. Below the number of frames it is a frame, the first of all those that are merged with it; then comes
what stands for stacks without frames; then the packages, each of which stands for any of its frames.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.model.attribution import Attribution
from memlens.model.charging import passed_over, ranks
from memlens.model.frames import KIND_NAMES, NATIVE, NATIVE_CODE, SOURCE_NAMES, package_of
from memlens.model.info import Model
from memlens.store.frames import FrameRow
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.units import SOURCE_WORDS
from memlens.views.answers import FrameSource

Merge = Literal["function", "line"]
Place = tuple[str, int, str]
"""File, line and function."""
NameKind = Literal["user", "library", "native", "none"]

NO_STACK, BEFORE_TRACE = 0, 1
SPECIAL_NAMES = ("no stack recorded", "allocated before recording")
"""What stands for stacks without frames."""

ALL_LIBRARIES = "*"
_NO_KIND = 3


class FlameName(Struct, frozen=True):
    """What a box is called. ``line`` is 0 where several lines are merged, and for what has no place."""

    name: int
    function: str
    file: str
    line: int
    kind: NameKind
    package: str
    """Empty for the user's code."""
    is_package: bool
    """It stands for all of its package's frames that follow each other."""
    source: FrameSource = "recorded"
    """How the frame is known: those of a forward stack and of an FX trace called nothing."""

    @property
    def text(self) -> str:
        """The function, and in words how it is known where it isn't a recorded frame."""
        return f"{self.function}{SOURCE_WORDS[self.source]}"


class Words:
    """What frames are in words, by number; ``fetch`` gives some, or all for None."""

    def __init__(self, fetch: Callable[[Iterable[int] | None], Iterable[tuple[int, FrameRow]]]) -> None:
        self._fetch = fetch
        self._rows: dict[int, FrameRow] = {}
        self._whole = False

    def some(self, numbers: Iterable[int]) -> dict[int, FrameRow]:
        """At least these frames. Raises :class:`InconsistentError` where there is one that isn't."""
        if not self._whole:
            missing = [number for number in numbers if number not in self._rows]
            if missing:
                self._rows.update(self._fetch(missing))
            if not all(number in self._rows for number in missing):
                raise InconsistentError("A frame is missing")
        return self._rows

    def all(self) -> dict[int, FrameRow]:
        """All frames in the order of their numbers. Raises :class:`InconsistentError` when some are missing."""
        if not self._whole:
            rows = dict(sorted(self._fetch(None)))
            if list(rows) != list(range(len(rows))):
                raise InconsistentError("A frame is missing")
            self._rows, self._whole = rows, True
        return self._rows


class FrameNames:
    """The names of one snapshot's frames, as trees have them (:class:`memlens.views.flame.names.Names`).

    Made once for a snapshot, see :func:`frame_names`.
    """

    def __init__(
        self,
        rows: Iterable[tuple[int, FrameRow]],
        merged: Mapping[Merge, npt.NDArray[np.uint32]] | None = None,
        *,
        model: Model = "profile",
        sources: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """``rows`` are the frames by id, in any order. Raises :class:`InconsistentError` when some are missing.

        ``merged`` says which frames share whose name, where that isn't told by their words and sources. ``sources``
        say how each frame is known, as numbers of ``SOURCE_NAMES``; without them all are recorded.
        """
        given = list(rows)
        words = Words(lambda _: given)
        packages: dict[str, int] = {NATIVE_CODE: 0}
        kind = np.full(len(words.all()), _NO_KIND, np.uint8)
        package = np.zeros(len(kind), np.uint32)
        for number, (file, _, function, own) in words.all().items():
            kind[number] = own
            package[number] = packages.setdefault(package_of(file, function, own), len(packages))
        known = np.zeros(len(kind), np.uint8) if sources is None else sources
        self._fill(kind, package, list(packages), words, merged or {}, model, known)

    @classmethod
    def told(
        cls,
        kind: npt.NDArray[np.uint8],
        package: npt.NDArray[np.uint32],
        packages: list[str],
        words: Words,
        by_function: npt.NDArray[np.uint32],
        model: Model,
        sources: npt.NDArray[np.uint8],
    ) -> "FrameNames":
        """Of frames that were looked through before: ``packages`` are all names of ``package``.

        ``by_function`` is what :meth:`of_function` was then. Raises ValueError for what doesn't fit.
        """
        frames = len(kind)
        fits = packages[:1] == [NATIVE_CODE] and len(package) == len(by_function) == frames
        if not fits or (frames and int(kind.max()) >= _NO_KIND):
            raise ValueError("frames have unknown kinds")
        if frames and (int(package.max()) >= len(packages) or int(by_function.max()) >= frames):
            raise ValueError("frames have unknown packages or functions")
        found = cls.__new__(cls)
        found._fill(kind, package, packages, words, {"function": by_function}, model, sources)
        return found

    def _fill(
        self,
        kind: npt.NDArray[np.uint8],
        package: npt.NDArray[np.uint32],
        packages: list[str],
        words: Words,
        merged: Mapping[Merge, npt.NDArray[np.uint32]],
        model: Model,
        sources: npt.NDArray[np.uint8],
    ) -> None:
        self.words = words
        self.model = model
        self.frames = len(kind)
        self.kind = kind
        self.source = sources
        self.package = package
        self.packages = packages
        self.package_kind = np.full(len(packages), _NO_KIND, np.uint8)
        self.package_kind[0] = NATIVE
        self.package_kind[self.package] = self.kind
        self.count = self.frames + len(self.packages) + len(SPECIAL_NAMES)
        others = np.arange(self.frames, self.count, dtype=np.uint32)
        self._merged: dict[Merge, npt.NDArray[np.uint32]] = {
            merge: np.concatenate((numbers, others)) for merge, numbers in merged.items()
        }
        self._searched: list[str] = []
        """What each name is found by, in lower case; empty until something is searched for."""
        self.merge: Merge = "line"
        self._known: dict[Merge, dict[int, FlameName]] = {merge: {} for merge in get_args(Merge)}
        """Names that were asked for, in words: the next picture has most of them again."""
        self._passed: npt.NDArray[np.bool_] | None = None

    def special(self, which: int) -> int:
        """The name of :data:`NO_STACK` or :data:`BEFORE_TRACE`."""
        return self.frames + which

    def merged(self, merge: Merge) -> npt.NDArray[np.uint32]:
        """The name of each number: frames of one function (and line), known alike, share the first one's."""
        found = self._merged.get(merge)
        if found is None:
            firsts: dict[tuple[str, str, int, int], int] = {}
            found = np.arange(self.count, dtype=np.uint32)
            sources = self.source.tolist()
            for number, (file, line, function, _) in self.words.all().items():
                key = (file, function, line if merge == "line" else 0, sources[number])
                found[number] = firsts.setdefault(key, number)
            self._merged[merge] = found
        return found

    def of_function(self) -> npt.NDArray[np.uint32]:
        """The first frame of each frame's function."""
        return self.merged("function")[: self.frames]

    def collapsed(self, names: npt.NDArray[np.uint32], packages: Iterable[str]) -> npt.NDArray[np.uint32]:
        """``names`` with the frames of some packages called by the package's name."""
        wanted = set(packages)
        libraries = ALL_LIBRARIES in wanted
        chosen = np.fromiter(
            (bool(name) and (libraries or name in wanted) for name in self.packages), bool, len(self.packages)
        )
        named = np.arange(len(self.packages), dtype=np.uint32)
        if libraries:
            # where all of it is one box, its namespaces don't matter
            named[self.package_kind == NATIVE] = 0
        result = names.copy()
        first = np.uint32(self.packages_as_names().start)
        result[: self.frames] = np.where(
            chosen[self.package], named[self.package] + first, names[: self.frames]
        )
        return result

    def packages_as_names(self) -> slice:
        """The names that stand for packages."""
        return slice(self.frames + len(SPECIAL_NAMES), self.count)

    def kinds(self) -> npt.NDArray[np.uint8]:
        """Each name's kind: 0 user, 1 library, 2 native, 3 none."""
        specials = np.full(len(SPECIAL_NAMES), _NO_KIND, np.uint8)
        return np.concatenate((self.kind, specials, self.package_kind))

    def ranks(self, attribution: Attribution) -> npt.NDArray[np.uint8]:
        """In which order names are charged with the stacks that they stand in; see :mod:`memlens.model.attribution`."""
        if self._passed is None:
            rows = (self.words.all()[number] for number in range(self.frames))
            known = passed_over(((file, function, kind) for file, _, function, kind in rows), self.model)
            self._passed = np.concatenate((known, np.zeros(self.count - self.frames, np.bool_)))
        return ranks(self.kinds(), self._passed, attribution, self.model)

    def package_numbers(self) -> npt.NDArray[np.uint32]:
        """Each name's package, as a number below 65,536 that colours go by; those of no package have the last one."""
        specials = np.full(len(SPECIAL_NAMES), 0xFFFF, np.uint32)
        own = np.arange(len(self.packages), dtype=np.uint32)
        return np.minimum(np.concatenate((self.package, specials, own)), 0xFFFF).astype(np.uint32)

    def by(self, merge: Merge) -> "FrameNames":
        """The same in which frames of one function (and line) are called alike, as the nodes of trees are."""
        found = copy.copy(self)
        found.merge = merge
        return found

    def names(self, numbers: Sequence[int]) -> list[FlameName]:
        """Some names in words."""
        known = self._known[self.merge]
        missing = [number for number in numbers if number not in known]
        self._some(missing)
        for number in missing:
            known[number] = self._name(number)
        return [known[number] for number in numbers]

    def _name(self, number: int) -> FlameName:
        if number < self.frames:
            file, line, function, kind = self.words.some([number])[number]
            package = self.packages[int(self.package[number])]
            shown = line if self.merge == "line" else 0
            source = SOURCE_NAMES[self.source[number]]
            return FlameName(number, function, file, shown, KIND_NAMES[kind], package, False, source)
        which = number - self.special(0)
        if which < len(SPECIAL_NAMES):
            return FlameName(number, SPECIAL_NAMES[which], "", 0, "none", "", False)
        which -= len(SPECIAL_NAMES)
        package = self.packages[which]
        return FlameName(number, package, "", 0, KIND_NAMES[int(self.package_kind[which])], package, True)

    def places(self, numbers: Sequence[int]) -> list[Place | None]:
        """File, line and function of frames, whichever they are merged with; None for what is no frame."""
        rows = self._some(numbers)
        return [rows[number][:3] if number < self.frames else None for number in numbers]

    def _some(self, numbers: Sequence[int]) -> dict[int, FrameRow]:
        return self.words.some([number for number in numbers if number < self.frames])

    def matching(self, text: str) -> npt.NDArray[np.uint8]:
        """1 for the names that hold a text, whatever its case: in their function, file, line or package."""
        texts = self._searched
        if not texts:
            for _, (file, line, function, _) in sorted(self.words.all().items()):
                texts.append(f"{function}\n{file}:{line}".casefold())
            texts += [*SPECIAL_NAMES, *(package.casefold() for package in self.packages)]
        wanted = text.casefold()
        found = np.fromiter((wanted in each for each in texts), np.uint8, self.count)
        # merged frames are of one file and function, so a line alone tells them apart: any of theirs will do
        names = self.merged(self.merge)
        result = np.zeros(self.count, np.uint8)
        result[names[found != 0]] = 1
        return result


def frame_names(snapshot: Snapshot) -> FrameNames:
    """The names of a snapshot's frames, made when they are first asked for."""
    return snapshot.keep(
        "frame_names",
        lambda: FrameNames(
            words_of(snapshot).all().items(),
            model=snapshot.info.model,
            sources=snapshot.frames.source,
        ),
    )


def words_of(snapshot: Snapshot) -> Words:
    """The words of a snapshot's frames, read as they are asked for."""

    def fetch(numbers: Iterable[int] | None) -> Iterable[tuple[int, FrameRow]]:
        return (
            enumerate(snapshot.frames.all_rows())
            if numbers is None
            else snapshot.frames.rows(numbers).items()
        )

    return Words(fetch)
