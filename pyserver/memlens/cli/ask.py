"""Commands' access to a snapshot's archive."""

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memlens.api.archives import answered, asked, files_in_filter, make_archive_if_missing, with_classes
from memlens.cli.cache import cache_of
from memlens.cli.output_file import filter_of
from memlens.cli.progress import reporter
from memlens.errors import MemlensError, named
from memlens.model.own_libraries import Libraries
from memlens.store.models import LackingError, devices_of, timeline_of
from memlens.store.relabel import open_with
from memlens.store.snapshot import Snapshot
from memlens.texts import as_text

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
    cache, report = cache_of(options), reporter("auto")
    for other in files_in_filter(filter_of(options), file):
        make_archive_if_missing(other, cache, report)
    return answered(file, cache, report, lambda archive: _answer(archive, options, question))


def libraries_of(options: argparse.Namespace) -> Libraries:
    """Return the patterns of library code from the arguments."""
    return Libraries(options.libraries or ())


def libraries_for(archive: Path, options: argparse.Namespace) -> Libraries:
    """Return them with the classes of an archive's modules."""
    return with_classes(archive, libraries_of(options))


def _answer(archive: Path, options: argparse.Namespace, question: Callable[[Snapshot], T]) -> T:
    def checked(snapshot: Snapshot) -> T:
        answer = question(snapshot)
        check_filter(snapshot, options)
        return answer

    with contextlib.closing(open_with(archive, libraries_for(archive, options))) as snapshot:
        if getattr(options, "device", None) is not None:
            timeline_of(snapshot.info, "devices", as_text("--device"))
        return asked(snapshot, checked)


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
