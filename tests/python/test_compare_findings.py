"""The findings of two heap dumps: pairs of made-up ones, dumps whose addresses moved, and a program that leaks."""

import json
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.python.heap_archives import Opened
from tests.python.server_harness import write_snapshot
from tests.python.test_findings_of_heaps import Program, java_heap
from tests.python.tries import tries

from memlens.cli import main
from memlens.texts import phrase
from memlens.units import format_bytes
from memlens.views.findings.ahead import MOST_FINDINGS, findings
from memlens.views.findings.answers import Figure, SnapshotFinding
from memlens.views.findings.compared import compared
from memlens.views.findings.writing import made

pytest_plugins = ("tests.python.heap_fixtures",)

LEAK = """
const v8 = require('node:v8');
const { EventEmitter } = require('node:events');
const bus = new EventEmitter().setMaxListeners(0);
const cache = new Map();
const recent = [];
function listen(count) {
  for (let i = 0; i < count; i++) {
    const big = new Array(200).fill(i + 0.5);
    bus.on('tick', () => big.length);
  }
}
listen(100);
for (let i = 0; i < 50000; i++) recent.push({ id: i, x: i + 0.5 });
v8.writeHeapSnapshot('before.heapsnapshot');
listen(400);
recent.length = 0;
for (let i = 0; i < 60000; i++) cache.set('key' + i, { id: i, y: i + 0.5 });
v8.writeHeapSnapshot('after.heapsnapshot');
console.log(bus.listenerCount('tick'), cache.size, recent.length);
"""


def finding(rule: str, subject: str, amount: int) -> SnapshotFinding:
    figure = Figure(amount, "bytes", "retained")
    return made(rule, phrase("Listeners"), phrase("{n} of {rule}", n=amount, rule=rule), figure, None,
                subject=(subject,))  # fmt: skip


def joined(first: SnapshotFinding, *others: SnapshotFinding) -> SnapshotFinding:
    return SnapshotFinding(
        first.rule, first.title, first.sentence, first.text, first.figure, None,
        evidence_from=[each.name for each in others], subject=first.subject,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(tries(40)))
def test_nothing_is_lost_and_nothing_is_said_twice(seed: int) -> None:
    rng = random.Random(seed)

    def dump() -> list[SnapshotFinding]:
        names = [(rule, subject) for rule in "ab" for subject in ("", "x", "y")]
        return [finding(*rng.choice(names), rng.randrange(1, 50)) for _ in range(rng.randrange(8))]

    before, after = dump(), dump()
    rows = compared(before, after).rows
    assert Counter(id(row.before) for row in rows if row.before) == Counter(map(id, before))
    assert Counter(id(row.after) for row in rows if row.after) == Counter(map(id, after))
    for row in rows:
        for side, figure in ((row.before, row.before_figure), (row.after, row.after_figure)):
            assert figure == (side and side.figure)
            assert side is None or (side.rule, side.subject) == (row.rule, row.subject)
    # as many as possible are paired, largest with largest
    for key in {(each.rule, each.subject) for each in (*before, *after)}:
        sizes = [
            sorted((each.figure.amount for each in side if (each.rule, each.subject) == key), reverse=True)
            for side in (before, after)
        ]
        pairs = [row for row in rows if (row.rule, row.subject) == key and row.before and row.after]
        paired = sorted((row.difference, row.change) for row in pairs)
        changes = [
            (large - small, "same" if large == small else "grown" if large > small else "shrunk")
            for small, large in zip(*sizes, strict=False)
        ]
        assert paired == sorted(changes)
    assert [abs(row.difference) for row in rows] == sorted((abs(r.difference) for r in rows), reverse=True)
    mirrored = Counter(-row.difference for row in compared(after, before).rows)
    assert mirrored == Counter(row.difference for row in rows)


def test_findings_about_the_same_bytes_are_found_by_each_of_their_names() -> None:
    closures, large = finding("contexts", "app.js", 95), finding("retains_most", "Map", 100)
    later_closures, later_large = finding("contexts", "app.js", 190), finding("retains_most", "Map", 200)

    def rows(before: list[SnapshotFinding], after: list[SnapshotFinding]) -> list[tuple[str, Any, Any]]:
        return [
            (
                row.rule,
                row.before_figure and row.before_figure.amount,
                row.after_figure and row.after_figure.amount,
            )
            for row in compared(before, after).rows
        ]

    both = joined(later_large, later_closures)
    # another of them says it now
    assert rows([joined(closures, large)], [both]) == [("retains_most", 100, 200)]
    assert rows([closures], [both]) == [("contexts", 95, 190)]
    assert rows([both], [closures]) == [("contexts", 190, 95)]
    # they came apart, and together
    two = [("retains_most", 100, 200), ("contexts", 95, 190)]
    assert rows([joined(large, closures)], [later_large, later_closures]) == two
    assert rows([large, closures], [both]) == two
    # of the same bytes nothing is gone, and nothing is new
    assert rows([joined(finding("b", "", 99), large)], [later_large]) == [("retains_most", 100, 200)]
    assert rows([large], [joined(finding("b", "", 210), later_large)]) == [("retains_most", 100, 200)]


def java_caches(moved: int, users: int, orders: int) -> bytes:
    """Two arrays of one type, which only the static fields that hold them tell apart; all addresses are moved."""
    program = Program()
    for _ in range(moved):
        program.blob(10)
    for field, count in (("USERS", users), ("ORDERS", orders)):
        program.keep(field, program.list_of(*(program.blob(9_000) for _ in range(count))))
    return program.data()


def test_java_objects_are_found_again_at_other_addresses(open_dump: Opened) -> None:
    dumps = [open_dump(java_caches(0, 100, 60), "a.hprof"), open_dump(java_caches(77, 80, 300), "b.hprof")]
    before, after = (findings(each, None, MOST_FINDINGS).findings for each in dumps)
    rows = compared(before, after).rows
    changes = {}
    for row in rows:
        assert row.before is not None
        assert row.after is not None
        names = [each.text.partition(" retains")[0] for each in (row.before, row.after)]
        assert names[0] != names[1]
        (held,) = {re.search(r"Held by (Main\.\w+)", each.text)[1] for each in (row.before, row.after)}  # pyrefly: ignore[unsupported-operation]
        changes[held] = (row.rule, row.change, round(row.difference / 9_000))
    assert changes == {
        "Main.USERS": ("retains_most", "shrunk", -20),
        "Main.ORDERS": ("retains_most", "grown", 241),
    }


@pytest.mark.slow
def test_what_is_too_little_for_a_finding_of_one_dump_is_compared_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for name, orders, copies, mail in (("a", 60, 300, 60), ("b", 3_000, 301, 5)):
        program = Program()
        for field, blobs in (("USERS", 100), ("ORDERS", orders), ("MAIL", mail)):
            program.keep(field, program.list_of(*(program.blob(9_000) for _ in range(blobs))))
        program.keep("NAMES", program.list_of(*(program.text("one user " * 20) for _ in range(copies))))
        files.append(tmp_path / f"{name}.hprof")
        files[-1].write_bytes(program.data())
    cache = ["--cache-dir", str(tmp_path / "cache"), "--json"]
    said = []
    for file in files:
        assert main(["findings", str(file), *cache]) == 0
        said.append([each["text"] for each in json.loads(capsys.readouterr().out)["findings"]])
    # users are 3% of the later dump, mail and copies less than 1% of it
    assert [sum(words in text for text in texts) for texts in said for words in ("USERS", "MAIL", "copies")] == [
        1, 1, 1, 0, 0, 0,
    ]  # fmt: skip
    found = []
    for order in (files, files[::-1]):
        assert main(["compare", *map(str, order), "--by", "finding", *cache]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert not {row["change"] for row in rows} & {"new", "gone"}
        found.append({(row["rule"], row["subject"]): row["difference"] for row in rows})
        for row in rows:
            for file, side in zip(order, ("before", "after"), strict=True):
                figure = row[f"{side}_figure"]
                assert main(["sql", str(file), figure["sql"], *cache]) == 0
                ((amount,),) = [each.values() for each in json.loads(capsys.readouterr().out)]
                assert amount == figure["amount"] == row[side]["figure"]["amount"]
    assert set(found[0]) == {
        ("retains_most", "java.lang.Object[], Main.USERS (system class)"),
        ("retains_most", "java.lang.Object[], Main.ORDERS (system class)"),
        ("retains_most", "java.lang.Object[], Main.MAIL (system class)"),
        ("duplicate_strings", ""),
    }
    assert found[1] == {key: -difference for key, difference in found[0].items()}


def test_what_a_program_did_not_do_before_is_new(open_dump: Opened) -> None:
    dumps = [open_dump(java_heap(has=has), f"{has}.hprof") for has in (False, True)]
    before, after = (findings(each, None, MOST_FINDINGS).findings for each in dumps)
    rows = compared(before, after).rows
    assert [row.rule for row in rows if row.before is not None] == ["retains_most"]
    assert Counter(row.rule for row in rows) == Counter(each.rule for each in after)
    assert all(row.change == "same" and not row.difference for row in compared(after, after).rows)
    assert Counter(row.change for row in compared(after, before).rows) == {"gone": len(rows) - 1, "shrunk": 1}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_a_program_that_leaks_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "leak.js").write_text(LEAK)
    run = subprocess.run(["node", "leak.js"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "500 60000 0\n"
    files = [str(tmp_path / f"{name}.heapsnapshot") for name in ("before", "after")]
    cache = ["--cache-dir", str(tmp_path / "cache")]

    def asked(*options: str) -> Any:
        assert main([*options, *cache, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    rows = asked("compare", *files, "--by", "finding")["rows"]
    changes = [
        (words, row["change"])
        for row in rows
        for words in ("00 listeners of “tick”", "60,000 Object", "50,000 Object")
        if words in (row["after"] or row["before"])["text"]
    ]
    assert sorted(changes) == [
        ("00 listeners of “tick”", "grown"), ("50,000 Object", "gone"), ("60,000 Object", "new"),
    ]  # fmt: skip
    (listeners,) = [row for row in rows if row["rule"] == "listeners"]
    assert "100 listeners" in listeners["before"]["text"]
    assert "500 listeners" in listeners["after"]["text"]
    # all findings of either dump are there
    for side, file in zip(("before", "after"), files, strict=True):
        own = [each["text"] for each in asked("findings", file, "--top", "100")["findings"]]
        assert {row[side]["text"] for row in rows if row[side]} >= set(own)
    for form in ([], ["--markdown"]):
        assert main(["report", files[1], "--before", files[0], *form, *cache]) == 0
        page = capsys.readouterr().out
        assert "Findings since before.heapsnapshot" in page
        for row in rows:
            assert str(format_bytes(abs(row["difference"]))) in page
    assert main(["compare", *files, "--by", "finding", "--search", "emitter listeners tick", *cache]) == 0
    heading, line, place = capsys.readouterr().out.splitlines()
    assert heading.split() == ["before", "after", "difference", "finding"]
    assert "  Listeners: EventEmitter @" in line
    assert place.endswith("leak.js:10 (anonymous)")


def test_what_can_not_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = ["--cache-dir", str(tmp_path / "cache")]
    trace = str(write_snapshot(tmp_path / "one.pickle", 400))
    assert main(["compare", trace, trace, "--by", "finding", *cache]) == 2
    assert "Only findings of heap dumps" in capsys.readouterr().err
    dump = tmp_path / "one.hprof"
    dump.write_bytes(java_heap(has=False))
    assert main(["report", str(dump), "--before", trace, *cache]) == 1
    assert "needed for --before" in capsys.readouterr().err
    assert main(["compare", *[str(dump)] * 3, "--by", "finding", *cache]) == 2
    assert "two heap dumps" in capsys.readouterr().err
