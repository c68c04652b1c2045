"""Identifies objects across heap dumps, and evaluates ``in:`` in the filter: objects that are also in another dump.

Only a few engines number objects permanently and never reuse a number. In other runtimes an id is an address, which
changes when an object moves, and which another object may get later.
"""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.store.files.cache import Cache
from memlens.store.kept import kept
from memlens.store.manifest import ArchiveError
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.heap.objects.rows import Numbers, type_names
from memlens.views.selection.terms import Term

SAME_SHARE = 0.9
"""Two dumps are of one process if this share of the objects with equal ids, if any, have equal types."""


def same_objects(one: Snapshot, other: Snapshot) -> tuple[Numbers, Numbers] | None:
    """Return the objects in both dumps, by their numbers in each; None if ids don't identify objects."""
    if one.info.kind != other.info.kind or registry.objects_of(one.info.kind).lasting_ids is None:
        return None
    common, at_one, at_other = np.intersect1d(one.objects.id, other.objects.id, return_indices=True)
    if not len(common):
        return None
    number_of = {name: number for number, name in enumerate(type_names(other))}
    renamed = np.array([number_of.get(name, -1) for name in type_names(one)], np.int64)
    alike = renamed[one.objects.type[at_one]] == other.objects.type[at_other].astype(np.int64)
    if np.count_nonzero(alike) < SAME_SHARE * len(common):
        return None
    return at_one[alike], at_other[alike]


def file_named(value: str, own: Path) -> Path:
    """Return the file that a value of ``in:`` names; relative to the folder of ``own``, the filtered dump.

    Raises :class:`BadRequestError` for files on other machines: a filter may come from a link, and Windows would sign
    in there.
    """
    if len(value) > 1 and value[0] in "\\/" and value[1] in "\\/":
        raise BadRequestError(
            phrase("'{path}' is on another machine", path=value),
            advice=phrase("Name a file of this machine in the filter."),
        )
    return own.parent / value


def also_in(snapshot: Snapshot, term: Term) -> Mask:
    """Return a mask of the objects that are also in the dumps of a term ``in:``. Raises :class:`BadRequestError`."""
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    for value in term.values:
        archive = _archive_of(snapshot, term, value)
        found |= _shared(snapshot, replace(term, negated=False, values=(value,)), archive)
    return found


def check_files(snapshot: Snapshot, term: Term) -> None:
    """Raise :class:`BadRequestError` if objects can't be identified in the dumps of a term ``in:``."""
    if registry.objects_of(snapshot.info.kind).lasting_ids is None:
        raise BadRequestError(
            phrase(
                "'{term}': only heap dumps of {worlds} let an object be found again in another dump",
                term=str(term),
                worlds=", ".join(registry.heap_worlds(lasting_ids=True)),
            ),
            advice=phrase("Other runtimes give objects no lasting ids."),
        )
    for value in term.values:
        archive = _archive_of(snapshot, term, value)
        # results are cached by the filter's text
        if _first_archive_of(snapshot, term, value) != archive:
            raise BadRequestError(
                phrase("'{term}': {file} has changed since it was queried", term=str(term), file=value),
                advice=phrase("Close this heap dump and open it again."),
            )


def _archive_of(snapshot: Snapshot, term: Term, value: str) -> Path:
    path = file_named(value, Path(snapshot.manifest.source.path))
    try:
        archive = Cache(snapshot.archive.parent).find(path)
    except (OSError, ValueError):
        raise BadRequestError(
            phrase("'{term}': there is no file {path}", term=str(term), path=path),
            advice=phrase("Name a file beside this one, or give its whole path."),
        ) from None
    if archive is None:
        raise _unread(term, value)
    return archive


@kept
def _first_archive_of(snapshot: Snapshot, term: Term, value: str) -> Path:
    """Return the archive that the file had when it was first asked for."""
    return _archive_of(snapshot, term, value)


@kept
def _shared(snapshot: Snapshot, term: Term, archive: Path) -> Mask:
    """Return a mask of the objects that are also in the dump with the ``archive``, the one value of a term ``in:``."""
    try:
        with contextlib.closing(Snapshot.open(archive)) as other:
            if heap_dump_of(other.info) is None:
                raise BadRequestError(
                    phrase("'{term}': {file} is not a heap dump", term=str(term), file=_name_of(other))
                )
            same = other.ask(lambda opened: same_objects(snapshot, opened))
            if same is None:
                raise BadRequestError(
                    phrase(
                        "'{term}': object ids aren't stable between {file} and this heap dump",
                        term=str(term), file=_name_of(other),
                    ),
                    advice=registry.objects_of(snapshot.info.kind).lasting_ids,
                )  # fmt: skip
    except ArchiveError:
        # the damaged archive is not this snapshot's
        raise _unread(term, term.values[0]) from None
    found = np.zeros(len(snapshot.objects.type), np.bool_)
    found[same[0]] = True
    return found


def _name_of(snapshot: Snapshot) -> Text:
    return Text(Path(snapshot.manifest.source.path).name)


def _unread(term: Term, file: str) -> BadRequestError:
    return BadRequestError(
        phrase("'{term}': {file} hasn't been read yet", term=str(term), file=file),
        advice=phrase("Open it once."),
    )
