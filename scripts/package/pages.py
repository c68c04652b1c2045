"""README and the pages of docs/ as a package has them: what they lead to is in the repository."""

import json
import os
import re
from collections.abc import Container
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from scripts.package.targets import ROOT

_FENCED = re.compile(r"(^```.*?^```[^\n]*$)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"(?P<before>!\[[^\]]*\]\()(?P<to>[^)\s]+)(?=[)\s])")
# what is clicked may be a picture
_LINK = re.compile(r"(?P<before>(?<!!)\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\()(?P<to>[^)\s]+)(?=[)\s])")
_ATTRIBUTE = re.compile(r"(?P<before>\b(?P<name>src|href|srcset)=\")(?P<to>[^\"]+)(?=\")")


def repository() -> str:
    """Return the repository's address, as package.json declares it."""
    manifest = json.loads((ROOT / "package.json").read_text("utf-8"))
    address: str = manifest["repository"]["url"]
    return address.removesuffix(".git")


def is_placeholder(address: str) -> bool:
    """Whether an address stands for one that isn't known yet; the release script refuses it."""
    return (urlsplit(address).hostname or "").endswith(".invalid")


def absolute(text: str, page: str = "README.md", *, shipped: Container[str] = ()) -> str:
    """Return a page with the repository's address before the relative links and pictures in it.

    Links to files in ``shipped`` stay. ``page`` is the page's path in the repository.
    """
    parts = _FENCED.split(text)
    parts[::2] = [_outside_code(part, page, shipped) for part in parts[::2]]
    return "".join(parts)


def _outside_code(text: str, page: str, shipped: Container[str]) -> str:
    address, at = repository(), os.environ.get("GITHUB_REF_NAME", "main")

    def whole(to: str, *, is_picture: bool) -> str:
        path, mark, place = to.partition("#")
        if not path or urlsplit(to).scheme:
            return to
        name = os.path.normpath(PurePosixPath(page).parent / path).replace(os.sep, "/")
        if name in shipped:
            return to
        kind = "raw" if is_picture else "tree" if (ROOT / name).is_dir() else "blob"
        return f"{address}/{kind}/{at}/{name}{mark}{place}"

    def picture(match: re.Match[str]) -> str:
        return match["before"] + whole(match["to"], is_picture=True)

    def link(match: re.Match[str]) -> str:
        return match["before"] + whole(match["to"], is_picture=False)

    def attribute(match: re.Match[str]) -> str:
        return match["before"] + whole(match["to"], is_picture=match["name"] != "href")

    return _ATTRIBUTE.sub(attribute, _LINK.sub(link, _PICTURE.sub(picture, text)))


def without_pictures(text: str) -> str:
    """Return a page without pictures: an extension's page shows only those of the web, and there are none yet."""
    return re.sub(r"^!\[[^]]*\]\([^)]*\)\n\n", "", text, flags=re.MULTILINE)
