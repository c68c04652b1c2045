"""The archive of a snapshot's file, which is made if it is missing and made again if it is damaged."""

import contextlib
import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memlens.errors import FileError, naming, reason
from memlens.ingest import ingest
from memlens.model.own_libraries import Libraries
from memlens.packs import registry
from memlens.progress import Report
from memlens.store.files.cache import Cache
from memlens.store.manifest import CONTRADICTIONS, ArchiveError
from memlens.store.relabel import module_places
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase

T = TypeVar("T")


def answered(file: Path, cache: Cache, report: Report, answer: Callable[[Path], T]) -> T:
    """Answer from the file's archive, which is made if it is missing, and made again once if it is damaged."""
    archive = _found(file, cache)
    if archive is not None:
        try:
            return answer(archive)
        except (ArchiveError, *CONTRADICTIONS):
            # if they contradict each other again, that is a bug
            shutil.rmtree(archive, ignore_errors=True)
    return answer(_made(file, cache, report))


def asked(snapshot: Snapshot, question: Callable[[Snapshot], T]) -> T:
    """Answer a question from an open archive, whose files are verified before the answer is given out.

    The server verifies them in the background instead. What the answer put off is done, so that the next is faster.
    """
    answer = snapshot.ask(question)
    snapshot.verify_used()
    snapshot.ask(Snapshot.work_in_background)
    return answer


def make_archive_if_missing(file: Path, cache: Cache, report: Report) -> None:
    """Make the archive of a file unless there is one."""
    if _found(file, cache) is None:
        _made(file, cache, report)


def files_in_filter(text: str, file: Path) -> list[Path]:
    """The files that a filter names and that exist; the filter itself reports the missing ones.

    Relative names start from the folder of ``file``.
    """
    if "in:" not in text:
        return []
    # imported here, because few filters name files
    from memlens.views.heap.filters.filters import files_in
    from memlens.views.heap.objects.same_objects import file_named

    named = [file_named(value, file.resolve()) for value in files_in(text)]
    return [each for each in named if each.is_file()]


def with_classes(archive: Path, libraries: Libraries) -> Libraries:
    """Return the libraries with the classes of modules: sources are where the archive says, or below the current
    folder.
    """
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        modules, classes = snapshot.ask(module_places), registry.module_classes(snapshot.info.kind)
    if not modules or classes is None:
        return libraries
    # imported here, because few files have modules
    from memlens.sources.in_place import in_folder

    return libraries.with_classes(classes.classes_at(modules, lambda file: in_folder(file, Path.cwd())))


def _found(file: Path, cache: Cache) -> Path | None:
    try:
        return cache.find(file)
    except OSError as error:
        raise FileError(
            phrase("{file} can't be opened: {reason}", file=file, reason=reason(error)),
            advice=phrase("Give a file, or - to read what comes through a pipe to stdin.")
            if error.errno == errno.EINVAL
            else None,
        ) from error


def _made(file: Path, cache: Cache, report: Report) -> Path:
    with naming(file):
        archive = ingest(file, cache, report, findings=False)
    report("done", 1.0)
    return archive
