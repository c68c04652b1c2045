"""The ``memlens`` command as a person or a script runs it."""

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.bench.generate import generate
from tests.python import terminal
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, event, frame, real_files, real_profiles
from tests.python.recordings import PPROF, TORCH
from tests.python.replays import torch as oracle
from tests.python.systems import needs_posix

from memlens.model.frames import USER
from memlens.packs.pytorch.frames import source_frame
from memlens.units import format_bytes, format_time
from memlens.views.lines.totals import totals_of_lines


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home-cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "home-cache"


def test_sizes_are_formatted_as_in_the_views() -> None:
    # the same cases as for ``bytes`` in tests/webview/words.test.ts
    cases = {
        0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.50 KiB", 1023 * 1024: "1.00 MiB", 512 << 20: "512 MiB",
        int(1.234 * 2**30): "1.23 GiB", int(20.04 * 2**30): "20.0 GiB", 80 << 40: "80 TiB", -(512 << 20): "-512 MiB",
    }  # fmt: skip
    assert {count: format_bytes(count) for count in cases} == cases


def test_times_are_formatted_as_in_the_views() -> None:
    # the same cases as for ``time`` in tests/webview/words.test.ts
    cases = {
        0: "0 µs", 17: "17 µs", -0.04: "0 µs", 1500: "1.5 ms", 12_125: "12.13 ms", 545_560: "545.6 ms",
        120_000: "120 ms", 1_204_000: "1.204 s", 125e6: "2 min 5 s", 7300e6: "2 h 1 min", 86400e6 * 11.5: "11.5 d",
        1e30: "11574074074074075136 d",
    }  # fmt: skip
    assert {us: format_time(us) for us in cases} == cases


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("paths", "a.hprof", "abc"), "argument ID: abc is not the id or the address of an object"),
        (("paths", "a.hprof", "0x"), "argument ID: 0x is not the id or the address of an object"),
        (("object", "a.hprof", 2**64), f"argument ID: {2**64} is not the id or the address of an object"),
        (("lines", "a.pickle", "--top", "x"), "argument --top: x is not a number more than 0 and less than 2^62"),
        (("lines", "a.pickle", "--top", "0"), "argument --top: 0 is not a number more than 0 and less than 2^62"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_reported_in_words(arguments: tuple[object, ...], said: str) -> None:
    assert said in memlens(*arguments, status=2).stderr


def test_info(sample: Path) -> None:
    info = json.loads(memlens("info", sample, "--json").stdout)
    assert (info["kind"], info["model"]) == ("pytorch-snapshot", "timeline")
    assert isinstance(info["warnings"], list)
    data = oracle.load(sample)
    allocations = oracle.allocations(data, 0)
    heights = oracle.live_bytes(allocations, len(data["device_traces"][0]))
    (device,) = info["devices"]
    peak = heights.index(max(heights))
    expected = {
        "device": 0,
        "events": len(data["device_traces"][0]),
        "allocations": len(allocations),
        "peak_bytes": max(heights),
        "peak_time_us": data["device_traces"][0][peak - 1]["time_us"]
        - data["device_traces"][0][0]["time_us"],
        "time_origin_us": data["device_traces"][0][0]["time_us"],
        "live_at_end_bytes": heights[-1],
    }
    assert {key: device[key] for key in expected} == expected
    text = memlens("info", sample).stdout
    assert f"{max(heights):,} bytes" in text
    assert "note:" in text or not info["warnings"]


def expected_lines(path: Path) -> dict[tuple[str, int], dict[str, int]]:
    """Inclusive and self totals of every line, by walking every stack of every allocation."""
    data = oracle.load(path)
    allocations = oracle.allocations(data, 0)
    events = len(data["device_traces"][0])
    heights = oracle.live_bytes(allocations, events)
    at_peak = set(oracle.alive(allocations, heights.index(max(heights))))
    at_end = set(oracle.alive(allocations, events))
    table: dict[tuple[str, int], dict[str, int]] = {}
    for number, alloc in enumerate(allocations):
        places = [(file, line) for file, line, _ in alloc.frames if line]
        for place in set(places):
            row = table.setdefault(place, dict.fromkeys(("total", "count", "peak", "end", "any", "mine"), 0))
            row["total"] += alloc.size
            row["count"] += 1
            row["peak"] += alloc.size * (number in at_peak)
            row["end"] += alloc.size * (number in at_end)
        if places:
            own = [frame for frame in alloc.frames if frame[1] and source_frame(*frame).kind == USER]
            table[places[0]]["any"] += alloc.size
            table[own[0][:2] if own else places[0]]["mine"] += alloc.size
    return table


def lines_of(path: Path, *options: object) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(memlens("lines", path, *options, "--json").stdout)["lines"]
    return rows


def test_memory_attributed_to_no_line(tmp_path: Path) -> None:
    """Figures, sentences, and the library's line that is shown if there is none of the user's."""
    allocator = frame("CUDACachingAllocator.cpp", 0, "malloc")
    library = frame("/v/site-packages/torch/nn/linear.py", 5, "forward")
    mine = frame("/home/me/model.py", 7, "step")
    trace = [
        event("free_completed", 1 << 20, 1000),
        event("alloc", 1 << 21, 30, allocator),
        event("alloc", 1 << 22, 500),
        event("alloc", 1 << 23, 60, allocator, library),
        event("alloc", 1 << 24, 7, allocator, library, mine),
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    answer = json.loads(memlens("lines", path, "--json").stdout)
    assert answer["attribution"] == "mine"
    figures = {each.pop("to"): tuple(each.values()) for each in answer["charged"]}
    assert figures == {
        "user": (7, 1, 0, 7), "library": (60, 1, 0, 60), "no_line": (30, 1, 0, 30), "no_stack": (500, 1, 0, 500),
        "before_recording": (1000, 1, 1000, 0),
    }  # fmt: skip
    assert tuple(answer["total"].values()) == (1597, 5, 1000, 597)
    words = [line.strip() for line in memlens("lines", path).stdout.splitlines()]
    assert words[1].endswith("7 B     1  /home/me/model.py:7 step")
    assert words[2].endswith("67 B     2  /v/…/torch/nn/linear.py:5 forward (library)")
    said = " ".join(line.rpartition("  ")[2].strip() for line in words[4:])
    assert said == (
        "charged to lines of your own code lines of libraries, as no frame is your own code no line: no Python frame "
        "with a known line no line: no stack recorded no line: allocated before recording, without a stack in total"
    )
    anyone = json.loads(memlens("lines", path, "--json", "--any-code").stdout)
    assert anyone["attribution"] == "any"
    assert {each["to"]: each["total_bytes"] for each in anyone["charged"]}["library"] == 67
    assert json.loads(memlens("flame", path, "--json", "--any-code").stdout)["attribution"] == "any"
    assert json.loads(memlens("compare", path, path, "--json").stdout)["attribution"] == "mine"


def test_lines(sample: Path) -> None:
    rows = lines_of(sample)
    expected = expected_lines(sample)
    assert len(rows) == len(expected)
    for row in rows:
        totals = expected[row["file"], row["line"]]
        assert (row["total_bytes"], row["count"]) == (totals["total"], totals["count"])
        assert (row["live_at_peak_bytes"], row["live_at_end_bytes"]) == (totals["peak"], totals["end"])
        assert row["self_total_bytes"] == totals["mine"]
        assert row["function"]
    assert {row["kind"] for row in rows if "site-packages" in row["file"]} <= {"library"}
    assert all(row["kind"] == "user" for row in rows if "site-packages" not in row["file"])
    columns = {
        "self": "self_live_at_peak_bytes", "peak": "live_at_peak_bytes", "end": "live_at_end_bytes",
        "total": "total_bytes", "count": "count",
    }  # fmt: skip
    for order, column in columns.items():
        amounts = [row[column] for row in lines_of(sample, "--sort", order)]
        assert amounts == sorted(amounts, reverse=True)
        assert len(set(amounts)) > 3
    # what keeps more after every step is the line that a reader looks for
    assert (rows[0]["file"], rows[0]["function"]) == ("train.py", "remember")
    assert lines_of(sample, "--sort", "self") == rows
    assert lines_of(sample, "--top", 3) == rows[:3]
    words = memlens("lines", sample, "--top", 3).stdout.splitlines()
    assert f"{rows[0]['file']}:{rows[0]['line']}" in words[1]
    assert all(len(line) <= 80 for line in words)
    assert words[4] == ""
    assert [line.partition("  charged to")[1] or line.split()[-1] for line in words[5:]] == [
        "  charged to", "code", "total",
    ]  # fmt: skip
    by_any = lines_of(sample, "--any-code")
    assert {(row["file"], row["line"]): row["self_total_bytes"] for row in by_any} == {
        place: totals["any"] for place, totals in expected.items()
    }
    assert "charged to the innermost frame" in " ".join(memlens("lines", "--help").stdout.split())
    assert (
        "sorted by self or total"
        in memlens("lines", ROOT / "samples" / "words.pb.gz", "--sort", "end", status=1).stderr
    )


def test_recursion_counts_once(tmp_path: Path) -> None:
    again = frame("/p/walk.py", 7, "walk")
    trace = [
        event(
            "alloc", 1, 100, frame("??", 0, "at::empty"), again, again, frame("/p/walk.py", 20, "main"), again
        )
    ]
    path = tmp_path / "s.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace, copy.deepcopy(trace)]}))
    rows = {row["line"]: row for row in lines_of(path)}
    assert (rows[7]["total_bytes"], rows[7]["count"], rows[7]["self_total_bytes"]) == (200, 2, 200)
    assert (rows[20]["total_bytes"], rows[20]["self_total_bytes"]) == (200, 0)
    assert rows[7]["live_at_peak_bytes"] == 200


def test_function_counts_each_allocation_once(tmp_path: Path, opened: Any) -> None:
    frames = [frame("/p/rec.py", line, "f") for line in (8, 5, 5, 3)]
    path = tmp_path / "s.pickle"
    path.write_bytes(
        pickle.dumps({"segments": [], "device_traces": [[event("alloc", 1, 1_000_000, *frames)]]})
    )
    totals = totals_of_lines(opened(path), "/p/rec.py", [3, 5, 8])
    assert (totals.total_bytes, totals.count, totals.live_at_peak_bytes) == (1_000_000, 1, 1_000_000)


def test_stack(sample: Path) -> None:
    allocations = oracle.allocations(oracle.load(sample), 0)
    answer = json.loads(memlens("stack", sample, 1000, "--json").stdout)
    assert answer["allocation"]["size_bytes"] == allocations[1000].size
    assert answer["allocation"]["address"] == hex(allocations[1000].addr)
    assert [(f["line"], f["function"]) for f in answer["frames"]] == [
        (n, name) for _, n, name in allocations[1000].frames
    ]
    same = [alloc for alloc in allocations if alloc.frames == allocations[1000].frames]
    assert answer["same_stack"]["count"] == len(same)
    assert answer["same_stack"]["total_bytes"] == sum(alloc.size for alloc in same)
    assert answer["frames"][0]["function"] in memlens("stack", sample, 1000).stdout


def test_stack_without_a_line_and_with_a_category(tmp_path: Path) -> None:
    made = event("alloc", 4096, 512, frame("Allocator.cpp", 0, "malloc"), category="optimizer_state")
    (tmp_path / "odd.pickle").write_bytes(pickle.dumps({"segments": [], "device_traces": [[made]]}))
    lines = memlens("stack", tmp_path / "odd.pickle", 0).stdout.splitlines()
    assert "category: optimizer state" in lines
    assert lines[-2].startswith("same stack: 1 allocation, ")
    assert lines[-1] == "  Allocator.cpp malloc"


def test_the_block_of_what_was_freed_is_inferred(tmp_path: Path) -> None:
    """Of memory from before recording, too: its free says what was requested, the rules say how much that took."""
    free = event("free_completed", 1 << 20, 700)
    place = {"device": 0, "address": 1 << 20, "total_size": 2 << 20, "stream": 0}
    segment = {**place, "segment_type": "small", "blocks": []}
    for segments, said in (([segment], ["block: 1 KiB (1,024 bytes) (inferred)"]), ([], [])):
        path = tmp_path / f"{len(segments)}.pickle"
        path.write_bytes(pickle.dumps({"segments": segments, "device_traces": [[free]]}))
        lines = memlens("stack", path, 0).stdout.splitlines()
        assert "(700 bytes)" in lines[0]
        assert [line for line in lines if line.startswith("block: ")] == said


@pytest.mark.parametrize(
    "path",
    [
        *TORCH,
        *PPROF,
        *real_files("cpu_profile_mlp*", "flexgen*", "zijian*"),
        *real_profiles("pprof/go-heap.pb.gz", "public/parca/*"),
    ],
    ids=lambda path: path.stem[:40],
)
def test_warnings_are_sentences(path: Path) -> None:
    for warning in json.loads(memlens("info", path, "--json").stdout)["warnings"]:
        assert warning["message"].endswith(".")
        assert not re.search(r"\b1 of [^.]* have\b|\d \d", warning["message"]), warning["message"]


def test_ingest_reports_progress(sample: Path, tmp_path: Path, own_cache: Path) -> None:
    lines = [json.loads(line) for line in memlens("ingest", sample, "--progress", "json").stdout.splitlines()]
    assert lines[-1]["type"] == "done"
    assert Path(lines[-1]["archive"]).is_relative_to(own_cache)
    fractions: list[Any] = [line["fraction"] for line in lines[:-1]]
    assert fractions == sorted(fractions)
    assert all(line["type"] == "progress" and 0 <= line["fraction"] <= 1 for line in lines[:-1])
    out = tmp_path / "archive"
    assert memlens("ingest", sample, "--out", out).stdout.strip() == str(out)
    assert (out / "manifest.json").is_file()


@needs_posix
def test_ingest_on_a_terminal(sample: Path) -> None:
    import pty  # which Windows lacks

    main, other = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "memlens", "ingest", str(sample)],
        stderr=other,
        stdout=subprocess.PIPE,
        check=False,
    )
    os.close(other)
    shown = terminal.all_of(main)
    assert done.returncode == 0
    assert "%" in shown
    assert shown.endswith("\r\x1b[K"), "the line is cleared at the end"


@pytest.mark.parametrize("command", [["info"], ["lines"], ["stack", 0], ["ingest"]])
def test_failures_print_one_line(command: list[Any], tmp_path: Path) -> None:
    bad = tmp_path / "evil\x1b[31m\n.pickle"
    bad.write_bytes(b"\x80\x04cos\nsystem\n.")
    for path in (bad, tmp_path / "missing.pickle", tmp_path):
        done = memlens(command[0], path, *command[1:], status=1)
        assert done.stdout == ""
        assert done.stderr.startswith("memlens: ")
        assert done.stderr.count("\n") == 1
        assert "\x1b" not in done.stderr
    assert "GLOBAL" in memlens(command[0], bad, *command[1:], status=1).stderr
    assert "at byte 2" in memlens(command[0], bad, *command[1:], status=1).stderr


@pytest.mark.parametrize("command", ["info", "findings", "lines", "steps", "flame", "compare", "oom"])
def test_texts_in_json_are_english_sentences(command: str, sample: Path) -> None:
    """Only the lines that another process of Memlens reads have templates, which that one may translate."""
    files = [sample, sample] if command == "compare" else [sample]
    assert '"template"' not in memlens(command, *files, "--json").stdout


def test_error_as_json(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pickle"
    bad.write_bytes(b"\x80\x04cos\nsystem\n.")
    (line,) = memlens("ingest", bad, "--progress", "json", status=1).stdout.splitlines()
    error = json.loads(line)
    assert error["type"] == "error"
    assert (error["problem"]["code"], error["problem"]["offset"]) == ("unsafe-pickle", 2)


def test_damaged_archive_is_rebuilt(sample: Path, own_cache: Path) -> None:
    before = memlens("lines", sample, "--json").stdout
    (strings,) = own_cache.rglob("string_utf8")
    data = strings.read_bytes()
    half = len(data) // 2
    strings.write_bytes(data[:half] + b"\xf0" * (len(data) - half))
    assert memlens("lines", sample, "--json").stdout == before


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["info"], ["lines", "x", "--top", "9" * 30], ["stack", "x", "y"]]
)
def test_wrong_arguments(arguments: list[str]) -> None:
    done = memlens(*arguments, status=2)
    assert done.stderr.startswith("memlens: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_sigterm(tmp_path: Path) -> None:
    """SIGTERM in the middle of the work leaves no partial files."""
    generate(tmp_path / "large.pickle", 200_000)
    out = tmp_path / "out" / "archive"
    command = [sys.executable, "-m", "memlens", "ingest", str(tmp_path / "large.pickle"), "--out", str(out)]
    child = subprocess.Popen(
        [*command, "--progress", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    child.stdout.readline()
    child.terminate()
    error = child.communicate()[1]
    assert child.returncode == 1
    assert error.count("\n") == 1
    assert list(out.parent.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_is_rejected_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in memlens("info", tmp_path / "pipe", status=1).stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="file names are bytes there")
def test_file_name_that_is_not_utf8(sample: Path, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/a\xff.pickle"
    Path(os.fsdecode(path)).write_bytes(sample.read_bytes())
    done = subprocess.run([sys.executable, "-m", "memlens", "info", path], capture_output=True, check=True)
    assert b"79.8 MiB" in done.stdout


def test_circular_symbolic_links(sample: Path, tmp_path: Path) -> None:
    loop = tmp_path / "a.pickle"
    loop.symlink_to(loop)
    for command in (
        ["info", loop],
        ["ingest", loop],
        ["compare", sample, loop],
        ["tables", loop],
        ["info", sample, "--cache-dir", loop],
        ["ingest", sample, "--out", loop],
        ["ingest", sample, "--out", loop / "below"],
        ["export", sample, "--pprof", loop / "below"],
    ):
        error = memlens(*command, status=1).stderr
        assert error.startswith("memlens: ")
        assert "Internal error" not in error, command
    assert "symbolic link" in memlens("info", loop, status=1).stderr


def test_a_damaged_file_among_several_is_named(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.pickle").write_bytes(sample.read_bytes()[:40_000])
    assert (
        f"memlens: {tmp_path / 'cut.pickle'}: "
        in memlens("compare", sample, tmp_path / "cut.pickle", status=1).stderr
    )


def test_stack_of_a_missing_allocation(sample: Path) -> None:
    assert "no allocation 99,999,999" in memlens("stack", sample, 99999999, status=1).stderr


def test_reader_that_closes_the_pipe_early(sample: Path) -> None:
    command = f"{sys.executable} -m memlens lines {sample} --json | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_folder_that_cannot_be_written(sample: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = memlens("ingest", sample, "--cache-dir", blocked / "cache", status=1)
    assert done.stderr.count("\n") == 1
