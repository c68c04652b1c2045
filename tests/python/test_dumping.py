"""Heap dumps of running processes, which these tests start: whole ones, those that are given up, and those refused."""

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.graph_reading import load, type_names
from tests.python.java_classes import JAVAC

from memlens.dumping import linux, place, processes
from memlens.dumping.errors import DumpError
from memlens.dumping.runtimes import Runtime, by_libraries, title
from memlens.packs.jvm import dumping as hotspot
from memlens.store.files.output import Output

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
needs_java = pytest.mark.skipif(not shutil.which("javac"), reason="needs a JDK")

SERVICE_JS = """
class Session { constructor(user) { this.user = user; } }
const kept = Array.from({ length: +process.argv[2] }, (_, user) => new Session(user));
console.log("ready");
setInterval(() => kept.length, 1000);
"""

SERVICE_JAVA = """
public class Service {
    static final class Session { final byte[] visited = new byte[100]; }
    static final Session[] OPEN = new Session[300];
    public static void main(String[] arguments) throws Exception {
        for (int user = 0; user < OPEN.length; user++) OPEN[user] = new Session();
        System.out.println("ready");
        Thread.sleep(600_000);
    }
}
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a program and waits until it says that it is ready."""
    running: list[subprocess.Popen[str]] = []

    def started(*command: object, **environment: str) -> "subprocess.Popen[str]":
        with (tmp_path / "stderr.txt").open("a") as errors:
            process = subprocess.Popen(
                [*map(str, command)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **environment},
            )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", (tmp_path / "stderr.txt").read_text()
        return process

    yield started
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def node(tmp_path: Path, start: Start) -> Callable[..., "subprocess.Popen[str]"]:
    program = tmp_path / "service.js"
    program.write_text(SERVICE_JS)

    def started(*options: str, sessions: int = 300) -> "subprocess.Popen[str]":
        # not 9229, which another program of this machine may use
        return start("node", f"--inspect-port={free_port()}", *options, program, sessions)

    return started


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    (folder / "Service.java").write_text(SERVICE_JAVA)
    subprocess.run([*JAVAC, "-d", folder, folder / "Service.java"], check=True)
    return folder


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def types_in(dump: Path) -> Counter[str]:
    return Counter(type_names(load(dump)))


def listens(process: "subprocess.Popen[str]") -> set[Any]:
    return linux.listening(process.pid)


def is_closed_again(process: "subprocess.Popen[str]", within_s: float) -> None:
    """Assert that the inspector of a process is closed in time, and that the process goes on."""
    deadline = time.monotonic() + within_s
    while listens(process):
        assert time.monotonic() < deadline, "the inspector stayed open"
        time.sleep(0.1)
    assert process.poll() is None


def refused(*arguments: object, status: int = 1) -> str:
    return memlens("dump", *arguments, status=status).stderr


@pytest.mark.slow
@needs_node
def test_a_dump_of_node(tmp_path: Path, node: Start) -> None:
    process, out = node(), tmp_path / "service.heapsnapshot"
    said = json.loads(memlens("dump", process.pid, out, "--json").stdout)
    assert (said["runtime"], said["file_bytes"]) == ("node", out.stat().st_size)
    assert types_in(out)["Session"] == 300
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert listens(process) == set(), "the inspector is closed again"
    assert process.poll() is None
    before = out.read_bytes()
    assert "exists" in refused(process.pid, out)
    assert out.read_bytes() == before
    memlens("dump", process.pid, out, "--force")
    assert [each.name for each in tmp_path.iterdir() if "partial" in each.name] == []


BUSY_JS = """
class Order { constructor(number) { this.number = number; this.lines = [number]; } }
const kept = [];
let last;
console.log("ready");
function tick() {
  kept.push(new Order(kept.length));
  last = Array.from({ length: 500 }, (_, number) => new Order(number));
}
setInterval(tick, 20);
process.on("SIGUSR2", () => {
  for (let count = 0; count < 20; count++) tick();
  for (let count = 0; count < 20_000; count++) kept.push(new Order(count));
  console.log("allocated");
});
"""


def record_while_it_allocates(process: "subprocess.Popen[str]", out: Path, *options: str) -> None:
    """Record a ``busy`` program until it has allocated what it is asked to, however long it takes."""
    command = [sys.executable, "-m", "memlens", "record", str(process.pid), str(out), "--progress", "json"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as recording:
        assert recording.stdout is not None
        assert process.stdout is not None
        assert json.loads(recording.stdout.readline())["type"] == "progress"
        process.send_signal(signal.SIGUSR2)
        assert process.stdout.readline() == "allocated\n"
        recording.send_signal(signal.SIGINT)
        assert '"done"' in recording.stdout.read()


@pytest.fixture
def busy(tmp_path: Path, start: Start) -> "subprocess.Popen[str]":
    """A program that allocates much and keeps little of it."""
    (tmp_path / "orders.js").write_text(BUSY_JS)
    return start("node", f"--inspect-port={free_port()}", tmp_path / "orders.js")


@pytest.mark.slow
@needs_node
def test_allocations_are_recorded_over_time(tmp_path: Path, busy: "subprocess.Popen[str]") -> None:
    out = tmp_path / "orders.heaptimeline"
    said = json.loads(memlens("record", busy.pid, out, "--for", "1.5", "--json").stdout)
    assert (said["file_bytes"], stat.S_IMODE(out.stat().st_mode)) == (out.stat().st_size, 0o600)
    assert said["seconds"] >= 1.5
    graph = load(out)
    assert 1_000_000 < int(graph.samples["time_us"][-1]) < 30_000_000
    # each look at the heap still saw the latest orders, which are gone now
    allocated = int(graph.samples["allocated_bytes"][1:].sum())
    assert allocated > 500 * 24 * 3
    assert graph.allocated is not None
    orders = [f.line for f in graph.frames.frames if Path(f.file).name == "orders.js"]
    assert 2 in orders
    rows = json.loads(memlens("types", out, "--since", "0", "--json").stdout)["types"]
    kept = next(row["count"] for row in rows if row["type"] == "Order")
    query = "SELECT total FROM value_types WHERE name = 'allocated_objects'"
    (total,) = json.loads(memlens("sql", out, query, "--json").stdout)
    assert 500 < kept < 2_000
    assert total["total"] > 5 * kept
    assert listens(busy) == set(), "the inspector is closed again"
    assert busy.poll() is None


@pytest.mark.slow
@needs_node
def test_a_recording_ends_at_an_interrupt_or_is_given_up(
    tmp_path: Path, busy: "subprocess.Popen[str]"
) -> None:
    out = tmp_path / "out" / "orders.heaptimeline"
    out.parent.mkdir()
    command = [sys.executable, "-m", "memlens", "record", str(busy.pid), str(out), "--progress", "json"]
    for end, is_whole in ((signal.SIGTERM, False), (signal.SIGINT, True)):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as recording:
            assert recording.stdout is not None
            assert json.loads(recording.stdout.readline()) == {
                "type": "progress",
                "stage": "0:00",
                "fraction": None,
            }
            recording.send_signal(end)
            assert ('"done"' if is_whole else '"interrupted"') in recording.stdout.read()
        assert [each.name for each in out.parent.iterdir()] == ([out.name] if is_whole else [])
    assert len(load(out).samples)
    is_closed_again(busy, 60)


@pytest.mark.slow
@needs_node
def test_allocations_are_sampled(tmp_path: Path, busy: "subprocess.Popen[str]") -> None:
    out = tmp_path / "orders.heapprofile"
    # one of 16 KiB is a sample
    record_while_it_allocates(busy, out, "--sampling")
    lines = json.loads(memlens("lines", out, "--json").stdout)["lines"]
    assert any(Path(row["file"]).name == "orders.js" and row["itself"] > 10_000 for row in lines)
    refused = memlens("record", os.getpid(), tmp_path / "x", status=1)
    assert "is not a page and doesn't run on Node.js or Java" in refused.stderr
    # and it isn't said that it records
    assert refused.stdout == ""


@pytest.mark.slow
@needs_node
def test_a_series_of_dumps(tmp_path: Path, busy: "subprocess.Popen[str]") -> None:
    out = tmp_path / "orders.heapsnapshot"
    assert "both --every and --count" in refused(busy.pid, out, "--every", "1", status=2)
    files = [tmp_path / f"orders-{number}.heapsnapshot" for number in (1, 2)]
    files[1].touch()
    assert "orders-2.heapsnapshot exists" in refused(busy.pid, out, "--every", "1", "--count", "2")
    assert not files[0].exists()
    said = json.loads(
        memlens("dump", busy.pid, out, "--every", "1", "--count", "2", "--force", "--json").stdout
    )
    assert [row["file"] for row in said] == [str(file) for file in files]
    first, second = (types_in(file)["Order"] for file in files)
    assert 500 < first < second


@pytest.mark.slow
@needs_node
def test_an_inspector_that_does_not_answer_is_closed_later(tmp_path: Path, start: Start) -> None:
    """It was opened for the dump, and whoever reaches it can make the program run anything."""
    program = tmp_path / "blocked.js"
    program.write_text(
        "const inspector = require('inspector'), { execSync } = require('child_process');"
        "let isFirst = true;"
        "setInterval(() => { if (isFirst && inspector.url()) { isFirst = false; execSync('sleep 3'); } }, 1);"
        "console.log('ready');"
    )
    process = start("node", f"--inspect-port={free_port()}", program)
    assert "did not answer within 0.5 s" in refused(process.pid, tmp_path / "out", "--timeout", 0.5)
    is_closed_again(process, 30)


@pytest.mark.slow
@needs_node
def test_an_inspector_that_was_open_stays_open(tmp_path: Path, node: Start) -> None:
    process = node("--inspect")
    before = listens(process)
    assert len(before) == 1
    ((host, port),) = before
    # by its address as well, as where a container's port is forwarded
    for number, name in enumerate((process.pid, f"{host}:{port}")):
        out = tmp_path / f"service-{number}.heapsnapshot"
        memlens("dump", name, out)
        assert types_in(out)["Session"] == 300
        assert listens(process) == before


@pytest.mark.slow
@needs_node
def test_another_process_at_the_port_is_never_dumped(tmp_path: Path, start: Start, node: Start) -> None:
    other = node("--inspect")
    ((_, port),) = listens(other)
    process = start("node", f"--inspect-port={port}", tmp_path / "service.js", 5)
    said = refused(process.pid, tmp_path / "x.heapsnapshot", "--timeout", "1")
    assert f"another program uses port {port}" in said
    assert not (tmp_path / "x.heapsnapshot").exists()
    assert process.poll() is None


@pytest.mark.slow
@needs_node
def test_a_dump_that_is_given_up_leaves_nothing(tmp_path: Path, node: Start) -> None:
    process, out = node(sessions=150_000), tmp_path / "out" / "service.heapsnapshot"
    out.parent.mkdir()
    command = [sys.executable, "-m", "memlens", "dump", str(process.pid), str(out), "--progress", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as dumping:
        assert dumping.stdout is not None
        assert json.loads(dumping.stdout.readline())["type"] == "progress", "it has begun"
        dumping.terminate()
        assert '"interrupted"' in dumping.stdout.read()
    assert list(out.parent.iterdir()) == []
    is_closed_again(process, 60)


@needs_node
def test_a_process_that_a_signal_would_end_gets_none(tmp_path: Path, node: Start, start: Start) -> None:
    process = node()
    # a program that isn't Node.js under its name
    fake = tmp_path / "node"
    shutil.copy(shutil.which("sleep") or "", fake)
    with subprocess.Popen([fake, "600"]) as other:
        try:
            assert "doesn't open its inspector" in refused(other.pid, tmp_path / "x")
            assert other.poll() is None
            os.kill(process.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            assert "is stopped" in refused(process.pid, tmp_path / "x")
        finally:
            other.kill()
    zombie = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
    try:
        assert "has ended" in refused(zombie, tmp_path / "x")
    finally:
        os.waitpid(zombie, 0)
    assert "There is no process" in refused(zombie, tmp_path / "x")
    assert "there is no folder" in refused(process.pid, tmp_path / "nowhere" / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
@needs_java
def test_a_dump_of_java(tmp_path: Path, java: Path, start: Start) -> None:
    process, out = start("java", "-Xmx64m", "-cp", java, "Service"), tmp_path / "service.hprof"
    listed = {each.get("pid"): each for each in json.loads(memlens("dump", "--json").stdout)}
    assert listed[process.pid]["runtime"] == "java"
    assert listed[process.pid]["command"] == f"java -Xmx64m -cp {java} Service"
    assert listed[process.pid]["resident_bytes"] > 1 << 20
    assert os.getpid() not in listed
    assert "of Java" in memlens("dump", process.pid, out).stdout
    assert types_in(out)["Service$Session"] == 300
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    # the second goes over the connection that the first has opened
    memlens("dump", process.pid, out, "--all", "--force")
    assert types_in(out)["Service$Session"] == 300
    assert not Path(f"/tmp/.attach_pid{process.pid}").exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["service.hprof", "stderr.txt"]
    deep = tmp_path.joinpath(*["d" * 200] * 5)
    deep.mkdir(parents=True)
    assert "no path longer than 1,024 bytes" in refused(process.pid, deep / "x.hprof")
    assert list(deep.iterdir()) == []
    closed = start("java", "-XX:+DisableAttachMechanism", "-cp", java, "Service")
    assert "DisableAttachMechanism" in refused(closed.pid, tmp_path / "x.hprof")
    assert "Only Python dumps" in refused(process.pid, tmp_path / "x.hprof", "--no-texts")


def recorded_beside_a_link(out: Path, own: Path, *, is_folder: bool) -> None:
    """Another user puts a link where a recording's settings or their folder are, which is theirs by then."""
    with place.writing(Output(out), os.getpid()) as file:
        if is_folder:
            file.parent.rmdir()
            file.parent.symlink_to(own.parent, target_is_directory=True)
        else:
            (file.parent / "a.jfc").symlink_to(own)
        try:
            with place.written_by(os.getpid(), file, {"a.jfc": b"settings"}):
                pytest.fail("what another user has put there was written to")
        finally:
            if is_folder:
                file.parent.unlink()


def test_links_of_another_user_are_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root dumps processes of others, who may have put links where it writes, and where they were to write."""
    own, out, root = tmp_path / "own", tmp_path / "out.hprof", tmp_path / "root"
    own.write_text("root's")
    own.chmod(0o644)
    before = own.stat()
    with pytest.raises(DumpError, match="something else"), place.writing(Output(out), os.getpid()) as file:
        file.symlink_to(own)
    with pytest.raises(DumpError, match="something else"), place.writing(Output(out), os.getpid()) as file:
        os.link(own, file)
    for is_folder in (False, True):
        with pytest.raises(DumpError, match="something else"):
            recorded_beside_a_link(out, own, is_folder=is_folder)
    (root / "tmp").parent.mkdir()
    (root / "tmp").symlink_to(tmp_path)
    (tmp_path / "request").symlink_to(own)
    with monkeypatch.context() as patched:
        patched.setattr(linux, "root_of", lambda _: root)
        with pytest.raises(DumpError, match="can't be reached"), place.written_by(os.getpid(), out):
            pytest.fail("a folder of this machine was taken for one of the container")
    if os.geteuid() == 0:
        for name, answer in (("user_of", 65534), ("group_of", 65534), ("catches", True), ("is_alive", False)):
            monkeypatch.setattr(linux, name, lambda *_, answer=answer: answer)
        monkeypatch.setattr(os, "kill", lambda *_: None)
        make = Path.mkdir

        def exchanged(folder: Path, **options: Any) -> None:
            """Another has put a link in place of a folder that was just made."""
            make(folder, **options)
            folder.rmdir()
            folder.symlink_to(tmp_path / "mine", target_is_directory=True)

        (tmp_path / "mine").mkdir()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "mkdir", exchanged)
            with pytest.raises(DumpError, match="something else"), place.writing(Output(out), os.getpid()):
                pytest.fail("a folder of root's was given to another user")
        assert (tmp_path / "mine").stat().st_uid == 0
        (tmp_path / "mine").rmdir()
        for link in tmp_path.glob("*.partial-*"):
            link.unlink()
        with pytest.raises(DumpError, match="ended"):
            hotspot._woken(os.getpid(), tmp_path / "request", tmp_path / "listener", 1)
    assert sorted(each.name for each in tmp_path.iterdir() if each.name != "request") == ["own", "root"]
    after = own.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere jcmd asks")
def test_an_answer_without_an_end_is_given_up() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs, ThreadPoolExecutor(1) as pool:
        sent = pool.submit(lambda: theirs.sendall(b"0\n" + bytes(64 << 20)))
        with pytest.raises(DumpError, match="longer answer than a virtual machine does"):
            hotspot._asked(mine, os.getpid(), ("jcmd", "", "", ""), Path("none"), lambda _: None)
        mine.close()
        with pytest.raises(OSError, match=r"pipe|reset"):
            sent.result()


def test_a_listener_that_accepts_nothing_is_given_up(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as waiting:
        listener.bind(str(tmp_path / "socket"))
        listener.listen(0)
        with contextlib.suppress(BlockingIOError):
            for _ in range(10):
                connection = waiting.enter_context(socket.socket(socket.AF_UNIX))
                connection.setblocking(False)
                connection.connect(str(tmp_path / "socket"))
        with pytest.raises(DumpError, match="accepts no connection"):
            hotspot._connected(os.getpid(), tmp_path / "socket", time.monotonic())


@needs_java
@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("unshare"), reason="needs to be root"
)
def test_a_dump_of_java_in_a_container(tmp_path: Path, java: Path, start: Start) -> None:
    """With process ids and a /tmp of its own, in which it can't see this one's."""
    inside = f"mount -t tmpfs none /tmp && exec java -Xmx64m -cp {java} Service"
    # the classes stay visible below a mount of their own
    home = Path("/opt") / f"memlens-test-{os.getpid()}"
    shutil.copytree(java, home)
    try:
        try:
            outer = start("unshare", "-m", "-p", "-f", "sh", "-c", inside.replace(str(java), str(home)))
        except AssertionError:
            pytest.skip("this machine doesn't allow namespaces")
        (pid,) = map(int, Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split())
        try:
            memlens("dump", pid, tmp_path / "service.hprof")
            assert types_in(tmp_path / "service.hprof")["Service$Session"] == 300
            assert [
                each.name for each in Path(f"/proc/{pid}/root/tmp").iterdir() if "memlens" in each.name
            ] == []
        finally:
            os.kill(pid, signal.SIGKILL)
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize(
    ("kind", "command", "expected"),
    [
        ("java", "java -Xmx1g -cp a:b -Dx=y com.example.Main --port 80", "com.example.Main"),
        ("java", "/opt/jdk/bin/java -jar /srv/app.jar", "app.jar"),
        ("java", "java -p mods -m shop/com.example.Main", "com.example.Main"),
        ("node", "node --require ./trace.js /srv/dist/server.js --port 80", "server.js"),
        ("node", "node -e setInterval", "node"),
        ("python", "python3.14 -X dev -m uvicorn app:app", "uvicorn"),
        ("dotnet", "/usr/bin/dotnet /srv/Shop.dll", "Shop.dll"),
        ("dotnet", "/srv/Shop", "Shop"),
    ],
)
def test_what_a_process_is_called(kind: str, command: str, expected: str) -> None:
    assert title(Runtime(kind), command.split()) == expected


def test_runtimes_are_known_by_what_is_loaded() -> None:
    assert by_libraries(["libc.so.6", "libcoreclr.so"]) == Runtime("dotnet")
    assert by_libraries(["libjvm.so", "libj9vm29.so"]) == Runtime("openj9")
    assert by_libraries(["libpython3.14.so.1.0"]) == Runtime("python", 14)
    assert by_libraries(["libc.so.6"]) is None


def test_processes_of_other_systems() -> None:
    listed = """
      501   501  20480 /usr/local/bin/node server.js
      502   502  20480 /usr/local/bin/node theirs.js
      503   501   1024 /Library/Frameworks/Python.framework/Versions/3.14/Python.app/Contents/MacOS/Python app.py
    """
    found = list(processes.from_ps(listed.strip(), 501))
    assert [(each.pid, each.runtime, each.name) for each in found] == [
        (501, Runtime("node"), "server.js"), (503, Runtime("python", 14), "app.py"),
    ]  # fmt: skip
    assert found[0].resident_bytes == 20480 * 1024
    rows = [
        {
            "ProcessId": 7, "ExecutablePath": r"C:\Program Files\nodejs\node.exe", "WorkingSetSize": 4096,
            "CommandLine": r'"C:\Program Files\nodejs\node.exe" C:\app\server.js',
        },
        {"ProcessId": 8, "ExecutablePath": None, "CommandLine": None, "WorkingSetSize": 1},
    ]  # fmt: skip
    (node,) = processes.from_windows(json.dumps(rows))
    assert (node.pid, node.runtime, node.resident_bytes) == (7, Runtime("node"), 4096)
    assert node.name.endswith("server.js")
