"""The files of a place, as listed by its store."""

from collections.abc import Iterator, Sequence
from typing import Any

from memlens.errors import FileError, Problem, reason
from memlens.fleet.place import FleetFile, natural, root_of
from memlens.remote_files import Place, identity_of, opened, shown
from memlens.texts import Text, phrase

_TREES = frozenset(("file", "ssh"))
"""Stores with folders, which are listed one at a time; others list all names with a prefix at once."""

_UNLISTED = "unlisted"
"""The identity of an entry that could not be examined."""


def files_of(place: Place, without: Sequence[str] = ()) -> list[FleetFile]:
    """The files of a place, in the natural order of their names: "rank2" before "rank10".

    For a folder these are all files below it and links to files (links to folders are not followed), except those whose
    name or folder begins with a dot, and those below the paths and URLs ``without``. What can't be listed has a
    problem.

    Raises :class:`memlens.fleet.place.StoreError`, :class:`FileError`, OSError and BadRequestError.
    """
    with opened(place) as store:
        path, root = place.path, root_of(place)
        if root is not None:
            found = [_followed(store, each) for each in store.glob(path, detail=True).values()]
        elif store.isfile(path):
            root, found = path.rpartition("/")[0], [store.info(path)]
        elif store.isdir(path):
            root = path.rstrip("/")
            found = (
                [*_below(store, root or "/")]
                if place.scheme in _TREES
                else [*store.find(path, detail=True).values()]
            )
        else:
            raise FileError(phrase("There is nothing at {named}", named=place.named))
        base = str(store._strip_protocol(root)).rstrip("/")
    files = [_file(place, base, each) for each in found if each.get("type") in ("file", _UNLISTED)]
    barred = tuple(f"{each.rstrip('/')}/" for each in without)
    return sorted(
        (
            file
            for file in files
            if not any(part.startswith(".") for part in file.name.split("/"))
            and not file.url.startswith(barred)
        ),
        key=lambda file: natural(file.name),
    )


def _below(store: Any, root: str) -> Iterator[dict[str, Any]]:
    """The entries below a folder. Raises the store's error if the folder itself can't be listed."""
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            listing = store.ls(folder, detail=True)
        except OSError as error:
            if folder == root:
                raise
            yield _unlisted(folder, phrase("The folder can't be listed: {reason}", reason=reason(error)))
            continue
        for each in listing:
            if str(each["name"]).rpartition("/")[2].startswith("."):
                continue
            if each["type"] == "directory":
                folders.append(each["name"])
            else:
                yield _followed(store, each)


def _followed(store: Any, info: dict[str, Any]) -> dict[str, Any]:
    """The target of a link, with the link's name; any other entry unchanged."""
    if info["type"] != "link" and not info.get("islink"):
        return info
    try:
        there: dict[str, Any] = store.info(info["name"])
    except OSError as error:
        return _unlisted(info["name"], phrase("The link can't be followed: {reason}", reason=reason(error)))
    return there


def _unlisted(path: str, message: Text) -> dict[str, Any]:
    problem = Problem(
        "system",
        message,
        phrase("Check where the link leads and its permissions."),
    )
    return {"name": path, "type": _UNLISTED, "problem": problem}


def _file(place: Place, base: str, info: dict[str, Any]) -> FleetFile:
    path = shown(str(info["name"]))
    name = path[len(base) :].lstrip("/") if path.startswith(base) else path
    url = place.url_of(path)
    if info["type"] == _UNLISTED:
        return FleetFile(name, url, 0, _UNLISTED, info["problem"])
    problem = None
    if path != str(info["name"]):
        problem = Problem("bad-request", phrase("The file's name is not UTF-8"), phrase("Rename it."))
    return FleetFile(name, url, int(info.get("size") or 0), identity_of(info), problem)
