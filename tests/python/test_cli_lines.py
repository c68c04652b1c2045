"""``memlens lines`` of a part of a file: --by, --at, --device and --filter against the file's own events."""

import csv
import io
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.python import terminal
from tests.python.command_line import memlens
from tests.python.conftest import ROOT, event, frame
from tests.python.replays import torch as oracle
from tests.python.systems import needs_posix
from tests.python.test_heap_commands import shop

from memlens.cli.columns import Piece, fitted, width_of, without_folders
from memlens.model.frames import USER
from memlens.packs.pytorch.frames import source_frame
from memlens.views.tables.groupings import GroupKind

SAMPLE = ROOT / "samples" / "train.pickle"
PROFILE = ROOT / "samples" / "words.pb.gz"
ORDERS = ("self", "peak", "end", "total", "count")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def asked(path: Path, *options: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(memlens("lines", path, *options, "--json").stdout)
    return found


def of(frames: tuple[oracle.RawFrame, ...], by: str) -> list[tuple[str, int | None, str | None]]:
    """The places of a stack, innermost first."""
    if by == "line":
        return [(file, line, None) for file, line, _ in frames if line]
    return [(file, None, name if by == "function" else None) for file, _, name in frames]


def mine(frames: tuple[oracle.RawFrame, ...]) -> tuple[oracle.RawFrame, ...]:
    """The frame that is charged: the innermost of the user's code, or the innermost with a line."""
    known = [each for each in frames if each[1]]
    return tuple([each for each in known if source_frame(*each).kind == USER] or known)[:1]


@pytest.mark.parametrize("by", ["line", "function", "file"])
@pytest.mark.parametrize(
    ("options", "fits", "moment"),
    [
        ((), lambda _: True, None),
        (("--at", "4891 events", "--device", 0), lambda _: True, 4891),
        (("--filter", "file:model.py size>=512KiB"),
         lambda each: each.size >= 512 << 10 and any("model.py" in file for file, _, _ in each.frames), None),
        (("--filter", "is:freed", "--at", "end"), lambda each: each.end is not None, 13_798),
    ],
)  # fmt: skip
def test_places_hold_what_the_events_say(
    by: str, options: tuple[object, ...], fits: Callable[[oracle.Alloc], bool], moment: int | None
) -> None:
    data = oracle.load(SAMPLE)
    every = [each for each in oracle.allocations(data, 0) if fits(each)]
    events = len(data["device_traces"][0])
    heights = oracle.live_bytes(every, events)
    peak = heights.index(max(heights))
    expected: dict[Any, Counter[str]] = {}
    for each in every:
        stop = events + 1 if each.end is None else each.end
        figures = {
            "live_at_peak_bytes": each.size * (each.start <= peak < stop),
            "live_at_end_bytes": each.size * (each.start <= events < stop),
            "total_bytes": each.size, "count": 1,
        }  # fmt: skip
        if options[1:2] == ("4891 events",):
            figures["live_at_moment_bytes"] = each.size * (each.start <= 4891 < stop)
        for prefix, frames in (("", each.frames), ("self_", mine(each.frames))):
            for place in set(of(frames, by)):
                expected.setdefault(place, Counter()).update(
                    {f"{prefix}{name}": n for name, n in figures.items()}
                )
    answer = asked(SAMPLE, "--by", by, *options)
    rows = answer["lines" if by == "line" else "rows"]
    if by == "line" and not options:
        # summed when the file was read; these columns are all that it has
        rows = [{key: row[key] for key in row if key.endswith(("bytes", "count")) and key != "largest_bytes"} | {
            "file": row["file"], "line": row["line"]} for row in rows]  # fmt: skip
    assert len(rows) == len(expected) > 3
    for row in rows:
        key = (
            row["file"],
            row["line"] if by == "line" else None,
            row["function"] if by == "function" else None,
        )
        figures = {
            name: row[name] for name in row if name.endswith(("_bytes", "count")) and row[name] is not None
        }
        assert figures == {name: expected[key][name] for name in figures}, key
        assert {name.removeprefix("self_") for name in figures} >= set(answer["total"]) - {
            "live_at_moment_bytes"
        }
    held = "live_at_end_bytes" if "end" in options else "live_at_peak_bytes"
    held = "live_at_moment_bytes" if "4891 events" in options else held
    own = [row[f"self_{held}"] for row in rows]
    assert own == sorted(own, reverse=True)
    # whatever is charged to nothing is said
    assert sum(each[held] for each in answer["charged"]) == answer["total"][held]
    assert answer["total"]["count"] == len(every)
    assert moment in (None, 4891, events)


def test_one_device_is_the_same_by_both_ways() -> None:
    """The sums of the whole file were made when it was read; those of its only device are made now."""
    whole, one = asked(SAMPLE), asked(SAMPLE, "--device", 0)
    after = {(row["file"], row["line"]): row for row in one["lines"]}
    assert len(after) == len(whole["lines"])
    for row in whole["lines"]:
        for only in ("largest_bytes", "freed_bytes", "freed_count"):
            del row[only]
        assert row.items() <= after[row["file"], row["line"]].items()
    # only the order of equal ones may differ
    own = "self_live_at_peak_bytes"
    assert [row[own] for row in one["lines"]] == [row[own] for row in whole["lines"]]
    assert whole["total"].items() <= one["total"].items()
    assert [each["to"] for each in whole["charged"]] == [each["to"] for each in one["charged"]]
    by_value = asked(PROFILE, "--value", "inuse_space")
    assert by_value["lines"] == [
        {key: row[key] for key in by_value["lines"][0]}
        for row in asked(PROFILE, "--value", "inuse_space", "--filter", "file:words.py")["lines"]
    ]
    assert by_value["charged"] == [{"to": "user", "amount": by_value["total"]}]


def devices(path: Path) -> Path:
    """Two devices, of which each has a peak of its own; streams, categories, and a stack of long names."""
    long = frame("/home/somebody/with/a/rather/deep/tree/of/folders/transformer_block.py", 1234, "f" * 70)
    wide = frame("/home/名前/フォルダ/ファイル.py", 7, "関数" * 30)
    early = [event("alloc", 1 << 20, 1000, long, category="x" * 90), event("free_completed", 1 << 20, 1000)]
    late = [event("alloc", 1 << 21, 50, wide, stream=3), event("alloc", 1 << 22, 70, long, stream=3)]
    first, second = [*early, late[0]], [late[0], *early, late[1]]
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [first, second]}))
    return path


def test_devices_have_peaks_of_their_own(tmp_path: Path) -> None:
    path = devices(tmp_path / "two.pickle")
    cases: list[tuple[str, int, list[object]]] = [
        ("live_at_peak_bytes", 2050, []), ("live_at_peak_bytes", 1000, ["--device", 0]),
        ("live_at_peak_bytes", 1050, ["--device", 1]), ("live_at_end_bytes", 170, ["--at", "end"]),
        ("live_at_moment_bytes", 50, ["--device", 1, "--at", "1 event"]), ("total_bytes", 2170, ["--at", "all"]),
        ("live_at_peak_bytes", 170, ["--filter", "stream:3"]),
    ]  # fmt: skip
    for figure, held, options in cases:
        assert asked(path, "--by", "file", *options)["total"][figure] == held, options
    assert "device 1 after 1 event" in memlens("lines", path, "--at", "1 event", "--device", 1).stdout
    assert "no device 7" in memlens("lines", path, "--device", 7, status=1).stderr


@pytest.mark.parametrize("by", ["category", "stream"])
def test_other_groups_have_the_figures_of_sql(by: str) -> None:
    query = f"SELECT sum(size_bytes) AS total, count(*) AS n FROM allocations GROUP BY {by}"
    known = {(row["total"], row["n"]) for row in json.loads(memlens("sql", SAMPLE, query, "--json").stdout)}
    answer = asked(SAMPLE, "--by", by)
    assert {(row["total_bytes"], row["count"]) for row in answer["rows"]} == known
    assert sum(row["live_at_peak_bytes"] for row in answer["rows"]) == answer["total"]["live_at_peak_bytes"]
    assert answer["charged"] == []


def test_modules_and_pools_have_the_figures_of_their_filters() -> None:
    rows = asked(SAMPLE, "--by", "module")["rows"]
    assert len(rows) > 3
    for row in [*rows, *asked(SAMPLE, "--by", "pool")["rows"]]:
        terms = {"In no module": "module:none", "Pool not in the file": "pool:unknown"}
        total = asked(SAMPLE, "--filter", terms.get(row["name"], f'module:"={row["name"]}"'))["total"]
        assert (row["total_bytes"], row["count"]) == (total["total_bytes"], total["count"])


def test_functions_have_the_figures_of_the_flame_graph() -> None:
    for options in ((), ("--filter", "function:search"), ("--value", "inuse_objects")):
        functions = json.loads(memlens("flame", PROFILE, "--json", *options).stdout)["rows"]
        rows = asked(PROFILE, "--by", "function", *options)["rows"]
        assert {(row["function"], row["itself"], row["total"]) for row in rows} == {
            (each["name"]["function"], each["self_bytes"], each["bytes"]) for each in functions
        }
        assert len(rows) == len(functions) > 3


def fits(text: str) -> None:
    wide = [line for line in text.splitlines() if width_of(line) > 80]
    assert not wide, wide


def test_all_tables_fit_80_columns(tmp_path: Path) -> None:
    path = devices(tmp_path / "two.pickle")
    kinds = [kind for kind in get_args(GroupKind) if kind not in ("package", "thread", "label")]
    for by, order in itertools.product(kinds, ORDERS):
        fits(memlens("lines", path, "--by", by, "--sort", order).stdout)
    text = memlens("lines", path, "--sort", "total").stdout
    # the file's name and the line stay, and the function as far as there is room
    assert re.search(r"  …/transformer_block\.py:1234 f+…f+$", text, re.MULTILINE)
    assert re.search(r"ファイル\.py:7 関", text)
    whole = list(csv.DictReader(io.StringIO(memlens("lines", path, "--csv").stdout)))
    assert [row["function"] for row in whole if row["line"] == "1234"] == ["f" * 70]
    assert whole == list(csv.DictReader(io.StringIO(memlens("lines", path, "--csv").stdout)))
    for options in ((), ("--by", "stack"), ("--by", "size"), ("--sort", "total")):
        fits(memlens("lines", PROFILE, *options).stdout)
    heap = tmp_path / "shop.heapsnapshot"
    heap.write_bytes(shop().data().replace(b"/home/me/shop.js", b"/home/me" + b"/folder" * 20 + b"/shop.js"))
    text = memlens("lines", heap).stdout
    fits(text)
    assert re.search(r"  (/home/)?…/folder/.*/shop\.js:3 Order$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("path", "width", "shown"),
    [
        ("/home/me/a/b/model.py", 21, "/home/me/a/b/model.py"),
        ("/home/me/a/b/model.py", 20, "/home/…/a/b/model.py"),
        ("/home/me/a/b/model.py", 18, "…/a/b/model.py"),
        ("/home/me/a/b/model.py", 13, "…/b/model.py"),
        ("/home/me/a/b/model.py", 5, "…/model.py"),
        (r"C:\Users\me\a\model.py", 17, r"…\me\a\model.py"),
        ("https://host/static/js/app.js", 24, "https://host/…/js/app.js"),
        ("model.py", 4, "model.py"),
        # a path of 300,000 folders takes a moment
        ("/a" * 300_000 + "/é.py", 8, "…/a/é.py"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_paths_keep_the_name_of_the_file(path: str, width: int, shown: str) -> None:
    assert without_folders(path, width) == shown


def test_names_are_cut_last() -> None:
    pieces = [Piece("/a/b/model_of_everything.py", "path"), Piece(":88"), Piece(" forward_of_all", "name")]
    assert fitted(pieces, 45) == "/a/b/model_of_everything.py:88 forward_of_all"
    assert fitted(pieces, 43) == "…/model_of_everything.py:88 forward_of_all"
    assert fitted(pieces, 40) == "…/model_of_everything.py:88 forwa…of_all"
    assert fitted(pieces, 27) == "…/model_o…rything.py:88 …ll"
    assert [width_of(fitted(pieces, width)) for width in range(1, 40)] == list(range(1, 40))


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        (SAMPLE, ("--by", "package"), "can't be grouped by package. They can be grouped by line, function, file"),
        (SAMPLE, ("--at", "300"), "a number alone may be of events or of time"),
        (SAMPLE, ("--at", "99999 events"), "there is no such event"),
        (SAMPLE, ("--value", "live"), "A trace of events has no values"),
        (PROFILE, ("--by", "module"), "The samples of a profile can't be grouped by module"),
        (PROFILE, ("--at", "3 s"), "doesn't have what was live at '3 s'. Its values are"),
        (PROFILE, ("--at", "end", "--value", "live"), "each says when"),
        (PROFILE, ("--device", "0"), "A profile has no devices, which are needed for --device"),
        (PROFILE, ("--sort", "end", "--by", "file"), "sorted by self or total, not by end"),
    ],
)  # fmt: skip
def test_what_a_kind_of_file_lacks_is_refused(path: Path, options: tuple[str, ...], said: str) -> None:
    error = memlens("lines", path, *options, status=1).stderr
    assert said in error
    assert path.name in error


@needs_posix
def test_a_terminal_gets_sentences_between_words_and_no_file() -> None:
    import pty  # which Windows lacks

    main, other = pty.openpty()
    # as wide as a terminal that says nothing of its size
    environment = {**os.environ, "COLUMNS": "60"}
    commands = [["findings", str(SAMPLE)], ["picture", str(SAMPLE)]]
    done = [
        subprocess.run(
            [sys.executable, "-m", "memlens", *each],
            env=environment, stdout=other, stderr=subprocess.PIPE, text=True, check=False,
        )
        for each in commands
    ]  # fmt: skip
    os.close(other)
    text = terminal.all_of(main)
    assert [each.returncode for each in done] == [0, 2]
    assert "a file for browsers, which a terminal can't show. Write it to a file: -o OUT." in done[1].stderr
    lines = text.splitlines()
    assert max(map(len, lines)) <= 60
    first = next(place for place, line in enumerate(lines) if line.startswith("1. Grows by step"))
    assert lines[first + 1].startswith("   ")
    # a file or a pipe gets each sentence as one line
    assert max(map(len, memlens("findings", SAMPLE).stdout.splitlines())) > 200


def test_heap_dumps_without_stacks_refuse_parts(tmp_path: Path) -> None:
    heap = tmp_path / "shop.heapsnapshot"
    heap.write_bytes(shop().data())
    for options in (("--by", "function"), ("--at", "peak"), ("--filter", "type:Order")):
        error = memlens("lines", heap, *options, status=1).stderr
        assert f"no allocation stacks, which are needed for {options[0]}" in error
        assert "memlens types lists its objects by type" in error
