"""Turns a snapshot file into an archive: the work of the ``memlens ingest`` child process.

It reads the file, writes the archive, and then computes what views request first and would have to wait for: the first
picture of each device. The findings of a large heap dump are made here only if nobody waits for the archive, as on the
command line; the server runs ``memlens examine`` for them. Everything else is computed after the first answers.
"""

import logging
from contextlib import closing
from pathlib import Path

from memlens.errors import FileError, MemlensError, reason
from memlens.formats import read
from memlens.formats.containers import ChangedFileError, open_source
from memlens.formats.tools import Tools
from memlens.limits import return_memory
from memlens.model.graph import EXAMINED_FROM, Graph
from memlens.model.timeline import Timeline
from memlens.progress import Report
from memlens.store.files.cache import Cache, check_place, making
from memlens.store.files.cache_folder import CHOOSE_FOLDER
from memlens.store.files.edition import write_edition
from memlens.store.files.output import Output
from memlens.store.files.searched import write_searched
from memlens.store.manifest import SourceFile
from memlens.store.writer import write_archive
from memlens.texts import phrase

logger = logging.getLogger(__name__)

# the start and end of each stage as fractions of the whole work, measured on a trace of two million events
_STAGES = {"unpacking": (0.0, 0.1), "reading": (0.1, 0.8), "matching": (0.8, 0.9), "writing": (0.9, 1.0)}

_OTHER_OUT = phrase("Choose another folder for --out, or leave it out to use the cache.")

_WRITTEN = 0.93
"""The fraction of the whole work at which such a dump has been written."""


def ingest(
    path: Path,
    cache: Cache,
    report: Report,
    out: Path | None = None,
    tools: Tools | None = None,
    dump: int | None = None,
    *,
    ahead: bool = True,
    findings: bool = True,
    force: bool = False,
) -> Path:
    """Make the archive of ``path`` in the cache, or at ``out``, and return its folder.

    ``report`` is called with a stage and the fraction of the whole work that is done. ``tools`` default to the
    cache's. ``dump`` is the number of the heap dump to read in a file with several, from 0; the last by default.
    An archive of something else at ``out`` is replaced only by ``force``. With ``ahead``, what views request first is
    computed as well, of heap dumps only with ``findings``.

    Raises :class:`memlens.errors.MemlensError`, MemoryError, and OSError if the archive can't be written; all partial
    files are removed then.
    """
    written = 1.0

    def overall(stage: str, fraction: float) -> None:
        start, end = _STAGES[stage]
        end = min(end, written)
        report(stage, start + (end - start) * min(max(fraction, 0.0), 1.0))

    try:
        source = SourceFile.of(path)
    except OSError as error:
        raise FileError(
            phrase("{path} can't be opened: {reason}", path=path, reason=reason(error))
        ) from error
    if out is not None:
        out = out.absolute()
        check_place(out)
        Output(out, (path,), force).check_folder()
    archive = out if out is not None else cache.folder_for(path)
    with making(archive, CHOOSE_FOLDER if out is None else _OTHER_OUT) as partial:
        with open_source(path, partial, overall) as opened:
            opened.tools = cache.tools if tools is None else tools
            opened.dump = dump
            try:
                model = read(opened, partial, overall)
            except MemlensError:
                opened.check()  # a file that is still being written looks damaged
                raise
            opened.check()
        if _changed(path, source):
            raise ChangedFileError(phrase("{path} was written while it was read", path=path))
        is_timeline = isinstance(model, Timeline)
        is_large = isinstance(model, Graph) and len(model.objects.type) >= EXAMINED_FROM
        is_examined = ahead and findings and is_large
        written = _WRITTEN if is_examined else 1.0
        write_archive(model, source, partial, overall)
        if opened.searched is not None:
            write_searched(partial, opened.searched)
        write_edition(partial, model.kind)
        del model
    if ahead and is_timeline:
        _draw_first(archive)
    if is_examined:
        # what was the model's would count beside the archive's columns
        return_memory()
        _examine(archive, report)
    if out is None:
        cache.evict(keep=archive)
    return archive


def _draw_first(archive: Path) -> None:
    """Draw the first picture of each device, except for those that can't be written. Raises ``ArchiveError``."""
    # imported only for traces: small files of other models take less time to read than these imports
    from memlens.store.snapshot import Snapshot
    from memlens.views.trace.picture.viewport import pictures_of

    with closing(Snapshot.open(archive)) as snapshot:
        pictures = pictures_of(snapshot.info)
    for picture in pictures:
        # opened for each picture anew, which frees the columns that the last one needed
        with closing(Snapshot.open(archive)) as snapshot:
            try:
                picture.try_to_write(snapshot)
            except MemlensError:
                raise
            except Exception:
                # a bug, which is reported when the picture is requested; the archive is complete without it
                logger.exception("%s of %s is not computed ahead", picture.name, archive.name)


def _examine(archive: Path, report: Report) -> None:
    """Examine a heap dump. Raises ``ArchiveError``."""
    from memlens.store.snapshot import Snapshot
    from memlens.views.examining import examine

    def overall(stage: str, fraction: float) -> None:
        report(stage, _WRITTEN + (1 - _WRITTEN) * fraction)

    with closing(Snapshot.open(archive)) as snapshot:
        try:
            examine(snapshot, overall)
        except MemlensError:
            raise
        except Exception:
            # a bug, which is reported when the findings are requested; the archive is complete without them
            logger.exception("the findings of %s are not made ahead", archive.name)


def _changed(path: Path, source: SourceFile) -> bool:
    """Return whether the file has changed. A file deleted meanwhile counts as unchanged, since it was read whole."""
    try:
        return SourceFile.of(path) != source
    except OSError:
        return False
