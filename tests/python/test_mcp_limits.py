"""What language models may not know: what objects contain, unless that is allowed, and files outside."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python import pyheap_files
from tests.python.conftest import ROOT
from tests.python.heap_files import HeapFile
from tests.python.lsp_client import LspClient
from tests.python.mcp_client import META, McpClient, bare
from tests.python.server_harness import open_view, write_snapshot
from tests.python.test_mcp_answers import PYTHON, Official
from tests.python.test_redact_schema import KEYS, NAMES, dictionaries

from memlens.server.protocol.settings import Settings
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.server.tools.folders import Folders
from memlens.server.tools.permissions import OfFolders
from memlens.server.tools.session import Session
from memlens.sources.finder import Finder

pytest_plugins = ("tests.python.server_fixtures",)

pytestmark = pytest.mark.slow
"""Of several servers; test_mcp.py is quick."""

SECRET = "sk-abcdef 4111 1111 1111 1111"


def private_heap() -> bytes:
    """A cache that holds a secret text in a property, beside a function with a name of its own."""
    heap = HeapFile()
    root = heap.node("synthetic", "")
    window = heap.node("object", "Window", 40)
    heap.edge(root, "element", 1, window)
    for number in range(50):
        kept = heap.node("object", "Kept", 40)
        heap.edge(window, "element", number, kept)
        heap.edge(kept, "property", "token", heap.node("string", SECRET, 4_000))
    heap.edge(window, "property", "listener", heap.node("closure", "onToken", 64))
    entry = f"2 / part of key (Kept @3) -> value ({SECRET} @5) pair in WeakMap (table @7)"
    heap.edge(root, "internal", entry, window)
    heap.edge(window, "internal", entry, kept)
    return heap.data()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("limits")
    (made / "in").mkdir()
    (made / "out").mkdir()
    for name in ("in/private.heapsnapshot", "in/other.heapsnapshot", "out/private.heapsnapshot"):
        (made / name).write_bytes(private_heap())
    (made / "in" / "keys.pyheap").write_bytes(dictionary())
    (made / "in" / "keys.heapsnapshot").write_bytes(dictionaries(has_constants=True).data())
    (made / "in" / "link.heapsnapshot").symlink_to(made / "out" / "private.heapsnapshot")
    (made / "in" / "dangling.heapsnapshot").symlink_to(made / "out" / "missing.heapsnapshot")
    (made / "in" / "folder").symlink_to(made / "out", target_is_directory=True)
    (made / "in" / "own.heapsnapshot").symlink_to("private.heapsnapshot")
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[McpClient]:
    with McpClient(folder / "in", "--root", str(folder / "in")) as started:
        yield started


@pytest.fixture(scope="module")
def allowed(folder: Path) -> Iterator[McpClient]:
    with McpClient(folder / "in", "--root", str(folder / "in"), "--values") as started:
        yield started


def dictionary() -> bytes:
    """A registry that holds large lists by keys that are contents, in a dictionary and as attributes."""
    thing, types = pyheap_files.Thing, pyheap_files.TYPES
    content = [each for n in range(9) for each in (0x2000 + 32 * n, 0x4000 + 32 * n)]
    return pyheap_files.pyheap(
        [
            thing(0x1000, types["dict"], 232, content=content),
            *(thing(0x2000 + 32 * n, types["str"], 60, text=f"{SECRET} {n}") for n in range(9)),
            *(thing(0x4000 + 32 * n, types["list"], 900_000) for n in range(9)),
            thing(0x6000, 0x80, 48, referents=(0x1000, 0x7000, 0x80),
                  attributes=(("by_token", 0x1000), (SECRET, 0x7000), ("__class__", 0x80))),
            thing(0x7000, types["list"], 90_000),
            thing(0x80, types["object"], 1064),
        ]
    )  # fmt: skip


# ---- contents ---------------------------------------------------------------------------------------------------

GUESSES = (
    "name:/^sk-/", "name:sk-abcdef", "sk-abcdef", "4111", 'retained-by:"name:/^sk-/"',
    "query:\"SELECT object FROM objects WHERE name LIKE 'sk-%'\"",
    "query:\"SELECT value FROM json_each('[3]') WHERE (SELECT count(*) FROM strings WHERE text LIKE 'sk-%') > 0\"",
)  # fmt: skip


@pytest.mark.parametrize("guess", GUESSES)
def test_a_filter_can_not_guess_what_objects_contain(
    client: McpClient, allowed: McpClient, guess: str
) -> None:
    file = "private.heapsnapshot"
    wrong = guess.replace("sk-", "zz-").replace("4111", "9999")

    def answers(of: McpClient, text: str, **more: Any) -> list[Any]:
        found = [
            of.call("memlens_top", path=file, by=by, filter=text, **more)
            for by in ("object", "type", "package", "kind")
        ]
        return [
            *found,
            of.call("memlens_compare", before=file, after="other.heapsnapshot", filter=text, **more)["after"],
            of.call("memlens_paths", path=file, filter=f"type:Kept {text}", **more).get("explained"),
        ]

    assert answers(client, guess) == answers(client, wrong)
    # the negation says nothing, either
    assert answers(client, f"-{guess}") == answers(client, f"-{wrong}")
    # who may know finds it
    asked = {"path": file, "by": "object", "values": True}
    assert allowed.call("memlens_top", filter=guess, **asked) != allowed.call(
        "memlens_top", filter=wrong, **asked
    )


def test_keys_of_dictionaries_are_contents(client: McpClient, allowed: McpClient) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memlens_summary", {}),
        *(("memlens_top", {"by": by, "filter": text}) for by in ("object", "type") for text in ("", "type:list")),
        *((name, {"id": id_}) for name in ("memlens_object", "memlens_paths")
          for id_ in ("0x1000", "0x4000", "0x6000", "0x7000")),
        ("memlens_paths", {"filter": "type:list"}),
        *(("memlens_sql", {"query": query}) for query in (
            "SELECT * FROM refs", "SELECT count(*) FROM refs WHERE name || key LIKE '%sk-%'",
            "SELECT * FROM objects AS o JOIN paths_to(o.object) LEFT JOIN referrers_of(o.object) AS r",
            "SELECT * FROM referrers_by_type('list')", "SELECT f.* FROM objects AS o JOIN fields_of(o.object) AS f",
        )),
    ]  # fmt: skip
    for name, arguments in calls:
        assert "sk-" not in json.dumps(client.call(name, path="keys.pyheap", **arguments)), (name, arguments)
    # nor can it be guessed
    asked = {"path": "keys.pyheap", "by": "object"}
    wrong = SECRET.replace("sk-", "zz-")
    for form in ('field:"{} 3"', "field:/^{}/", 'field:"{}"'):
        guesses = [client.call("memlens_top", filter=form.format(each), **asked) for each in (SECRET, wrong)]
        assert guesses[0] == guesses[1]
    query = "SELECT key FROM refs WHERE key LIKE 'sk-%'"
    assert len(allowed.call("memlens_sql", path="keys.pyheap", query=query, values=True)["rows"]) == 10
    shown = allowed.call("memlens_object", path="keys.pyheap", id="0x6000", values=True)
    assert SECRET in json.dumps(shown)
    assert "by_token" in json.dumps(client.call("memlens_object", path="keys.pyheap", id="0x6000"))


def test_keys_of_v8_that_look_like_names_are_contents(client: McpClient, allowed: McpClient) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memlens_summary", {}),
        *(("memlens_top", {"by": by}) for by in ("object", "type")),
        *(("memlens_object", {"number": number}) for number in range(25)),
        *(("memlens_paths", {"filter": text}) for text in ("type:Session", "type:Object")),
        ("memlens_sql", {"query": "SELECT * FROM refs"}),
        ("memlens_sql", {"query": "SELECT * FROM objects AS o JOIN paths_to(o.object)"}),
        ("memlens_sql", {"query": "SELECT f.* FROM objects AS o JOIN fields_of(o.object) AS f"}),
    ]
    shown = [
        "".join(
            json.dumps(of.call(name, path="keys.heapsnapshot", **arguments, **more))
            for name, arguments in calls
        )
        for of, more in ((client, {}), (allowed, {"values": True}))
    ]
    assert [[key in text for key in KEYS] for text in shown] == [[False] * len(KEYS), [True] * len(KEYS)]
    assert all(name in shown[0] for name in NAMES)


def test_entries_of_a_weak_map_are_contents(client: McpClient) -> None:
    """V8 names what leads to a value by the value's text."""
    calls = [
        *(("memlens_object", {"number": number}) for number in (0, 1)),
        ("memlens_paths", {"number": 1}),
        *(("memlens_sql", {"query": query}) for query in (
            "SELECT * FROM refs WHERE kind = 'internal'", "SELECT * FROM roots",
            "SELECT f.* FROM objects AS o JOIN fields_of(o.object) AS f",
            "SELECT r.* FROM objects AS o JOIN referrers_of(o.object) AS r",
        )),
    ]  # fmt: skip
    for name, arguments in calls:
        shown = json.dumps(client.call(name, path="private.heapsnapshot", **arguments))
        assert "4111" not in shown, (name, arguments)
        assert "2 / part of key (@3) -> value (@5) pair in WeakMap (table @7)" in shown
    guesses = [
        client.call("memlens_top", path="private.heapsnapshot", by="object", filter=f"field:{text}")["rows"]
        for text in ("4111", "4222")
    ]
    assert guesses == [[], []]


@pytest.mark.parametrize("path", ["-", "https://127.0.0.1:9/x.pickle", "s3://bucket/x.pickle"])
def test_a_model_opens_neither_stdin_nor_urls(client: McpClient, path: str) -> None:
    """To the command line these name snapshots that are elsewhere, to a model files of that name."""
    assert "There is no file" in client.failure("memlens_summary", path=path)


def test_names_of_the_program_s_own_are_found(client: McpClient) -> None:
    for text in ("name:onToken", "onToken", "name:/^onTok/"):
        (row,) = client.call("memlens_top", path="private.heapsnapshot", by="object", filter=text)["rows"]
        assert row["name"] == "onToken"
    assert client.call("memlens_top", path="private.heapsnapshot", filter="Kept")["rows"][0]["count"] == 50


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM objects WHERE shallow_bytes = 4000",
        "SELECT max(name) FROM objects",
        "SELECT * FROM objects WHERE name GLOB 'sk*'",
        "SELECT text FROM strings",
        "SELECT count(*) FROM strings WHERE text LIKE 'sk-%'",
        "SELECT group_concat(o.name) FROM objects AS o WHERE o.name_string > 0",
        "WITH t AS (SELECT * FROM objects) SELECT name FROM t",
        "SELECT name FROM retained_by(1)",
        "SELECT content, name FROM fields_of(2)",
        "SELECT name, value FROM elements_of(1)",
        "SELECT o.type, s.text FROM objects AS o JOIN strings AS s ON s.string = o.name_string",
    ],
)
def test_a_query_reads_no_contents(client: McpClient, allowed: McpClient, query: str) -> None:
    found = client.call("memlens_sql", path="private.heapsnapshot", query=query)
    guessed = client.call("memlens_sql", path="private.heapsnapshot", query=query.replace("sk", "zz"))
    assert "4111" not in json.dumps(found)
    assert found["rows"] == guessed["rows"]
    assert found["contents"].startswith("NULL")
    if "fields_of" not in query and "elements_of" not in query:
        with_values = allowed.call("memlens_sql", path="private.heapsnapshot", query=query, values=True)
        assert with_values["rows"] != found["rows"]


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("SELECT object FROM objects JOIN (SELECT 'sk-abcdef' AS name) USING (name)", "USING isn't allowed"),
        ("SELECT object FROM objects NATURAL JOIN (SELECT 'sk-abcdef' AS name)", "NATURAL isn't allowed"),
        ("SELECT value_of(3)", "value_of answers with what objects contain"),
        ("SELECT field(2, 'token')", "field answers with what objects contain"),
    ],
)
def test_ways_around_are_refused(client: McpClient, query: str, complaint: str) -> None:
    assert bare(complaint) in bare(client.failure("memlens_sql", path="private.heapsnapshot", query=query))
    text = f'query:"{query.replace("SELECT object", "SELECT objects.object")}"'
    assert client.failure("memlens_top", path="private.heapsnapshot", by="object", filter=text)


def test_terms_about_contents_alone_say_so(client: McpClient) -> None:
    for text in ("string:sk", "string:/^sk/", 'retained-by:"string:sk"'):
        refused = client.failure("memlens_top", path="private.heapsnapshot", by="object", filter=text)
        assert "looks into the texts of strings" in refused


def test_a_search_of_compared_findings_sees_what_is_sent(client: McpClient, allowed: McpClient) -> None:
    asked = {"before": "private.heapsnapshot", "after": "other.heapsnapshot", "by": "finding"}
    assert client.call("memlens_compare", search="sk-abcdef", **asked)["rows"] == []
    assert allowed.call("memlens_compare", search="sk-abcdef", values=True, **asked)["rows"]


def test_contents_are_allowed_once_and_for_all(client: McpClient, allowed: McpClient) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memlens_summary", {}), ("memlens_top", {"by": "object", "filter": "shallow>3KiB"}),
        ("memlens_object", {"number": 3}),
        ("memlens_paths", {"number": 3}), ("memlens_sql", {"query": "SELECT text FROM strings"}),
    ]  # fmt: skip
    for name, arguments in calls:
        refused = client.failure(name, path="private.heapsnapshot", values=True, **arguments)
        assert "memlens mcp --values" in refused
        assert SECRET in json.dumps(allowed.call(name, path="private.heapsnapshot", values=True, **arguments))
        assert "4111" not in json.dumps(allowed.call(name, path="private.heapsnapshot", **arguments))


# ---- folders ----------------------------------------------------------------------------------------------------


def outside(folder: Path) -> list[str]:
    return [
        str(folder / "out" / "private.heapsnapshot"),
        str(folder / "out" / "missing.heapsnapshot"),
        "../out/private.heapsnapshot",
        "../out/missing.heapsnapshot",
        "link.heapsnapshot",
        "dangling.heapsnapshot",
        "folder/private.heapsnapshot",
        "folder/missing.heapsnapshot",
        (folder / "out" / "private.heapsnapshot").as_uri(),
        "/proc/self/environ",
        "~/private.heapsnapshot",
        str(folder),
        str(folder / "in-other" / "a.pickle"),
    ]


def test_nothing_outside_is_opened_or_told(client: McpClient, folder: Path) -> None:
    refusals = set()
    for path in outside(folder):
        for text in (
            client.failure("memlens_summary", path=path),
            client.failure("memlens_compare", before="private.heapsnapshot", after=path),
            client.failure("memlens_series", paths=["private.heapsnapshot", path]),
        ):
            assert "is outside of the folders that this server may read" in text
            refusals.add(text.split(" is outside ")[1])
    assert len(refusals) == 1
    cache = folder / "in" / "cache"
    assert not [
        each for each in cache.rglob("manifest.json") if str(folder / "out") in each.read_text("utf-8")
    ]


def test_files_that_a_filter_names_are_files_that_a_call_touches(client: McpClient, folder: Path) -> None:
    for path in (
        "../out/private.heapsnapshot",
        "../out/missing.heapsnapshot",
        "folder/x",
        "link.heapsnapshot",
    ):
        for text in (f"in:{path}", f'-retained-by:"in:{path}"', f"type:Kept in:other.heapsnapshot,{path}"):
            refused = client.failure("memlens_top", path="private.heapsnapshot", filter=text)
            assert "is outside of the folders" in refused
    inside = client.call(
        "memlens_top", path="private.heapsnapshot", by="object", filter="in:other.heapsnapshot"
    )
    assert inside["rows"]


def test_links_that_stay_inside_are_followed(client: McpClient) -> None:
    assert client.call("memlens_top", path="own.heapsnapshot", filter="Kept")["rows"][0]["count"] == 50


def test_without_roots_it_is_the_folder_of_the_start(folder: Path) -> None:
    with McpClient(folder / "in", "--cache-limit", "5000000000") as client:
        assert client.call("memlens_top", path="private.heapsnapshot")["rows"]
        assert "memlens mcp --root DIR" in client.failure(
            "memlens_summary", path=str(ROOT / "samples" / "train.pickle")
        )


@pytest.mark.skipif(not PYTHON.exists(), reason="no .cache/mcp: see test_mcp_answers.py")
@pytest.mark.parametrize("era", [(), ("--legacy",)], ids=["2026-07-28", "session"])
def test_the_client_s_roots_say_what_may_be_read(folder: Path, era: tuple[str, ...]) -> None:
    client = Official(folder / "in", f"--root={folder / 'out'}", *era, allowed=())
    assert client.call("memlens_top", path="private.heapsnapshot", filter="Kept")["rows"]
    assert client.call("memlens_top", path=str(folder / "out" / "private.heapsnapshot"))["rows"]
    assert "is outside" in client.failure("memlens_top", path=str(folder / "in" / "private.heapsnapshot"))
    client.close()
    # what whoever starts the server names counts more
    client = Official(folder / "in", f"--root={folder / 'out'}", *era, allowed=(folder / "in",))
    assert client.call("memlens_top", path=str(folder / "in" / "private.heapsnapshot"))["rows"]
    assert "is outside" in client.failure("memlens_top", path=str(folder / "out" / "private.heapsnapshot"))
    client.close()


def test_roots_are_asked_for_again_when_they_change(folder: Path) -> None:
    with McpClient(folder / "in", "--cache-limit", "5000000000") as client:
        client.request(
            "initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": True}}}
        )
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        for root, other in (("out", "in"), ("in", "out")):
            # a request of the server's own
            client.request("ping")
            asked = client.notifications.pop()
            assert asked["method"] == "roots/list"
            roots = [{"uri": (folder / root).as_uri()}, {"uri": "https://example.org/"}, 5]
            client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}})
            assert client.call("memlens_top", path=str(folder / root / "private.heapsnapshot"))["rows"]
            assert "is outside" in client.failure(
                "memlens_top", path=str(folder / other / "private.heapsnapshot")
            )
            client.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})


def test_a_call_without_the_roots_that_a_client_has_is_answered_with_the_question(folder: Path) -> None:
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {"roots": {}}}
    asked = {
        "_meta": meta,
        "name": "memlens_summary",
        "arguments": {"path": str(folder / "out" / "private.heapsnapshot")},
    }
    with McpClient(folder / "in", "--cache-limit", "5000000000") as client:
        result = client.request("tools/call", asked)["result"]
        assert result["resultType"] == "input_required"
        ((name, question),) = result["inputRequests"].items()
        assert question == {"method": "roots/list"}
        roots = {name: {"roots": [{"uri": (folder / "out").as_uri()}]}}
        assert not client.request("tools/call", {**asked, "inputResponses": roots})["result"]["isError"]
        assert client.request("tools/call", {**asked, "inputResponses": {name: 5}})["result"]["isError"]


@pytest.mark.parametrize(
    "path",
    ["a/../../b", "..", "a/./b", "loop", "in2", "above", "beside", "own", "out", "a/up", "whole", "round"],
)
def test_paths_are_judged_where_they_lead(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (tmp_path / "root2" / "deep").mkdir(parents=True)
    (root / "b").touch()
    # ".." is above where the link before it leads: "in/b" by the text, and outside for the system
    (root / "deep").symlink_to(tmp_path / "root2" / "deep")
    (root / "above").symlink_to("deep/../b")
    (root / "beside").symlink_to("deep/../nothing")
    (root / "own").symlink_to("../root/b")
    (root / "out").symlink_to("../root2/deep")
    (root / "a" / "up").symlink_to("..//./a/../b")
    (root / "whole").symlink_to(root / "a" / ".." / "b")
    (root / "round").symlink_to("own")
    (root / "loop").symlink_to("loop")
    (root / "in2").symlink_to(tmp_path / "root2")
    folders = Folders([str(root)])
    expected = os.path.realpath(root / path)
    is_inside = expected == str(root) or expected.startswith(f"{root}{os.sep}")
    found = folders.real(str(root / path))
    assert (found == expected) if is_inside and path != "loop" else (found is None)


def test_a_dump_s_own_paths_are_looked_for_only_inside(tmp_path: Path) -> None:
    """A script that a dump names anywhere has its source map read only if it is in one of the folders."""
    places = {}
    for where in ("in", "out"):
        script = tmp_path / where / f"{where}.js"
        script.parent.mkdir()
        script.write_text(f"function f(){{}}\n//# sourceMappingURL={where}.js.map\n", "utf-8")
        mapped = {"version": 3, "sources": [f"{where}.ts"], "names": [], "mappings": "AAAA"}
        (script.parent / f"{where}.js.map").write_text(json.dumps(mapped), "utf-8")
        heap = HeapFile()
        root = heap.node("synthetic", "")
        closure, shared = heap.node("closure", "f", 64), heap.node("code", "f", 8)
        heap.edge(root, "element", 1, closure)
        heap.edge(closure, "internal", "shared", shared)
        heap.edge(shared, "internal", "script", heap.node("hidden", str(script), 8))
        heap.locations.append((closure, 7, 0, 0))
        places[where] = tmp_path / "in" / f"{where}.heapsnapshot"
        places[where].write_bytes(heap.data())
    with McpClient(tmp_path / "in", "--root", str(tmp_path / "in")) as client:
        found = {
            where: client.call("memlens_top", path=str(path), by="line")["rows"][0]["file"]
            for where, path in places.items()
        }
    assert found == {"in": str(tmp_path / "in" / "in.ts"), "out": str(tmp_path / "out" / "out.js")}


# ---- what an editor is told before it asks ----------------------------------------------------------------------


def test_an_editor_is_told_what_a_call_touches(server: LspClient, tmp_path: Path) -> None:
    inside, other = tmp_path / "w", tmp_path / "other"
    inside.mkdir()
    other.mkdir()
    (inside / "link.pickle").symlink_to(other / "b.pickle")
    shown = write_snapshot(other / "shown.pickle")
    open_view(server, shown)

    def touches(name: str, **arguments: Any) -> tuple[list[str], list[str], bool]:
        found = server.request(
            "memlens/toolTouches",
            {
                "name": name, "arguments": json.dumps(arguments), "folders": [str(inside)], "open": [str(shown)],
            },
        )  # fmt: skip
        return found["outside"], found["queries"], found["contents"]

    own = str(inside / "a.heapsnapshot")
    assert touches("memlens_top", path=own) == ([], [], False)
    assert touches("memlens_top", path=str(shown)) == ([], [], False)
    assert touches("memlens_top", path=own, values="true") == ([], [], True)
    assert touches("memlens_sql", path=own, query="SELECT 1") == ([], ["SELECT 1"], False)
    link = str(inside / "link.pickle")
    assert touches("memlens_summary", path=link) == ([link], [], False)
    outside = str(other / "f.pickle")
    assert touches("memlens_what_if", path=own, beside=outside, sizes=[1, 2]) == ([outside], [], False)
    for change in ("without", "halve", "free_at_once", "recompute"):
        assert touches("memlens_what_if", path=own, **{change: ['query:"SELECT 3"']}) == (
            [],
            ["SELECT 3"],
            False,
        )
    filters = f'in:{other}/c.heapsnapshot,../d.heapsnapshot retained-by:"query:\\"SELECT 2\\""'
    asked = {"before": own, "after": str(inside / "b.heapsnapshot"), "filter": filters}
    assert touches("memlens_compare", **asked) == (
        [f"{other}/c.heapsnapshot", f"{tmp_path}/d.heapsnapshot"],
        ["SELECT 2"],
        False,
    )
    series = [own, str(other / "e.heapsnapshot")]
    assert touches("memlens_series", paths=series) == ([series[1]], [], False)


def test_a_link_that_leads_outside_after_the_check_opens_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another program that changes links all the time."""
    link = folder / "in" / "changing.heapsnapshot"
    link.symlink_to("private.heapsnapshot")

    async def asked() -> tuple[bool, str]:
        configuration = Configuration()
        configuration.replace(Settings(cache_directory=str(tmp_path)))
        registry = Registry(configuration, Finder())
        opening = registry.open

        async def open_later(path: str, *rest: Any) -> Any:
            link.unlink()
            link.symlink_to(folder / "out" / "private.heapsnapshot")
            return await opening(path, *rest)

        monkeypatch.setattr(registry, "open", open_later)
        permissions = OfFolders(Folders([str(folder / "in")]), values=True)
        session = Session(registry, 1, permissions)
        answer = await session.call("memlens_summary", {"path": str(link)}, lambda *_: None)
        await session.close()
        return answer.is_error, answer.text

    is_error, text = asyncio.run(asked())
    link.unlink()
    assert is_error
    assert "outside of the folders" in text
    assert str(folder / "out") not in text
