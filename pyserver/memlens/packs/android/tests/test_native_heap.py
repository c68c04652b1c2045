"""Samples of native memory in traces of Perfetto: made ones, in each form that recorders write, against a second reader
by the published fields, and figures by hand."""

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.python import perfetto_files
from tests.python.graph_reading import load as load_graph
from tests.python.graphs import random_graph
from tests.python.perfetto_files import Packet, packets_of
from tests.python.profile_reading import damage, load, samples_of, value
from tests.python.replays import heapprofd
from tests.python.replays.stacks import known_line
from tests.python.tries import tries

from memlens.errors import MemlensError
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.model.frames import SourceFrame
from memlens.model.profile import Profile
from memlens.packs.android.tests.native_heap_files import (
    FILES,
    MALLOC,
    SECOND_NS,
    Code,
    Interning,
    Stack,
    beginning,
    dump,
    heap,
    leaking,
    path_of,
    trace,
)
from memlens.store.models import graph_of, profile_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings, headline
from memlens.views.lines.totals import top_lines

Figures = Counter[tuple[tuple[tuple[str, str, int], ...], str]]
LIB = "/data/app/~~AAAA==/com.example.notes-BBBB==/lib/arm64/libnotes.so"


def read(tmp_path: Path, packets: list[Packet] | bytes, *folders: Path, **form: Any) -> Profile:
    path = tmp_path / "made.perfetto-trace"
    path.write_bytes(packets if isinstance(packets, bytes) else trace(packets, **form))
    return load(path, *folders)


def figures(profile: Profile) -> Figures:
    """Each value of each stack, as (function, file, line) of its frames."""
    found: Figures = Counter()
    for frames, values in samples_of(profile):
        stack = tuple((frame.function, frame.file, frame.line) for frame in frames)
        for kind, amount in zip(profile.value_types, values, strict=True):
            found[stack, kind.name] += amount
    return +found


def replayed(data: bytes) -> Figures:
    """The same by the second reader."""
    replay = heapprofd.profile_of(data)
    sums, found = replay.sums(), Counter[Any]()
    for number, amounts in zip(sums.stacks.tolist(), sums.values.tolist(), strict=True):
        stack = tuple(
            (frame.function, frame.file or frame.module, known_line(frame.file, frame.line))
            for frame in replay.tree.stack(number)
        )
        for name, amount in zip(replay.names, amounts, strict=True):
            found[stack, name] += amount
    return +found


def codes(profile: Profile) -> list[str]:
    return [warning.code for warning in profile.warnings]


def labels(profile: Profile, key: str) -> list[str]:
    """The text of a label of each sample."""
    named = next(number for number, text in profile.strings.items() if text == key)
    rows = profile.labels[profile.labels["key"] == named]
    assert rows["sample"].tolist() == list(range(len(profile.stacks)))
    return [profile.strings[number] for number in rows["text"].tolist()]


def anything(seed: int) -> list[Packet]:
    """Packets of several processes, heaps and dumps, in one of the forms that recorders write."""
    draw = random.Random(seed)
    code = [
        Code(draw.choice(("f", "_ZN1a1bEv", "x.y.z", "", "ERROR 2")),
             draw.choice((LIB, "/system/lib64/libc.so", "/a.apk", "")), draw.randrange(4) * 8,
             build_id=bytes([draw.randrange(2)] * 4), source=draw.choice(("", "/s/a.cc")),
             line=draw.randrange(3), load_bias=draw.choice((0, 4096)))
        for _ in range(12)
    ]  # fmt: skip
    stacks: list[Stack] = list({tuple(draw.choices(code, k=draw.randrange(1, 6))): 0 for _ in range(25)})
    packets: list[Packet] = []
    for sequence in (3, 8)[: draw.randrange(1, 3)]:
        words, index = Interning(), 0
        totals: Counter[tuple[int, str, int, str]] = Counter()
        is_local = draw.random() < 0.3
        packets.append(beginning(sequence))
        for at in range(1, draw.randrange(2, 6)):
            if is_local or draw.random() < 0.2:
                # ids mean something else from here on
                words = Interning(local=is_local)
                packets += [] if is_local else [beginning(sequence)]
            heaps = []
            for pid, name in ((7, "libc.malloc"), (7, "com.android.art"), (9, "custom"))[
                : draw.randrange(1, 4)
            ]:
                rows = []
                is_peak = name == "custom" and seed % 3 == 0
                for number in draw.sample(range(len(stacks)), 5):
                    if is_peak:
                        rows.append(
                            (words.stack(stacks[number]), {"peak": draw.randrange(99), "peak_count": 2})
                        )
                        continue
                    key = (pid, name, number)
                    for what, most in (("allocated", 999), ("allocations", 9)):
                        totals[*key, what] += draw.randrange(most)
                    for what, of in (("freed", "allocated"), ("frees", "allocations")):
                        if name != "com.android.art":
                            totals[*key, what] = draw.randint(totals[*key, what], totals[*key, of])
                    rows.append(
                        (
                            words.stack(stacks[number]),
                            {
                                what: totals[*key, what]
                                for what in ("allocated", "freed", "allocations", "frees")
                            },
                        )
                    )
                heaps.append(heap(pid, rows, name=name, at=at, interval=draw.choice((1, 4096))))
            if is_local:
                tables = words.taken()
                own = {
                    "strings": tables.get("strings", []), "frames": tables.get("frames", []),
                    "stacks": tables.get("stacks", []), "mappings": tables.get("mappings", []),
                }  # fmt: skip
                packets.append({"sequence": sequence, "profile": [{"heaps": heaps, **own}]})
            else:
                added = dump(heaps, words, index=index, sequence=sequence, in_a_row=draw.random() < 0.5)
                index += len(added) - ("interned" in added[-2] if len(added) > 1 else 0)
                packets += added
    return packets


@pytest.mark.parametrize("seed", range(tries(60)))
def test_any_samples_in_any_form(tmp_path: Path, seed: int) -> None:
    data = trace(anything(seed), packed=bool(seed % 2))
    profile = read(tmp_path, data)
    assert figures(profile) == replayed(data)
    assert "cut-file" not in codes(profile)
    assert "broken-packets" not in codes(profile)


def test_compressed_packets(tmp_path: Path) -> None:
    packets = anything(1)
    plain = figures(read(tmp_path, packets))
    inner = {"compressed": perfetto_files.zlib.compress(trace(packets))}
    assert figures(read(tmp_path, [{"sequence": 1, "timestamp": 3}, inner])) == plain


@pytest.mark.parametrize("name", FILES)
def test_the_traces_are_what_their_script_makes(name: str) -> None:
    data = FILES[name]()
    assert path_of(name).read_bytes() == data
    if name != "both":
        assert figures(load(path_of(name))) == replayed(data)


def test_the_leaking_line_is_the_first(tmp_path: Path, opened: Callable[[Path], Snapshot]) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(leaking())
    profile = load(path)
    assert figures(profile) == replayed(leaking())
    # by hand: 524,288 in each of ten seconds, 8,192 of what is parsed, 65,536 of the other process
    assert [value(profile, each) for each in ("live_bytes", "live_count", "allocated_bytes", "allocated_count")] == [
        5_242_880 + 8_192 + 65_536, 1_280 + 2 + 4, 5_242_880 + 4_096_000 + 65_536, 1_280 + 1000 + 4,
    ]  # fmt: skip
    assert labels(profile, "process") == [
        "com.example.notes (4321)",
        "com.example.notes (4321)",
        "surfaceflinger (99)",
    ]
    assert set(labels(profile, "heap")) == {"libc.malloc"}
    snapshot = opened(path)
    assert headline(snapshot, None).text.startswith(
        "5.07 MiB in use when the profile was taken. Held by cache.h:12 Cache::decode() 5 MiB (99%)"
    )
    first = findings(snapshot, None, 5).findings[0]
    assert first.line is not None
    assert first.rule == "growth"
    assert first.sentence.text == (
        "cache.h:12 (Cache::decode) grows throughout the run: 1 MiB after 20% of it, 4 MiB after 80%; when the "
        "profile was taken it has 5 MiB."
    )
    assert (first.line.file.rpartition("/")[2], first.line.line) == ("cache.h", 12)


def test_dumps_over_time(tmp_path: Path) -> None:
    words = Interning()
    stack = words.stack((MALLOC, Code("f")))
    packets: list[Packet] = [beginning()]
    # allocated so far, freed so far
    for index, (at, allocated, freed) in enumerate(((2, 100, 0), (4, 300, 100), (6, 300, 300))):
        row = (
            stack,
            {"allocated": allocated, "freed": freed, "allocations": allocated // 100, "frees": freed // 100},
        )
        packets += dump([heap(1, [row], at=10 + at, begin=10 * SECOND_NS)], words, index=2 * index)
    times = read(tmp_path, packets).times
    assert times is not None
    assert times.time_us.tolist() == [0, 2_000_000, 4_000_000, 6_000_000]
    assert times.series["live_bytes"].tolist() == [0, 100, 200, 0]
    assert times.series["live_count"].tolist() == [0, 1, 2, 0]
    assert times.change_offsets.tolist() == [0, 0, 1, 2, 3]
    assert times.changes.tolist() == [(0, 100, 0, 1, 0), (0, 200, 100, 2, 1), (0, 0, 200, 0, 2)]
    assert times.has_flow
    assert times.has_frees
    # without a begin what the first dump has was there when it was written
    del packets[1]["profile"][0]["heaps"][0]["begin"], packets[4]["profile"][0]["heaps"][0]["begin"]
    del packets[7]["profile"][0]["heaps"][0]["begin"]
    times = read(tmp_path, packets).times
    assert times is not None
    assert (times.time_us.tolist(), times.series["live_bytes"].tolist()) == (
        [0, 2_000_000, 4_000_000],
        [100, 200, 0],
    )


def test_at_the_maximum_the_last_dump_counts(tmp_path: Path) -> None:
    words = Interning()
    one, two = words.stack((MALLOC, Code("f"))), words.stack((MALLOC, Code("g")))
    packets = [
        beginning(),
        *dump(
            [heap(1, [(one, {"peak": 50, "peak_count": 2}), (two, {"peak": 9, "peak_count": 1})], at=2)],
            words,
        ),
        *dump([heap(1, [(one, {"peak": 70, "peak_count": 3})], at=5)], words, index=2),
    ]
    profile = read(tmp_path, packets)
    assert [(each.name, each.meaning) for each in profile.value_types] == [
        ("peak_bytes", "peak"),
        ("peak_count", "peak"),
    ]
    assert (value(profile, "peak_bytes"), value(profile, "peak_count")) == (70, 3)
    assert profile.times is None


def test_of_java_only_what_was_allocated_is_known(tmp_path: Path) -> None:
    words = Interning()
    stack = words.stack((Code("java.lang.String.concat", "/apex/com.android.art/javalib/core-oj.jar", 5),))
    figures_of = {"allocated": 80, "freed": 30, "allocations": 4, "frees": 2}
    art = heap(1, [(stack, figures_of)], name="com.android.art", at=2, begin=SECOND_NS)
    profile = read(tmp_path, [beginning(), *dump([art], words)])
    assert [each.name for each in profile.value_types] == ["allocated_bytes", "allocated_count"]
    assert value(profile, "allocated_bytes") == 80
    assert profile.times is not None
    assert not profile.times.has_frees
    assert "no-frees" in codes(profile)
    assert next(samples_of(profile))[0][0] == SourceFrame(
        "java/lang/String.java", 0, "java.lang.String.concat", 2
    )
    # beside native memory it is a value of its own
    words = Interning()
    malloc = heap(1, [(words.stack((MALLOC,)), figures_of)], at=2, begin=SECOND_NS)
    art = heap(1, [(words.stack((Code("java.lang.String.concat", "/core-oj.jar", 5),)), figures_of)],
               name="com.android.art", at=2, begin=SECOND_NS)  # fmt: skip
    profile = read(tmp_path, [beginning(), *dump([malloc, art], words)])
    assert {each.name: value(profile, each.name) for each in profile.value_types} == {
        "live_bytes": 50, "live_count": 2, "allocated_bytes": 80, "allocated_count": 4, "java_bytes": 80,
        "java_count": 4,
    }  # fmt: skip
    assert profile.times is not None
    assert profile.times.series["live_bytes"].tolist() == [0, 50]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"interval": 4096}, "sampled", "4 KiB on average"),
        ({"interval": 1}, "before-recording", "aren't known"),
        ({"disconnected": 1, "error": 1}, "not-to-the-end", "faster than the recorder"),
        ({"overran": 1}, "not-to-the-end", "faster than the recorder"),
        ({"corrupted": 1}, "not-to-the-end", "damaged"),
        ({"guardrail": 1}, "not-to-the-end", "its own limit"),
        ({"stats": [{"unwinding_errors": 12}]}, "cut-off", ": 12"),
    ],
)
def test_what_figures_are_is_said(tmp_path: Path, more: Packet, code: str, words: str) -> None:
    interning = Interning()
    row = (interning.stack((MALLOC,)), {"allocated": 5, "allocations": 1})
    profile = read(tmp_path, [beginning(), *dump([heap(1, [row], **more)], interning)])
    said = {warning.code: warning.message for warning in profile.warnings}
    assert words in said[code]
    assert ("(estimated)" in profile.value_types[0].title.text) == (more.get("interval") != 1)
    assert ("sampled" in said) == (more.get("interval") != 1)


def test_a_process_from_its_start_lacks_nothing(tmp_path: Path) -> None:
    words = Interning()
    row = (words.stack((MALLOC,)), {"allocated": 5, "allocations": 1})
    assert (
        codes(read(tmp_path, [beginning(), *dump([heap(1, [row], from_startup=1, interval=1)], words)])) == []
    )


def test_packets_that_are_missing_are_said(tmp_path: Path) -> None:
    words = Interning()
    row = (words.stack((MALLOC, Code("f"))), {"allocated": 5, "allocations": 1})
    whole = [beginning(), *dump([heap(1, [row], at=1)], words), *dump([heap(1, [row], at=2)], words, index=2)]
    assert "cut-file" not in codes(read(tmp_path, whole))
    # one in the middle, and the last, by which the recorder says that all is there
    for lost in (1, 4, 6):
        profile = read(tmp_path, whole[:lost] + whole[lost + 1 :])
        assert "cut-file" in codes(profile), lost
    # what was interned
    profile = read(tmp_path, [each for each in whole if "interned" not in each])
    assert value(profile, "live_bytes") == 5
    assert "unknown-stacks" in codes(profile)
    # a file that ends within a packet
    cut = trace(whole)[:-3]
    assert "cut-file" in codes(read(tmp_path, cut))


def test_samples_that_say_nothing_are_left_out_with_a_warning(tmp_path: Path) -> None:
    words = Interning()
    row = (words.stack((MALLOC,)), {"allocated": 5, "allocations": 1})
    one = heap(1, [row], from_startup=1, interval=1)
    one["samples"] = [{}, *one["samples"], {}]
    profile = read(tmp_path, [beginning(), *dump([one], words)])
    assert [each.message for each in profile.warnings] == ["Samples that say nothing, left out: 2."]
    assert value(profile, "live_bytes") == 5


def test_figures_that_can_t_be_are_said(tmp_path: Path) -> None:
    words = Interning()
    stack = words.stack((MALLOC,))

    def made(*rows: dict[str, int]) -> Profile:
        packets = [beginning()]
        for number, row in enumerate(rows):
            words_of = Interning()
            words_of.stack((MALLOC,))
            packets += dump([heap(1, [(stack, row)], at=1 + number)], words_of, index=2 * number)
        return read(tmp_path, packets)

    profile = made({"allocated": 5, "freed": 7})
    assert (value(profile, "live_bytes"), "impossible-figures" in codes(profile)) == (0, True)
    profile = made({"allocated": 9}, {"allocated": 4})
    assert (value(profile, "allocated_bytes"), "falling" in codes(profile)) == (9, True)
    profile = made({"allocated": 2**63}, {"allocated": 4})
    assert (value(profile, "allocated_bytes"), "impossible-rows" in codes(profile)) == (4, True)


def test_a_trace_without_samples_is_refused(tmp_path: Path) -> None:
    rejected = {"sequence": 3, "profile": [{"heaps": [heap(5, [], rejected=1)]}]}
    with pytest.raises(NotASnapshotError, match="no samples of native memory") as refused:
        read(tmp_path, [rejected])
    assert "another session" in str(refused.value.advice)
    with pytest.raises(NotASnapshotError, match="neither a heap dump nor samples"):
        read(tmp_path, [{"sequence": 3, "timestamp": 5}])


@pytest.mark.parametrize("package", ["com.example.notes", "com.example.other"])
def test_names_that_packets_restore_are_those_of_their_app(tmp_path: Path, package: str) -> None:
    words = Interning()
    stack = words.stack((Code("a.b.c", "/data/app/~~X==/com.example.notes-Y==/base.apk", 5, b""),))
    packets = [beginning(), *dump([heap(1, [(stack, {"allocated": 5})])], words)]
    classes = [{"short": ["a.b"], "name": ["notes.Cache"], "methods": [{"short": ["c"], "name": ["load"]}]}]
    packets.append({"mapping": [{"package": [package], "classes": classes}]})
    found = next(samples_of(read(tmp_path, packets)))[0][0]
    own = package == "com.example.notes"
    assert (found.function, found.file) == (
        ("notes.Cache.load", "notes/Cache.java") if own else ("a.b.c", "a/b.java")
    )


def test_names_that_a_mapping_beside_the_trace_restores(tmp_path: Path) -> None:
    words = Interning()
    stack = words.stack((Code("a.b.c", "/data/app/~~X==/com.example.notes-Y==/base.apk", 5, b""),))
    (tmp_path / "mapping.txt").write_text("notes.Cache -> a.b:\n    1:3:void load(int):10:12 -> c\n")
    profile = read(tmp_path, [beginning(), *dump([heap(1, [(stack, {"allocated": 5})])], words)])
    assert next(samples_of(profile))[0][0].function == "notes.Cache.load"
    assert "mapping-file" in codes(profile)


PROGRAM = """#include <stdlib.h>
static inline __attribute__((always_inline)) void *keep(int n) {
  return malloc(n);
}
__attribute__((noinline)) void *load(int n) {
  return keep(n);
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("nm"), reason="no C compiler is installed")
@pytest.mark.parametrize("bias", [0, 0x2000])
@pytest.mark.parametrize("name", ["libnotes.so", "base.apk!libnotes.so"])
def test_symbols_come_from_the_library_beside_the_trace(tmp_path: Path, bias: int, name: str) -> None:
    """``bias``: the library is linked to another address than its place in the file."""
    (tmp_path / "notes.c").write_text(PROGRAM)
    library = tmp_path / "libnotes.so"
    more = [f"-Wl,-Ttext-segment={hex(bias)}"] if bias else []
    subprocess.run(
        ["cc", "-g", "-O1", "-shared", "-fPIC", "-Wl,--build-id=0x1234567890", *more, "-o", library, "notes.c"],
        check=True, cwd=tmp_path,
    )  # fmt: skip
    printed = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    linked = next(int(line.split()[0], 16) for line in printed.splitlines() if line.endswith(" T load"))
    # the call of malloc is some bytes into the function
    code = Code("", f"/data/app/x/{name}", linked + 4, bytes.fromhex("1234567890"), load_bias=bias)
    words = Interning()
    packets = [beginning(), *dump([heap(1, [(words.stack((MALLOC, code)), {"allocated": 5})])], words)]
    profile = read(tmp_path, packets)
    frames = next(samples_of(profile))[0]
    assert [each.function for each in frames][-1] == "load"
    assert frames[-1].file.endswith("notes.c")
    assert frames[-1].line in (5, 6)
    assert "no-symbols" not in codes(profile)
    # another build of it isn't used
    other = code._replace(build_id=b"\x99")
    words = Interning()
    packets = [beginning(), *dump([heap(1, [(words.stack((MALLOC, other)), {"allocated": 5})])], words)]
    profile = read(tmp_path, packets)
    assert next(samples_of(profile))[0][-1].function == f"libnotes.so at {hex(linked + 4)}" or "!" in name
    assert "Of another build" in next(each.message for each in profile.warnings if each.code == "no-symbols")


def test_a_heap_graph_and_samples_are_one_document(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    made = random_graph(3)
    path = tmp_path / "both.pftrace"
    graph_alone = trace(packets_of(made, 4))
    path.write_bytes(graph_alone + leaking())
    graph = load_graph(path)
    assert graph.outside is not None
    assert figures(graph.outside) == replayed(leaking())
    snapshot = opened(path)
    info = graph_of(snapshot.info)
    assert info.objects == len(made.types)
    assert info.outside
    assert [each.name for each in profile_of(info).values] == [
        "live_bytes",
        "live_count",
        "allocated_bytes",
        "allocated_count",
    ]
    first = top_lines(snapshot, 1)
    assert first[0].file.endswith("cache.h")
    assert info.allocations is not None
    assert info.allocations.bins == 10
    alone = tmp_path / "graph.pftrace"
    alone.write_bytes(graph_alone)
    assert not graph_of(opened(alone).info).outside


@pytest.mark.slow
def test_damage(tmp_path: Path) -> None:
    errors, successes = damage(leaking(), tmp_path / "damaged.pftrace", tries(600), 5)
    assert errors > 5
    assert successes > 50
    whole = leaking()
    draw = random.Random(7)
    for _ in range(tries(300)):
        data = bytearray(whole)
        at = draw.randrange(len(data) - 9)
        data[at : at + 9] = b"\xff" * 9
        try:
            read(tmp_path, bytes(data))
        except MemlensError:
            continue


def test_lines_that_expand_without_bound_are_refused(tmp_path: Path) -> None:
    words = Interning()
    code = Code("f")
    stack = words.stack((code,) * 3_000)
    packets = [beginning(), *dump([heap(1, [(stack, {"allocated": 5})])], words)]
    line = {"function": ["f"], "file": ["a.c"], "line": 1}
    packets.append({"symbols": [{"path": [code.path], "build_id": code.build_id, "addresses": [
        {"address": code.rel_pc, "lines": [line] * 3_000}
    ]}]})  # fmt: skip
    with pytest.raises(DamagedSnapshotError, match="limit for the file's size"):
        read(tmp_path, packets)


def test_sums_that_are_too_large_are_refused_also_where_they_wrap_to_small_ones(tmp_path: Path) -> None:
    words = Interning()
    row = words.stack((Code("f"),)), {"peak": 2**48, "peak_count": 1}
    with pytest.raises(DamagedSnapshotError, match="sum of the values is too large"):
        read(tmp_path, dump([heap(1, [row] * (2**16 + 1))], words))
