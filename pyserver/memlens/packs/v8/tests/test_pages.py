"""Heap dumps and recordings of pages: of a real browser with a page that leaks, and of servers that answer anything."""

import asyncio
import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from tests.python.command_line import memlens
from tests.python.graph_reading import load, type_names
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve
from websockets.utils import accept_key

from memlens.dumping import programs
from memlens.dumping.processes import Process
from memlens.packs.v8.dumping import heap_profiler, inspector, pages
from memlens.packs.v8.dumping.inspector import InspectorError, session
from memlens.packs.v8.recorded import ALLOCATED_FIELD
from memlens.packs.v8.tests.test_realms import agrees
from memlens.sources.binding import Binder, Places
from memlens.sources.finder import Finder
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.realms import realms

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for browsers in /proc")

CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(
        None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
    ),
    None,
)
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="needs Chromium")

INDEX = """<!doctype html><title>Carts & $(bug)</title>
<script src="/src/carts.js?v=3"></script>
<script>new Worker('/src/jobs.js');</script>
"""
CARTS_JS = """
class Cart { constructor(number) { this.number = number; this.lines = [number]; } }
const kept = Array.from({ length: 300 }, (_, number) => new Cart(number));
let last;
function visit() {
  kept.push(new Cart(kept.length));
  last = Array.from({ length: 5000 }, (_, number) => ({ number, lines: [] }));
}
setInterval(visit, 20);
"""
JOBS_JS = """
class Job {}
const jobs = Array.from({ length: 77 }, () => new Job());
setInterval(() => jobs.length, 1000);
"""
CLOSURES = """<!doctype html><title>Closures</title><script>
const fill = (count) => Array.from({ length: count }, (_, number) => ({ number }));
function make() {
  const dead = fill(20000), live = { number: 1 };
  function neverMade() { return dead.length; }
  return () => live.number;
}
function nested() {
  const later = fill(100);
  return function middle() { return function inner() { return later.length; }; };
}
function either(keep) {
  const sometimes = fill(100), read = () => sometimes.length, other = () => 0;
  return keep ? read : other;
}
function block() {
  const made = [];
  for (let number = 0; number < 2; number++) {
    let inBlock = fill(100), peek = () => inBlock;
    made.push(() => number);
  }
  return made;
}
async function waiting(promise) {
  const awaited = fill(100), peek = () => awaited;
  await promise;
  return awaited.length + peek().length;
}
function* generated() {
  const yielded = fill(100), peek = () => yielded;
  yield peek().length;
  return yielded;
}
function evaluating() {
  const evaluated = fill(100);
  return function (code) { return eval(code); };
}
window.kept = [make(), make(), nested(), either(true), either(false), block(), evaluating(), generated()];
kept.at(-1).next();
window.never = new Promise(() => {});
window.waiting = waiting(never);
window.evaluated = eval(`(function () {
  const inEval = fill(100), dropped = fill(100);
  function never() { return dropped; }
  return () => inEval.length;
})()`);
(function () {
  const inModule = fill(100), elsewhere = fill(100);
  function never() { return [inModule, elsewhere]; }
  window.api = () => 1;
  window.also = elsewhere;
})();
</script><script>
function make() {
  const alone = fill(100), both = fill(100);
  function neverMade() { return alone.length; }
  return () => both.length;
}
kept.push(make());
document.title = 'Ready';
</script>
"""
FRAMES = {
    "frames.html": """<!doctype html><title>Frames</title>
<iframe src="calm.html"></iframe><iframe src="leaks.html"></iframe>
<script>
window.few = () => 1;
onload = () => {
  const text = Array.from({ length: 5000 }, (_, number) => number).join();
  for (const each of [window, frames[0], frames[1]]) each.text = text;
  document.title = 'Both';
};
</script>""",
    "calm.html": "<script>window.few = () => 1;</script>",
    "leaks.html": """<script>
class Row { constructor(number) { this.own = { number }; } }
window.rows = Array.from({ length: 20000 }, (_, number) => new Row(number));
</script>""",
}
UNREAD = """
SELECT variable, function, line, count(*), max(held_otherwise) FROM unread_variables GROUP BY scope, variable ORDER BY 1
"""


Found = TypeVar("Found")


class Browser(NamedTuple):
    site: Path
    """The folder that is served."""
    url: str
    port: int
    """Where it is debugged."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the library's name
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The URL of a folder's web server."""

    def handler(*arguments: Any) -> _Quiet:
        return _Quiet(*arguments, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    site, profile = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("profile")
    (site / "src").mkdir()
    scripts = {"src/carts.js": CARTS_JS, "src/jobs.js": JOBS_JS}
    for name, text in {"index.html": INDEX, "closures.html": CLOSURES, **FRAMES, **scripts}.items():
        (site / name).write_text(text)
    with served(site) as url:
        command = [
            str(CHROMIUM), "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--disable-gpu",
            *(["--no-sandbox"] if os.geteuid() == 0 else []), url,
        ]  # fmt: skip
        running = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            port = until(lambda: pages._active_port(Process(running.pid, None, tuple(command), 0)))
            until(lambda: [row for row in listed() if row["title"] == "Carts & $(bug)"])
            yield Browser(site, url, port)
        finally:
            # with its renderers, which are in the same group
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def until(found: Callable[[], Found], within_s: float = 60) -> Found:
    """What is found as soon as there is something."""
    deadline = time.monotonic() + within_s
    while not (value := found()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return value


def listed(*address: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(memlens("dump", *address, "--json").stdout)
    return [row for row in rows if "page" in row]


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def refused(*arguments: object, command: str = "dump") -> str:
    return memlens(command, *arguments, status=1).stderr


def counted(dump: Path, name: str) -> int:
    return type_names(load(dump)).count(name)


def places_of(dump: Path, name: str) -> set[tuple[str, int]]:
    graph = load(dump)
    types = type_names(graph)
    frames = [graph.frames.frames[frame] for number, frame in graph.places.tolist() if types[number] == name]
    return {(frame.file, frame.line) for frame in frames}


@pytest.mark.slow
@needs_chromium
def test_a_dump_of_a_page(tmp_path: Path, browser: Browser) -> None:
    out = tmp_path / "carts.heapsnapshot"
    (row,) = (row for row in listed() if row["url"] == browser.url)
    assert (row["runtime"], row["title"]) == ("page", "Carts & $(bug)")
    assert row["page"].startswith(f"127.0.0.1:{browser.port}/")
    for name in (row["page"], browser.url, f"localhost:{browser.port}", f":{browser.port}/{row['page'][-32:-25]}",
                 f"ws://127.0.0.1:{browser.port}/devtools/page/{row['page'][-32:]}"):  # fmt: skip
        assert programs.named(name).name == "Carts & $(bug)", name
    said = json.loads(memlens("dump", row["page"], out, "--json").stdout)
    assert (said["page"], said["file_bytes"]) == (row["page"], out.stat().st_size)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert counted(out, "Cart") >= 300
    # the line of the class leads to the file that was served, whatever the query says
    assert places_of(out, "Cart") == {(f"{browser.url}src/carts.js?v=3", 2)}
    binder = Binder(Finder(), lambda: Places({}, {}, [tmp_path, browser.site]))
    bound = asyncio.run(binder.bind([f"{browser.url}src/carts.js?v=3"]))
    assert [each.paths for each in bound.values()] == [[str(browser.site / "src" / "carts.js")]]
    assert "exists" in refused(row["page"], out)
    assert "Only Python dumps" in refused(row["page"], tmp_path / "x", "--no-texts")
    assert names_in(tmp_path) == [out.name]


@needs_chromium
def test_a_dump_of_a_worker(tmp_path: Path, browser: Browser) -> None:
    """A browser passes nothing on to a worker until a page has asked it to."""
    (worker,) = (row for row in listed(f"localhost:{browser.port}") if row["runtime"] == "worker")
    out = tmp_path / "jobs.heapsnapshot"
    memlens("dump", worker["page"], out, "--timeout", "20")
    assert counted(out, "Job") == 77
    assert places_of(out, "Job") == {(f"{browser.url}src/jobs.js", 2)}
    assert counted(out, "Cart") == 0


@pytest.mark.slow
@needs_chromium
def test_allocations_of_a_page(tmp_path: Path, browser: Browser) -> None:
    over_time, sampled = tmp_path / "carts.heaptimeline", tmp_path / "carts.heapprofile"
    memlens("record", browser.url, over_time, "--for", "3", "--json")
    graph = load(over_time)
    assert graph.allocated is not None
    # each look at the heap still saw the latest objects, which are gone now
    assert int(graph.samples["allocated_bytes"][1:].sum()) > 5000 * 24
    rows = json.loads(memlens("types", over_time, "--since", "0", "--json").stdout)["types"]
    kept = next(row["count"] for row in rows if row["type"] == "Cart")
    # a visit every 20 ms at most, however busy the machine is
    assert 2 <= kept <= 200
    memlens("record", browser.url, sampled, "--sampling", "--for", "2")
    for file in (over_time, sampled):
        lines = json.loads(memlens("lines", file, "--json").stdout)["lines"]
        found = {row["function"] for row in lines if row["file"] == f"{browser.url}src/carts.js?v=3"}
        assert "visit" in found, file


@contextlib.contextmanager
def tab(browser: Browser, url: str) -> Iterator[pages.Page]:
    """Another page of the browser."""
    first = programs.named(f"localhost:{browser.port}")
    assert isinstance(first, pages.Page)
    made = asked(first, "Target.createTarget", url=url)["targetId"]
    (page,) = until(
        lambda: [each for each in pages.at(f":{browser.port}") or [] if each.id == made and each.title]
    )
    yield page
    with contextlib.suppress(AssertionError):  # it may be closed already
        asked(page, "Page.close")


def asked(page: pages.Page, method: str, **params: object) -> dict[str, Any]:
    with session(page.address, page.path) as inspected:
        assert inspected is not None
        answer = inspected.answer(10, method, **params)
    assert answer is not None
    return dict(answer.result or {})


@contextlib.contextmanager
def soon(page: pages.Page, after_s: float, method: str, **params: object) -> Iterator[None]:
    """Does something with a page some seconds after the block has begun."""

    def do() -> None:
        time.sleep(after_s)
        with contextlib.suppress(inspector.InspectorError, AssertionError):
            asked(page, method, **params)

    thread = threading.Thread(target=do)
    thread.start()
    yield
    thread.join()


@needs_chromium
def test_a_recording_of_a_page_that_is_given_up(tmp_path: Path, browser: Browser) -> None:
    out = tmp_path / "carts.heaptimeline"
    command = [sys.executable, "-m", "memlens", "record", browser.url, str(out), "--progress", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recording:
        assert recording.stdout is not None
        assert json.loads(recording.stdout.readline())["stage"] == "0:00"
        recording.terminate()
        assert '"interrupted"' in recording.stdout.read()
    assert names_in(tmp_path) == []
    page = programs.named(browser.url)
    assert isinstance(page, pages.Page)

    def kept() -> int:
        return int(asked(page, "Runtime.evaluate", expression="kept.length")["result"]["value"])

    before = kept()
    until(lambda: kept() > before)


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("end", ["Page.close", "Page.crash"])
def test_a_page_that_goes_away_while_it_is_recorded(tmp_path: Path, browser: Browser, end: str) -> None:
    with tab(browser, f"{browser.url}index.html?{end}") as page, soon(page, 1, end):
        said = refused(page.target, tmp_path / "x.heaptimeline", "--for", "30", command="record")
    assert "closed the connection" in said
    assert names_in(tmp_path) == []


@pytest.mark.slow
@needs_chromium
def test_a_page_that_moves_to_another_process_while_it_is_recorded(tmp_path: Path, browser: Browser) -> None:
    """V8 begins again there, and so do the numbers of the intervals."""
    out = tmp_path / "x.heaptimeline"
    elsewhere = browser.url.replace("localhost", "127.0.0.1") + "index.html"
    with (
        tab(browser, f"{browser.url}index.html?moves") as page,
        soon(page, 2.5, "Page.navigate", url=elsewhere),
    ):
        memlens("record", page.target, out, "--for", "3.5")
    dump = json.loads(out.read_text())
    intervals = len(dump["samples"]) // len(dump["snapshot"]["meta"]["sample_fields"])
    assert 5 < len(dump["snapshot"][ALLOCATED_FIELD]) <= intervals + 1
    assert {file for file, _ in places_of(out, "Cart")} == {
        elsewhere.replace("index.html", "src/carts.js?v=3")
    }


# What isn't a browser: servers that answer anything.

ID = "0123456789ABCDEF"
Speak = Callable[[ServerConnection, dict[str, Any]], None]


def target(**more: Any) -> dict[str, Any]:
    return {"id": ID, "type": "page", "title": "T", "url": "http://localhost/",
            "webSocketDebuggerUrl": f"ws://127.0.0.1:1/devtools/page/{ID}", **more}  # fmt: skip


class Fake:
    """A server that lists what a test wants, and speaks as that wants."""

    def __init__(self) -> None:
        self.listed: Any = [target()]
        self.speak: Speak = lambda _connection, _request: None
        self.redirect = ""
        """Where sessions are sent instead."""
        self.asked: list[str] = []
        self._server: Server = serve(self._session, "127.0.0.1", 0, process_request=self._answer)
        self.port = int(self._server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def _answer(self, _connection: ServerConnection, request: Request) -> Response | None:
        self.asked.append(request.path)
        if isinstance(self.listed, Response):
            return self.listed
        if request.path == "/json/list":
            data = self.listed if isinstance(self.listed, bytes) else json.dumps(self.listed).encode()
            return Response(200, "OK", Headers({"Content-Length": str(len(data))}), data)
        if self.redirect:
            return Response(302, "Found", Headers({"Location": self.redirect, "Content-Length": "0"}))
        return None

    def _session(self, connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            for request in connection:
                self.speak(connection, json.loads(request))

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()


@pytest.fixture
def fake() -> Iterator[Fake]:
    server = Fake()
    yield server
    server.close()


def test_a_dump_of_what_speaks_as_a_browser_does(tmp_path: Path, fake: Fake) -> None:
    """So that what the others don't get isn't missing for another reason."""
    out = tmp_path / "x.heapsnapshot"

    def speak(connection: ServerConnection, request: dict[str, Any]) -> None:
        for done in (1, 7, -7, 10**40):
            params = {"done": done, "total": 2}
            connection.send(
                json.dumps({"method": "HeapProfiler.reportHeapSnapshotProgress", "params": params})
            )
        for chunk in ("{\u2028", "}"):
            connection.send(
                json.dumps({"method": "HeapProfiler.addHeapSnapshotChunk", "params": {"chunk": chunk}})
            )
        connection.send(json.dumps({"id": request["id"], "result": {}}))

    fake.speak = speak
    said = memlens("dump", f"127.0.0.1:{fake.port}", out, "--progress", "json").stdout
    fractions = {json.loads(line).get("fraction") for line in said.splitlines()}
    assert fractions <= {None, 0.5, 1.0, 0.0}
    assert out.read_text() == "{\u2028}"
    # at the address that was asked, not at that of the answer
    assert fake.asked == ["/json/list", f"/devtools/page/{ID}"]


def test_lists_that_no_browser_sends(tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Fake()
    try:
        moved = Headers({"Location": f"http://127.0.0.1:{other.port}/json/list", "Content-Length": "0"})
        for answer in (
            b"", b"{}", b"null", b"[[]]", b"[" * 100_000, b"\xff", b'[{"id": 5}]', json.dumps([target()])[:-1].encode(),
            Response(302, "Found", moved), Response(500, "Oh", Headers({"Content-Length": "0"})),
            json.dumps([target(url="x" * inspector._LISTED_BYTES)]).encode(),
        ):  # fmt: skip
            fake.listed = answer
            assert "No browser answers" in refused(f"127.0.0.1:{fake.port}", tmp_path / "x"), repr(answer)[
                :60
            ]
        fake.listed = [target()]
        fake.redirect = f"ws://127.0.0.1:{other.port}/devtools/page/{ID}"
        assert "can't be reached" in refused(f"127.0.0.1:{fake.port}", tmp_path / "x")
        assert other.asked == [], "no redirect was followed"
    finally:
        other.close()
    unfit = (
        target(webSocketDebuggerUrl=""), target(webSocketDebuggerUrl="ws://[x/y"), target(type="browser_ui"),
        target(webSocketDebuggerUrl="ws://a/../../x"), target(webSocketDebuggerUrl="ws://a/x%0d%0ay"),
        target(id="a/b"), target(id=""), target(id="x" * 101), target(type=""),
    )  # fmt: skip
    fake.listed = unfit
    assert listed(f"127.0.0.1:{fake.port}") == []
    assert "No open page" in refused(f"127.0.0.1:{fake.port}", tmp_path / "x")
    fake.listed = [target(id=f"{number:x}", title="\x1b[31m\u202e" + "t" * 9_000) for number in range(900)]
    shown = memlens("dump", f"127.0.0.1:{fake.port}").stdout
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", shown)
    assert (len(shown.splitlines()), max(map(len, shown.splitlines())) < 500) == (500, True)
    assert "500 pages match" in refused(f"127.0.0.1:{fake.port}", tmp_path / "x")
    monkeypatch.setattr(inspector, "_LISTED_S", 0.5)
    with dripping() as port:
        began = time.monotonic()
        assert "No browser answers" in refused(f"127.0.0.1:{port}", tmp_path / "x")
        assert time.monotonic() - began < 5
    assert names_in(tmp_path) == []


@contextlib.contextmanager
def dripping() -> Iterator[int]:
    """The port of a server that sends one byte after the other, and never an end."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.05)

        thread = threading.Thread(target=drip)
        thread.start()
        yield int(listening.getsockname()[1])
    thread.join()


def event(name: str, **params: Any) -> dict[str, Any]:
    return {"method": f"HeapProfiler.{name}", "params": params}


def sent(*messages: Any) -> Speak:
    def speak(connection: ServerConnection, request: dict[str, Any]) -> None:
        for message in messages:
            text = message if isinstance(message, str | bytes) else json.dumps(message)
            connection.send(text.replace("NUMBER", str(request["id"])) if isinstance(text, str) else text)

    return speak


@pytest.mark.parametrize(
    ("speak", "expected"),
    [
        (sent(), "did not answer within 0.5 s"),
        (sent("no JSON"), "sent something that V8's inspector never sends"),
        (sent(b"\xff"), "sent something that"),
        (sent("[" * 100_000), "sent something that"),
        (sent({"method": "x", "params": {"chunk": 7}}), "sent something that"),
        (sent('{"params": {"chunk": "\\ud800"}}'), "sent something that"),
        (sent('{"id": NUMBER, "error": {"code": -32601}}'), "sent no heap snapshot"),
        (sent('{"id": NUMBER, "result": {}}'), "sent no heap snapshot"),
        (sent(*[{"params": {"chunk": "x" * 900}}] * 5), "sent more than 4 KiB"),
        (sent({"params": {"chunk": "x"}}, {"method": "Inspector.targetCrashed"}), "closed the connection"),
        (lambda connection, _: connection.close(), "closed the connection"),
        (lambda connection, _: connection.socket.shutdown(socket.SHUT_RDWR), "closed the connection"),
        (sent("x" * 70_000), "closed the connection"),
    ],
)
def test_answers_that_no_browser_sends(
    tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch, speak: Speak, expected: str
) -> None:
    monkeypatch.setattr(heap_profiler, "_MOST_SNAPSHOT_BYTES", 4 << 10)
    if expected != "sent something that":
        monkeypatch.setattr(inspector, "_MOST_MESSAGE_BYTES", 64 << 10)
    fake.speak = speak
    assert expected in refused(f"127.0.0.1:{fake.port}", tmp_path / "x", "--timeout", "0.5")
    assert names_in(tmp_path) == []


def test_pings_without_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sends them reads no answers, so that neither a request nor the end of the session can be sent."""
    monkeypatch.setattr(inspector, "_SENDING_S", 0.2)
    monkeypatch.setattr(inspector, "_CLOSING_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)

        def ping() -> None:
            peer, _ = server.accept()
            with peer, contextlib.suppress(OSError):
                key = re.search(rb"Sec-WebSocket-Key: (\S+)", peer.recv(4_096))
                assert key is not None
                accept = accept_key(key[1].decode())
                head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                peer.sendall(f"{head}Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
                while True:
                    peer.sendall(b"\x89\x7d" + bytes(125))

        pinging = threading.Thread(target=ping, daemon=True)
        pinging.start()
        with session(server.getsockname(), "page") as opened:
            assert opened is not None
            pinging.join(1.0)
            with contextlib.suppress(InspectorError):
                assert opened.value("1", 0.2) is None
        pinging.join(20)
        assert not pinging.is_alive()


@pytest.mark.slow
def test_recordings_that_no_browser_sends(tmp_path: Path, fake: Fake) -> None:
    """Intervals without end would make a list without end."""
    out, name = tmp_path / "x.heaptimeline", f"127.0.0.1:{fake.port}"
    update = [10**12, 1, 1, -1, 1, 1, 0, 1, 2**80, 2, 5, 77, 9]
    chunk = '{"snapshot":{"meta":{}},"nodes":[]}'
    speaking = {
        "HeapProfiler.enable": sent('{"id": NUMBER}'),
        "HeapProfiler.startTrackingHeapObjects": sent(
            '{"id": NUMBER}', event("heapStatsUpdate", statsUpdate=[0, 1, 5, 3, 1, 6]),
            event("resetProfiles"), event("heapStatsUpdate", statsUpdate=update),
        ),
        "HeapProfiler.stopTrackingHeapObjects": sent(event("addHeapSnapshotChunk", chunk=chunk), '{"id": NUMBER}'),
    }  # fmt: skip
    fake.speak = lambda connection, request: speaking[request["method"]](connection, request)
    memlens("record", name, out, "--for", "0.5")
    # what came before the reset is of another process
    header = {"meta": {}, ALLOCATED_FIELD: [0, 0, 77]}
    assert json.loads(out.read_text()) == {"snapshot": header, "nodes": []}
    for result in ("{}", '{"profile": null}', "[1]"):
        fake.speak = sent(f'{{"id": NUMBER, "result": {result}}}')
        said = refused(name, tmp_path / "y", "--sampling", "--for", "0.1", command="record")
        assert "doesn't record its allocations" in said
    assert names_in(tmp_path) == [out.name]


def test_where_browsers_are_debugged(tmp_path: Path, fake: Fake) -> None:
    """By the command line of this process, as it might be, which listens where the server does."""

    def found(*options: str) -> list[pages.Page]:
        return pages.found([Process(os.getpid(), None, ("/opt/app/app", *options), 0)])

    port, user_data = f"--remote-debugging-port={fake.port}", f"--user-data-dir={tmp_path}"
    assert [page.target for page in found(port)] == [f"127.0.0.1:{fake.port}/{ID}"]
    assert found(port, "--type=renderer") == []
    assert found() == found("--remote-debugging-port=") == found("--remote-debugging-port=99999") == []
    with socket.create_server(("127.0.0.1", 0)) as other:
        # in use, but not by what the process listens with after this
        closed = other.getsockname()[1]
    assert found(f"--remote-debugging-port={closed}") == []
    active = tmp_path / "DevToolsActivePort"
    zero = "--remote-debugging-port=0"
    assert found(zero) == found(zero, user_data) == []
    active.write_text(f"{fake.port}\n/devtools/browser/x")
    assert [page.id for page in found(zero, user_data)] == [ID]
    relative = os.path.relpath(tmp_path)
    assert [page.id for page in found(zero, f"--user-data-dir={relative}")] == [ID]
    for text in ("", "\n", "-1", "x", "9" * 90, f"{closed}\n"):
        active.write_text(text)
        assert found(zero, user_data) == [], text
    active.unlink()
    os.mkfifo(active)
    assert found(zero, user_data) == []


def test_names_of_pages(tmp_path: Path, fake: Fake) -> None:
    fake.listed = [
        target(id="AB1"),
        target(id="AB2", type="worker", url="x"),
        target(id="C", type="service_worker"),
    ]
    at = f"127.0.0.1:{fake.port}"
    assert [
        programs.named(name).name for name in (at, f"{at}/AB2", f"{at}/C", f"ws://{at}/devtools/page/AB1")
    ] == ["T"] * 4
    assert "2 pages match" in refused(f"{at}/AB", tmp_path / "x")
    assert "No open page matches" in refused(f"{at}/D", tmp_path / "x")
    fake.listed = [target(id="AB1"), target(id="AB12")]
    exact = programs.named(f"{at}/AB1")
    assert isinstance(exact, pages.Page)
    assert exact.id == "AB1"
    said = refused(at, tmp_path / "x")
    assert f"{at}/AB1, {at}/AB12" in said
    for name, expected in (
        ("x", "neither a process id nor a page"), ("127.0.0.1:0", "not a port"), ("127.0.0.1:65536", "not a port"),
        ("http://localhost:1/nowhere", "No open page"), ("\x1b[31m", "neither a process"),
        ("localhost:80/../x", "neither"), ("999999999", "no process"),
    ):  # fmt: skip
        assert expected in refused(name, tmp_path / "x"), name


@needs_chromium
def test_variables_that_no_closure_reads(tmp_path: Path, browser: Browser) -> None:
    """What V8 has said of scopes since mid-2026; older browsers say nothing."""
    out = tmp_path / "closures.heapsnapshot"
    with tab(browser, f"{browser.url}closures.html") as page:
        until(lambda: any(row["title"] == "Ready" for row in listed(f"localhost:{browser.port}")))
        memlens("dump", f":{browser.port}/{page.id}", out)
    if b'"scope_fields"' not in out.read_bytes()[:4096]:
        pytest.skip("a browser whose dumps have no scopes")
    rows = json.loads(memlens("sql", out, UNREAD, "--json").stdout)
    assert [tuple(row.values()) for row in rows] == [
        ("alone", "make", 54, 1, 0), ("dead", "make", 3, 2, 0), ("dropped", None, None, 1, 0),
        ("elsewhere", None, 47, 1, 1), ("inBlock", "block", 16, 2, 0), ("inModule", None, 47, 1, 0),
        ("sometimes", "either", 12, 1, 0),
    ]  # fmt: skip
    found = json.loads(memlens("findings", out, "--json").stdout)["findings"]
    first = next(each for each in found if each["rule"] == "unread_variables")
    assert (first["line"]["file"], first["line"]["line"]) == (f"{browser.url}closures.html", 3)
    assert "the variable dead of make" in first["text"]
    # of each 20,000 objects with a number of their own, in an array of pointers
    assert 2 * 20_000 * (4 + 12) <= first["figure"]["amount"] <= 2 * 20_000 * (8 + 40)


@pytest.mark.slow
@needs_chromium
def test_memory_by_frame(tmp_path: Path, browser: Browser, opened: Callable[[Path], Snapshot]) -> None:
    out = tmp_path / "frames.heapsnapshot"
    with tab(browser, f"{browser.url}frames.html") as page:
        until(lambda: any(row["title"] == "Both" for row in listed(f"localhost:{browser.port}")))
        memlens("dump", f":{browser.port}/{page.id}", out)
    snapshot = opened(out)
    agrees(snapshot, json.loads(out.read_text()))
    address = browser.url.rstrip("/")
    sizes = {row.name.text: row.shallow_bytes for row in realms(snapshot)}
    leaks, calm, whole = (sizes[f"{address} (/{name}.html)"] for name in ("leaks", "calm", "frames"))
    # each row of the frame that leaks has two objects and a slot of an array
    assert 20_000 * (2 * 12 + 4) <= leaks - calm <= 20_000 * (2 * 40 + 8)
    assert calm < whole < leaks
    rows = json.loads(memlens("types", out, "--filter", "realm:/leaks.html type:=Row", "--json").stdout)[
        "types"
    ]
    assert [row["count"] for row in rows] == [20_000]
    text = (
        "SELECT DISTINCT realm_of(object) AS r FROM objects WHERE shallow_bytes > 20000 AND type = '(string)'"
    )
    assert {"r": -1} in json.loads(memlens("sql", out, text, "--json").stdout)
    assert f"realm {address} (/leaks.html): " in memlens("info", out).stdout
