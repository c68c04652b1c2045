"""Where a fleet's files are: a folder, a glob or a URL of a store, through fsspec.

Credentials are fsspec's own (its configuration, the environment, the machine's role). A URL with a password is refused,
so none can get into summaries, logs or the scheduler's messages.
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from memlens.errors import BadRequestError, MemlensError
from memlens.fleet.missing import needed
from memlens.formats.containers import ChangedFileError, FileError
from memlens.kernels.base.checksum import Checksum
from memlens.store.files.disk import room_in

STORES = {
    "file": "file", "s3": "s3", "gs": "gs", "az": "az", "ssh": "ssh",
}  # fmt: skip
"""Schemes of URLs, and fsspec's names for them."""

_CHUNK_BYTES = 8 << 20
"""Read from a store at a time."""
_READ_BYTES = 256 << 10
"""Read from a file of this machine at a time."""
_SSH_REQUESTS = 64
"""Pieces of 32 KiB that are asked for at a time."""
_MAGIC = re.compile(r"[*?\[]")
_TAGS = ("ETag", "etag", "md5Hash", "content_md5", "generation", "versionId", "VersionId")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
_DIGITS = re.compile(r"(\d+)")


class StoreError(MemlensError):
    """A store can't be reached, or refuses."""

    code = "store"
    advice = (
        "Check the address, and the credentials that fsspec finds (its configuration or the environment)."
    )


class CancelledError(MemlensError):
    """Whoever asked for a file wants it no longer."""

    code = "cancelled"


class FleetFile(Struct, frozen=True):
    """A file of a fleet as its store lists it."""

    name: str
    """Its path below the place."""
    url: str
    """With its scheme; a path for files of this machine."""
    size_bytes: int
    identity: str
    """What shows that it was changed: its size, with the store's tag or the time."""


class Place(Struct, frozen=True):
    """A place as it was named, and what it stands for: a store's scheme, and a path or glob there.

    ``host`` is that of ssh, with the user and the port, if it has these; empty for other stores.
    """

    named: str
    scheme: str
    path: str
    host: str = ""

    def url_of(self, path: str) -> str:
        """The URL of a path in this store; for files of this machine the path."""
        return path if self.is_local else f"{self.scheme}://{self.host}{path}"

    @property
    def is_local(self) -> bool:
        """Whether its files are paths of this machine, and of workers that share its file system."""
        return self.scheme == "file"


def place_of(named: str) -> Place:
    """The place that was named. Raises :class:`BadRequestError`."""
    parts = urlsplit(named if "://" in named else "file:///")
    scheme = parts.scheme.lower()
    if scheme not in STORES:
        raise BadRequestError(
            f"{scheme}:// is not a kind of store that Memlens reads",
            advice=f"Name a folder, a glob, or a URL of {', '.join(f'{each}://' for each in STORES)}.",
        )
    if parts.password is not None:
        raise BadRequestError(
            "The URL has a password in it, which would be shown and sent around",
            advice="Put it into fsspec's configuration, or use a key.",
        )
    if parts.query and "=" in parts.query:
        raise BadRequestError(
            "The URL has parameters in it, which may be credentials",
            advice="Put them into fsspec's configuration.",
        )
    place = _place(named)
    if scheme == "ssh":
        try:
            is_host = bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_host = False
        if not is_host:
            raise BadRequestError(f"{named} names no host", advice="Write it as ssh://user@host:port/folder.")
    return place


def _place(named: str) -> Place:
    """A place whose name was looked at: a file's name may have anything in it."""
    scheme, separator, path = named.partition("://")
    if not separator:
        return Place(named, "file", str(Path(named).absolute()))
    scheme = scheme.lower()
    if scheme == "file":
        path = str(Path("/" + path.lstrip("/")))
    if scheme != "ssh":
        return Place(named, scheme, path)
    host, _, path = path.partition("/")
    return Place(named, scheme, f"/{path}", host)


def files_of(place: Place, without: Path | None = None) -> list[FleetFile]:
    """The files of a place, in the natural order of their names: "rank2" before "rank10".

    Of a folder all below it, but none whose name or folder begins with a point; nor what is below ``without``.
    Raises :class:`StoreError`, :class:`FileError` and :class:`BadRequestError`.
    """
    with _store(place) as store:
        path = place.path
        if _MAGIC.search(path):
            root = _MAGIC.split(path)[0].rpartition("/")[0]
            found = store.glob(path, detail=True)
        elif store.isfile(path):
            root, found = path.rpartition("/")[0], {path: store.info(path)}
        elif store.isdir(path):
            root, found = path.rstrip("/"), store.find(path, detail=True)
        else:
            raise FileError(f"There is nothing at {place.named}")
        files = [_file(store, place, root, each) for each in found.values() if each.get("type") == "file"]
    barred = None if without is None or not place.is_local else f"{without.absolute()}/"
    return sorted(
        (
            file
            for file in files
            if not any(part.startswith(".") for part in file.name.split("/"))
            and (barred is None or not file.url.startswith(barred))
        ),
        key=lambda file: natural(file.name),
    )


def url_of(place: Place, name: str) -> str:
    """Where the file is that :func:`files_of` calls ``name``: a path or, in a store, a URL, which isn't looked up.

    Raises :class:`BadRequestError` for a name that leads out of the place.
    """
    if not name or name.startswith("/") or ".." in name.split("/"):
        raise BadRequestError(f"{name} is not a file below {place.named}")
    path = place.path.rstrip("/")
    if _MAGIC.search(path):
        root = _MAGIC.split(path)[0].rpartition("/")[0]
    elif path.rpartition("/")[2] == name and not (place.is_local and Path(path).is_dir()):
        root = path.rpartition("/")[0]
    else:
        root = path
    return place.url_of(f"{root}/{name}")


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers in names as numbers."""
    return [
        (0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part)
        for part in _DIGITS.split(name)
        if part
    ]


def _file(store: Any, place: Place, root: str, info: dict[str, Any]) -> FleetFile:
    path = str(info["name"])
    base = str(store._strip_protocol(root)).rstrip("/")
    name = path[len(base) :].lstrip("/") if path.startswith(base) else path
    return FleetFile(name, place.url_of(path), int(info.get("size") or 0), _identity(info))


def _identity(info: dict[str, Any]) -> str:
    tags = [str(info[key]).strip('"') for key in _TAGS if info.get(key) is not None]
    # a tag is of the content; a time without one is all that there is
    known = tags or [str(info[key]) for key in _TIMES if info.get(key) is not None]
    return "-".join([str(info.get("size")), *known])


def identity_now(url: str) -> str:
    """What shows whether a file was changed, asked of its store. Raises :class:`StoreError`, :class:`FileError`."""
    place = _place(url)
    with _store(place) as store:
        store.invalidate_cache()
        return _identity(store.info(place.path))


def fetch(
    url: str, folder: Path, report: Callable[[int], object] = lambda _read_bytes: None
) -> tuple[Path, str]:
    """A file of this machine's own, and its checksum: of a store a copy in ``folder``, streamed in pieces.

    ``report`` gets the bytes read so far after each; what it raises ends this.
    Raises :class:`StoreError`, :class:`FileError`, :class:`ChangedFileError` and OSError.
    """
    place = _place(url)
    checksum = Checksum()
    if place.is_local:
        source = Path(place.path)
        try:
            with source.open("rb", buffering=0) as file:
                # the same memory again and again, which stays in the processor's cache
                buffer = memoryview(bytearray(_READ_BYTES))
                while count := file.readinto(buffer):
                    checksum.update(buffer[:count])
                    report(file.tell())
        except OSError as error:
            raise FileError(f"{source} can't be opened: {error.strerror}") from error
        return source, checksum.hexdigest()
    copy = folder / place.path.rpartition("/")[2]
    with (
        _store(place) as store,
        room_in(folder, "a snapshot", advice="Give the workers more room for files."),
    ):
        store.invalidate_cache()
        with (
            store.open(place.path, "rb", block_size=_CHUNK_BYTES, cache_type="readahead") as remote,
            copy.open("wb") as file,
        ):
            if place.scheme == "ssh":
                # else each 32 KiB wait for the ones before
                remote.prefetch(max_concurrent_requests=_SSH_REQUESTS)
            while piece := remote.read(_CHUNK_BYTES):
                checksum.update(piece)
                file.write(piece)
                report(file.tell())
    return copy, checksum.hexdigest()


def keep(archive: Path, place: Place, name: str) -> None:
    """Copy an archive to the user's place for archives. Raises :class:`StoreError` and OSError."""
    if place.is_local:
        target = Path(place.path) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(archive, target)
        return
    target_name = f"{place.path.rstrip('/')}/{name}"
    with _store(place) as store:
        for source in sorted(path for path in archive.rglob("*") if path.is_file()):
            inside = f"{target_name}/{source.relative_to(archive).as_posix()}"
            if place.scheme == "ssh":
                store.makedirs(inside.rpartition("/")[0], exist_ok=True)
            store.put_file(str(source), inside)


def _is_changed(error: Exception) -> bool:
    """Whether a store says that a file isn't the one that was opened: S3 by its tag."""
    return type(error).__name__ == "FileExpired" or getattr(error, "errno", None) == 16


@contextlib.contextmanager
def _store(place: Place) -> Iterator[Any]:
    """A store, whose errors become sentences. They never have more of an address than what was named."""
    with needed("fsspec"):
        import fsspec
    scheme, named = place.scheme, place.named
    try:
        yield fsspec.filesystem(STORES[scheme], **_of_host(place))
    except MemlensError:
        raise
    except ImportError as error:
        raise StoreError(
            f"A package for {scheme}:// is missing ({error})",
            advice="Install it in every worker's Python and here: s3fs, gcsfs, adlfs or paramiko.",
        ) from error
    except FileNotFoundError as error:
        raise FileError(f"There is nothing at {named}") from error
    except Exception as error:
        if _is_changed(error):
            raise ChangedFileError(f"{named} was written while it was read") from error
        if scheme == "file" and isinstance(error, OSError):
            raise
        raise StoreError(f"{named} can't be read: {_words(error)}") from error


def _of_host(place: Place) -> dict[str, Any]:
    """What fsspec needs to know of a host, whose key must be among the known ones of whoever reads."""
    if place.scheme != "ssh":
        return {}
    import paramiko

    class KnownHosts(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
        def missing_host_key(self, _client: Any, hostname: str, key: Any) -> None:
            known = paramiko.HostKeys()
            with contextlib.suppress(OSError):
                known.load(str(Path.home() / ".ssh" / "known_hosts"))
            if not known.check(hostname, key):
                raise StoreError(
                    f"The key of {hostname} is not among the known hosts",
                    advice=f"Look at the key and take it over once: ssh {hostname}.",
                )

    parts = urlsplit(f"ssh://{place.host}")
    given = {"username": parts.username, "port": parts.port}
    return {
        "host": parts.hostname,
        "host_key_policy": KnownHosts,
        **{name: value for name, value in given.items() if value is not None},
    }


def _words(error: Exception) -> str:
    """An error of a store in words, without what may be credentials."""
    text = re.sub(r"(?i)\b(x-amz-\w+|sig|signature|token|key|secret)=[^&\s]+", r"\1=…", str(error))
    text = re.sub(r"//[^/@\s]+:[^/@\s]+@", "//", text)
    return f"{type(error).__name__}: {' '.join(text.split())[:300]}" if text else type(error).__name__
