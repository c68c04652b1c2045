"""The setting ``memlens.libraries``: patterns, archives opened with them, the server and the command line."""

import hashlib
import json
import pickle
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.python.archived import source_lines
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, frame, real_files, real_profiles
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, problem_of, wait_until, write_snapshot
from tests.python.test_inference import OPERATORS, backward, forward, trace_of

from memlens.ingest import ingest
from memlens.model.frames import KIND_NAMES, LIBRARY, NATIVE, USER
from memlens.model.info import ProfileInfo
from memlens.model.languages import is_allocation_function, is_start_up
from memlens.model.own_libraries import Libraries
from memlens.model.timeline import NEVER
from memlens.packs.pytorch.operators import is_recorder
from memlens.store.files.cache import Cache
from memlens.store.relabel import has_files_in, open_with
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.tables import fill as tables
from memlens.store.tables.schema import PARTS
from memlens.views.flame import first as first_flame
from memlens.views.flame.graph import FIRST_FLAME, tree_of
from memlens.views.naming.frame_names import frame_names
from memlens.views.sql.query import SqlSession

pytest_plugins = ("tests.python.server_fixtures",)

SERVICE = ROOT / "tests" / "fixtures" / "profiles" / "service.heaptrack.zst"


@pytest.mark.parametrize(
    ("patterns", "file", "function", "kind"),
    [
        (["vendor"], "/home/me/app/vendor/x.py", "f", LIBRARY),
        (["vendor"], "/home/me/app/vendored/x.py", "f", USER),
        (["x.py"], "/home/me/app/x.py", "f", LIBRARY),
        (["src/vendor"], "/home/me/src/vendor/a/x.py", "f", LIBRARY),
        (["src/vendor"], "/home/me/vendor/src/x.py", "f", USER),
        (["/opt/tools"], "/opt/tools/x.py", "f", LIBRARY),
        (["/opt/tools"], "/home/me/opt/tools/x.py", "f", USER),
        (["C:\\tools"], "c:/Tools/x.py", "f", LIBRARY),
        (["*_pb2.py"], "/home/me/app/wire_pb2.py", "f", LIBRARY),
        (["a*.py"], "/home/a/b.py", "f", USER),
        (["src/**/gen"], "/home/me/src/a/b/gen/x.py", "f", LIBRARY),
        (["src/**/gen"], "/home/me/src/gen/x.py", "f", LIBRARY),
        (["src/*/gen"], "/home/me/src/a/b/gen/x.py", "f", USER),
        (["../lib/x.c"], "../../lib/x.c", "f", USER),
        (["lib/x.c"], "../../lib/x.c", "f", LIBRARY),
        (["absl::*"], "cord.cc", "absl::Cord::Append(std::string const&)", LIBRARY),
        (["absl::*"], "tree.cc", "mine::absl_like(absl::Cord)", USER),
        (["vendor", "!vendor/mine"], "/home/me/vendor/mine/x.py", "f", USER),
        (["!vendor/mine", "vendor"], "/home/me/vendor/mine/x.py", "f", LIBRARY),
        (["", "!", "  "], "/home/me/x.py", "f", USER),
        (["vendor", "!workspace:/home/me/vendor"], "/home/me/vendor/x.py", "f", USER),
        (["!workspace:/home/me/vendor", "vendor"], "/home/me/vendor/x.py", "f", LIBRARY),
        (["!workspace:/usr/lib/app"], "/usr/lib/app/third_party/kit/x.py", "f", LIBRARY),
        (["vendor", "!workspace:/home/me"], "/home/mean/vendor/x.py", "f", LIBRARY),
    ],
)
def test_patterns(patterns: list[str], file: str, function: str, kind: int) -> None:
    libraries = Libraries(patterns)
    assert libraries.kind_of(file, function, USER) == kind
    assert libraries.kind_of(file, function, NATIVE) == NATIVE


def test_patterns_override_the_table() -> None:
    assert Libraries(["vendor"]).kind_of("/v/site-packages/kit/x.py", "f", LIBRARY) == LIBRARY
    assert Libraries(["!kit"]).kind_of("/v/site-packages/kit/x.py", "f", LIBRARY) == USER
    assert Libraries(["!mine::*"]).kind_of("a.cc", "mine::f(int)", LIBRARY) == USER
    workspace = Libraries(["kit"]).with_workspace(["/usr/lib/python3/dist-packages/app"])
    assert workspace.kind_of("/usr/lib/python3/dist-packages/app/x.py", "f", LIBRARY) == USER
    assert workspace.kind_of("/usr/lib/python3/dist-packages/app/kit/x.py", "f", USER) == LIBRARY


def test_files_of_the_workspace_are_surely_the_users(cache: Cache) -> None:
    """Of another project than the one in which stacks begin."""
    for path in real_profiles("public/parca/alloc_space_delta.pb.gz"):
        archive = ingest(path, cache, lambda *_: None)
        folder = "/Users/brancz/src/github.com/polarsignals"
        with closing(Snapshot.open(archive)) as plain:
            assert has_files_in(plain, folder)
            assert not has_files_in(plain, "/Users/brancz/src/github.com/polar")
            assert set(plain.frames.doubtful.tolist()) == {0, 1}
            kinds = plain.frames.kind.copy()
        with closing(open_with(archive, Libraries().with_workspace([folder]))) as snapshot:
            assert snapshot.relabelled
            assert not snapshot.frames.doubtful.any()
            assert (snapshot.frames.kind == kinds).all()


def test_patterns_with_many_stars_are_fast() -> None:
    hostile = Libraries(["a*" * 200 + "b", "**/" * 200 + "b"])
    assert hostile.kind_of("/".join(["a" * 200] * 20), "f", USER) == USER


def test_keys_of_different_settings_differ() -> None:
    keys = {Libraries(each).key for each in ([], ["a"], ["!a"], ["a", "b"], ["b", "a"])}
    assert len(keys) == 5
    assert Libraries(["", "!"]).key == Libraries().key == 0


FILES = [
    ROOT / "samples" / "train.pickle",
    SERVICE,
    *real_files("verl*", "*medium_128_training*"),
    *real_profiles(
        "heaptrack/heaptrack.cpp-tree-small.zst", "dhat/dhat.out.copy.json", "pprof/go-heap.pb.gz"
    ),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:30])
def test_an_archive_opened_with_patterns(path: Path, cache: Cache) -> None:
    """Kinds and labels against those computed frame by frame; the archive is unchanged."""
    archive = ingest(path, cache, lambda *_: None)
    before = digests(archive)
    with closing(Snapshot.open(archive)) as plain:
        rows = list(plain.frames.each())
        lines = source_lines(plain)
        stacks = [plain.stack_frame_ids(stack) for stack in range(len(plain.stacks.node))]
        assert plain.stacks.label.tolist() == labels(plain, rows, stacks)
        mine = next(row[0] for row in rows if row[3] == USER)
        theirs = next((row[0] for row in rows if row[3] == LIBRARY and row[1]), mine)
        libraries = Libraries([name_of(mine), f"!{name_of(theirs)}"])
    with closing(open_with(archive, libraries)) as snapshot:
        assert snapshot.relabelled == libraries.key
        expected = [(*row[:3], libraries.kind_of(row[0], row[2], row[3])) for row in rows]
        assert expected != rows
        assert list(snapshot.frames.each()) == expected
        assert snapshot.frames.rows(range(len(rows))) == dict(enumerate(expected))
        assert snapshot.stacks.label.tolist() == labels(snapshot, expected, stacks)
        assert lines
        assert source_lines(snapshot) == [
            (file, line, function, libraries.kind_of(file, function, kind), figures)
            for file, line, function, kind, figures in lines
        ]
    assert digests(archive) == before


def labels(snapshot: Snapshot, rows: list[FrameRow], stacks: list[list[int]]) -> list[int]:
    """The label of each stack, by the rule's definition."""
    kinds = [row[3] for row in rows]
    for number, (file, _, function, kind) in enumerate(rows):
        if isinstance(snapshot.info, ProfileInfo):
            is_last = kind != USER and (is_allocation_function(function, file) or is_start_up(function))
        else:
            is_last = kind == NATIVE and is_recorder(function)
        if is_last:
            kinds[number] = NATIVE + 1
    return [
        min(enumerate(stack), key=lambda place: (kinds[place[1]], place[0]))[1] if stack else NEVER
        for stack in stacks
    ]


def name_of(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def digests(archive: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in archive.iterdir()}


def test_patterns_without_effect_share_cached_results(sample: Path, cache: Cache) -> None:
    archive = ingest(sample, cache, lambda *_: None)
    with closing(open_with(archive, Libraries(["nowhere"]))) as snapshot:
        assert snapshot.relabelled == 0


def test_inferred_lines_follow(cache: Cache, tmp_path: Path) -> None:
    """A line inferred for backward is the label of a forward stack, and changes with it."""
    seen = 0
    made = tmp_path / "made.pickle"
    outer = frame("/p/block.py", 5, "forward")
    stacks = [*(forward(name, 12, outer) for name in OPERATORS), *map(backward, reversed(OPERATORS))]
    made.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace_of(stacks)]}))
    for path in [made, *real_files("*training_memory_snapshot*", "*backward_memory_snapshot_100*")]:
        archive = ingest(path, cache, lambda *_: None)
        with closing(Snapshot.open(archive)) as plain:
            devices = [plain.device(info.device) for info in plain.timeline.devices]
            number, recorded = next(
                ((each.info.device, each.inferred) for each in devices if each.inferred is not None),
                (0, None),
            )
            if recorded is None:
                continue
            inferred = recorded.copy()
            old = plain.stacks.label.copy()
            frames = plain.frames.rows(np.unique(inferred[inferred != NEVER]).tolist())
            pattern = name_of(next(iter(frames.values()))[0])
        with closing(open_with(archive, Libraries([pattern]))) as snapshot:
            new, changed = snapshot.stacks.label, snapshot.device(number).inferred
            assert changed is not None
            for label in frames:
                followers = set(new[old == label].tolist())
                moved = set(changed[inferred == label].tolist())
                assert moved == (followers if len(followers) == 1 else {label})
                seen += moved != {label}
        assert seen


def test_tables_and_the_first_flame_follow_the_setting(sample: Path, cache: Cache) -> None:
    archive = ingest(sample, cache, lambda *_: None)
    libraries = Libraries(["model.py"])
    query = "SELECT DISTINCT kind FROM frames WHERE file LIKE '%model.py'"

    def kinds(chosen: Libraries) -> tuple[set[str], set[str]]:
        with closing(open_with(archive, chosen)) as snapshot:
            tables.fill(snapshot, lambda *_: None)
            for part in PARTS:
                assert tables.are_filled(snapshot.origin, [part])
                assert not tables.are_filled(snapshot.origin._replace(kinds=snapshot.relabelled + 1), [part])
            of = first_flame.opening_set(snapshot.info)
            tree_of(snapshot, of, "bytes", first_flame.opening_options(snapshot.info))
            names = frame_names(snapshot)
            packages = {names.packages[number] for number in names.package.tolist()}
            snapshot.work_in_background()
            assert FIRST_FLAME.find(snapshot.origin) is not None
        with closing(SqlSession(open_with(archive, chosen))) as session:
            _, rows = session.stream(query)
            return {row[0] for row in rows}, packages

    plain = kinds(Libraries())
    own = kinds(libraries)
    assert (plain[0], own[0]) == ({"user"}, {"library"})
    assert own[1] == plain[1] | {"model.py"}
    assert kinds(Libraries()) == plain


def test_the_command_line(sample: Path, tmp_path: Path) -> None:
    query = "SELECT DISTINCT kind FROM frames WHERE file LIKE '%model.py'"

    def kinds(*options: str) -> list[dict[str, str]]:
        answer = memlens("sql", sample, query, "--json", *options, "--cache-dir", tmp_path / "cache")
        rows: list[dict[str, str]] = json.loads(answer.stdout)
        return rows

    assert kinds() == [{"kind": KIND_NAMES[USER]}]
    assert kinds("--libraries", "model.py") == [{"kind": KIND_NAMES[LIBRARY]}]
    assert kinds("--libraries", "model.py", "--libraries=!model.py") == [{"kind": KIND_NAMES[USER]}]


@pytest.mark.slow
def test_the_server_follows_its_setting(server: LspClient, tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "a.pickle", 400)
    query = "SELECT DISTINCT kind FROM frames WHERE file LIKE '%train.py'"

    def kinds(snapshot: str) -> list[list[str]]:
        rows: list[list[str]] = server.request("memlens/sql", {"snapshot": snapshot, "query": query})["rows"]
        return rows

    first = open_view(server, path)["snapshot"]
    assert kinds(first) == [["user"]]
    settings = {"cache_directory": str(tmp_path / "cache"), "libraries": ["project/code"]}
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    second = relabelled(server, first)
    assert second != first
    assert open_view(server, path, "another")["snapshot"] == second
    # a pending request is answered as well
    assert kinds(second) == kinds(first) == [["library"]]
    server.request("memlens/close", {"snapshot": second, "view": "another"})
    server.notify("workspace/didChangeConfiguration", {"settings": {**settings, "libraries": []}})
    third = relabelled(server, second)
    assert kinds(third) == [["user"]]
    # by either name
    server.request("memlens/close", {"snapshot": first, "view": "v1"})
    assert problem_of(server, "memlens/sql", {"snapshot": third, "query": query})["code"] == "closed"


def relabelled(server: LspClient, snapshot: str) -> str:
    """The name of a snapshot whose frames follow the setting."""
    now: str = server.wait_for("memlens/relabelled", lambda params: params["snapshot"] == snapshot)["now"]
    return now


@pytest.mark.slow
def test_every_answer_about_open_snapshots_follows_the_setting(
    server: LspClient, workspace: Path, tmp_path: Path
) -> None:
    """Also if a file is gone, if the setting changes repeatedly, and for cached results."""
    path = write_snapshot(tmp_path / "a.pickle", 400)
    opened = [
        open_view(server, each, each.name)["snapshot"]
        for each in (path, write_snapshot(tmp_path / "b.pickle", 800))
    ]
    program = workspace / "code" / "train.py"

    def kinds() -> list[set[str]]:
        """Whose code the program's lines are, according to a table, a comparison, the heat of lines and a hover."""
        first, second = opened
        of = {"device": 0}
        branch = {"of": of, "by": ["line"], "path": [], "narrow": "", "attribution": "mine"}
        page = {"order": "bytes", "descending": True, "offset": 0, "limit": 9}
        groups = server.request("memlens/groups", {"snapshot": first, "branch": branch, **page})["rows"]
        sets = {"snapshot": first, "other": second, "of": of, "other_of": of, "other_first": False}
        compared = server.request("memlens/compare", {**sets, "by": "line", "measure": "own"})["rows"]
        heat = server.request("memlens/lineHeat", {"document": {"path": str(program), "cell": None}})["files"]
        hovered = server.hover(program, 11) or ""
        return [
            {row["place"]["kind"] for row in groups},
            {row["after"]["kind"] for row in compared if row["after"]},
            # a snapshot whose frames change at this moment has no heat until it is asked again
            {line["kind"] for file in heat for line in file["lines"]} if len(heat) == 2 else set(),
            {"library" if "my code, library" in hovered else "user"},
        ]

    assert kinds() == [{"user"}] * 4
    path.unlink()
    settings = {"cache_directory": str(tmp_path / "cache")}
    for libraries in (["nowhere"], ["project/code"], ["!train.py"], ["train.py"]):
        server.notify("workspace/didChangeConfiguration", {"settings": {**settings, "libraries": libraries}})
    wait_until(lambda: kinds() == [{"library"}] * 4)
    assert {
        params["snapshot"] for name, params in server.notifications if name == "memlens/relabelled"
    } >= set(opened)
    server.notify("workspace/didChangeConfiguration", {"settings": settings})
    wait_until(lambda: kinds() == [{"user"}] * 4)
    for snapshot, view in zip(opened, ("a.pickle", "b.pickle"), strict=True):
        server.request("memlens/close", {"snapshot": snapshot, "view": view})
    server.wait_for("memlens/snapshotsChanged", lambda params: params["open"] == 0)
