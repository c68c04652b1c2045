"""Commands' access to a snapshot's archive."""

import argparse
import contextlib
import errno
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memlens.cli.cache import cache_of
from memlens.cli.failures import named, naming
from memlens.cli.progress import reporter
from memlens.cli.written import files_in_filter, filter_of
from memlens.errors import FileError, MemlensError, reason
from memlens.ingest import ingest
from memlens.model.own_libraries import Libraries
from memlens.packs import registry
from memlens.store.files.cache import Cache
from memlens.store.manifest import CONTRADICTIONS, ArchiveError
from memlens.store.models import LackingError, devices_of, timeline_of
from memlens.store.relabel import module_places, open_with
from memlens.store.snapshot import Snapshot
from memlens.texts import as_text, phrase

T = TypeVar("T")


def ask(options: argparse.Namespace, question: Callable[[Snapshot], T], path: Path | None = None) -> T:
    """Answer a question from the file's archive, which is made if it is missing and made again once if it is damaged.

    ``path`` is the file, for commands with more than one. Raises :class:`memlens.errors.MemlensError`, which names
    the file.
    """
    file: Path = options.file if path is None else path
    try:
        return _ask(options, question, file)
    except LackingError as error:
        raise named(error.to(as_text(f"memlens {options.command}")), file) from None
    except MemlensError as error:
        named(error, file)
        raise


def _ask(options: argparse.Namespace, question: Callable[[Snapshot], T], file: Path) -> T:
    cache = cache_of(options)
    for other in files_in_filter(options, file):
        if cache.find(other) is None:
            _read(other, cache)
    try:
        archive = cache.find(file)
    except OSError as error:
        raise FileError(
            phrase("{file} can't be opened: {reason}", file=file, reason=reason(error)),
            advice=phrase("Give a file, or - to read what comes through a pipe to stdin.")
            if error.errno == errno.EINVAL
            else None,
        ) from error
    if archive is not None:
        try:
            return _answer(archive, options, question)
        except (ArchiveError, *CONTRADICTIONS):
            # if they contradict each other again, that is a bug
            shutil.rmtree(archive, ignore_errors=True)
    return _answer(_read(file, cache), options, question)


def _read(file: Path, cache: Cache) -> Path:
    """Make the archive of a file."""
    report = reporter("auto")
    with naming(file):
        archive = ingest(file, cache, report, findings=False)
    report("done", 1.0)
    return archive


def libraries_of(options: argparse.Namespace) -> Libraries:
    """Return the patterns of library code from the arguments."""
    return Libraries(options.libraries or ())


def libraries_for(archive: Path, options: argparse.Namespace) -> Libraries:
    """Return them with the classes of modules: sources are where the archive says, or below the current folder."""
    libraries = libraries_of(options)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        asked, known = snapshot.ask(module_places), registry.module_classes(snapshot.info.kind)
    if not asked or known is None:
        return libraries
    # imported here, because few files have modules
    from memlens.sources.in_place import in_folder

    return libraries.with_classes(known.classes_at(asked, lambda file: in_folder(file, Path.cwd())))


def _answer(archive: Path, options: argparse.Namespace, question: Callable[[Snapshot], T]) -> T:
    with contextlib.closing(open_with(archive, libraries_for(archive, options))) as snapshot:
        if getattr(options, "device", None) is not None:
            timeline_of(snapshot.info, "devices", as_text("--device"))
        answer = snapshot.ask(question)
        snapshot.ask(lambda opened: check_filter(opened, options))
        # verified now, since the process ends before a verification in the background would
        snapshot.verify_used()
        snapshot.ask(Snapshot.work_in_background)
        return answer


def check_filter(snapshot: Snapshot, options: argparse.Namespace) -> None:
    """Raise :class:`memlens.errors.BadRequestError` if the filter matches nothing, with what would match.

    Of two files that are compared, one may have what the other lacks.
    """
    text = filter_of(options)
    if not text.strip() or getattr(options, "diff", None) is not None:
        return
    # imported here, because few commands have a filter
    from memlens.views.heap.filters.unmatched import check_filter as check

    if not devices_of(snapshot.info):
        check(snapshot, text)
        return
    trace = timeline_of(snapshot.info, "devices")
    device = trace.default_device if options.device is None else options.device
    # only `lines` adds devices up
    check(snapshot, text, [] if options.device is None and options.command == "lines" else [device])
