"""Files in stores and on web servers, by URL, through fsspec.

Credentials are fsspec's own (its configuration, the environment, the machine's role).
"""

import contextlib
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from memlens.errors import BadRequestError, FileError, MemlensError, reason
from memlens.formats.containers import ChangedFileError
from memlens.kernels.base.checksum import Checksum
from memlens.local_paths import below
from memlens.missing import needed
from memlens.store.files.disk import FullDiskError, room_in
from memlens.texts import phrase
from memlens.units import format_bytes, plain_name

STORES = ("file", "s3", "gs", "az", "ssh")
"""Schemes of URLs with listings, which fsspec calls the same."""
_WEB = ("https", "http")
"""Schemes of URLs of single files."""
_PACKAGES = {
    "s3": "s3fs",
    "gs": "gcsfs",
    "az": "adlfs",
    "ssh": "paramiko",
    "https": "aiohttp",
    "http": "aiohttp",
}
"""The packages that fsspec needs for a scheme."""

_CHUNK_BYTES = 8 << 20
"""Bytes read from a store at a time."""
_READ_BYTES = 256 << 10
"""Bytes read from a local file at a time."""
UNDECLARED_BYTES = 4 << 30
"""The most that is read of a file whose length its server doesn't declare: it may have no end."""
_SHARE = 0.9
"""The share of the free disk that a copy may take."""
_CONNECT_S = 30
_SILENT_S = 60
"""How long a web server may send nothing."""
_SSH_REQUESTS = 64
"""Pieces of 32 KiB that are requested at a time."""
_TAGS = ("ETag", "etag", "md5Hash", "content_md5", "generation", "versionId", "VersionId")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
_PARAMETERS = re.compile(r"[?#&;][\w.%-]+=")
# each word is looked at once: what a server answers may be long
_NAMED_SECRET = re.compile(
    r"(?i)(?<![\w-])(?=[\w-]*?(?:sig|token|key|secret|password|credential))([\w-]++)=[^&;\s]+"
)
_WORD = re.compile(r"\S+")


class StoreError(MemlensError):
    """A store can't be reached, or refuses."""

    code = "store"
    advice = phrase(
        "Check the address and the credentials that fsspec finds (in its configuration or the environment)."
    )


class Place(Struct, frozen=True):
    """A place as the user named it, and its meaning: a store's scheme, and a path or glob there.

    ``host`` is the host for ssh, with user and port if given; empty for other stores.
    """

    named: str
    scheme: str
    path: str
    host: str = ""

    def url_of(self, path: str) -> str:
        """The URL of a path in this store; for local files the path."""
        return path if self.is_local else f"{self.scheme}://{self.host}{path}"

    @property
    def in_store(self) -> str:
        """Its path, as fsspec writes it."""
        return f"{self.scheme}://{self.path}" if self.scheme in _WEB else self.path

    @property
    def is_local(self) -> bool:
        """Whether its files are local, also for workers that share the file system."""
        return self.scheme == "file"


def file_at(url: str) -> Place:
    """Parse the URL of one file, which may be on a web server. Raises :class:`BadRequestError` as :func:`place_of`."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in _WEB:
        _check_url(scheme.lower(), rest, (*STORES, *_WEB))
        return _place(url)
    host = urlsplit(url).netloc
    if not host or "@" in host:
        raise BadRequestError(
            phrase("The URL has a password or no host"), advice=phrase("Write it as https://host/path.")
        )
    # parameters may be credentials, which are needed but never shown
    return Place(url.partition("?")[0], scheme.lower(), rest)


def place_of(named: str) -> Place:
    """Parse the name of a place. Raises :class:`BadRequestError`, which never quotes possible credentials."""
    scheme, separator, rest = named.partition("://")
    if separator:
        _check_url(scheme.lower(), rest, STORES)
    place = _place(named)
    if not _is_utf8(place.path):
        raise BadRequestError(
            phrase("The name of {path} is not UTF-8; the names of summaries must be", path=shown(place.path)),
            advice=phrase("Rename it, or use a link to it."),
        )
    return place


def _check_url(scheme: str, rest: str, schemes: Collection[str]) -> None:
    if scheme not in schemes:
        raise BadRequestError(
            phrase("{scheme}:// is not a kind of store that Memlens reads", scheme=shown(scheme)),
            advice=phrase(
                "Give a folder, a glob, or a URL of {stores}.",
                stores=", ".join(f"{each}://" for each in schemes),
            ),
        )
    host = rest.partition("/")[0]
    # a key may contain a "/"
    user = rest.rpartition("@")[0]
    has_user = "@" in host and scheme in ("s3", "gs")
    if has_user or (":" in user.partition("/")[0] and not _is_host(scheme, host)):
        raise BadRequestError(
            phrase("The URL contains a password or a key, which would be shown and passed on"),
            advice=phrase("Put it into fsspec's configuration, or use a key in a file."),
        )
    if _PARAMETERS.search(rest):
        raise BadRequestError(
            phrase("The URL contains parameters, which may be credentials"),
            advice=phrase("Put them into fsspec's configuration."),
        )
    if scheme == "ssh" and not _is_host(scheme, host):
        raise BadRequestError(
            phrase("The URL has no host"), advice=phrase("Write it as ssh://user@host:port/folder.")
        )


def _is_host(scheme: str, host: str) -> bool:
    """Whether the part before the path is only a host or a bucket, without secrets."""
    if scheme != "ssh":
        return "@" not in host and (":" not in host or host.startswith("arn:"))
    try:
        parts = urlsplit(f"ssh://{host}")
        return bool(parts.hostname) and parts.port != 0 and parts.password is None
    except ValueError:
        return False


def _place(named: str) -> Place:
    """A place whose name was checked already, because a file's name may contain anything."""
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


def identity_of(info: dict[str, Any]) -> str:
    """A text that changes when the file changes, made of the store's entry for it."""
    tags = [str(info[key]).strip('"') for key in _TAGS if info.get(key) is not None]
    # a tag depends on the content; stores without tags have only a time
    known = tags or [str(info[key]) for key in _TIMES if info.get(key) is not None]
    return "-".join([str(info.get("size")), *known])


def identity_now(url: str) -> str:
    """The identity of a file, requested from its store. Raises :class:`StoreError`, :class:`FileError`."""
    place = _place(url)
    with opened(place) as store:
        store.invalidate_cache()
        return identity_of(store.info(place.path))


def fetch(
    url: str | Place, folder: Path, report: Callable[[int], object] = lambda _read_bytes: None
) -> tuple[Path, str]:
    """A local file and its checksum; for a file in a store, a copy in ``folder``, streamed in pieces.

    ``report`` gets the bytes read so far after each; what it raises ends this. No more is read than the store declared,
    or :data:`UNDECLARED_BYTES` where it declares nothing.
    Raises :class:`StoreError`, :class:`FileError`, :class:`FullDiskError`, :class:`ChangedFileError` and OSError.
    """
    place = _place(url) if isinstance(url, str) else url
    checksum = Checksum()
    if place.is_local:
        source = Path(place.path)
        try:
            with source.open("rb", buffering=0) as file:
                # reuse the same memory, which stays in the processor's cache
                buffer = memoryview(bytearray(_READ_BYTES))
                while count := file.readinto(buffer):
                    checksum.update(buffer[:count])
                    report(file.tell())
        except OSError as error:
            raise FileError(
                phrase("{source} can't be opened: {reason}", source=source, reason=reason(error))
            ) from error
        return source, checksum.hexdigest()
    name = urlsplit(f"//{place.path}").path if place.scheme in _WEB else place.path
    copy = below(folder, [name.rpartition("/")[2]])
    if copy is None:
        raise FileError(phrase("{source} can't be the name of a file here", source=plain_name(name)))
    advice = phrase(
        "Free some space there, or name another folder: in TMPDIR, for the workers of a cluster in Dask's settings."
    )
    with opened(place) as store, room_in(folder, phrase("a snapshot"), advice=advice):
        store.invalidate_cache()
        declared: int | None = store.info(place.in_store).get("size")
        if declared is not None and declared > shutil.disk_usage(folder).free * _SHARE:
            raise FullDiskError(
                phrase("The disk of {folder} has no room for {what}", folder=folder.parent, what=place.named),
                advice=advice,
            )
        with _remote(store, place) as remote, copy.open("wb") as file:
            if place.scheme == "ssh":
                # otherwise each 32 KiB would wait for the previous ones
                remote.prefetch(max_concurrent_requests=_SSH_REQUESTS)
            while piece := remote.read(_CHUNK_BYTES):
                _check_length(file.tell() + len(piece), declared, place)
                checksum.update(piece)
                file.write(piece)
                report(file.tell())
    return copy, checksum.hexdigest()


def _remote(store: Any, place: Place) -> Any:
    """A file in a store, to be read from its start to its end."""
    if place.scheme not in _WEB:
        return store.open(place.in_store, "rb", block_size=_CHUNK_BYTES, cache_type="readahead")
    # one answer, read piece by piece: fsspec keeps the whole answer to a request for a part, however long it is
    return store.open(place.in_store, "rb", block_size=0, headers={"Accept-Encoding": "identity"})


def _check_length(read_bytes: int, declared: int | None, place: Place) -> None:
    if declared is None and read_bytes > UNDECLARED_BYTES:
        raise StoreError(
            phrase(
                "{named} is larger than {most}, and its server doesn't report its size",
                named=place.named,
                most=format_bytes(UNDECLARED_BYTES),
            ),
            advice=phrase("Download it with another program, and give the file."),
        )
    if declared is not None and read_bytes > declared:
        raise ChangedFileError(phrase("{named} was written while it was read", named=place.named))


def _is_changed(error: Exception) -> bool:
    """Whether a store reports that a file isn't the one that was opened: S3 does by its tag."""
    return type(error).__name__ == "FileExpired" or getattr(error, "errno", None) == 16


@contextlib.contextmanager
def opened(place: Place) -> Iterator[Any]:
    """Turns a store's errors into sentences, which show no more of an address than the user named."""
    scheme, named = place.scheme, place.named
    with needed("fsspec", _PACKAGES.get(scheme)):
        import fsspec
    try:
        yield fsspec.filesystem(scheme, **_of_host(place))
    except MemlensError:
        raise
    except ImportError as error:
        raise StoreError(
            phrase("A package for {scheme}:// is missing ({reason})", scheme=scheme, reason=str(error)),
            advice=phrase(
                "Install it, for a fleet in every worker's Python as well: python -m pip install {package}.",
                package=_PACKAGES.get(scheme, "fsspec"),
            ),
        ) from error
    except FileNotFoundError as error:
        raise FileError(phrase("There is nothing at {named}", named=named)) from error
    except Exception as error:
        if _is_changed(error):
            raise ChangedFileError(phrase("{named} was written while it was read", named=named)) from error
        if scheme == "file" and isinstance(error, OSError):
            raise
        raise StoreError(
            phrase("{named} can't be read: {reason}", named=named, reason=_words(error, place))
        ) from error


def _of_host(place: Place) -> dict[str, Any]:
    """Options of fsspec for a host, whose key must be among the known hosts of the reading user."""
    if place.scheme in _WEB:
        import aiohttp

        # a large file takes long, a silent server ends it
        return {
            "client_kwargs": {
                "timeout": aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S, sock_read=_SILENT_S)
            }
        }
    if place.scheme != "ssh":
        return {}
    import paramiko

    class KnownHosts(paramiko.MissingHostKeyPolicy):
        def missing_host_key(self, _client: Any, hostname: str, key: Any) -> None:
            known = paramiko.HostKeys()
            with contextlib.suppress(OSError):
                known.load(str(Path.home() / ".ssh" / "known_hosts"))
            if not known.check(hostname, key):
                raise StoreError(
                    phrase("The key of {hostname} is not among the known hosts", hostname=hostname),
                    advice=phrase(
                        "Connect once to check and accept the key: ssh {hostname}.", hostname=hostname
                    ),
                )

    parts = urlsplit(f"ssh://{place.host}")
    given = {"username": parts.username, "port": parts.port}
    return {
        "host": parts.hostname,
        "host_key_policy": KnownHosts,
        **{name: value for name, value in given.items() if value is not None},
    }


def _words(error: Exception, place: Place) -> str:
    known = str(error).replace(place.in_store, place.named)
    text = " ".join(without_credentials(known).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def without_credentials(text: str) -> str:
    """Another program's message, without possible credentials."""
    return _WORD.sub(_without_user, _NAMED_SECRET.sub(r"\1=…", text))


def _without_user(word: re.Match[str]) -> str:
    before, _, rest = word[0].partition("//")
    user, _, host = rest.rpartition("@")
    return f"{before}//{host}" if ":" in user else word[0]


def shown(name: str) -> str:
    """A file name of the system as text: bytes that are not UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
