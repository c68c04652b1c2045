"""Turns a snapshot file into an archive: the work of the ``memlens ingest`` child process.

It reads the file, writes the archive, and then draws each device's first picture, which views ask for first. All else
that is computed ahead is made after the first answers.
"""

import logging
from contextlib import closing
from pathlib import Path

from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import ChangedFileError, FileError, open_source
from memlens.formats.tools import Tools
from memlens.model.timeline import Timeline
from memlens.progress import Report
from memlens.store.cache import Cache, check_place, making
from memlens.store.manifest import SourceFile
from memlens.store.writer import write_archive

logger = logging.getLogger(__name__)

# the start and end of each stage as fractions of the whole work, measured on a trace of two million events
_STAGES = {"unpacking": (0.0, 0.1), "reading": (0.1, 0.8), "matching": (0.8, 0.9), "writing": (0.9, 1.0)}


def ingest(
    path: Path,
    cache: Cache,
    report: Report,
    out: Path | None = None,
    tools: Tools | None = None,
    dump: int | None = None,
    *,
    pictures: bool = True,
) -> Path:
    """Make the archive of ``path`` in the cache, or at ``out``, and return its folder.

    ``report`` gets ``(stage, fraction of the whole)``. Without ``tools`` they come from the environment. ``dump``
    chooses one of a file with several, from 0; the last one by default. ``pictures`` are drawn ahead. Raises
    :class:`memlens.errors.MemlensError`, MemoryError, and OSError if the archive can't be written; all partial files
    are removed then.
    """

    def overall(stage: str, fraction: float) -> None:
        start, end = _STAGES[stage]
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
        write_archive(model, source, partial, overall)
        del model
    if pictures and is_timeline:
        _draw_first(archive)
    if out is None:
        cache.evict(keep=archive)
    return archive


def _draw_first(archive: Path) -> None:
    """Make the first pictures; one that can't be written is left out. Raises ``ArchiveError``."""
    # other models need none of it, and small files of theirs are read sooner than it is imported
    from memlens.store.snapshot import Snapshot
    from memlens.views.trace.picture.viewport import pictures_of

    with closing(Snapshot.open(archive)) as snapshot:
        pictures = pictures_of(snapshot.info)
    for picture in pictures:
        # one after the other, so that the columns that one needs are let go before the next
        with closing(Snapshot.open(archive)) as snapshot:
            try:
                picture.try_to_write(snapshot)
            except MemlensError:
                raise
            except Exception:
                # a bug, reported to whoever asks for it; the archive is complete without it
                logger.exception("%s of %s is not computed ahead", picture.name, archive.name)


def _changed(path: Path, source: SourceFile) -> bool:
    """Whether the file has changed. A file that was deleted meanwhile counts as unchanged: it was read whole."""
    try:
        return SourceFile.of(path) != source
    except OSError:
        return False
