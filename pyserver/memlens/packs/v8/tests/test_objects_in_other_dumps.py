"""``in:`` in filters: three dumps of a Node program with a leak, against reading their files by hand."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.python.heap_archives import Opened
from tests.python.heap_files import small_heap
from tests.python.lsp_client import LspClient, RpcError
from tests.python.mcp_client import McpClient
from tests.python.test_findings_of_heaps import java_heap

from memlens.cli import main
from memlens.errors import BadRequestError
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.views.compare.heaps import pair_of
from memlens.views.heap.filters.filters import chosen, files_in
from memlens.views.heap.listing.lists import heap_types, objects
from memlens.views.heap.paths.merged import largest_branches

pytest_plugins = ("tests.python.heap_fixtures",)

LEAK = """
const v8 = require('node:v8');
class Start { constructor(n) { this.start = 'start' + n; } }
class Leaked { constructor(n) { this.text = 'leaked ' + n + '.'; this.own = new Inner(n); } }
class Inner { constructor(n) { this.n = n + 0.5; } }
class Passing { constructor(n) { this.passing = [n]; } }
class Late { constructor(n) { this.late = n; } }
const kept = { start: [], requests: [], passing: [], late: [] };
for (let n = 0; n < 100; n++) kept.start.push(new Start(n));
v8.writeHeapSnapshot('1.heapsnapshot');
for (let n = 0; n < 300; n++) kept.requests.push(new Leaked(n));
for (let n = 0; n < 200; n++) kept.passing.push(new Passing(n));
v8.writeHeapSnapshot('2.heapsnapshot');
kept.passing.length = 0;
kept.start.length = 60;
kept.requests.length = 250;
for (let n = 0; n < 150; n++) kept.late.push(new Late(n));
v8.writeHeapSnapshot('3.heapsnapshot');
"""
CLASSES = ("Start", "Leaked", "Inner", "Passing", "Late")
BETWEEN = "-in:1.heapsnapshot in:2.heapsnapshot"


class Leak(NamedTuple):
    """The folder with ``1``, ``2`` and ``3.heapsnapshot``, and the id and type of each object of these."""

    folder: Path
    objects: list[list[tuple[int, tuple[str, str]]]]

    def file(self, number: int) -> Path:
        return self.folder / f"{number}.heapsnapshot"

    def cli(self, capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
        folder = str(self.folder / "cache")
        assert main([*map(str, arguments), "--cache-dir", folder, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    def opened(self, number: int) -> Snapshot:
        archive = Cache(self.folder / "cache").find(self.file(number))
        assert archive is not None
        return Snapshot.open(archive)


@pytest.fixture(scope="module")
def leak(tmp_path_factory: pytest.TempPathFactory) -> Leak:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    folder = tmp_path_factory.mktemp("leak")
    subprocess.run([node, "-e", LEAK], cwd=folder, check=True)
    return Leak(folder, [by_hand(folder / f"{number}.heapsnapshot") for number in (1, 2, 3)])


def by_hand(file: Path) -> list[tuple[int, tuple[str, str]]]:
    data = json.loads(file.read_text())
    meta, nodes, strings = data["snapshot"]["meta"], data["nodes"], data["strings"]
    fields = meta["node_fields"]
    kinds = meta["node_types"][0]
    at = {name: fields.index(name) for name in ("type", "name", "id")}
    found = []
    for row in range(0, len(nodes), len(fields)):
        kind = kinds[nodes[row + at["type"]]]
        # objects are of a type by their constructor's name, all others by what V8 says they are
        name = strings[nodes[row + at["name"]]] if kind in ("object", "native") else ""
        found.append((nodes[row + at["id"]], (kind, name)))
    return found


@pytest.mark.slow
def test_what_was_allocated_between_two_dumps_and_is_still_there(
    leak: Leak, capsys: pytest.CaptureFixture[str]
) -> None:
    def counts(file: int, filter_text: str) -> dict[str, int]:
        rows = leak.cli(capsys, "types", leak.file(file), "--filter", filter_text, "--top", 1000)["types"]
        found = {row["type"]: row["count"] for row in rows}
        return {name: found[name] for name in CLASSES if name in found}

    # the other files are read because the filter names them
    assert counts(3, BETWEEN) == {"Leaked": 250, "Inner": 250}
    assert counts(3, "in:1.heapsnapshot") == {"Start": 60}
    assert counts(3, "-in:2.heapsnapshot") == {"Late": 150}
    assert counts(3, "-in:1.heapsnapshot") == {"Leaked": 250, "Inner": 250, "Late": 150}
    assert counts(3, "-in:1.heapsnapshot,2.heapsnapshot") == {"Late": 150}
    # what is gone later
    assert counts(2, "-in:1.heapsnapshot -in:3.heapsnapshot") == {"Leaked": 50, "Inner": 50, "Passing": 200}
    assert counts(1, f'-in:"{leak.file(3)}"') == {"Start": 40}
    assert counts(3, f"{BETWEEN} type:Leaked") == {"Leaked": 250}
    assert counts(2, 'retained-by:"-in:1.heapsnapshot type:Leaked"') == {"Leaked": 300, "Inner": 300}


@pytest.mark.parametrize(
    ("shown", "others"), [(3, (1, 2)), (2, (1, 3)), (1, (2, 3)), (3, (2, 1)), (2, (2, 1))]
)
def test_every_object_is_found_as_by_hand(
    leak: Leak, capsys: pytest.CaptureFixture[str], shown: int, others: tuple[int, int]
) -> None:
    for number in (1, 2, 3):
        leak.cli(capsys, "info", leak.file(number))
    absent, present = (Counter(leak.objects[number - 1]) for number in others)
    expected = Counter(
        own for own, kind in leak.objects[shown - 1] if (own, kind) not in absent and (own, kind) in present
    )
    snapshot = leak.opened(shown)
    try:
        found = chosen(snapshot, f"-in:{others[0]}.heapsnapshot in:{others[1]}.heapsnapshot")
        assert found is not None
        mask = found.mask(snapshot)
        assert Counter(snapshot.objects.id[mask].tolist()) == expected
        listed = objects(snapshot, f"-in:{others[0]}.heapsnapshot in:{others[1]}.heapsnapshot", limit=7)
        assert listed.total == sum(expected.values())
    finally:
        snapshot.close()


def test_what_is_new_is_that_of_the_comparison(leak: Leak, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 3):
        leak.cli(capsys, "info", leak.file(number))
    before, after = leak.opened(1), leak.opened(3)
    try:
        pair = pair_of(before, after)
        new, gone = chosen(after, "-in:1.heapsnapshot"), chosen(before, "-in:3.heapsnapshot")
        assert new is not None
        assert gone is not None
        assert pair.only_after is not None
        assert (new.mask(after) == pair.only_after).all()
        assert (gone.mask(before) == pair.only_before).all()
        rows = heap_types(after, "-in:1.heapsnapshot", "count", None, "package", 0, 1000, reverse=False).rows
        counted = {row.type: row.new for row in pair.comparison.types if row.new}
        assert counted == {row.type: row.count for row in rows}
    finally:
        before.close()
        after.close()


def test_why_it_is_alive_and_what_it_wastes(leak: Leak, capsys: pytest.CaptureFixture[str]) -> None:
    wasted = leak.cli(capsys, "findings", leak.file(3), "--of", BETWEEN)
    assert wasted["objects"] >= 500
    snapshot = leak.opened(3)
    try:
        merged = largest_branches(snapshot, f"{BETWEEN} type:Leaked", None, 5, ())
    finally:
        snapshot.close()
    assert "requests" in str(merged)


def refusal(snapshot: Snapshot, text: str) -> BadRequestError:
    with pytest.raises(BadRequestError) as failed:
        chosen(snapshot, text)
    return failed.value


def test_what_can_not_be_found_again_is_said(open_dump: Opened, tmp_path: Path) -> None:
    one, other = small_heap(), small_heap()
    for number, node in enumerate(other.nodes):
        node["id"] = 100_001 + 2 * number
    mine = open_dump(one.data(), "mine.heapsnapshot")
    open_dump(other.data(), "stranger.heapsnapshot")
    java = open_dump(java_heap(has=False), "java.hprof")
    assert "aren't stable between stranger.heapsnapshot" in str(refusal(mine, "-in:stranger.heapsnapshot"))
    assert "aren't stable between java.hprof" in str(refusal(mine, "in:java.hprof"))
    assert "only heap dumps of V8" in str(refusal(java, "in:mine.heapsnapshot"))
    missing = refusal(mine, "in:missing.heapsnapshot")
    assert "there is no file" in str(missing)
    assert str(tmp_path) in str(missing)
    assert "there is no file" in str(refusal(mine, 'in:"a\0b"'))
    assert "there is no file" in str(refusal(mine, f'in:"{tmp_path}"'))
    for elsewhere in ("//host/share/a.heapsnapshot", "\\\\\\\\host\\\\share", "\\\\/host"):
        assert "is on another machine" in str(refusal(mine, f'in:"{elsewhere}"')), elsewhere
    assert "can't be compared with < or >" in str(refusal(mine, "in>mine.heapsnapshot"))
    unread = tmp_path / "unread.heapsnapshot"
    unread.write_bytes(one.data())
    asked = refusal(mine, "in:unread.heapsnapshot")
    assert "unread.heapsnapshot hasn't been read yet" in str(asked)
    assert str(asked.advice) == "Open it once."
    again = open_dump(one.data(), "unread.heapsnapshot")
    found = chosen(mine, "in:unread.heapsnapshot")
    assert found is not None
    assert found.mask(mine).all()
    # its archive is damaged: that of the dump that is asked isn't
    other_again = open_dump(one.data(), "damaged.heapsnapshot")
    for column in other_again.archive.glob("*id*"):
        column.write_bytes(b"")
    assert "damaged.heapsnapshot hasn't been read yet" in str(refusal(mine, "in:damaged.heapsnapshot"))
    # another dump under the name: what was found before no longer holds
    again.close()
    one.node("object", "More", 5)
    open_dump(one.data(), "unread.heapsnapshot")
    assert "has changed since" in str(refusal(mine, "in:unread.heapsnapshot"))


def test_files_of_a_filter() -> None:
    assert files_in('-in:"a b",c retained-by:"in:d" type:X in:e') == ["a b", "c", "e", "d"]
    assert files_in("type:X in") == files_in("bogus:1 in:a") == files_in('in:"a') == []


@pytest.mark.slow
def test_views_ask_about_what_is_open(leak: Leak, tmp_path: Path) -> None:
    with LspClient() as client:
        client.start(leak.folder, {"cache_directory": str(tmp_path / "cache")})
        shown = client.request("memlens/open", {"path": str(leak.file(3)), "view": "v"})["snapshot"]
        asked = {"snapshot": shown, "filter": BETWEEN, "order": "count", "reverse": False}
        asked |= {"offset": 0, "limit": 50, "by": "package", "package": None}
        with pytest.raises(RpcError, match=r"[12]\.heapsnapshot hasn't been read yet"):
            client.request("memlens/heapTypes", asked)
        for number in (1, 2):
            client.request("memlens/open", {"path": str(leak.file(number)), "view": f"v{number}"})
        counts = {row["type"]: row["count"] for row in client.request("memlens/heapTypes", asked)["rows"]}
        assert {name: counts[name] for name in CLASSES if name in counts} == {"Leaked": 250, "Inner": 250}


@pytest.mark.slow
def test_models_ask_about_any_file(leak: Leak) -> None:
    with McpClient(leak.folder) as client:
        found = client.call("memlens_top", path="3.heapsnapshot", by="type", filter=BETWEEN, limit=20)
        counts = {row["type"]: row["count"] for row in found["rows"]}
        assert {name: counts[name] for name in CLASSES if name in counts} == {"Leaked": 250, "Inner": 250}
        merged = client.call("memlens_paths", path="3.heapsnapshot", filter=f"{BETWEEN} type:Leaked")
        assert "requests" in json.dumps(merged)
