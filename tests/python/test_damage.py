"""Damage on disk is found by checksums, and the file is read again; a bug only fails one request."""

import argparse
import ast
import asyncio
import contextlib
import logging
import os
import random
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
from pygls.exceptions import JsonRpcException
from tests.fuzz.questions import ask_everything
from tests.fuzz.targets import first_flame, quiet
from tests.fuzz.wrong_columns import FILLINGS, overwrite
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, write_snapshot
from tests.python.tries import tries

import memlens
from memlens.child import IngestError
from memlens.cli.ask import ask
from memlens.ingest import ingest
from memlens.kernels.base.checksum import Checksum
from memlens.model.info import GraphInfo
from memlens.server import wire
from memlens.server.protocol.findings import FindingsStateParams
from memlens.server.sessions import opened as opened_module
from memlens.server.sessions import registry as registry_module
from memlens.server.sessions.errors import DamagedError
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sessions.registry import Damage, Registry
from memlens.server.settings import Configuration
from memlens.sources.finder import Finder
from memlens.store.files.cache import Cache
from memlens.store.files.verify import StoppedError
from memlens.store.manifest import CONTRADICTIONS, FILE_NAME, ArchiveError, read_manifest
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.tables import fill as tables
from memlens.views.ahead import artefacts_of
from memlens.views.findings.ahead import headline
from memlens.views.flame.graph import FIRST_FLAME
from memlens.views.heap.reachable.from_roots import HELD_DISTANCES
from memlens.views.heap.reachable.shortest_paths import SHORTEST_PATHS
from memlens.views.heap.retained.by_type import TOGETHER

pytest_plugins = ("tests.python.server_fixtures",)

SEEDS = Path(__file__).parents[1] / "fuzz" / "corpus" / "file"
MODELS = {
    "timeline": SEEDS / "everything.pickle",
    "profile": SEEDS / "service.heaptrack.zst",
    "graph": SEEDS / "small.hprof",
}


@pytest.fixture(params=MODELS)
def made(request: pytest.FixtureRequest, cache: Cache) -> Path:
    """A fresh archive of each model, with everything that is added later."""
    archive = ingest(MODELS[request.param], cache, quiet)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        if request.param != "graph":
            # only dumps that say where objects were allocated have one
            snapshot.ask(first_flame)
        else:
            TOGETHER.write(snapshot)
            SHORTEST_PATHS.write(snapshot)
        snapshot.ask(lambda asked: headline(asked, None))
        snapshot.ask(Snapshot.work_in_background)
        snapshot.ask(lambda asked: tables.fill(asked, quiet))
    return archive


def flip(path: Path, chance: random.Random) -> None:
    """Flip one bit, anywhere in a file."""
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def checked_files(archive: Path) -> list[Path]:
    """The files that have a checksum in the manifest; an empty column has none."""
    return [archive / name for name, column in read_manifest(archive).columns.items() if column.bytes]


def test_the_checksum_is_xxh64_however_the_bytes_are_divided() -> None:
    # the values that "xxhsum -H1" of the xxHash project prints
    known = {
        b"": "ef46db3751d8e999",
        b"a": "d24ec4f1a98c6e5b",
        b"abc": "44bc2cf5ad770999",
        b"Nobody inspects the spammish repetition": "fbcea83c8a378bf1",
    }
    chance = random.Random(1)
    data = chance.randbytes(5_000)
    whole = Checksum()
    whole.update(data)
    for text, digest in [*known.items(), (data, whole.hexdigest())]:
        for longest in (1, 7, 31, 32, 33, 100):
            checksum, at = Checksum(), 0
            while at < len(text):
                size = chance.randint(0, longest)
                checksum.update(text[at : at + size])
                at += size
            assert checksum.hexdigest() == digest


@pytest.mark.slow
def test_a_flipped_bit_in_any_file_of_an_archive_is_found(made: Path) -> None:
    chance = random.Random(2)
    files = checked_files(made)
    assert len(files) > 9
    for path in files:
        whole = path.read_bytes()
        flip(path, chance)
        with contextlib.closing(Snapshot.open(made)) as snapshot:
            with pytest.raises(ArchiveError, match=path.name.replace(".", r"\.")):
                snapshot.verify()
            assert not snapshot.verified
        path.write_bytes(whole)
    with contextlib.closing(Snapshot.open(made)) as snapshot:
        snapshot.verify()
        assert snapshot.verified
        origin = snapshot.origin
    # what is computed from it has its own checksum, and is rebuilt separately
    artefacts = artefacts_of(snapshot.info)
    assert len(artefacts) >= 4
    if isinstance(snapshot.info, GraphInfo):
        # the dump has no stacks, and no root of its own
        artefacts = [each for each in artefacts if each not in (FIRST_FLAME, HELD_DISTANCES)]
    known = {*(each.name for each in checked_files(made)), FILE_NAME}
    assert {path.name for path in made.iterdir()} == known | {each.name for each in artefacts}
    for artefact in artefacts:
        assert artefact.find(origin) == made / artefact.name
        assert not artefact.drop_damaged(made)
        flip(made / artefact.name, chance)
        assert artefact.drop_damaged(made)
        assert not (made / artefact.name).exists()
        assert not artefact.drop_damaged(made)
        assert not artefact.is_current(origin)
    assert {path.name for path in made.iterdir()} == known


@pytest.mark.slow
def test_a_flipped_bit_in_the_manifest_is_found(made: Path) -> None:
    chance = random.Random(3)
    whole = (made / FILE_NAME).read_bytes()
    for _ in range(tries(300)):
        flip(made / FILE_NAME, chance)
        with pytest.raises(ArchiveError):
            read_manifest(made)
        (made / FILE_NAME).write_bytes(whole)
    read_manifest(made)


@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are those of POSIX")
def test_a_process_that_may_open_no_more_files_calls_no_archive_damaged(made: Path) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.closing(Snapshot.open(made)) as snapshot:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
        try:
            for question in (Snapshot.open, read_manifest):
                with pytest.raises(OSError, match="Too many open files"):
                    question(made)
            with pytest.raises(StoppedError):
                snapshot.verify()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        snapshot.verify()


def test_a_bug_stays_a_bug_unless_the_checksums_say_otherwise(made: Path) -> None:
    def bug(_: Snapshot) -> None:
        raise KeyError("a view's own")

    with contextlib.closing(Snapshot.open(made)) as snapshot:
        for _ in range(2):
            with pytest.raises(KeyError):
                snapshot.ask(bug)
            assert snapshot.verified
    flip(checked_files(made)[0], random.Random(4))
    with contextlib.closing(Snapshot.open(made)) as snapshot, pytest.raises(ArchiveError):
        snapshot.ask(bug)


def test_verification_can_be_stopped_and_ignores_a_replaced_archive(made: Path) -> None:
    with contextlib.closing(Snapshot.open(made)) as snapshot:
        with pytest.raises(StoppedError):
            snapshot.verify(lambda: True)
        assert not snapshot.verified
        # another archive in its place, or none: the opened files are still mapped
        made.rename(made.with_name("away"))
        with pytest.raises(StoppedError):
            snapshot.verify()


@pytest.mark.slow
def test_nothing_but_the_store_calls_an_archive_damaged() -> None:
    package = Path(memlens.__file__).parent
    raising = set()
    for path in package.rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "ArchiveError(" in text else ():
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "ArchiveError"
            ):
                raising.add(path.relative_to(package).as_posix())
    # the tables for SQL aren't part of the archive, the others pass on what a child of ours found, and opened.py what
    # an archive says that was there before
    assert {name for name in raising if not name.startswith("store/")} == {
        "views/sql/query.py",
        "server/sessions/opened.py",
        "server/sessions/query_process.py",
        "server/sessions/registry.py",
    }
    assert {"store/manifest.py", "store/snapshot.py", "store/files/verify.py"} <= raising


@pytest.mark.parametrize("model", MODELS)
def test_a_command_reads_again_what_its_answer_came_from(model: str, tmp_path: Path) -> None:
    options = argparse.Namespace(
        command="types", file=MODELS[model], cache_dir=tmp_path / "cache", cache_limit=0, libraries=[]
    )

    def question(snapshot: Snapshot) -> tuple[bytes, list[FrameRow]]:
        return snapshot.tree.frame.tobytes(), list(snapshot.frames.each())

    first = ask(options, question)
    (archive,) = options.cache_dir.iterdir()
    for name in ("node_frame", "frame_line", "string_end", "string_utf8"):
        flip(archive / name, random.Random(5))
        assert ask(options, question) == first
        with contextlib.closing(Snapshot.open(archive)) as snapshot:
            snapshot.verify()


class Views:
    """A registry in this process, which makes archives in it too, and the notifications to its views."""

    def __init__(self, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
        configuration = Configuration()
        monkeypatch.setattr(Configuration, "cache", property(lambda _: cache))
        monkeypatch.setattr(opened_module, "VERIFY_AFTER_S", 0.0)
        monkeypatch.setattr(registry_module, "ingest", self._ingest)
        self.registry = Registry(configuration, Finder())
        self.reported: asyncio.Queue[Damage] = asyncio.Queue()
        self.registry.damage_listeners.append(self.reported.put_nowait)
        self.made = 0

    async def _ingest(self, source: Path, cache: Cache, _options: list[str], _progress: Any) -> Path:
        self.made += 1
        return await asyncio.to_thread(ingest, source, cache, quiet)

    async def open(self, path: Path, view: str = "v") -> OpenSnapshot:
        return await self.registry.open(str(path), view, lambda *_: None)

    async def verified(self, opened: OpenSnapshot) -> None:
        """Wait for the check of an open snapshot to succeed."""
        while not opened._snapshot.verified:
            assert self.reported.empty()
            await asyncio.sleep(0.005)


Run = Callable[[Callable[[Views], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def run(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> Run:
    async def started(use: Callable[[Views], Coroutine[Any, Any, None]]) -> None:
        await asyncio.wait_for(use(Views(cache, monkeypatch)), 240)

    return lambda use: asyncio.run(started(use))


def contents(archive: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in archive.iterdir() if path.name != FIRST_FLAME.name}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_file_is_read_again_when_its_archive_is_damaged(model: str, cache: Cache, run: Run) -> None:
    async def use(views: Views) -> None:
        archive = ingest(MODELS[model], cache, quiet)
        whole, chance = contents(archive), random.Random(6)
        names = [path.name for path in checked_files(archive)]
        noticed: list[str] = []
        # that a flipped bit is found in each of them is shown above
        damaged = {"frame_file", "string_utf8", *chance.sample(names, tries(8))}
        for number, name in enumerate(sorted(damaged), 1):
            flip(archive / name, chance)
            again = opened = await views.open(MODELS[model])
            # kinds of frames are computed before a snapshot is open
            if name.startswith(("frame_", "string_")) and views.made == number:
                noticed.append(name)
            else:
                damage = await views.reported.get()
                assert (damage.snapshot, damage.again) == (opened.name, True)
                assert MODELS[model].name in damage.message.text
                assert not views.registry.snapshots()
                # as a view does then
                again = await views.open(MODELS[model])
            await views.verified(again)
            assert (again.info, again.archive, views.made) == (opened.info, archive, number)
            assert contents(archive).keys() == whole.keys()
            assert {each: contents(archive)[each] for each in names} == {each: whole[each] for each in names}
            await views.registry.close(again.name, "v")
        # a heap dump has few frames, and a flipped bit may refer to another existing string
        assert "frame_file" in noticed or model == "graph"

    run(use)


def test_a_snapshot_that_can_not_be_read_again_stays_open(cache: Cache, tmp_path: Path, run: Run) -> None:
    async def use(views: Views) -> None:
        path = write_snapshot(tmp_path / "a.pickle")
        archive = await asyncio.to_thread(ingest, path, cache, quiet)
        flip(archive / "0.address", random.Random(7))
        opened = await views.open(path)
        path.unlink()
        damage = await views.reported.get()
        assert not damage.again
        assert "may be wrong" in damage.message.text
        assert views.registry.snapshots() == [opened]
        assert await opened.ask(lambda snapshot: len(snapshot.device(0).size))

        def bug(_: Snapshot) -> None:
            raise IndexError

        # the damage may be the cause, so the user isn't asked to report it
        with pytest.raises(DamagedError, match="no longer exists"):
            await opened.ask(bug)
        assert views.registry.snapshots() == [opened]
        assert archive.is_dir()
        assert views.reported.empty()
        await views.registry.close(opened.name, "v")

    run(use)


@pytest.mark.parametrize("error", CONTRADICTIONS)
def test_an_archive_from_before_that_contradicts_itself_is_made_again_once(
    cache: Cache, run: Run, error: type[Exception]
) -> None:
    async def use(views: Views) -> None:
        ingest(MODELS["timeline"], cache, quiet)

        def contradicted(_: Snapshot) -> None:
            raise error

        opened = await views.open(MODELS["timeline"])
        with pytest.raises(DamagedError):
            await opened.ask(contradicted)
        assert await views.reported.get() == Damage(opened.name, ANY, again=True)
        again = await views.open(MODELS["timeline"])
        assert views.made == 1
        with pytest.raises(error):
            await again.ask(contradicted)
        assert views.registry.snapshots() == [again]
        await views.registry.close(again.name, "v")

    run(use)


@pytest.mark.slow
def test_a_query_finds_the_archive_damaged(monkeypatch: pytest.MonkeyPatch, cache: Cache, run: Run) -> None:
    async def use(views: Views) -> None:
        monkeypatch.setattr(opened_module, "VERIFY_AFTER_S", 1_000.0)
        archive = ingest(MODELS["timeline"], cache, quiet)
        # one is found when the query's names are resolved, one when the tables are filled
        for number, name in enumerate((FILE_NAME, "0.event_action"), 1):
            tables.remove(archive)
            opened = await views.open(MODELS["timeline"])
            path = archive / name
            path.write_bytes(b"\xff" * path.stat().st_size)
            with pytest.raises(IngestError) as caught:
                await opened.sql.ask("SELECT stack FROM events", 0, 10, None)
            assert caught.value.code == ArchiveError.code
            assert await views.reported.get() == Damage(opened.name, ANY, again=True)
            again = await views.open(MODELS["timeline"])
            assert views.made == number
            answer = await again.sql.ask("SELECT stack FROM events", 0, 10, None)
            assert len(answer.rows) == min(10, devices_of(again.info)[0].events)
            await views.registry.close(again.name, "v")

    run(use)


@pytest.mark.slow
def test_a_query_on_an_archive_that_contradicts_itself_has_it_made_again(cache: Cache, run: Run) -> None:
    """It is found when the tables are filled, or by the query's own process."""

    async def use(views: Views) -> None:
        ways = [
            ("type_shallow", "largest", "SELECT sum(shallow_bytes) FROM types"),
            ("reference_target", "reversed", "SELECT count(*) FROM objects AS o, paths_to(o.object)"),
        ]
        for number, (name, filling, query) in enumerate(ways, 1):
            archive = ingest(MODELS["graph"], cache, quiet)
            tables.remove(archive)
            overwrite(archive, name, FILLINGS[filling])
            opened = await views.open(MODELS["graph"])
            with pytest.raises((DamagedError, IngestError), match=r"damaged|contradicts itself"):
                await opened.query(query, 0, 9, None)
            assert await views.reported.get() == Damage(opened.name, ANY, again=True)
            again = await views.open(MODELS["graph"])
            assert views.made == number
            answer = await again.query(query, 0, 9, None)
            assert answer.rows[0][0]
            await views.registry.close(again.name, "v")

    run(use)


def test_damaged_tables_are_removed_beside_those_that_are_whole(cache: Cache, run: Run) -> None:
    async def use(views: Views) -> None:
        archive = ingest(MODELS["timeline"], cache, quiet)
        with contextlib.closing(Snapshot.open(archive)) as snapshot:
            tables.fill(snapshot, quiet)
            origin = snapshot.origin
        flip(archive / "sql_events.db", random.Random(10))
        opened = await views.open(MODELS["timeline"])
        assert opened._verifying is not None
        await opened._verifying
        assert not (archive / "sql_events.db").exists()
        assert tables.are_filled(origin, ["base", "allocations"])
        answer = await opened.sql.ask("SELECT count(*) FROM events", 0, 1, None)
        assert answer.rows == [[sum(device.events for device in devices_of(opened.info))]]
        assert tables.are_filled(origin)
        assert views.reported.empty()
        await views.registry.close(opened.name, "v")

    run(use)


def test_closing_a_view_does_not_wait_for_the_check(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    async def use(views: Views) -> None:
        going = asyncio.Event()
        loop = asyncio.get_running_loop()

        def endless(_: Snapshot, stop: Callable[[], bool]) -> None:
            loop.call_soon_threadsafe(going.set)
            while not stop():
                pass
            raise StoppedError

        monkeypatch.setattr(Snapshot, "verify", endless)
        opened = await views.open(MODELS["timeline"])
        await going.wait()
        # requests are answered meanwhile, and closing stops the check
        assert await opened.ask(lambda snapshot: snapshot.info) == opened.info
        await views.registry.close(opened.name, "v")
        assert not views.registry.snapshots()

    run(use)


def test_a_bug_in_a_view_fails_only_its_request(caplog: pytest.LogCaptureFixture, run: Run) -> None:
    async def use(views: Views) -> None:
        opened = await views.open(MODELS["timeline"], "first")
        assert await views.open(MODELS["timeline"], "second") is opened
        before = contents(opened.archive)
        answers: dict[str, Callable[[Any], Awaitable[Any]]] = {}

        class Features:
            protocol = SimpleNamespace(notify=None)

            def feature(self, method: str) -> Callable[[Any], None]:
                return lambda answered: answers.__setitem__(method, answered)

        def broken_view(snapshot: Snapshot) -> Any:
            return dict[str, str]()[snapshot.info.kind]

        async def handler(_: FindingsStateParams) -> Any:
            return await opened.ask(broken_view)

        wire.answer(Features(), "memlens/stack", handler)  # pyrefly: ignore[bad-argument-type]
        with caplog.at_level(logging.ERROR), pytest.raises(JsonRpcException) as caught:
            await answers["memlens/stack"]({"snapshot": opened.name, "allocation": 0})
        problem: dict[str, Any] = caught.value.data or {}
        assert problem["code"] == "internal"
        assert "KeyError" in problem["message"]
        assert "Nothing is lost" in problem["advice"]
        assert "Memlens: Show Log" in problem["advice"]
        # the log has what a bug report needs
        assert "memlens/stack" in caplog.text
        assert "Python 3" in caplog.text
        assert "in broken_view" in caplog.text
        assert contents(opened.archive) == before
        assert opened.views == {"first", "second"}
        assert views.registry.snapshots() == [opened]
        assert views.reported.empty()
        assert await opened.ask(lambda snapshot: ask_everything(snapshot, random.Random(8))) > 10
        for view in ("first", "second"):
            await views.registry.close(opened.name, view)

    run(use)


@pytest.mark.slow
def test_the_server_finds_damage_in_the_background_and_reports_it(
    server: LspClient, tmp_path: Path, cache_folder: Path
) -> None:
    path = write_snapshot(tmp_path / "a.pickle")
    first = open_view(server, path)
    server.request("memlens/close", {"snapshot": first["snapshot"], "view": "v1"})
    (archive,) = (entry for entry in cache_folder.iterdir() if entry.is_dir())
    flip(archive / "0.event_address", random.Random(9))
    opened = open_view(server, path)
    params = server.wait_for("memlens/damaged", lambda p: p["snapshot"] == opened["snapshot"])
    assert params["again"]
    assert "a.pickle was damaged" in params["message"]
    assert "is read again" in params["message"]
    again = open_view(server, path)
    assert again["info"] == first["info"]
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        snapshot.verify()
