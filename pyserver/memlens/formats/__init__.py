"""Recognises a file by its content, and hands it to the reader of its pack."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from memlens import limits
from memlens.errors import MemlensError
from memlens.formats import json_files, other_files
from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError, PackError
from memlens.model.graph import Graph
from memlens.model.profile import Profile
from memlens.model.timeline import Timeline
from memlens.packs import registry
from memlens.packs.api import Format
from memlens.progress import Report
from memlens.texts import in_a_row, phrase

logger = logging.getLogger(__name__)


class Reader(Protocol):
    """The interface of a format's module."""

    def sniff(self, head: bytes) -> bool:
        """Whether the first bytes of a file may be of this format."""

    def read(self, source: Source, scratch: Path, report: Report) -> Timeline | Profile | Graph:
        """Return a model; ``report`` gets ``("reading", fraction)``, and temporary files go into ``scratch``.

        Raises :class:`NotASnapshotError`, :class:`DamagedSnapshotError`, another MemlensError or MemoryError.
        """


FORMATS = {each.name: each.title for each in registry.formats().values()}
"""The formats by their names, in the order in which they are tried; each reader is imported when it is tried.

Those of other packages' packs are tried after them, so that none can take their files. Files of JSON are recognised by
their keys, in ``json_files.py``.
"""

HEAP_DUMPS = tuple(each.name for each in registry.formats().values() if each.objects is not None)
"""Those of them that read heap dumps."""

_BEGINNINGS = {each.name: each.beginning for each in registry.formats().values() if each.beginning}
"""The usual beginning of a format's files, which no other format has, so that its reader is tried first. Importing the
readers before it would take longer than reading a small file, and a twentieth of the time for a million objects.
"""

_NEVER_JSON = tuple(each.name for each in registry.formats().values() if each.json is None)

_FIXED = tuple(each.name for each in registry.formats().values() if each.keeps_memory)
"""Formats that say beforehand how long their columns are, so that the memory of one can become another's. Of columns
that grow while they are read too much would be kept."""


def read(source: Source, scratch: Path, report: Report) -> Timeline | Profile | Graph:
    """Read a file with the first reader that recognises its first bytes. Raises MemlensError or MemoryError."""
    module = recognised(source)
    if module in _FIXED:
        limits.keep_memory()
    other = registry.other_with(module)
    if other is None:
        return _reader(module).read(source, scratch, report)
    try:
        return _reader(module).read(source, scratch, report)
    except (MemlensError, MemoryError):
        raise
    except Exception as error:
        logger.exception("the pack %s failed", other.version)
        raise PackError(
            phrase(
                "The pack {pack} can't read the file ({what})",
                pack=other.version,
                what=f"{type(error).__name__}: {error}",
            )
        ) from error


def title_of(name: str) -> str:
    """A format in a sentence, by its name."""
    return _format(name).title


def recognised(source: Source) -> str:
    """The name of the first format whose reader recognises a file's first bytes. Raises MemlensError."""
    try:
        return _recognised(source)
    except NotASnapshotError as error:
        # it may be of a format that is missing
        missing = [phrase("{sentence}.", sentence=each) for each in registry.failures()]
        error.advice = in_a_row([error.advice, *missing], " ") if missing else error.advice
        raise


def _recognised(source: Source) -> str:
    head = source.head()
    if not head:
        raise NotASnapshotError(
            phrase("The file is empty"), advice=phrase("Record it again, or copy it again.")
        )
    likely = [module for module, beginning in _BEGINNINGS.items() if head.startswith(beginning)]
    if json_files.begins(head) and not likely:
        try:
            return json_files.recognised(source, head)
        except NotASnapshotError:
            # a report in text may begin with a bracket as well: "[11:16:33] …"
            if (name := _by_first_bytes(head, _NEVER_JSON)) is not None:
                return name
            raise
    left = (name for name in FORMATS if name not in json_files.quick())
    if (name := _by_first_bytes(head, dict.fromkeys([*likely, *left]))) is not None:
        return name
    # last, because such pickles look like text
    from memlens.formats.old_pickles import is_old_pickle, refusal

    if is_old_pickle(head):
        raise refusal(source)
    raise other_files.refusal(head, source.path.name)


def _by_first_bytes(head: bytes, names: Iterable[str]) -> str | None:
    """Return the first of some formats, then of other packages' packs, that recognises a file's first bytes."""
    name = next((name for name in names if _reader(name).sniff(head)), None)
    return registry.recognised_by_others(head) if name is None else name


def _format(name: str) -> Format:
    known = registry.format_named(name)
    if known is None:
        raise KeyError(name)
    return known


def _reader(name: str) -> Reader:
    return _format(name).reader.load()


def import_readers() -> None:
    """Import the reader of each format, for processes that fork before they read."""
    for name in FORMATS:
        _reader(name)
    for each in registry.formats().values():
        if each.inference is not None:
            each.inference.load()
