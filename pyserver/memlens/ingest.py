"""Turns a snapshot file into an archive: the work of the ``memlens ingest`` child process.

It reads the file, writes the archive, and then computes what views request first and would have to wait for: the first
picture of each device, and the findings of a large heap dump. Everything else is computed after the first answers.
"""

import logging
from contextlib import closing
from pathlib import Path

from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import ChangedFileError, FileError, open_source
from memlens.formats.tools import Tools
from memlens.model.graph import Graph
from memlens.model.timeline import Timeline
from memlens.progress import Report
from memlens.store.files.cache import Cache, check_place, making
from memlens.store.manifest import SourceFile
from memlens.store.writer import write_archive

logger = logging.getLogger(__name__)

# the start and end of each stage as fractions of the whole work, measured on a trace of two million events
_STAGES = {"unpacking": (0.0, 0.1), "reading": (0.1, 0.8), "matching": (0.8, 0.9), "writing": (0.9, 1.0)}

EXAMINED_FROM = 200_000
"""The number of objects from which on a heap dump's findings are computed here; smaller ones take a tenth of a second.
"""
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
) -> Path:
    """Make the archive of ``path`` in the cache, or at ``out``, and return its folder.

    ``report`` is called with a stage and the fraction of the whole work that is done. ``tools`` default to those of the
    environment. ``dump`` is the number of the heap dump to read in a file with several, from 0; the last by default.
    With ``ahead``, what views request first is computed as well. Raises :class:`memlens.errors.MemlensError`,
    MemoryError, and OSError if the archive can't be written; all partial files are removed then.
    """
    written = 1.0

    def overall(stage: str, fraction: float) -> None:
        start, end = _STAGES[stage]
        end = min(end, written)
        report(stage, start + (end - start) * min(max(fraction, 0.0), 1.0))

    try:
        source = SourceFile.of(path)
    except OSError as error:
        raise FileError(f"{path} can't be opened: {error.strerror}") from error
    if out is not None:
        out = out.absolute()
        check_place(out)
    archive = out if out is not None else cache.folder_for(path)
    with making(archive) as partial:
        with open_source(path, partial, overall) as opened:
            opened.tools = Tools.of_environment() if tools is None else tools
            opened.dump = dump
            try:
                model = read(opened, partial, overall)
            except MemlensError:
                opened.check()  # a file that is still being written looks damaged
                raise
            opened.check()
        if _changed(path, source):
            raise ChangedFileError(f"{path} was written while it was read")
        is_timeline = isinstance(model, Timeline)
        is_large = isinstance(model, Graph) and len(model.objects.type) >= EXAMINED_FROM
        written = _WRITTEN if ahead and is_large else 1.0
        write_archive(model, source, partial, overall)
        del model
    if ahead and is_timeline:
        _draw_first(archive)
    if ahead and is_large:
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
    """Compute a heap dump's findings with what these depend on, and for a large one what types retain.

    Raises ``ArchiveError``.
    """
    from memlens.store.models import graph_of
    from memlens.store.snapshot import Snapshot
    from memlens.views.findings.ahead import FINDINGS, parts
    from memlens.views.graph.reach import HELD_DISTANCES
    from memlens.views.graph.together import TOGETHER, WORKED_OUT_FROM

    with closing(Snapshot.open(archive)) as snapshot:
        try:
            if snapshot.graph_names.root is not None:
                HELD_DISTANCES.try_to_write(snapshot)
            questions = parts(snapshot, None)
            for number, question in enumerate(questions):
                report("examining", _WRITTEN + (1 - _WRITTEN) * number / len(questions))
                question(snapshot)
            FINDINGS.try_to_write(snapshot)
            if graph_of(snapshot.info).objects >= WORKED_OUT_FROM:
                TOGETHER.try_to_write(snapshot)
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
