"""Bookmarks: moments of a trace, or objects, types and groups of a heap dump, each with a note.

People add them, so they aren't part of the archive, which may be removed and made again: they are in a file beside it,
whose name depends only on the identity of the snapshot's file (path, size, modification time). An archive of another
format version finds them again, and the cache's limit doesn't apply to them.
"""

import contextlib
import hashlib
import os
import threading
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from memlens.errors import BadRequestError, MemlensError, reason
from memlens.store.files.disk import FULL, make_folder, make_private, room_in
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase

MOST_BOOKMARKS = 1000
MOST_NOTE_LETTERS = 2000

_VERSION = 2
_MOST_BYTES = 1 << 24
_lock = threading.Lock()

Note = Annotated[str, Meta(max_length=MOST_NOTE_LETTERS)]


class MomentPlace(Struct, frozen=True, tag_field="is", tag="moment"):
    """A moment of a device, the state after its first ``moment`` events, and the allocation selected there."""

    device: int
    moment: int
    allocation: int | None


class ObjectPlace(Struct, frozen=True, tag_field="is", tag="object"):
    """An object of a heap dump, by its number."""

    object: int


class TypePlace(Struct, frozen=True, tag_field="is", tag="type"):
    """A type of a heap dump, by its number."""

    kind: int


class GroupPlace(Struct, frozen=True, tag_field="is", tag="group"):
    """A group of the dominator tree of a heap dump, by its number."""

    group: int


HeapPlace = ObjectPlace | TypePlace | GroupPlace
Place = MomentPlace | ObjectPlace | TypePlace | GroupPlace


class Bookmark(Struct, frozen=True):
    """A place in a snapshot, with a note."""

    bookmark: int
    """Its number in this file, which is never used again."""
    place: Place
    note: str


class BookmarksError(MemlensError):
    """The file of bookmarks is damaged."""

    code = "bookmarks"
    retry = False


class _Kept(Struct, frozen=True):
    """The file's content. ``source`` is only for people who read it."""

    version: int
    source: str
    next: int
    bookmarks: list[Bookmark]


def bookmarks_file(snapshot: Snapshot) -> Path:
    """The path of a snapshot's bookmarks, which need not exist."""
    source = snapshot.manifest.source
    key = f"{source.path}\0{source.size}\0{source.mtime_ns}"
    digest = hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    return snapshot.archive.parent / f"{digest}-bookmarks.json"


def bookmarks(snapshot: Snapshot) -> list[Bookmark]:
    """The bookmarks of a snapshot in the order in which they were added. Raises :class:`BookmarksError`."""
    return _read(snapshot).bookmarks


def add_bookmark(snapshot: Snapshot, place: Place, note: str) -> None:
    """Add one. Raises what :func:`bookmarks` does, and BadRequestError if there are too many."""
    with _lock:
        kept = _read(snapshot)
        if len(kept.bookmarks) >= MOST_BOOKMARKS:
            raise BadRequestError(
                phrase("There are {most} bookmarks already: delete one first", most=MOST_BOOKMARKS)
            )
        new = Bookmark(kept.next, place, note)
        _write(snapshot, msgspec.structs.replace(kept, next=kept.next + 1, bookmarks=[*kept.bookmarks, new]))


def rename_bookmark(snapshot: Snapshot, number: int, note: str) -> None:
    """Change the note of one. Raises what :func:`bookmarks` does, and BadRequestError if it is gone."""
    with _lock:
        kept = _read(snapshot)
        _check(kept, number)
        _write(
            snapshot,
            msgspec.structs.replace(
                kept,
                bookmarks=[
                    msgspec.structs.replace(each, note=note) if each.bookmark == number else each
                    for each in kept.bookmarks
                ],
            ),
        )


def delete_bookmark(snapshot: Snapshot, number: int) -> None:
    """Remove one. Raises what :func:`bookmarks` does, and BadRequestError if it is gone."""
    with _lock:
        kept = _read(snapshot)
        _check(kept, number)
        left = [each for each in kept.bookmarks if each.bookmark != number]
        _write(snapshot, msgspec.structs.replace(kept, bookmarks=left))


def _check(kept: _Kept, number: int) -> None:
    if all(each.bookmark != number for each in kept.bookmarks):
        raise BadRequestError(
            phrase("There is no bookmark {number}: it was deleted elsewhere", number=number)
        )


def _read(snapshot: Snapshot) -> _Kept:
    path = bookmarks_file(snapshot)
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return _Kept(_VERSION, snapshot.manifest.source.path, 1, [])
    except OSError as error:
        raise BookmarksError(
            phrase("The bookmarks can't be read from {path}: {reason}", path=path, reason=reason(error))
        ) from error
    try:
        kept = msgspec.json.decode(text, type=_Kept)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(path) from error
    if kept.version != _VERSION:
        raise _damaged(path)
    return kept


def _damaged(path: Path) -> BookmarksError:
    return BookmarksError(
        phrase("The bookmarks of this snapshot can't be read from {path}", path=path),
        advice=phrase("Rename or remove that file."),
    )


def _write(snapshot: Snapshot, kept: _Kept) -> None:
    path = bookmarks_file(snapshot)
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    with room_in(path.parent, phrase("a bookmark")):
        try:
            make_folder(path.parent)
            partial.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1))
            make_private(partial)
            partial.replace(path)
        except OSError as error:
            if error.errno in FULL:
                raise
            raise BookmarksError(
                phrase("The bookmarks can't be written to {path}: {reason}", path=path, reason=reason(error))
            ) from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
