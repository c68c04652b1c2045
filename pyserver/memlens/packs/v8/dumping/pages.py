"""Pages and workers of browsers that run with ``--remote-debugging-port``: Chrome, Edge, programs made with Electron.

A browser lists its targets at http://127.0.0.1:PORT/json/list; each has a WebSocket of its own. The port is in the
command line, or if that says 0, in the file DevToolsActivePort of the user data folder (``content/browser/devtools`` of
Chromium). Only local addresses are searched; an address that the user names may be remote.
"""

import contextlib
import html
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from memlens.dumping import linux
from memlens.dumping.errors import DumpError
from memlens.dumping.options import Options, PageType, Recording
from memlens.dumping.processes import Process, own
from memlens.dumping.programs import short_targets
from memlens.errors import BadRequestError
from memlens.model.served import is_this_machine
from memlens.packs.v8 import SNAPSHOT_ENDING
from memlens.packs.v8.dumping.heap_profiler import Inspected, Report, explained, recorded, snapshot
from memlens.packs.v8.dumping.inspector import Address, InspectorError, Target, session, targets, written
from memlens.texts import Text, phrase
from memlens.units import plain, shortened

_IN_BROWSERS: tuple[PageType, ...] = get_args(PageType)
"""Types of targets that have a heap of their own."""
_NAMED_TOO: tuple[PageType | Literal["node"], ...] = (*_IN_BROWSERS, "node")
"""An address that a person names may also be that of the inspector of Node.js in a container, or of Deno."""
_WITH_WORKERS: tuple[PageType, ...] = ("page", "iframe", "webview")

_KINDS: dict[str, Text] = {
    "page": phrase("Page"),
    "iframe": phrase("Frame"),
    "webview": phrase("Webview"),
    "worker": phrase("Worker"),
    "shared_worker": phrase("Shared worker"),
    "service_worker": phrase("Service worker"),
    "node": Text("Node.js"),
}

_PORT = re.compile(r"--remote-debugging-port=(\d{1,5})")
_USER_DATA = "--user-data-dir="
_CHILD = "--type="
_ACTIVE_PORT = "DevToolsActivePort"
_MOST_PORT = 65535
_MOST_PAGES = 500
_MOST_NAME = 200
_MOST_URL = 1000
_INTRODUCED_S = 2.0
"""How long a page may take to report its workers."""

_ID = re.compile(r"[\w.-]{1,100}", re.ASCII)
_PATH = re.compile(r"/[\w./-]{1,200}", re.ASCII)
_NAMED = re.compile(
    r"(?:ws://)?(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]*):(?P<port>\d{1,5})(?:/(?:devtools/\w+/)?(?P<id>[\w.-]*))?",
    re.ASCII,
)
_WEB = ("http://", "https://", "file://")


class Page(NamedTuple):
    """A page, or something else in a browser that has a heap of its own."""

    address: Address
    id: str
    type: PageType | Literal["node"]
    title: str
    url: str
    path: str
    """Where its session is."""

    @property
    def ending(self) -> str:
        """The ending of its dumps' names."""
        return SNAPSHOT_ENDING

    @property
    def kind(self) -> Text:
        """What it is, for people."""
        return _KINDS[self.type]

    @property
    def name(self) -> str:
        """Its title, if it has one."""
        return self.title or self.url or str(self.kind)

    @property
    def browser(self) -> str:
        """Its debugging address, as ``127.0.0.1:9222``."""
        return written(self.address)

    @property
    def target(self) -> str:
        """The name by which :func:`named` finds it."""
        return f"{self.browser}/{self.id}"

    def write(self, file: Path, options: Options, report: Report) -> None:
        """Write its heap. Raises :class:`DumpError`."""
        with inspected(self, options.timeout_s) as session:
            snapshot(session, file, report)

    def record(self, file: Path, options: Recording, stopped: Callable[[], bool], report: Report) -> None:
        """Record its allocations until ``stopped``. Raises :class:`DumpError`."""
        with inspected(self, options.timeout_s) as session:
            recorded(session, file, options, stopped, report)


def found(processes: Iterable[Process]) -> list[Page]:
    """Return the pages of the browsers among some processes that have a local debugging address."""
    addresses = {address: None for each in processes for address in _addresses(each)}
    return [page for address in addresses for page in _pages(address, _IN_BROWSERS) or []]


def at(name: str) -> list[Page] | None:
    """The pages at the address ``HOST:PORT`` of a browser; None if the name isn't such an address.

    Raises :class:`DumpError` if no browser answers.
    """
    match = _NAMED.fullmatch(name)
    return None if match is None or match["id"] else _listed(_address(match))


def named(name: str) -> Page:
    """Return the page that a person names.

    That is by ``HOST:PORT/ID``, where the beginning of the id is enough and a browser with a single page needs none; by
    the ``ws://`` address that the browser has for it; or, in a browser of this machine, by the page's own address or
    its beginning. Raises :class:`DumpError`, BadRequestError.
    """
    if name.startswith(_WEB):
        return _the_one([each for each in found(own()) if _is_at(each, name)], name)
    match = _NAMED.fullmatch(name)
    if match is None:
        raise BadRequestError(
            phrase("{name} is neither a process id nor a page", name=plain(name)),
            advice=phrase(
                "`memlens dump` alone lists the processes and pages that can be dumped. A page is HOST:PORT/ID, or its "
                "own address."
            ),
        )
    pages = _listed(_address(match))
    if match["id"]:
        return _the_one([each for each in pages if each.id.startswith(match["id"])], name)
    return _the_one([each for each in pages if each.type in ("page", "node")] or pages, name)


@contextlib.contextmanager
def inspected(page: Page, timeout_s: float) -> Iterator[Inspected]:
    """A session with a page. Raises :class:`DumpError`, also in place of the InspectorError of the session."""
    said = phrase("{kind} “{name}”", kind=page.kind, name=plain(page.name))

    def is_alive() -> bool:
        return True  # the connection ends with the page

    with contextlib.ExitStack() as stack:
        stack.enter_context(explained(said, is_alive))
        if page.type == "worker" and not page.url:
            _introduce_workers(page.address)
        inspector = stack.enter_context(session(page.address, page.path))
        if inspector is None:
            raise DumpError(
                phrase(
                    "{program} can't be reached at {address}", program=said, address=written(page.address)
                ),
                advice=phrase("It may have been closed; `memlens dump` lists those that are open."),
            )
        yield Inspected(inspector, said, is_alive, timeout_s)


def _introduce_workers(address: Address) -> None:
    """Make a browser's pages report their workers.

    Until then it lists them without an address and forwards nothing to them. DevTools does the same when it is opened
    for a page.
    """
    for page in _pages(address, _WITH_WORKERS) or []:
        with session(address, page.path) as inspector, contextlib.suppress(InspectorError):
            if inspector is not None:
                how = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True}
                inspector.answer(_INTRODUCED_S, "Target.setAutoAttach", **how)


def _addresses(process: Process) -> list[Address]:
    """The debugging address of a browser's process, if it is local."""
    if any(word.startswith(_CHILD) for word in process.arguments):
        return []  # a renderer, which gets the browser's options as well
    named = [match[1] for word in process.arguments if (match := _PORT.fullmatch(word))]
    if not named:
        return []
    port = int(named[-1]) or _active_port(process)
    if not 0 < port <= _MOST_PORT:
        return []
    if sys.platform != "linux":
        return [("127.0.0.1", port)]
    if not linux.shares_network(process.pid):
        return []
    # the file with the port of a browser that has exited may still exist
    return sorted(
        each for each in linux.listening(process.pid) if each[1] == port and is_this_machine(each[0])
    )


def _active_port(process: Process) -> int:
    """The port that a browser has chosen for itself, 0 if that isn't known."""
    folders = [word.removeprefix(_USER_DATA) for word in process.arguments if word.startswith(_USER_DATA)]
    if not folders:
        return 0
    folder = Path(folders[-1])
    if sys.platform == "linux":
        folder = linux.PROC / str(process.pid) / "cwd" / folder
    try:
        file = folder / _ACTIVE_PORT
        if not file.is_file():
            return 0
        with file.open("rb") as opened:
            line = opened.read(100).partition(b"\n")[0].strip()
    except OSError:
        return 0
    return int(line) if line.isdigit() and len(line) <= len(str(_MOST_PORT)) else 0


def _listed(address: Address) -> list[Page]:
    """The pages at an address that a person names."""
    pages = _pages(address, _NAMED_TOO)
    if pages is None:
        raise DumpError(
            phrase("No browser answers at {address}", address=written(address)),
            advice=phrase(
                "Start it with --remote-debugging-port={port}; Chrome also needs --user-data-dir=DIR for that, with a "
                "folder of its own.",
                port=str(address[1]),
            ),
        )
    return pages


def _pages(address: Address, types: Iterable[PageType | Literal["node"]]) -> list[Page] | None:
    listed = targets(address)
    if listed is None:
        return None
    found: list[Page] = []
    for each in listed:
        type_of = next((known for known in types if known == each.type), None)
        path = _path_of(each)
        if type_of is not None and path and _ID.fullmatch(each.id):
            # browsers write titles, and nothing else, as HTML would have them
            title = each.title if type_of == "node" else html.unescape(each.title)
            title, url = shortened(title, _MOST_NAME), shortened(each.url, _MOST_URL)
            found.append(Page(address, each.id, type_of, title, url, path))
    return found[:_MOST_PAGES]


def _path_of(target: Target) -> str:
    """The path of a target's session; empty if it can have none: some browsers allow only one at a time."""
    path = target.path
    return path if _PATH.fullmatch(path) and ".." not in path else ""


def _address(match: re.Match[str]) -> Address:
    host, port = match["host"].strip("[]") or "127.0.0.1", int(match["port"])
    if not 0 < port <= _MOST_PORT:
        raise BadRequestError(phrase("{port} is not a port", port=str(port)))
    return host, port


def _is_at(page: Page, name: str) -> bool:
    return page.type == "page" and page.url.startswith(name)


def _the_one(pages: list[Page], name: str) -> Page:
    """The only page that matches a name, or the one that matches exactly."""
    exact = [each for each in pages if name in (each.url, each.target)]
    match exact or pages:
        case [page]:
            return page
        case []:
            raise DumpError(
                phrase("No open page matches {name}", name=plain(name)),
                advice=phrase(
                    "`memlens dump` alone lists the pages of browsers that run with --remote-debugging-port; "
                    "`memlens dump HOST:PORT` those of one browser."
                ),
            )
        case several:
            shown = ", ".join(short_targets(several)[:5])
            raise DumpError(
                phrase("{n} pages match {name}", n=len(several), name=plain(name)),
                advice=phrase("Name one of them: {names}", names=shown),
            )
