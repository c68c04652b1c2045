"""Recordings of Java Flight Recorder: real ones against the JDK's own reader, and made ones by hand."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import zstandard
from tests.python.profile_reading import FIXTURES, damage, load, samples_of, value

from memlens.cli import main
from memlens.errors import MemlensError
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.frames import NATIVE
from memlens.model.profile import Profile
from memlens.packs.jvm.declared import name_of_frame
from memlens.packs.jvm.flight.code import source_file, type_name
from memlens.packs.jvm.flight.recording import settings_of
from memlens.packs.jvm.tests.flight_files import TYPES, Recording, leaking
from memlens.store.snapshot import Snapshot
from memlens.views.findings.table import ranked

SESSIONS = FIXTURES / "sessions.jfr.zst"
needs_jdk = pytest.mark.skipif(
    not shutil.which("jfr") or not shutil.which("javac"), reason="no JDK is installed"
)
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">
<event name="jdk.ObjectAllocationSample"><setting name="enabled">true</setting></event>
<event name="jdk.OldObjectSample"><setting name="enabled">true</setting>
<setting name="stackTrace">true</setting></event>
<event name="jdk.GarbageCollection"><setting name="enabled">true</setting></event>
<event name="jdk.JVMInformation"><setting name="enabled">true</setting></event>
<event name="jdk.GCHeapSummary"><setting name="enabled">true</setting></event>
{more}</configuration>"""


def made(tmp_path: Path, recording: Recording | bytes, name: str = "a.jfr") -> Path:
    path = tmp_path / name
    path.write_bytes(recording if isinstance(recording, bytes) else recording.build())
    return path


@pytest.mark.parametrize(
    ("function", "file", "name"),
    [
        ("app.Leak.cache", "app/Leak.java", "app.Leak#cache"),
        ("app.Leak$Node.next", "app/Leak.java", "app.Leak$Node#next"),
        ("com.Acme.app.Leak[]", "com/Acme/app/Leak.java", "com.Acme.app.Leak[]"),
        ("Leak.cache", "Leak.java", "Leak#cache"),
        ("app.LeakKt.cache", "app/Leak.kt", "app.LeakKt#cache"), ("libjvm", "libjvm.so", ""), ("byte[]", "", ""),
        ("…Leak.cache", "app/Leak.java", ""),
    ],
)  # fmt: skip
def test_frames_without_a_line_stand_for_types_and_fields(function: str, file: str, name: str) -> None:
    assert name_of_frame(function, file) == name


def stacks(profile: Profile, name: str) -> Counter[tuple[str, ...]]:
    """What each stack has of a value: ``function:line`` of each frame, innermost first."""
    number = [kind.name for kind in profile.value_types].index(name)
    found: Counter[tuple[str, ...]] = Counter()
    for frames, values in samples_of(profile):
        if values[number]:
            found[tuple(f"{each.function}:{each.line}" for each in frames)] += values[number]
    return found


def labels(profile: Profile, key: str) -> Counter[str]:
    """How many samples have each text of a label."""
    named = next((number for number, text in profile.strings.items() if text == key), -1)
    rows = profile.labels[profile.labels["key"] == named]
    return Counter(profile.strings[number] for number in rows["text"].tolist())


def codes(profile: Profile) -> list[str]:
    return [each.code for each in profile.warnings]


def printed(path: Path) -> list[dict[str, Any]]:
    """What the JDK's own reader prints of a recording."""
    names = "ObjectAllocationSample,ObjectAllocationInNewTLAB,ObjectAllocationOutsideTLAB,OldObjectSample,GCHeapSummary"
    names += ",ThreadAllocationStatistics"
    command = ["jfr", "print", "--json", "--stack-depth", "4096", "--events", names, str(path)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    events: list[dict[str, Any]] = json.loads(out)["recording"]["events"]
    return events


def stack_printed(values: dict[str, Any]) -> tuple[str, ...]:
    trace = values["stackTrace"] or {"frames": [], "truncated": False}
    frames = [
        f"{type_name(each['method']['type']['name'])}.{each['method']['name']}:{max(each['lineNumber'], 0)}"
        for each in trace["frames"]
    ]
    return (*frames, "(stack cut off):0") if trace["truncated"] else tuple(frames)


def chain_printed(values: dict[str, Any]) -> list[str]:
    """The fields and arrays that hold an object, from it to the root."""
    found, here = [], values["object"]
    while here is not None and (link := here["referrer"]) is not None:
        here = link["object"]
        owner = type_name(here["type"]["name"])
        description = here["description"] or ""
        if link["field"] is not None:
            owner = description.removeprefix("Class Name: ") if owner == "java.lang.Class" else owner
            found.append(f"{owner}.{link['field']['name']}")
        else:
            found.append(owner)
    return found


def test_a_recording_says_what_was_allocated_what_is_alive_and_what_holds_it() -> None:
    profile = load(SESSIONS)
    # by `jfr print` of JDK 17: 30 objects, all allocated in line 12 and held by the map of 12,000
    assert value(profile, "kept_samples") == value(profile, "held_samples") == 30
    assert {stack[0] for stack in stacks(profile, "kept_samples")} == {"Sessions.login:12"}
    assert labels(profile, "held by")["Sessions.open (HashMap of 12,000)"] > 0
    held = stacks(profile, "held_samples")
    chain = max(held, key=lambda each: held[each])
    assert chain[:6] == (
        "byte[]:0", "Sessions$Session.state:0", "java.util.HashMap$Node.value:0", "java.util.HashMap$Node[]:0",
        "java.util.HashMap.table:0", "Sessions.open:0",
    )  # fmt: skip
    assert profile.value_types[profile.default_value].name == "kept_samples"
    assert profile.times is not None
    assert "heap_after_collections_bytes" in profile.times.series
    # the thread had allocated most of this when the recording began
    assert codes(profile) == ["sampled", "first-samples"]


PROGRAM = """
import java.util.*;
public class Kept {
    static final List<Object[]> kept = new ArrayList<>();
    static final ThreadLocal<Map<String, byte[]>> local = ThreadLocal.withInitial(TreeMap::new);
    static class Node { Node next; byte[] data = new byte[700]; }
    static Node head;
    static long deep(int n) { return n == 0 ? new int[100].length : deep(n - 1); }
    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 3; t++) threads.add(new Thread(() -> { for (int i = 0; i < 3000; i++) {
            local.get().put("k" + i, new byte[500]); deep(i % 90); } System.gc(); park(); }, "worker-" + t));
        for (Thread each : threads) each.start();
        for (int i = 0; i < 20000; i++) {
            kept.add(new Object[20]); Node node = new Node(); node.next = head; head = node;
            if (i % 7000 == 0) System.gc(); }
        Runnable lambda = () -> kept.add(new Object[5000]);
        for (int i = 0; i < 100; i++) lambda.run();
        System.gc();
    }
    static synchronized void park() { }
}
"""
OLDER = """<event name="jdk.ObjectAllocationInNewTLAB"><setting name="enabled">true</setting></event>
<event name="jdk.ObjectAllocationOutsideTLAB"><setting name="enabled">true</setting></event>"""


@needs_jdk
@pytest.mark.slow
@pytest.mark.parametrize(
    ("collector", "more", "options"),
    [
        ("Serial", "", "path-to-gc-roots=true"),
        ("G1", OLDER, "path-to-gc-roots=true"),
        pytest.param("Parallel", "", "", marks=pytest.mark.nightly),
        pytest.param("Shenandoah", "", "path-to-gc-roots=true", marks=pytest.mark.nightly),
    ],
)
def test_every_sum_stack_and_chain_is_that_of_the_jdk(
    tmp_path: Path, collector: str, more: str, options: str
) -> None:
    (tmp_path / "Kept.java").write_text(PROGRAM, "utf-8")
    (tmp_path / "own.jfc").write_text(SETTINGS.format(more=more), "utf-8")
    subprocess.run(["javac", "-g", "Kept.java"], cwd=tmp_path, check=True, timeout=60)
    recording = f"filename=kept.jfr,settings=own.jfc,dumponexit=true,{options}".rstrip(",")
    subprocess.run(
        [
            "java", "-Xmx128m", "-Xlog:disable", f"-XX:+Use{collector}GC",
            f"-XX:StartFlightRecording={recording}", "Kept",
        ],
        cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    profile, events = load(tmp_path / "kept.jfr"), printed(tmp_path / "kept.jfr")
    by_type: dict[str, list[dict[str, Any]]] = {}
    for each in events:
        by_type.setdefault(each["type"], []).append(each["values"])
    allocated: Counter[tuple[str, ...]] = Counter()
    classes: Counter[str] = Counter()
    for each in by_type["jdk.ObjectAllocationSample"]:
        allocated[stack_printed(each)] += each["weight"]
        classes[type_name(each["objectClass"]["name"])] += 1
    assert stacks(profile, "allocated_bytes") == allocated
    assert sum(allocated.values()) > 10**6
    old = by_type["jdk.OldObjectSample"]
    young = next(
        (int(each.said.text.split()[0]) for each in profile.warnings if each.code == "uncollected"), 0
    )
    kept = stacks(profile, "kept_samples")
    assert sum(kept.values()) == len(old) - young > 5
    everything = Counter(stack_printed(each) for each in old)
    assert not kept - everything
    assert (
        classes.keys() | {type_name(each["object"]["type"]["name"]) for each in old}
        >= labels(profile, "type").keys()
    )
    if options:
        held = stacks(profile, "held_samples")
        expected: Counter[tuple[str, ...]] = Counter()
        for each in old:
            frames = [type_name(each["object"]["type"]["name"])]
            for link in chain_printed(each):
                frames += [link] if link != frames[-1] else []
            root = each["root"]
            parts = [root[part] for part in ("type", "system")] if root else []
            words = ", ".join(word for word in parts if word not in (None, "<unknown>"))
            chain = [*frames, f"({words or 'root'})"] if words or len(frames) > 1 else []
            expected[tuple(f"{frame}:0" for frame in chain)] += 1
        assert not held - expected
        assert sum(held.values()) == sum(kept.values())
    after = [each["heapUsed"] for each in by_type["jdk.GCHeapSummary"] if each["when"] == "After GC"]
    assert profile.times is not None
    line = profile.times.series["heap_after_collections_bytes"]
    assert int(line[-1]) == after[-1]
    assert int(profile.times.peaks.max()) == max(each["heapUsed"] for each in by_type["jdk.GCHeapSummary"])
    assert int(profile.times.changes["allocated_bytes"].sum()) == sum(allocated.values())


@needs_jdk
@pytest.mark.slow
def test_a_running_program_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = FIXTURES / "src" / "Sessions.java"
    text = (
        source.read_text("utf-8")
        .replace("visitor < 12_000", "visitor >= 0")
        .replace("open.put", "pause(); open.put")
    )
    pause = "static void pause() { try { Thread.sleep(1); } catch (InterruptedException e) { } }\n    record"
    (tmp_path / source.name).write_text(text.replace("record", pause, 1), "utf-8")
    subprocess.run(["javac", "-g", source.name], cwd=tmp_path, check=True, timeout=60)
    out = tmp_path / "own.jfr"
    secret = {**os.environ, "PASSWORD": "hunter2-secret"}
    with subprocess.Popen(["java", "-Xmx256m", "Sessions"], cwd=tmp_path, env=secret) as program:
        try:
            while (
                "Sessions" not in subprocess.run(["jcmd"], capture_output=True, text=True, check=True).stdout
            ):
                assert program.poll() is None
            arguments = ["record", str(program.pid), str(out), "--for", "4"]
            killed = ["record", str(program.pid), str(tmp_path / "killed.jfr"), "--progress", "json"]
            command = [sys.executable, "-m", "memlens", *killed]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as recorder:
                assert recorder.stdout is not None
                # it says how long it has recorded
                assert any(b"0:00" in line for line in recorder.stdout)
                recorder.kill()
            said = subprocess.run(
                ["jcmd", str(program.pid), "JFR.check"], capture_output=True, text=True, check=True
            )
            assert f"memlens-{recorder.pid}-" in said.stdout, (
                "the virtual machine doesn't know that it was killed"
            )
            assert main(arguments) == 0
            # nothing stays in the process
            said = subprocess.run(
                ["jcmd", str(program.pid), "JFR.check"], capture_output=True, text=True, check=True
            )
            assert "No available recordings" in said.stdout
        finally:
            program.kill()
    capsys.readouterr()
    assert b"hunter2" not in out.read_bytes()
    profile = load(out)
    readings: dict[int, list[int]] = {}
    for each in sorted(printed(out), key=lambda each: each["values"]["startTime"]):
        if each["type"] == "jdk.ThreadAllocationStatistics" and each["values"]["thread"] is not None:
            readings.setdefault(each["values"]["thread"]["javaThreadId"], []).append(
                each["values"]["allocated"]
            )
    allocated = sum(each[-1] - each[0] for each in readings.values())
    assert 0.5 * allocated < value(profile, "allocated_bytes") < 1.5 * allocated
    kept = stacks(profile, "kept_samples")
    assert kept[max(kept, key=lambda stack: kept[stack])] > 5
    assert any("Sessions.login:13" in stack for stack in kept)
    assert any(text.startswith("Sessions.open (HashMap of ") for text in labels(profile, "held by"))


@pytest.mark.parametrize(("version", "is_older"), [("11.0.13", True), ("17.0.2", False), ("25", False)])
def test_a_java_without_samples_records_what_it_has_of_allocations(version: str, *, is_older: bool) -> None:
    settings = settings_of(f"OpenJDK 64-Bit Server VM version {version}+8-LTS\nJDK {version}\n")
    events = {each.attrib["name"] for each in ET.fromstring(settings)}
    assert (events >= {"jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"}) == is_older
    assert {"jdk.ObjectAllocationSample", "jdk.OldObjectSample"} <= events


@needs_jdk
def test_a_process_that_was_killed_leaves_what_it_had_written(tmp_path: Path) -> None:
    whole = zstandard.decompress(SESSIONS.read_bytes(), max_output_size=1 << 22)
    profile = load(made(tmp_path, whole + whole))
    weights = sum(
        each["values"]["weight"]
        for each in printed(made(tmp_path, whole, "once.jfr"))
        if each["type"] == "jdk.ObjectAllocationSample"
    )
    # each thread's first sample has another as large, in the second dump
    assert value(profile, "allocated_bytes") == 2 * weights > 2 * value(load(SESSIONS), "allocated_bytes")
    # each dump has all that is alive
    assert value(profile, "kept_samples") == 30


@pytest.mark.parametrize("is_compressed", [True, False])
def test_figures_of_a_made_recording(tmp_path: Path, *, is_compressed: bool) -> None:
    profile = load(made(tmp_path, leaking(Recording(is_compressed=is_compressed))))
    assert stacks(profile, "allocated_bytes") == {
        ("java.lang.StringBuilder.append:173", "app.Leak.churn:6"): 30_000,
        ("app.Leak.fill:4", "app.Leak.main:9"): 10_000,
    }
    # the last collection is after 9 s: 28 of 30 were allocated before, and all have a chain
    assert value(profile, "kept_samples") == value(profile, "held_samples") == 30
    assert labels(profile, "thread") == {"main": 31, "worker": 1}
    assert labels(profile, "held by") == {"app.Leak.cache (HashMap of 6,000)": 30}
    files = {(each.function, each.file) for each in profile.frames.frames if each.line}
    assert {
        ("java.lang.StringBuilder.append", "java/lang/StringBuilder.java"),
        ("app.Leak.fill", "app/Leak.java"),
    } <= files
    times = profile.times
    assert times is not None
    assert times.series["heap_after_collections_bytes"].tolist()[-1] == 10_000
    assert times.series["committed_heap_bytes"].tolist()[-1] == 20_000
    assert int(times.changes["allocated_bytes"].sum()) == 40_000
    assert not times.has_frees


def sampled(recording: Recording, thread: str, weights: dict[int, int]) -> None:
    """Samples of a thread at some seconds, from one line for each second."""
    for second, weight in weights.items():
        recording.event(
            "jdk.ObjectAllocationSample",
            startTime=second * 10**9,
            eventThread=recording.thread(thread, virtual=thread.startswith("virtual")),
            stackTrace=recording.stack(("app/Served", "serve", second)),
            objectClass=recording.class_("[B"),
            weight=weight,
        )


def counted(recording: Recording, second: int, allocated: dict[str, int]) -> None:
    """What threads have allocated since they began, read at a second."""
    for thread, size in allocated.items():
        recording.event(
            "jdk.ThreadAllocationStatistics",
            startTime=second * 10**9,
            thread=recording.thread(thread),
            allocated=size,
        )


@pytest.mark.parametrize("began", ["before the recording", "with it", "nobody says"])
def test_what_a_thread_allocated_before_the_recording_is_not_of_its_first_sample(
    tmp_path: Path, began: str
) -> None:
    recording = Recording()
    start_ms = recording.start_ns // 10**6
    if began != "nobody says":
        late = 3_600_000 if began == "before the recording" else 500
        recording.event("jdk.JVMInformation", startTime=0, jvmStartTime=start_ms - late)
        counted(recording, 0, {"server": 5_000_000_000, "idle": 77})
    # by hand: the server allocated 1,000 bytes until its first sample, after an hour of others
    sampled(recording, "server", {1: 5_000_001_000, 2: 2000, 3: 1500})
    # begins after the recording did
    sampled(recording, "new", {4: 9000})
    if began != "nobody says":
        counted(recording, 5, {"server": 5_000_004_500, "idle": 77, "new": 9000})
    profile = load(made(tmp_path, recording))
    first, new = {
        "before the recording": (2000, 9000),
        "with it": (5_000_001_000, 9000),
        # the other thread's may have been cached by one that ran before
        "nobody says": (2000, 2000),
    }[began]
    assert stacks(profile, "allocated_bytes") == {
        ("app.Served.serve:1",): first,
        ("app.Served.serve:2",): 2000,
        ("app.Served.serve:3",): 1500,
        ("app.Served.serve:4",): new,
    }
    said = {each.code: each.said.text for each in profile.warnings}
    assert ("first-samples" in said) == (began != "with it")
    if began == "before the recording":
        assert "before the recording, 4.66 GiB in all" in said["first-samples"]
        assert "4.39 KiB" in said["counted-by-thread"]


def test_a_virtual_thread_does_not_have_what_the_one_that_runs_it_allocated_before(tmp_path: Path) -> None:
    recording = Recording()
    counted(recording, 0, {"runs": 5_000_000_000, "runs another": 3000})
    for number, weight in enumerate((5_000_001_000, 2000, 2400, 9000, 1600)):
        sampled(recording, f"virtual {number}", {number: weight})
    counted(recording, 9, {"runs": 5_000_016_000, "runs another": 3000})
    found = stacks(load(made(tmp_path, recording)), "allocated_bytes")
    # the first has what they usually have
    assert sorted(found.values()) == [1600, 2000, 2400, 2400, 9000]


def test_native_memory_by_kind_is_a_line_for_each_of_the_largest(tmp_path: Path) -> None:
    recording = leaking()
    sizes = {
        "Java Heap": 900,
        "GC": 800,
        "Class": 700,
        "Code": 600,
        "Thread": 500,
        "Other": 400,
        "Symbol": 300,
    }
    for second in range(10):
        for name, size in {**sizes, "Test": 0, "../../etc": 10**6, "x" * 99: 10**6}.items():
            recording.event(
                "jdk.NativeMemoryUsage",
                startTime=second * 10**9,
                type=recording.constant("jdk.types.NMTType", name=name),
                committed=size * (second + 1),
            )
    times = load(made(tmp_path, recording)).times
    assert times is not None
    native = {name: line.tolist()[-1] for name, line in times.series.items() if name.startswith("native_")}
    # the heap is a line already
    assert native == {"native_GC_bytes": 8000, "native_Class_bytes": 7000, "native_Code_bytes": 6000}


def test_sums_that_are_too_large_are_refused_also_where_they_wrap_to_small_ones(tmp_path: Path) -> None:
    recording = Recording()
    recording.event("jdk.ObjectAllocationSample", objectClass=recording.class_("[B"), weight=2**48)
    recording.events *= 2**16 + 1
    with pytest.raises(DamagedSnapshotError, match="sum of the values is too large"):
        load(made(tmp_path, recording))


def test_what_the_last_collection_did_not_see_is_no_leak(tmp_path: Path) -> None:
    recording = Recording()
    stack, kind = recording.stack(("app/A", "make", 3)), recording.class_("[I")
    recording.event("jdk.GarbageCollection", startTime=10**9)
    for at in (1, 2, 10**9 + 1, 10**9 + 2, 10**9 + 3):
        held = recording.constant("jdk.types.OldObject", type=kind)
        recording.event(
            "jdk.OldObjectSample", startTime=10**10, allocationTime=at, stackTrace=stack, object=held
        )
    profile = load(made(tmp_path, recording))
    assert value(profile, "kept_samples") == 2
    assert "held_samples" not in [kind.name for kind in profile.value_types]
    assert codes(profile) == ["sampled", "uncollected", "no-chains"]
    assert profile.warnings[1].message.startswith("3 sampled objects were")


def test_recordings_of_async_profiler_and_of_older_machines(tmp_path: Path) -> None:
    recording = Recording()
    stack, kind, thread = recording.stack(("a/B", "c", 5)), recording.class_("a/B"), recording.thread("t")
    common = {"eventThread": thread, "stackTrace": stack, "objectClass": kind}
    recording.event("jdk.ObjectAllocationInNewTLAB", startTime=5, allocationSize=16, tlabSize=4096, **common)
    recording.event("jdk.ObjectAllocationOutsideTLAB", startTime=6, allocationSize=100_000, **common)
    recording.event("profiler.LiveObject", startTime=9, allocationTime=5, allocationSize=64, **common)
    recording.event("jdk.CPULoad", user=0.5, machine=0.5, tags=["a", "b"])
    profile = load(made(tmp_path, recording))
    assert stacks(profile, "allocated_bytes") == {("a.B.c:5",): 104_096}
    assert stacks(profile, "kept_samples") == {("a.B.c:5",): 1}
    assert stacks(profile, "kept_bytes") == {("a.B.c:5",): 64}


def test_what_async_profiler_sampled_since_the_last_collection_is_left_out(tmp_path: Path) -> None:
    recording = Recording()
    stack, kind = recording.stack(("a/B", "c", 5)), recording.class_("a/B")
    for at in (1, 2, 3, 4):
        recording.event(
            "profiler.LiveObject", startTime=9 * 10**9, allocationTime=at * 10**9, allocationSize=64,
            stackTrace=stack, objectClass=kind,
        )  # fmt: skip
    # it looks once a second: the collection was in the one before
    after = recording.constant("jdk.types.GCWhen", when="After GC")
    recording.event("jdk.GCHeapSummary", startTime=4 * 10**9, when=after, heapUsed=5)
    profile = load(made(tmp_path, recording))
    assert value(profile, "kept_samples") == 2
    assert codes(profile) == ["sampled", "uncollected", "no-chains"]
    assert all("async-profiler" in profile.warnings[number].message for number in (0, 2))


def test_native_memory_that_is_not_freed(tmp_path: Path) -> None:
    recording = Recording()
    kept = recording.stack(
        ("libasyncProfiler.so", "malloc_hook", 0), ("libapp.so", "_ZN3app4keepEm", 0), ("app/A", "keep", 3)
    )
    other = recording.stack(("libasyncProfiler.so", "malloc_hook", 0), ("app/A", "other", 9))
    thread = recording.thread("main")
    for at, name, address, size, stack in (
        (1, "Malloc", 16, 100, kept), (2, "Malloc", 32, 7, other), (3, "Free", 32, 0, 0), (4, "Free", 99, 0, 0),
        # an address that is used again: the free of the first wasn't recorded
        (5, "Malloc", 48, 1, other), (6, "Malloc", 48, 20, kept),
        # and again after its free, which is earlier in the file than what it frees
        (9, "Malloc", 64, 3, kept), (8, "Free", 64, 0, 0), (7, "Malloc", 64, 5, other),
    ):  # fmt: skip
        more = {"size": size, "stackTrace": stack} if size else {}
        recording.event(f"profiler.{name}", startTime=at, eventThread=thread, address=address, **more)
    profile = load(made(tmp_path, recording))
    keep = ("malloc_hook:0", "app::keep(unsigned long):0", "app.A.keep:3")
    assert stacks(profile, "native_bytes") == {keep: 123}
    assert stacks(profile, "native_count") == {keep: 3}
    assert stacks(profile, "native_total_bytes") == {keep: 123, ("malloc_hook:0", "app.A.other:9"): 13}
    library = next(each for each in profile.frames.frames if "keep(" in each.function)
    assert (library.file, library.kind) == ("libapp.so", NATIVE)
    assert "native allocations" in profile.warnings[0].message


def test_the_last_collection_that_counted_objects_says_how_many_there_are(tmp_path: Path) -> None:
    recording = Recording()
    order, text = recording.class_("app/Order"), recording.class_("[B")
    for collection, count in ((3, 10), (7, 40)):
        for number, kind in enumerate((order, text)):
            recording.event(
                "jdk.ObjectCountAfterGC", startTime=100 * collection + number, gcId=collection, objectClass=kind,
                count=count + number, totalSize=24 * count + number,
            )  # fmt: skip
    profile = load(made(tmp_path, recording))
    assert [each.name for each in profile.value_types] == ["heap_bytes", "heap_count", "allocated_bytes"]
    assert stacks(profile, "heap_bytes") == {("app.Order:0",): 960, ("byte[]:0",): 961}
    assert stacks(profile, "heap_count") == {("app.Order:0",): 40, ("byte[]:0",): 41}


def test_strings_in_all_forms(tmp_path: Path) -> None:
    recording = Recording()
    forms = ["näme", "plain", "\U0001f600x", "later"]
    coded = [recording.text(forms[0], 5), recording.text(forms[1]), recording.text(forms[2], 4), b"\2\7"]
    recording.constants["java.lang.String"] = {7: recording.text(forms[3])}
    for number, text in enumerate(coded):
        key = recording.constant("java.lang.Thread", javaName=text, osThreadId=number)
        recording.event(
            "jdk.ObjectAllocationSample", eventThread=key, objectClass=recording.class_("[[J"), weight=1
        )
    profile = load(made(tmp_path, recording))
    assert labels(profile, "thread").keys() == set(forms)
    assert labels(profile, "type").keys() == {"long[][]"}


def test_nothing_else_of_a_recording_is_kept(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    recording = leaking()
    recording.event("jdk.InitialSystemProperty", key="db.password", value="hunter2-secret")
    snapshot = opened(made(tmp_path, recording))
    kept = b"".join(file.read_bytes() for file in snapshot.archive.rglob("*") if file.is_file())
    assert b"hunter2" not in kept
    assert b"Leak.java" in kept


def test_the_leaking_line_is_found_and_what_holds_it(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    first = ranked(opened(made(tmp_path, leaking())), None)[0].finding
    assert first.rule == "sampled_leak"
    assert first.sentence.text == (
        "Leak.java:4 (app.Leak.fill) allocated 30 of 30 sampled objects that are still alive (100%), at all times, 30 "
        "of them held by app.Leak.cache (HashMap of 6,000)."
    )
    # what is alive from the beginning alone is no leak
    recording = Recording()
    stack, kind = recording.stack(("app/A", "load", 3)), recording.class_("[I")
    for number in range(40):
        held = recording.held("[I", ("table", "java/lang/Class", "Class Name: app.A"))
        at = number if number < 38 else 10**9 * number
        recording.event(
            "jdk.OldObjectSample", startTime=10**11, allocationTime=at, stackTrace=stack, object=held,
            root=recording.root("Static Field", "Class Loader Data"),
        )  # fmt: skip
    recording.event("jdk.ObjectAllocationSample", startTime=5, stackTrace=stack, objectClass=kind, weight=5)
    found = ranked(opened(made(tmp_path, recording, "b.jfr")), None)
    assert "sampled_leak" not in [each.finding.rule for each in found]


def test_few_samples_of_late_objects_are_a_leak_while_the_heap_grows(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    """As a queue that is served too slowly: the first objects are gone."""

    def found(name: str, used: Callable[[int], int]) -> list[str]:
        recording = Recording()
        submit, start = (
            recording.stack(("app/Jobs", name, line)) for name, line in (("submit", 7), ("main", 3))
        )
        kind = recording.class_("[B")
        after = recording.constant("jdk.types.GCWhen", when="After GC")
        for second in range(10):
            recording.event("jdk.GarbageCollection", startTime=10**9 * second)
            recording.event(
                "jdk.GCHeapSummary", startTime=10**9 * second, when=after, heapUsed=used(second),
                heapSpace={"committedSize": 20_000},
            )  # fmt: skip
        held = recording.held("[B", ("waiting", "java/lang/Class", "Class Name: app.Jobs"))
        for number in range(10):
            recording.event(
                "jdk.OldObjectSample", startTime=10**10, allocationTime=10**9 * number and 10**9 * (4 + number // 2),
                stackTrace=submit if number else start, object=held,
                root=recording.root("Static Field", "Class Loader Data"),
            )  # fmt: skip
        recording.event(
            "jdk.ObjectAllocationSample", startTime=5, stackTrace=submit, objectClass=kind, weight=5
        )
        rows = ranked(opened(made(tmp_path, recording, name)), None)
        return [each.finding.sentence.text for each in rows if each.finding.rule == "sampled_leak"]

    (said,) = found("grows.jfr", lambda second: 1000 * (second + 1))
    assert said == (
        "Jobs.java:7 (app.Jobs.submit) allocated 9 of 10 sampled objects that are still alive (90%), while the heap "
        "grew all the time, 9 of them held by app.Jobs.waiting."
    )
    # a cache that was filled and forgets
    assert found("full.jfr", lambda second: 1000 * min(second + 1, 5)) == []


def test_an_unfinished_recording_opens_with_what_it_has(tmp_path: Path) -> None:
    recording = leaking()
    whole = recording.build(size=0)
    profile = load(made(tmp_path, whole))
    assert value(profile, "allocated_bytes") == 40_000
    assert "cut-file" in codes(profile)
    # an event whose end isn't written yet
    profile = load(made(tmp_path, whole + recording.events[0][:5]))
    assert value(profile, "allocated_bytes") == 40_000


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda data: data[:4] + b"\0\1" + data[6:], NotASnapshotError, "version 1.1"),
        (lambda data: data[:56] + bytes(8) + data[64:], DamagedSnapshotError, "impossible clock"),
        (lambda data: data[:68], DamagedSnapshotError, "no description"),
        (lambda data: data + b"FLR", DamagedSnapshotError, "no header"),
        (lambda data: data[:68] + b"\0" + data[69:], DamagedSnapshotError, "event of 0 bytes"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, change: Callable[[bytes], bytes], error: type[MemlensError], words: str
) -> None:
    with pytest.raises(error, match=words):
        load(made(tmp_path, change(leaking().build())))


def test_a_recording_without_memory_is_refused(tmp_path: Path) -> None:
    recording = Recording()
    recording.event("jdk.CPULoad", user=0.5)
    with pytest.raises(NotASnapshotError, match="no samples of allocations"):
        load(made(tmp_path, recording))


def test_circles_and_types_within_themselves_end(tmp_path: Path) -> None:
    recording = leaking()
    circle = recording.constants["jdk.types.OldObject"]
    for fields in circle.values():
        fields["referrer"] = 1
    assert value(load(made(tmp_path, recording)), "held_samples") == 30
    inner = {**TYPES, "jdk.types.VirtualSpace": (("inner", "jdk.types.VirtualSpace"),)}
    with pytest.raises(DamagedSnapshotError, match="inconsistent"):
        load(made(tmp_path, Recording(types=inner).build()))


def test_damage(tmp_path: Path) -> None:
    whole = leaking().build()
    errors, successes = damage(whole, tmp_path / "damaged.jfr", 600, 5)
    assert errors > 100
    assert successes > 50
    # numbers that claim more than there is
    draw = random.Random(7)
    for _ in range(200):
        data = bytearray(whole)
        at = draw.randrange(68, len(data) - 9)
        data[at : at + 9] = b"\xff" * 9
        try:
            load(made(tmp_path, bytes(data)))
        except MemlensError:
            continue


def test_names_of_types_and_files() -> None:
    assert type_name("[[I") == "int[][]"
    assert type_name("[Ljava/util/Map$Entry;") == "java.util.Map$Entry[]"
    assert type_name("app/A$$Lambda$14/0x0000000800c03000") == "app.A$$Lambda"
    assert type_name("app/A$$Lambda+0x00007f1c4c000a00.123") == "app.A$$Lambda"
    assert source_file("app/Outer$Inner") == "app/Outer.java"
    assert source_file("Sessions$$Lambda$82+0x00007f33c1007a08/1277009227") == "Sessions.java"
    assert source_file("app/ServerKt") == "app/Server.kt"
    assert source_file("[B") == ""
