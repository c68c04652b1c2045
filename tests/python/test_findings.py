"""The headline and the findings: every figure against SQL and against the set that it opens, and on which files a rule
of a trace says something."""

import json
import operator
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.python.conftest import ROOT, event, frame, real_profiles, real_programs
from tests.python.limited_allocator import DeviceFullError, LimitedAllocator
from tests.python.model_allocator import MIB
from tests.python.profile_reading import FIXTURES
from tests.python.said import assert_words_are_templates
from tests.python.test_allocator import open_data

from memlens import cli
from memlens.errors import BadRequestError
from memlens.export.markdown import finding_markdown
from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.store.tables import fill as tables
from memlens.texts import Text, phrase
from memlens.views.findings import table
from memlens.views.findings.ahead import FINDINGS, findings, headline, parts
from memlens.views.findings.answers import Figure, SnapshotFinding, TextPart, pieces
from memlens.views.findings.writing import called, made, short_function
from memlens.views.selection.items import items_of
from memlens.views.selection.stacks import AMOUNT
from memlens.views.sql.query import SqlSession

CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "file"
MADE = [
    ROOT / "samples" / "train.pickle",
    ROOT / "samples" / "words.pb.gz",
    *(FIXTURES / name for name in ("go-heap.debug1.txt", "ledger.dhat.json", "massif.out.ledger")),
    *(FIXTURES / name for name in ("service.heaptrack.zst", "tracemalloc.pickle")),
    *(CORPUS / name for name in ("everything.pickle", "everything.json", "segments.pickle", "java.heap")),
]
# all that can be read, except two recordings that take long
LEFT_OUT = {
    *("heaptrack.cpp-tree-deep.zst", "heaptrack.rust-svc-1M.zst"),
}
REAL = [
    *real_programs("*.pickle", "*.html"),
    *real_profiles("dhat/*.json", "gperftools/*", "jemalloc/*", "massif/*", "pprof/*", "tracemalloc/*"),
    *(path for path in real_profiles("heaptrack/heaptrack.*") if path.name not in LEFT_OUT),
    *real_profiles(
        "public/*/*.gz", "public/*/*.zst", "public/*/*.heap", "public/*/*.out", "public/*/*.growth"
    ),
]

Opened = Callable[[Path], Snapshot]


def parts_of(snapshot: Snapshot) -> Iterator[tuple[str, TextPart]]:
    """Each part of each sentence, with its rule."""
    for sentence in headline(snapshot, None).sentences:
        yield from (("headline", part) for part in pieces(sentence))
    for finding in findings(snapshot, None, 100).findings:
        yield from ((finding.rule, part) for part in pieces(finding.sentence))


def rules(snapshot: Snapshot) -> list[str]:
    return [finding.rule for finding in findings(snapshot, None, 100).findings]


def of_rule(snapshot: Snapshot, rule: str) -> list[SnapshotFinding]:
    return [finding for finding in findings(snapshot, None, 100).findings if finding.rule == rule]


def check_figures(snapshot: Snapshot) -> int:
    """Hold every figure to its query, to the set that it opens, and words to templates; how many figures there were."""
    assert_words_are_templates(snapshot)
    tables.fill(snapshot, lambda *_: None)
    held = 0
    with closing(SqlSession(Snapshot.open(snapshot.archive))) as session:
        for rule, part in parts_of(snapshot):
            if part.figure is None:
                continue
            held += 1
            assert part.figure.sql, (rule, part.text)
            names, rows = session.stream(part.figure.sql)
            assert [list(row) for row in rows] == [[part.figure.amount]], (rule, part.text, part.figure.sql)
            assert len(names) == 1
            assert part.text == str(part.figure)
            shown = part.evidence
            # figures of the allocator, of steps or of times aren't sums over a set
            if shown is None or shown.pane != "liveSet" or rule in ("growth", "no_symbols", "headline"):
                continue
            if part.figure.kind in ("live", "survived", "leaked", "allocated", "temporary"):
                assert int(items_of(snapshot, shown.of).values[AMOUNT].sum()) == part.figure.amount, (
                    rule,
                    part,
                )
    return held


@pytest.mark.parametrize("path", MADE + REAL, ids=lambda path: f"{path.parent.name}-{path.name[:40]}")
def test_figures_agree_with_sql(opened: Opened, path: Path) -> None:
    snapshot = opened(path)
    first = headline(snapshot, None)
    assert first.text == " ".join(sentence.text for sentence in first.sentences)
    assert first.text.endswith(".")
    assert "  " not in first.text
    assert all(sentence for sentence in first.sentences)
    for finding in findings(snapshot, None, 100).findings:
        assert (
            finding.text == finding.sentence.text == "".join(part.text for part in pieces(finding.sentence))
        )
        assert finding.text.endswith(".")
        assert any(part.figure == finding.figure for part in pieces(finding.sentence))
    assert check_figures(snapshot) >= (0 if first.rule == "empty" else 1)


def test_findings_are_stored_with_the_archive(
    sample: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = ingest(sample, cache, lambda *_: None)
    with closing(Snapshot.open(archive)) as snapshot:
        assert FINDINGS.find(snapshot.origin) is None, "the picture comes first"
        first = parts(snapshot, None)
        assert len(first) == len(table.rules_for(snapshot.info))
        found = [part(snapshot) for part in first]
        again = [part(snapshot) for part in parts(snapshot, 0)]
        assert all(map(operator.is_, again, found)), "each is stored"
        made = headline(snapshot, None), findings(snapshot, None, 100)
        # findings that were answered are stored, not computed again
        monkeypatch.setattr(table, "rules_for", lambda _: ())
        snapshot.work_in_background()
        assert not snapshot.background
        assert FINDINGS.find(snapshot.origin) is not None
    with closing(Snapshot.open(archive)) as snapshot:
        assert (headline(snapshot, None), findings(snapshot, None, 100)) == made
        assert not parts(snapshot, None)
        assert len(findings(snapshot, None, 2).findings) == 2
        for ask in (headline, parts):
            with pytest.raises(BadRequestError):
                ask(snapshot, 9)


def test_a_rule_that_fails_leaves_the_archive_whole(
    sample: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Any) -> Iterator[Any]:
        raise ZeroDivisionError

    monkeypatch.setattr(table, "rules_for", lambda _: (table.Rule(fails, ("fails",)),))
    archive = ingest(sample, cache, lambda *_: None)
    with closing(Snapshot.open(archive)) as snapshot:
        with pytest.raises(ZeroDivisionError):
            snapshot.ask(lambda each: findings(each, None, 1))
        monkeypatch.undo()
        assert findings(snapshot, None, 1).findings


def test_the_command_line(sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        assert cli.main(["findings", str(sample), "--cache-dir", str(tmp_path), *options]) == 0
        return capsys.readouterr().out

    text, markdown, data = printed(), printed("--markdown"), json.loads(printed("--json", "--top", "1"))
    assert text.startswith("Peak 79.8 MiB at 545.6 ms. Held by train.py:46 15 MiB (19%); ")
    assert "\n1. Grows by step (inferred): train.py:46 (remember) keeps more after every step: 15 MiB" in text
    assert markdown.startswith("**Peak 79.8 MiB at 545.6 ms.** Held by `train.py:46` 15 MiB (19%); ")
    assert data["headline"]["text"] == text.split("\n")[0]
    assert [finding["rule"] for finding in data["findings"]] == ["grows_by_step"]


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        ("net.py:20 (inferred) holds 1 MiB", "**Largest line**"),
        ("net.py:20 holds 1 MiB", "**Largest line** (inferred)"),
    ],
)
def test_a_sentence_says_inferred_once(sentence: str, title: str) -> None:
    figure = Figure(MIB, "bytes", "live")
    found = made("line", phrase("Largest line"), Text(sentence), figure, None, inferred=True)
    assert list(finding_markdown(found)) == [f"{title}: {sentence}"]


def test_markdown_from_a_file_stays_text(
    opened: Opened, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = frame("/p/[x](command:y)`.py", 3, "<img src=x>")
    trace = [event("alloc", 4096, 8 * MIB, evil)]
    path = tmp_path / "evil.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [trace]}))
    assert cli.main(["findings", str(path), "--markdown", "--cache-dir", str(tmp_path / "c")]) == 0
    out = capsys.readouterr().out
    assert "``` [x](command:y)`.py:3 ```" in out or "`` [x](command:y)`.py:3 ``" in out
    assert "<img" not in out.replace("\\<img", "").replace("`` /p/[x](command:y)`.py:3 <img src=x> ``", "")


# ---- on which traces a rule says something ------------------------------------------------------------------


class Run:
    """A program whose allocations are recorded."""

    def __init__(self) -> None:
        self.trace: list[Any] = []
        self.notes: list[Any] = []
        self.address = 4096

    def alloc(self, line: int, size: int) -> int:
        self.address += size + 4096
        self._record("alloc", self.address, size, line)
        return self.address

    def free(self, address: int, size: int, *frames: Any) -> None:
        self._record("free_completed", address, size, 1, *frames)

    def _record(self, action: str, address: int, size: int, line: int, *frames: Any) -> None:
        stack = frames or (frame("/p/model.py", line, f"f{line}"), frame("/p/train.py", 1, "main"))
        self.trace.append(event(action, address, size, *stack, time_us=10 * (len(self.trace) + 1)))

    def step(self, number: int, work: Callable[[], None]) -> None:
        for stage, do in (("START", work), ("END", lambda: None)):
            at = 10 * len(self.trace) + 5
            self.notes.append({"stage": stage, "name": f"ProfilerStep#{number}", "device": 0, "time_us": at})
            do()

    def snapshot(self, opened: Opened, folder: Path, **more: Any) -> Snapshot:
        path = folder / f"made{random.randrange(2**40)}.pickle"
        data = {"segments": [], "device_traces": [self.trace], "external_annotations": self.notes, **more}
        path.write_bytes(pickle.dumps(data))
        snapshot = opened(path)
        check_figures(snapshot)
        return snapshot


def test_out_of_memory(opened: Opened, tmp_path: Path) -> None:
    allocator = LimitedAllocator(expandable=False, capacity=60 * MIB)
    allocator.take(1, 20 * MIB)
    allocator.take(2, 30 * MIB)
    with pytest.raises(DeviceFullError):
        allocator.take(3, 40 * MIB)
    with closing(open_data(tmp_path, allocator.snapshot(0))) as snapshot:
        check_figures(snapshot)
        first, found = headline(snapshot, None), rules(snapshot)
    assert first.rule == "out_of_memory"
    assert first.text == (
        "Out of memory at model.py:3: 40 MiB requested, 10 MiB free. "
        "50 MiB of 60 MiB in use: model.py:2 30 MiB (60%); model.py:1 20 MiB (40%). "
        "Without what model.py:2 (layer2) allocates the request gets its memory: replayed without it, "
        "the trace reserves 60 MiB at the peak. By itself, no allocator setting would have helped."
    )
    assert found[0] == "out_of_memory"
    fine = Run()
    fine.alloc(1, MIB)
    assert "out_of_memory" not in rules(fine.snapshot(opened, tmp_path))


@pytest.mark.parametrize("leaks", [True, False])
def test_growth_by_step(opened: Opened, tmp_path: Path, leaks: bool) -> None:
    run = Run()

    def work() -> None:
        kept, gone = run.alloc(7, 2 * MIB), run.alloc(8, 4 * MIB)
        run.free(gone, 4 * MIB)
        if not leaks:
            run.free(kept, 2 * MIB)

    for number in range(5):
        run.step(number, work)
    snapshot = run.snapshot(opened, tmp_path)
    found = of_rule(snapshot, "grows_by_step")
    assert len(found) == leaks
    if leaks:
        assert found[0].text.startswith(
            "model.py:7 (f7) keeps more after every step: 8 MiB over 4 steps, about 2 MiB a step."
        )
        assert found[0].line is not None
        assert (found[0].line.line, found[0].inferred) == (7, False)
        assert "never_freed" not in rules(snapshot)
        assert headline(snapshot, None).text.endswith(found[0].text)


@pytest.mark.parametrize("case", ["cache", "freed", "setup"])
def test_never_freed(opened: Opened, tmp_path: Path, case: str) -> None:
    """A cache that is filled in the first steps; the same, freed again; and memory allocated only before the steps."""
    run = Run()
    made = [run.alloc(7, 2 * MIB) for _ in range(2)] if case == "setup" else []

    def work() -> None:
        number = len(run.notes) // 2
        if case != "setup" and number in (1, 2):
            made.extend(run.alloc(7, 2 * MIB) for _ in range(2))
        if case == "freed" and number == 3:
            for address in made:
                run.free(address, 2 * MIB)
        run.free(run.alloc(8, 4 * MIB), 4 * MIB)

    for number in range(6):
        run.step(number, work)
    found = of_rule(run.snapshot(opened, tmp_path), "never_freed")
    assert [finding.figure.amount for finding in found] == ([8 * MIB] if case == "cache" else [])


@pytest.mark.parametrize("kept", [True, False])
def test_gradients_kept(opened: Opened, tmp_path: Path, kept: bool) -> None:
    run = Run()
    zero = frame("/v/torch/optim/optimizer.py", 9, "zero_grad"), frame("/p/train.py", 2, "main")

    def zero_grad() -> None:
        for number in range(4):
            run.free((1 << 40) + number * 16 * MIB, 3 * MIB, *zero)

    def work() -> None:
        if not kept:
            zero_grad()
        run.free(run.alloc(8, 4 * MIB), 4 * MIB)

    run.step(0, work)
    kept, was_kept = True, kept
    if was_kept:
        run.step(1, zero_grad)
    else:
        run.step(1, lambda: run.free(run.alloc(8, 4 * MIB), 4 * MIB))
    found = of_rule(run.snapshot(opened, tmp_path), "gradients_kept")
    assert [(finding.figure.amount, finding.inferred) for finding in found] == [(12 * MIB, True)] * was_kept


def test_what_holds_the_peak(opened: Opened, tmp_path: Path) -> None:
    run = Run()
    run.alloc(1, 10 * MIB)
    run.alloc(1, 10 * MIB)
    for line in range(2, 12):
        run.alloc(line, 2 * MIB)
    snapshot = run.snapshot(opened, tmp_path)
    (largest,) = of_rule(snapshot, "dominant_line")
    assert largest.text == "model.py:1 (f1) holds 20 MiB, 50% of the peak, in 2 allocations of 10 MiB each."
    assert headline(snapshot, None).text == (
        "Peak 40 MiB at 110 µs. Held by model.py:1 20 MiB (50%); model.py:2 2 MiB (5%); model.py:3 2 MiB (5%); "
        "model.py:4 2 MiB (5%); 7 more lines 35%."
    )
    even = Run()
    for number in range(40):
        even.alloc(number + 1, MIB + number)
    snapshot = even.snapshot(opened, tmp_path)
    assert rules(snapshot) == []
    assert "Held by 40 lines, none with more than 1.00 MiB (model.py:40)." in headline(snapshot, None).text


def test_categories_and_modules(opened: Opened, tmp_path: Path, sample: Path) -> None:
    (category,) = of_rule(opened(sample), "dominant_category")
    assert category.text == "Activations take up 65.3 MiB, 82% of the peak."
    run = Run()

    def module(name: str, line: int, size: int) -> None:
        call = frame("/v/torch/nn/modules/module.py", 1, "_call_impl")
        mine = frame(f"/p/{name}.py", 2, "forward"), call
        outer = frame("/p/model.py", line, "forward"), call, frame("/p/train.py", 1, "main")
        run.address += size
        run.trace.append(event("alloc", run.address, size, *mine, *outer))

    module("a", 5, 30 * MIB)
    module("b", 6, 10 * MIB)
    module("c", 7, 10 * MIB)
    snapshot = run.snapshot(opened, tmp_path)
    # a forward in a file of the user's doesn't say of which class it is: two classes may be called in one line
    assert of_rule(snapshot, "dominant_module") == []
    module("torch/nn/modules/linear", 5, 30 * MIB)
    module("torch/nn/modules/linear", 6, 5 * MIB)
    (found,) = of_rule(run.snapshot(opened, tmp_path), "dominant_module")
    assert found.text == "Modules of class nn.Linear hold 35 MiB, 41% of the peak."
    plain = Run()
    plain.alloc(1, MIB)
    assert rules(plain.snapshot(opened, tmp_path)) == ["dominant_line"]


@pytest.mark.parametrize("early", [True, False])
def test_before_recording(opened: Opened, tmp_path: Path, early: bool) -> None:
    run = Run()
    run.alloc(1, 4 * MIB)
    run.alloc(2, 4 * MIB)
    if early:
        run.free(1 << 40, 8 * MIB)
    found = of_rule(run.snapshot(opened, tmp_path), "before_recording")
    assert [finding.figure.amount for finding in found] == [8 * MIB] * early


def segment(address: int, total: int, *blocks: tuple[int, str, list[Any]]) -> dict[str, Any]:
    """A large segment with blocks of some sizes and states, and their frames."""
    described, at = [], address
    for size, state, frames in blocks:
        described.append(
            {"address": at, "size": size, "requested_size": size, "state": state, "frames": frames}
        )
        at += size
    active = sum(size for size, state, _ in blocks if state != "inactive")
    return {
        "device": 0, "address": address, "total_size": total, "allocated_size": active, "active_size": active,
        "requested_size": active, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
        "is_expandable": False, "frames": [], "blocks": described,
    }  # fmt: skip


def test_reserved_memory(opened: Opened, tmp_path: Path) -> None:
    held = [frame("/p/model.py", 7, "cache"), frame("/p/train.py", 1, "main")]
    size = 100 * MIB
    split = [
        segment((1 << 40) + n * size, size, (20 * MIB, "active_allocated", held), (80 * MIB, "inactive", []))
        for n in range(3)
    ]
    idle = [segment((1 << 41) + n * size, size, (size, "inactive", [])) for n in range(2)]
    snapshot = Run().snapshot(opened, tmp_path, segments=[*split, *idle])
    (fragmented,) = of_rule(snapshot, "fragmentation")
    assert fragmented.text.startswith(
        "240 MiB of 500 MiB reserved (48%) is free but fragmented when the snapshot is taken; 3 of 3 such segments, "
        "with 240 MiB of it, also hold blocks of model.py:7."
    )
    (unused,) = of_rule(snapshot, "idle_segments")
    assert unused.figure.amount == 200 * MIB
    assert headline(snapshot, None).text.startswith(
        "60 MiB in use of 500 MiB reserved when the snapshot was taken. Held by model.py:7 "
    )
    whole = segment(1 << 40, 3 * size, (3 * size, "active_allocated", held))
    assert rules(Run().snapshot(opened, tmp_path, segments=[whole])) == ["dominant_line"]


def test_unused_memory_says_whether_it_can_be_given_back(opened: Opened, tmp_path: Path) -> None:
    """Private pools keep their segments as long as they live; expandable segments give back free pages of any."""
    held = [frame("/p/model.py", 7, "cache"), frame("/p/train.py", 1, "main")]
    size = 400 * MIB
    used = segment(1 << 40, size, (size, "active_allocated", held))
    private = segment(1 << 41, size, (size, "inactive", [])) | {"segment_pool_id": (0, 1)}
    (found,) = of_rule(Run().snapshot(opened, tmp_path, segments=[used, private]), "idle_segments")
    assert "can't give it back" in found.text
    grown = segment(1 << 41, size, (100 * MIB, "active_allocated", held), (300 * MIB, "inactive", []))
    grown |= {"is_expandable": True}
    snapshot = Run().snapshot(opened, tmp_path, segments=[used, grown])
    (found,) = of_rule(snapshot, "idle_segments")
    assert (found.figure.amount, found.is_note) == (300 * MIB, False)
    assert "gives what is unused back" in found.text
    # one free piece isn't fragmented
    whole = segment(1 << 41, size, (20 * MIB, "active_allocated", held), (380 * MIB, "inactive", []))
    assert of_rule(Run().snapshot(opened, tmp_path, segments=[used, whole]), "fragmentation") == []
    # after a run nearly everything is unused: a note, which doesn't come before a finding
    run = Run()
    for number in range(4):
        run.alloc(number + 1, MIB)
    idle = segment(1 << 41, size, (size, "inactive", []))
    noted = findings(run.snapshot(opened, tmp_path, segments=[idle]), None, 10).findings
    assert [(each.rule, each.is_note) for each in noted][-1] == ("idle_segments", True)


@pytest.mark.parametrize("stacks", [True, False])
def test_no_history(opened: Opened, tmp_path: Path, stacks: bool) -> None:
    held = [frame("/p/model.py", 7, "cache")] if stacks else []
    snapshot = Run().snapshot(
        opened, tmp_path, segments=[segment(1 << 40, MIB, (MIB, "active_allocated", held))]
    )
    assert ("no_history" in rules(snapshot)) is not stacks
    if not stacks:
        assert headline(snapshot, None).text == (
            "1 MiB in use when the snapshot was taken. The snapshot doesn't say who allocated 1 MiB (100%): call "
            "torch.cuda.memory._record_memory_history() before the model is built, and take the snapshot again."
        )


@pytest.mark.parametrize("life", [2, 200])
def test_short_lived(opened: Opened, tmp_path: Path, life: int) -> None:
    run = Run()
    for _ in range(1500):
        run.free(run.alloc(1, MIB), MIB)
    large = run.alloc(9, 64 * MIB)
    for _ in range(life // 2):
        run.free(run.alloc(1, MIB), MIB)
    run.free(large, 64 * MIB)
    for _ in range(1500):
        run.free(run.alloc(1, MIB), MIB)
    found = of_rule(run.snapshot(opened, tmp_path), "short_lived")
    assert [finding.figure.amount for finding in found] == ([64 * MIB] if life == 2 else [])


def test_traces_without_findings(opened: Opened, tmp_path: Path) -> None:
    snapshot = Run().snapshot(opened, tmp_path)
    assert headline(snapshot, None).rule == "empty"
    assert rules(snapshot) == []


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("remember", "remember"),
        ("<lambda>", "<lambda>"),
        ("main.(*store).load", "main.(*store).load"),
        ("github.com/a/b.(*store).load", "b.(*store).load"),
        ("<svc::Node as core::clone::Clone>::clone", "Node::clone"),
        ("std::vector<int, std::allocator<int> >::reserve(unsigned long)", "vector::reserve"),
        ("void node::crypto::Decode<node::Hash>(v8::Info<v8::Value> const&, int (*)(int))", "crypto::Decode"),
        ("operator()", "operator()"),
        ("(anonymous namespace)::parse(char const*)", "parse"),
        ("(no stack: the snapshot has no tree)", "(no stack: the snapshot has no tree)"),
        ("print[abi:cxx11](char const*) const", "print"),
        ("f" * 90, "f" * 39 + "…"),
    ],
)
def test_functions_are_short(name: str, short: str) -> None:
    assert short_function(name) == short


@pytest.mark.parametrize("name", ["(below massif's threshold)", "(anonymous)"])
def test_what_stands_for_a_function_is_not_called(name: str) -> None:
    assert called(short_function(name)) == name
    assert called("main") == "main()"


def test_answers_survive_the_wire(opened: Opened, sample: Path) -> None:
    answer = findings(opened(sample), None, 100)
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer
