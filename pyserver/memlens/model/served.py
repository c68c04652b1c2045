"""Scripts that a page has from a server: what their URLs say of files."""

import ipaddress
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_SCHEMES = ("http://", "https://")


class Served(NamedTuple):
    """An http(s) URL."""

    origin: str
    """With a slash at its end: ``http://localhost:5173/``."""
    path: str
    """Decoded, without the first slash and without a query: ``src/app.js``."""
    is_local: bool
    """Whether this machine is the server, as it is while a program is developed."""


def served(text: str) -> Served | None:
    """Split an http(s) URL; None for anything else."""
    if not text.lower().startswith(_SCHEMES):
        return None
    try:
        url = urlsplit(text)
        host = url.hostname
        # as browsers do
        path = unquote(url.path, errors="strict").replace("\\", "/")
    except ValueError:
        return None
    if not host:
        return None
    return Served(f"{url.scheme}://{url.netloc.lower()}/", path.lstrip("/"), is_this_machine(host))


def is_this_machine(host: str) -> bool:
    """Whether a host, by its name or number, can only be this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")
    return address.is_loopback or address.is_unspecified
