"""Fleets with the real engine and a real store: their results, and what happens when something goes wrong.

The engine and the store are those of ``.cache/fleet``, which ``npm test`` installs; without it these tests are skipped.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.fleet_cluster import (
    HAS_PACKAGES,
    SECRET,
    Cluster,
    Store,
    cluster_and_store,
    environment,
    fleet,
    start_fleet,
)
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import wait_until, write_snapshot
from tests.python.systems import needs_posix

from memlens.fleet.database import FILE_NAME, Database, open_fleet
from memlens.fleet.engine import Engine, SchedulerError
from memlens.fleet.tables import SNAPSHOTS, TABLES, SnapshotRow, columns_of

pytestmark = pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see the head of this file")

_READ_PARQUET = """
import json, pathlib, sys
import pyarrow.parquet as pq
tables = {path.stem: pq.read_table(path) for path in pathlib.Path(sys.argv[1]).glob("*.parquet")}
print(json.dumps({
    name: {
        "columns": [
            [field.name, str(field.type), field.nullable, field.metadata[b"description"].decode()]
            for field in table.schema
        ],
        "rows": table.to_pylist(),
    }
    for name, table in tables.items()
}))
"""
_ARROW = {"integer": "int64", "real": "double", "text": "string", "boolean": "bool"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Store]]:
    with cluster_and_store(tmp_path_factory.mktemp("cluster")) as both:
        yield both


@pytest.fixture
def cluster(both: tuple[Cluster, Store]) -> Cluster:
    return both[0]


@pytest.fixture
def store(both: tuple[Cluster, Store]) -> Store:
    return both[1]


@pytest.fixture
def job(on_disk: Path, sample: Path) -> Path:
    """A folder of a job: six ranks, one of them damaged, and a log."""
    folder = on_disk / "job"
    folder.mkdir()
    for rank in (0, 1, 2, 10):
        # all of different sizes, so that their contents differ
        write_snapshot(folder / f"rank{rank}.pickle", 400 + 4 * rank)
    shutil.copy(sample, folder / "rank3.pickle")
    (folder / "rank4.pickle").write_bytes(sample.read_bytes()[:200_000])
    (folder / "log.txt").write_text("started\n")
    return folder


def rows(folder: Path, query: str = "SELECT name, status FROM snapshots") -> list[Any]:
    with closing(open_fleet(folder)) as connection:
        return list(connection.execute(query))


def by_name(lines: list[dict[str, Any]], kind: str = "file") -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in lines if line["type"] == kind}


@pytest.mark.slow
def test_a_folder(job: Path, cluster: Cluster, tmp_path: Path, sample: Path) -> None:
    out, archives = tmp_path / "out", tmp_path / "archives"
    # these can't be assigned to a worker
    (job / "rank20.pickle").symlink_to("nowhere")
    Path(os.fsdecode(os.fsencode(job) + b"/rank30.\xff")).touch()
    lines = fleet(job, "--out", out, "--scheduler", cluster.address, "--archives", archives)
    done = by_name(lines)
    assert {name: line["status"] for name, line in done.items()} == {
        "log.txt": "other", "rank0.pickle": "ok", "rank1.pickle": "ok", "rank2.pickle": "ok", "rank3.pickle": "ok",
        "rank4.pickle": "damaged", "rank10.pickle": "ok", "rank20.pickle": "failed", "rank30.\\xff": "failed",
    }  # fmt: skip
    assert [line["done"] for line in lines if line["type"] == "file"] == [*range(1, 10)]
    assert done["rank4.pickle"]["problem"]["message"] == "The pickle is truncated after 200,000 bytes"
    sizes = [file.stat().st_size for file in job.iterdir() if file.exists()]
    assert lines[0] == {"type": "listed", "files": 9, "known": 0, "bytes": sum(sizes)}
    assert (lines[-1]["ok"], lines[-1]["damaged"], lines[-1]["other"], lines[-1]["workers"]) == (5, 1, 1, 2)
    assert len({line["worker"] for line in done.values()} - {None}) == 2, "one worker did everything"
    # the workers keep nothing
    assert not list(cluster.folder.rglob("memlens-*"))

    script = [sys.executable, "-c", _READ_PARQUET, str(out)]
    tables = json.loads(subprocess.run(script, env=environment(), capture_output=True, check=True).stdout)
    assert set(tables) == {SNAPSHOTS, *TABLES}
    for name, table in tables.items():
        assert table["columns"] == [
            [column.name, _ARROW[column.type], column.optional, column.description]
            for column in columns_of(name)
        ]
    snapshot = next(row for row in tables[SNAPSHOTS]["rows"] if row["name"] == "rank3.pickle")
    assert snapshot["rank"] == 3
    assert next(row for row in tables[SNAPSHOTS]["rows"] if row["name"] == "rank4.pickle")[
        "problem"
    ].startswith("The pickle is truncated after 200,000 bytes (at byte")

    # the answers for the file alone
    def of_sample(table: str) -> list[dict[str, Any]]:
        return [row for row in tables[table]["rows"] if row["snapshot"] == snapshot["snapshot"]]

    device = json.loads(memlens("info", sample, "--json").stdout)["devices"][0]
    (peak,) = of_sample("peaks")
    assert (peak["peak_bytes"], peak["end_bytes"], peak["end_count"], peak["peak_moment"]) == (
        device["peak_bytes"], device["live_at_end_bytes"], device["live_at_end_count"], device["peak_moment"],
    )  # fmt: skip
    assert (
        max(row["highest_bytes"] for row in of_sample("curves"))
        == device["peak_bytes"]
        == snapshot["peak_bytes"]
    )
    assert sum(row["peak_bytes"] for row in of_sample("lines")) == device["peak_bytes"]
    assert sum(row["end_bytes"] for row in of_sample("lines")) == device["live_at_end_bytes"]
    answers = json.loads(memlens("lines", sample, "--json").stdout)["lines"]
    assert {
        (row["file"], row["line"]): (row["total_bytes"], row["peak_bytes"])
        for row in of_sample("lines")
        if row["line"]
    } == {
        (row["file"], row["line"]): (row["self_total_bytes"], row["self_live_at_peak_bytes"])
        for row in answers
        if row["self_total_bytes"]
    }
    answer = json.loads(memlens("steps", sample, "--json").stdout)["steps"]["rows"]
    assert [row["peak_bytes"] for row in of_sample("steps")] == [row["peak_bytes"] for row in answer]
    findings = json.loads(memlens("findings", sample, "--json").stdout)["findings"]
    assert [row["text"] for row in of_sample("findings")] == [row["text"] for row in findings]
    # archives are at the given place, named by content
    assert {path.name.partition("-")[0] for path in archives.iterdir()} == {
        row["content"] for row in tables[SNAPSHOTS]["rows"] if row["status"] == "ok"
    }

    # files with a summary aren't read again: neither unchanged ones nor those with the content of another
    shutil.copy(job / "rank0.pickle", job / "rank5.pickle")
    os.utime(job / "rank1.pickle")
    write_snapshot(job / "rank2.pickle", 600)
    began = json.dumps(rows(out, "SELECT * FROM lines_rows ORDER BY 1, 2, 3"))
    lines = fleet(job, "--out", out, "--scheduler", cluster.address)
    assert lines[0]["known"] == 5
    # these had failed, which may have been fixed
    failed = {"rank20.pickle", "rank30.\\xff"}
    assert set(by_name(lines)) - failed == {"rank1.pickle", "rank2.pickle", "rank5.pickle"}
    # the content of two of them is known, so these weren't read
    assert {line["name"] for line in lines if line["type"] == "progress" and line["stage"] != "started"} <= {
        "rank2.pickle"
    }
    of_copy = "SELECT peak_bytes, kind, content FROM snapshots WHERE name = ?"
    with closing(open_fleet(out)) as connection:
        assert list(connection.execute(of_copy, ("rank5.pickle",))) == list(
            connection.execute(of_copy, ("rank0.pickle",))
        )
    assert json.dumps(rows(out, "SELECT * FROM lines_rows ORDER BY 1, 2, 3")) != began
    assert memlens("fleet", "peaks", out).stdout.startswith("6 snapshots")


@needs_posix
@pytest.mark.slow
def test_a_dying_worker(job: Path, cluster: Cluster, tmp_path: Path) -> None:
    """A worker dies half-way, and another reads its file; a file that kills all workers gets a row that names them."""
    killed: dict[str, list[str]] = {"rank0.pickle": [], "rank2.pickle": []}
    whole = job.with_name("whole")
    (job / "rank2.pickle").rename(whole)

    def kill(line: dict[str, Any]) -> None:
        name = line.get("name")
        if line["type"] != "progress" or line["stage"] != "started" or name not in killed:
            return
        if name == "rank2.pickle":
            if killed[name]:
                return
            whole.replace(job / name)
        killed[name].append(line["worker"])
        process = re.search(r"\(process (\d+)\)$", line["worker"])
        assert process
        with suppress(ProcessLookupError):
            os.kill(int(process[1]), signal.SIGKILL)

    # so long that no worker finishes it before it is killed
    for name in killed:
        with (job / name).open("wb") as file:
            file.truncate(1 << 40)
    lines = fleet(job, "--out", tmp_path / "out", "--scheduler", cluster.address, on_line=kill)
    done = by_name(lines)
    assert done["rank2.pickle"]["status"] == "ok"
    assert done["rank2.pickle"]["worker"] not in killed["rank2.pickle"]
    # its next worker may have been killed by the other file
    assert done["rank2.pickle"]["attempts"] >= 2
    assert done["rank0.pickle"]["status"] == "failed"
    assert done["rank0.pickle"]["problem"]["code"] == "worker-died"
    assert len(killed["rank0.pickle"]) >= 4
    for worker in killed["rank0.pickle"]:
        assert worker in done["rank0.pickle"]["problem"]["message"]
    others = {name: line["status"] for name, line in done.items() if name not in killed}
    assert others == {
        "log.txt": "other", "rank1.pickle": "ok", "rank3.pickle": "ok", "rank4.pickle": "damaged",
        "rank10.pickle": "ok",
    }  # fmt: skip
    assert dict(rows(tmp_path / "out"))["rank0.pickle"] == "failed"


@contextmanager
def rewriting(write: Callable[[], object]) -> Iterator[None]:
    """Write repeatedly until the block ends."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.02):
            write()

    writer = threading.Thread(target=work)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


@pytest.mark.slow
def test_a_store(cluster: Cluster, store: Store, tmp_path: Path, sample: Path) -> None:
    """One file is truncated, one is rewritten while it is read, and credentials appear nowhere."""
    whole = sample.read_bytes()
    store.put("job/rank0.pickle", whole)
    store.put("job/rank1.pickle", whole[:100_000])
    versions = iter(range(1 << 30))

    def write() -> None:
        store.put("job/rank2.pickle", whole + bytes([next(versions) % 256]) * 8)

    write()
    out = tmp_path / "out"
    arguments = (
        "s3://snapshots/job", "--out", out, "--scheduler", cluster.address, "--archives", "s3://snapshots/archives",
    )  # fmt: skip
    with rewriting(write):
        lines = fleet(*arguments, env=store.env)
    done = by_name(lines)
    assert {name: (line["status"], (line["problem"] or {}).get("code")) for name, line in done.items()} == {
        "rank0.pickle": ("ok", None), "rank1.pickle": ("damaged", "damaged"), "rank2.pickle": ("failed", "changed"),
    }  # fmt: skip
    # once it is complete it is read, and nothing else
    store.put("job/rank2.pickle", whole)
    lines = fleet(*arguments, env=store.env)
    assert {name: line["status"] for name, line in by_name(lines).items()} == {"rank2.pickle": "ok"}
    assert [name for name, status in rows(out) if status == "ok"] == ["rank0.pickle", "rank2.pickle"]
    # archives went to the store, whole and by their content
    kept = {
        f"archives/{content}-{size}/manifest.json"
        for content, size in rows(out, "SELECT content, size_bytes FROM snapshots WHERE status = 'ok'")
    }
    assert {key for key in store.keys("archives/") if key.endswith("manifest.json")} == kept
    assert len({key.split("/")[2] for key in store.keys("archives/")}) > 10
    # one that is overwritten is read again, even if it was complete and has the same size
    write_snapshot(tmp_path / "other", 600)
    other = (tmp_path / "other").read_bytes()
    store.put("job/rank0.pickle", other + bytes(len(whole) - len(other)))
    of_rank0 = "SELECT size_bytes, content, peak_bytes FROM snapshots WHERE name = 'rank0.pickle'"
    ((size, content, peak),) = rows(out, of_rank0)
    lines = fleet(*arguments, env=store.env)
    assert {name: line["status"] for name, line in by_name(lines).items()} == {"rank0.pickle": "ok"}
    ((new_size, new_content, new_peak),) = rows(out, of_rank0)
    assert new_size == size
    assert new_content != content
    assert new_peak != peak
    assert f"archives/{new_content}-{size}/manifest.json" in store.keys("archives/")
    for file in out.iterdir():
        assert SECRET.encode() not in file.read_bytes()
    assert SECRET not in json.dumps(lines)
    assert not list(cluster.folder.rglob("memlens-*"))

    # one file by a glob, and a sentence for each file that can't be read
    lines = fleet(
        "s3://snapshots/job/*0.pickle",
        "--out",
        tmp_path / "glob",
        "--scheduler",
        cluster.address,
        env=store.env,
    )
    assert set(by_name(lines)) == {"rank0.pickle"}
    nothing = start_fleet("s3://snapshots/elsewhere", "--out", tmp_path / "none", env=store.env)
    assert nothing.communicate()[1] == (
        "memlens: There is nothing at s3://snapshots/elsewhere. Check that the file exists and that you may read it.\n"
    )
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_fetching_a_rank_of_a_store(store: Store, tmp_path: Path) -> None:
    """For the editor: progress, a copy that is kept, and nothing after a cancellation."""
    body = os.urandom(40 << 20)

    def row(rank: int, identity: str) -> SnapshotRow:
        return SnapshotRow(
            rank, f"rank{rank}", rank, "ok", None, None, "timeline", "made", len(body), None, identity, 1, None, 1,
            0, 0, 0, 0, "here", 1, 0.5, None,
        )  # fmt: skip

    with closing(Database(tmp_path / "out", "s3://snapshots/large")) as database:
        for rank in range(2):
            store.put(f"large/rank{rank}", body)
            database.put(row(rank, identity="1"), None)
    asked = {"path": str(tmp_path / "out" / FILE_NAME), "folder": str(tmp_path / "copies")}
    with LspClient(environment(**store.env)) as server:
        server.start(tmp_path)
        copy = Path(server.request("memlens/fleetFetch", {**asked, "snapshot": 0, "view": "a"})["path"])
        assert copy.read_bytes() == body
        done = [each["fraction"] for name, each in server.notifications if name == "memlens/progress"]
        assert len(done) == 5
        assert done == sorted(done)
        assert done[-1] == 1
        assert server.request("memlens/fleetFetch", {**asked, "snapshot": 0, "view": "a"})["known"]
        # overwritten and summarised again: the copy has the old content
        store.put("large/rank0", b"another content")
        with closing(Database(tmp_path / "out", "s3://snapshots/large")) as database:
            database.put(row(0, identity="2"), None)
        new = server.request("memlens/fleetFetch", {**asked, "snapshot": 0, "view": "a"})
        assert not new["known"]
        assert Path(new["path"]).read_bytes() == b"another content"
        Path(new["path"]).unlink()

        pending = server.send("memlens/fleetFetch", {**asked, "snapshot": 1, "view": "b"})
        server.wait_for("memlens/progress", lambda params: params["view"] == "b")
        pending.cancel()
        with pytest.raises(RpcError, match=r"(?i)cancel"):
            pending.result()
        wait_until(lambda: not list((tmp_path / "copies").rglob("partial-*")))
        assert [path.name for path in (tmp_path / "copies").rglob("*") if path.is_file()] == ["rank0"]


@needs_posix
@pytest.mark.slow
def test_a_terminal(job: Path, cluster: Cluster, tmp_path: Path) -> None:
    """While files are read one line is updated; only a line for each problem remains."""
    import pty  # which Windows lacks

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "memlens", "fleet", str(job), "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [*command, "--scheduler", cluster.address], env=environment(), stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        # Linux reports EIO when the other end is closed
        with suppress(OSError):
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
        assert process.stdout
        answer = process.stdout.read().decode()
    assert process.returncode == 0
    assert answer.startswith("7 files: 5 summarised, 1 damaged, 1 not snapshots; ")
    text = shown.decode().replace("\r\n", "\n")
    assert re.search(r"\r\x1b\[K\d of 7(, \d problems?)?; reading \S+ \d+%", text)
    left = [re.sub(r".*\r\x1b\[K", "", line) for line in text.split("\n")]
    assert left[0].startswith("7 files, ")
    assert {line.partition(":")[0] for line in left[1:-1]} == {"rank4.pickle", "log.txt"}
    assert left[-1] == ""


@pytest.mark.slow
def test_a_local_file_that_is_written(cluster: Cluster, tmp_path: Path, sample: Path) -> None:
    whole, path = sample.read_bytes(), tmp_path / "job" / "rank0.pickle"
    path.parent.mkdir()
    path.write_bytes(whole)
    with rewriting(lambda: path.write_bytes(whole)):
        lines = fleet(path.parent, "--out", tmp_path / "out", "--scheduler", cluster.address)
    (line,) = by_name(lines).values()
    assert (line["status"], line["problem"]["code"]) == ("failed", "changed")


@contextmanager
def two_hosts() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a cable between them: 10.77.0.1 and 10.77.0.2."""
    names = (f"memlens{os.getpid()}a", f"memlens{os.getpid()}b")

    def ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    made: list[str] = []
    try:
        try:
            for name in names:
                ip("netns", "add", name)
                made.append(name)
            ends = [f"ml{os.getpid() % 10**6}{end}" for end in "ab"]
            ip(
                "link",
                "add",
                ends[0],
                "netns",
                names[0],
                "type",
                "veth",
                "peer",
                "name",
                ends[1],
                "netns",
                names[1],
            )
            for number, (name, end) in enumerate(zip(names, ends, strict=True), 1):
                ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", end)
                ip("-n", name, "link", "set", end, "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no network namespaces here: {error}")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.slow
def test_two_hosts(job: Path, tmp_path: Path) -> None:
    """The scheduler and a worker on one host, a worker on another, started as users start them; then one is killed."""
    with two_hosts() as (here, there):
        tools = [sys.executable, "-m"]
        started: list[subprocess.Popen[bytes]] = []

        def start(host: str, module: str, *arguments: object) -> None:
            command = ["ip", "netns", "exec", host, *tools, module, *map(str, arguments)]
            null = subprocess.DEVNULL
            started.append(subprocess.Popen(command, env=environment(), stdout=null, stderr=null))

        try:
            start(
                here,
                "distributed.cli.dask_scheduler",
                "--host",
                "10.77.0.1",
                "--port",
                "8786",
                "--no-dashboard",
            )
            for number, host in enumerate((here, there), 1):
                start(
                    host, "distributed.cli.dask_worker", "tcp://10.77.0.1:8786", "--host", f"10.77.0.{number}",
                    "--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", tmp_path / f"host{number}",
                )  # fmt: skip
            command = [
                "ip", "netns", "exec", here, *tools, "memlens", "fleet", str(job), "--out", str(tmp_path / "out"),
                "--scheduler", "tcp://10.77.0.1:8786", "--progress", "json",
            ]  # fmt: skip
            # workers start later than the job
            answer = subprocess.run(
                command, env=environment(), capture_output=True, text=True, timeout=120, check=False
            )
            assert answer.returncode == 0, answer.stderr

            # the scheduler ends while an endless file is read
            with (job / "rank0.pickle").open("wb") as file:
                file.truncate(1 << 40)
            with subprocess.Popen(
                command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as again:
                assert again.stdout
                for text in again.stdout:
                    if '"started"' in text:
                        started[0].kill()
                _, errors = again.communicate()
            assert again.returncode == 1
            assert errors == "memlens: The scheduler went away. Check its address and that it is running.\n"
        finally:
            for process in started:
                # a worker that is asked to end waits for its scheduler
                process.kill()
            for process in started:
                process.wait()
    lines = [json.loads(line) for line in answer.stdout.splitlines()]
    assert lines[-1]["ok"] == 5
    workers = {line["worker"].split(" ")[1].partition(":")[0] for line in by_name(lines).values()}
    assert workers == {"10.77.0.1", "10.77.0.2"}


class _Gone:
    """Dask's client at the moment at which its scheduler ends: it is asked before it has noticed."""

    status = "running"

    def subscribe_topic(self, *_: object) -> None:
        pass

    def nthreads(self) -> dict[str, int]:
        raise ConnectionResetError(104, "Connection reset by peer")


def test_a_scheduler_that_ends_while_it_is_asked() -> None:
    with pytest.raises(SchedulerError, match="The scheduler went away"):
        next(Engine(_Gone(), lambda _event: None).run(iter(())))


@pytest.mark.slow
def test_invalid_places_and_options_are_refused(tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        process = start_fleet(*arguments)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 1
        return errors

    said = refused(f"ssh://me:{SECRET}@host/job", "--out", tmp_path / "out")
    assert SECRET not in said
    assert said.startswith("memlens: The URL contains a password or a key")
    assert "gopher:// is not a kind of store" in refused("gopher://host/job", "--out", tmp_path / "out")
    said = refused(tmp_path, "--out", tmp_path / "out", "--scheduler", f"tcp://me:{SECRET}@host:8786")
    assert SECRET not in said
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_single_file_starts_nothing(sample: Path, tmp_path: Path) -> None:
    """Neither the engine nor the stores nor Parquet is imported for a single file, nor for questions."""
    script = (
        "import sys; from memlens.cli import main; status = main(sys.argv[1:]); "
        "print(status, sorted({'dask', 'distributed', 'fsspec', 'pyarrow', 'tornado'} & set(sys.modules)))"
    )
    for arguments in (["findings", sample, "--cache-dir", tmp_path], ["fleet", "summary", sample]):
        command = [sys.executable, "-c", script, *map(str, arguments)]
        answer = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
        assert answer.stdout.splitlines()[-1] == "0 []"
