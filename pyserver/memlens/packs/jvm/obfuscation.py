"""Names that R8 or ProGuard shortened in an app: the ``mapping.txt`` of its build says what they were.

Source of the format: "ProGuard Manual, ReTrace" and R8's ``doc/retrace.md``. A dump doesn't say which build it is from.
A file beside the dump (``mapping.txt``, or the dump's name with ``.mapping.txt``) is used as it is; else of those that
Gradle leaves in folders of sources the one that knows the most of the dump's classes.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct, field

from memlens.formats.redacted import MAPPING_NAME, mapping_beside
from memlens.model.distinct import distinct
from memlens.model.info import FileWarning
from memlens.packs.jvm.kernels import hprof_objects
from memlens.texts import phrase

_MOST_BYTES = 256 << 20
_MOST_FILES = 40
_MOST_LINE = 1 << 16
_BUILT = (
    f"build/outputs/mapping/*/{MAPPING_NAME}",
    f"*/build/outputs/mapping/*/{MAPPING_NAME}",
    MAPPING_NAME,
)
"""Where Gradle writes them, in the folder of a module."""

_CLASS = re.compile(r"^(?P<original>\S+) -> (?P<short>\S+):\s*$")
_MEMBER = re.compile(
    r"^\s+(?:(?P<first>\d{1,9}):(?P<last>\d{1,9}):)?\S+ (?P<original>[^\s(]+)(?P<arguments>\([^)]*\))?"
    r"(?::(?P<from>\d{1,9})(?::(?P<to>\d{1,9}))?)? -> (?P<short>\S+)\s*$"
)
_THREAD = re.compile(r'^# (?P<said>\{"id": ?"thread".*\})\s*$')
"""Names of threads in a dump that ``memlens redact`` wrote with other names."""
_FILE = re.compile(r'^\s*#\s*\{.*"id":"sourceFile".*"fileName":"(?P<name>[^"\\]+)"')


class _Thread(Struct):
    name: str
    renamed: str


class _Method(Struct):
    """A method, in lines ``first`` to ``last`` of the app, 0 for any; there ``start`` to ``end`` of its source."""

    first: int
    last: int
    name: str
    start: int
    end: int


class _Class(Struct):
    name: str
    file: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    methods: dict[str, list[_Method]] = field(default_factory=dict)


class Mapping:
    """The entries of one file for some classes, by their short names."""

    def __init__(
        self,
        path: Path | None = None,
        classes: dict[str, _Class] | None = None,
        threads: dict[str, str] | None = None,
    ) -> None:
        self.path = path
        self._classes = classes or {}
        self._threads = threads or {}

    def __len__(self) -> int:
        return len(self._classes)

    def class_name(self, name: str) -> str:
        """A class's name as in the source, also an array's."""
        own = name.rstrip("[]")
        found = self._classes.get(own)
        return name if found is None else found.name + name[len(own) :]

    def thread_name(self, name: str) -> str:
        """The name of a thread."""
        return self._threads.get(name.rstrip(), name)

    def field_name(self, class_name: str, name: str) -> str:
        """The name of a field of a class of the app."""
        found = self._classes.get(class_name)
        return name if found is None else found.fields.get(name, name)

    def frame(self, class_name: str, method: str, line: int) -> tuple[str, str, int]:
        """A frame's class, method and line: those of the innermost call that was inlined into the method."""
        found = self._classes.get(class_name)
        if found is None:
            return class_name, method, line
        known = found.methods.get(method, ())
        is_one = len({each.name for each in known}) == 1
        for each in known:
            # of a frame without a line it is clear where no other method was given that name
            if each.first <= line <= each.last or not each.last or (is_one and not line):
                owner, _, name = each.name.rpartition(".")
                moved = line
                if line and each.last and each.start:
                    moved = min(each.start + line - each.first, max(each.end, each.start))
                return owner or found.name, name, moved
        return found.name, method, line

    def files(self) -> dict[str, str]:
        """The source files of classes, by their names in the source, where the file has them."""
        return {each.name: each.file for each in self._classes.values() if each.file}

    def rename(self, objects: hprof_objects.Objects) -> None:
        """Give classes and fields of a dump the names of the source, before any of its references are read."""
        records, count = objects.records, objects.class_count
        names, first = np.empty(count, np.uint32), np.empty(count + 1, np.uint64)
        fields = np.empty(objects.field_count, np.uint32)
        objects.names_of_classes(names, first, fields)
        statics: list[tuple[int, int, int]] = []
        for row, number in enumerate(names.tolist()):
            name = records.text_at(number)
            found = self._classes.get(name)
            names[row] = records.named(self.class_name(name))
            if found is None or not found.fields:
                continue
            for place in range(int(first[row]), int(first[row + 1])):
                own = records.text_at(int(fields[place]))
                fields[place] = records.named(found.fields.get(own, own))
            statics += [
                (row, records.named(short), records.named(own)) for short, own in found.fields.items()
            ]
        rows = np.array(sorted(statics), np.uint32).reshape(-1, 3)
        objects.rename(names, fields, rows)

    def warnings(self) -> list[FileWarning]:
        """Where the names come from."""
        if self.path is None:
            return []
        said = phrase(
            "Shortened names of classes, fields and methods are restored from {path}.",
            path=str(self.path),
        )
        return [FileWarning("mapping-file", said)]


def mapping_of(objects: hprof_objects.Objects, dump: Path, folders: Sequence[Path]) -> Mapping:
    """The mapping of the build that a dump is of, an empty one if there is none."""
    return mapping_for(lambda: _class_names(objects), dump, folders)


def mapping_for(class_names: Callable[[], set[str]], dump: Path, folders: Sequence[Path]) -> Mapping:
    """Return the mapping for some classes, by their names in the dump."""
    beside, built = list(_beside(dump)), _built(folders)
    if not beside and not built:
        # of most dumps, whose classes needn't be read for that
        return Mapping()
    known = class_names()
    for path in beside:
        found = _read(path, known)
        if len(found):
            return found
    best = Mapping()
    for path in built:
        found = _read(path, known)
        if len(found) > len(best):
            best = found
    return best


def _class_names(objects: hprof_objects.Objects) -> set[str]:
    count = objects.class_count
    names = np.empty(count, np.uint32)
    objects.names_of_classes(names, np.empty(count + 1, np.uint64), np.empty(objects.field_count, np.uint32))
    return {objects.records.text_at(number).rstrip("[]") for number in distinct(names).tolist()}


def _beside(dump: Path) -> Iterator[Path]:
    for path in (mapping_beside(dump), dump.with_name(MAPPING_NAME)):
        if path.is_file():
            yield path


def _built(folders: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for folder in folders:
        for pattern in _BUILT:
            found += sorted(path for path in folder.glob(pattern) if path.is_file())
    return found[:_MOST_FILES]


def _read(path: Path, known: Collection[str]) -> Mapping:
    """Return a file's entries for the ``known`` classes with other names in the source; empty if it isn't a mapping."""
    classes: dict[str, _Class] = {}
    threads: dict[str, str] = {}
    here: _Class | None = None
    try:
        if path.stat().st_size > _MOST_BYTES:
            return Mapping()
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line[0].isspace():
                    is_comment = line[0] == "#"
                    head = None if is_comment else _CLASS.match(line)
                    if head is not None:
                        short = head["short"]
                        here = _Class(head["original"]) if short in known else None
                        if here is not None:
                            classes[short] = here
                    elif not is_comment:
                        return Mapping()
                    elif len(line) > _MOST_LINE:
                        continue
                    elif (said := _THREAD.match(line)) is not None:
                        _add_thread(threads, said["said"])
                    elif here is not None and (said := _FILE.match(line)) is not None:
                        here.file = said["name"]
                elif here is not None and len(line) <= _MOST_LINE:
                    _add_member(here, line)
    except OSError:
        return Mapping()
    changed = any(short != own.name for short, own in classes.items())
    return Mapping(path, classes, threads) if changed else Mapping()


def _add_thread(threads: dict[str, str], said: str) -> None:
    try:
        thread = msgspec.json.decode(said, type=_Thread)
    except msgspec.DecodeError:
        return
    threads[thread.renamed] = thread.name


def _add_member(here: _Class, line: str) -> None:
    if (said := _FILE.match(line)) is not None:
        here.file = said["name"]
        return
    found = _MEMBER.match(line)
    if found is None:
        return
    if found["arguments"] is None:
        here.fields[found["short"]] = found["original"]
        return
    start = int(found["from"] or found["first"] or 0)
    here.methods.setdefault(found["short"], []).append(
        _Method(
            int(found["first"] or 0),
            int(found["last"] or 0),
            found["original"],
            start,
            int(found["to"] or start),
        )
    )
