"""What is wasted in a component of a heap dump: against the graph itself, and against the whole dump's findings."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.python.conftest import real_heaps
from tests.python.graphs import random_graph
from tests.python.heap_files import heap_of
from tests.python.recordings import LEAK, RAN_OUT

from memlens.cli import main
from memlens.errors import BadRequestError
from memlens.kernels.graph.columns import References
from memlens.kernels.graph.reach import distances
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot
from memlens.views.findings import component
from memlens.views.findings.component import component_findings
from memlens.views.findings.graph import case as cases
from memlens.views.heap.listing.lists import fitting
from memlens.views.heap.objects.references import references_of_all
from memlens.views.heap.objects.rows import type_names
from memlens.views.heap.reachable.from_roots import followed, held_distances, holders
from memlens.views.heap.retained.by_objects import retained_by, retained_set

REAL = real_heaps("hprof/mat_openjdk*", "hprof/javac_60files*", "v8/leak_base*")


@pytest.mark.slow
def test_the_set_is_what_no_root_reaches_without_the_objects(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    several = 0
    for seed in range(60):
        graph = random_graph(seed)
        path = tmp_path / f"{seed}.heapsnapshot"
        path.write_bytes(heap_of(graph).data())
        snapshot = opened(path)
        reached = graph.reached(graph.roots)
        chosen = random.Random(seed).sample(range(len(graph.edges)), min(3, len(graph.edges)))
        expected = reached - graph.reached(graph.roots, frozenset(chosen))
        # V8's root is object 0
        found = set(np.flatnonzero(retained_set(snapshot, np.array(sorted(chosen)) + 1)).tolist())
        held = {number - 1 for number in np.flatnonzero(held_distances(snapshot) != NEVER).tolist()}
        assert {number - 1 for number in found} & reached == expected & held
        several += len(expected) > 1
    assert several > 10


def test_the_filter_has_what_only_some_objects_keep_alive(
    tmp_path: Path, opened: Callable[[Path], Snapshot]
) -> None:
    for seed in range(30):
        path = tmp_path / f"{seed}.heapsnapshot"
        path.write_bytes(heap_of(random_graph(seed)).data())
        snapshot = opened(path)
        types, of = type_names(snapshot), snapshot.objects.type
        for text, keepers in (
            ("Type1", of == types.index("Type1") if "Type1" in types else of == -1),
            (
                '"=Type1",Type2',
                np.isin(of, [at for at, name in enumerate(types) if name in ("Type1", "Type2")]),
            ),
            ("@5", snapshot.objects.id == 5),
            ('"shallow>20"', snapshot.objects.shallow > 20),
        ):
            expected = retained_set(snapshot, np.flatnonzero(keepers))
            assert (
                fitting(snapshot, f"retained-by:{text}", None, None).tolist()
                == np.flatnonzero(expected).tolist()
            )
    with pytest.raises(BadRequestError, match="there is no 'bogus'"):
        fitting(snapshot, 'retained-by:"bogus:1"', None, None)


def lost_without(snapshot: Snapshot, numbers: np.ndarray) -> np.ndarray:
    """A mask, one item per object: reachable now, but not without the references of some objects."""
    stored, follows, unused = snapshot.references, followed(snapshot).copy(), 255
    kind = np.array(stored.kind)
    kind[references_of_all(snapshot, numbers)[0]], follows[unused] = unused, 0
    left = np.empty(len(snapshot.objects.type), np.uint32)
    distances(References(stored.start, stored.target, kind, follows), holders(snapshot), left)
    lost: np.ndarray = (held_distances(snapshot) != NEVER) & (left == NEVER)
    return lost


@pytest.mark.parametrize("path", [RAN_OUT, *LEAK[1:], *REAL], ids=lambda path: path.name)
def test_sets_of_real_dumps_are_what_is_retained(path: Path, looked_at: Callable[[Path], Snapshot]) -> None:
    snapshot, rng = looked_at(path), np.random.default_rng(3)
    for count in (1, 10, 1_000):
        numbers = np.unique(rng.integers(0, len(snapshot.objects.type), count))
        has, known = retained_set(snapshot, numbers), retained_by(snapshot, numbers)
        # the same by a walk through the whole heap
        expected = lost_without(snapshot, numbers)
        expected[numbers] = held_distances(snapshot)[numbers] != NEVER
        assert np.array_equal(has, expected)
        assert int(has.sum()) == known.objects
        assert int(snapshot.objects.shallow[has].sum()) == known.retained_bytes


@pytest.mark.parametrize("path", [RAN_OUT, *REAL], ids=lambda path: path.name)
def test_the_whole_is_a_component_with_the_findings_of_the_dump(
    path: Path, looked_at: Callable[[Path], Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "_LEAST_OF_COMPONENT", cases.LEAST_BYTES)
    snapshot = looked_at(path)
    every = {
        each.finding.rule: each.finding.figure.amount
        for rule in component.rules_of_waste(snapshot.info.kind)
        for each in rule(cases.GraphCase(snapshot, snapshot.info))  # pyrefly: ignore[bad-argument-type]
    }
    found = component_findings(snapshot, holders(snapshot).astype(np.int64))
    assert every
    assert {each.rule: each.figure.amount for each in found.findings} == every


@pytest.mark.parametrize("path", [*LEAK[1:], *REAL], ids=lambda path: path.name)
def test_duplicates_are_counted_within_the_component(
    path: Path, looked_at: Callable[[Path], Snapshot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "_LEAST_OF_COMPONENT", 1)
    monkeypatch.setattr(cases, "LEAST_SHARE", 0.0)
    snapshot, compared = looked_at(path), 0
    objects = snapshot.objects
    joined = "(concatenated string)"
    kinds = type_names(snapshot)
    is_text = np.array([name in ("java.lang.String", "(string)", "string", joined) for name in kinds])
    largest = np.argsort(-objects.retained.astype(np.int64), kind="stable")[:200]
    for number in largest.tolist():
        numbers = np.array([number])
        has = retained_set(snapshot, numbers)
        texts = np.flatnonzero(has & is_text[objects.type] & (objects.name > 0))
        words = snapshot.strings.some(objects.name[texts])
        groups: dict[tuple[str, int, bool], list[int]] = {}
        for item in texts.tolist():
            text, own = words[int(objects.name[item])], int(objects.shallow[item])
            is_joined = kinds[int(objects.type[item])] == joined
            # of these only whole texts count, without their parts
            if is_joined and (len(text.encode()) >= 1_024 or "(sliced string)" in text):
                continue
            groups.setdefault((text, own, is_joined), []).append(
                own if is_joined else int(objects.retained[item])
            )
        expected = sum(sum(each) - max(each) for each in groups.values())
        found = component_findings(snapshot, numbers)
        strings = [each for each in found.findings if each.rule == "duplicate_strings"]
        assert [each.figure.amount for each in strings] == ([expected] if expected else [])
        assert not strings or (strings[0].objects is not None and "IN (" in strings[0].objects.sql)
        compared += bool(strings)
    assert compared > 3


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.heapsnapshot"
    path.write_bytes(heap_of(random_graph(5)).data())
    options = [str(path), "--cache-dir", str(tmp_path / "cache")]
    assert main(["findings", *options, "--of", "retained>=0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert set(answer) == {"objects", "retained_objects", "retained_bytes", "findings"}
    assert main(["findings", *options, "--of", "retained>=0", "--markdown"]) == 0
    assert " which retain" in capsys.readouterr().out
    assert main(["findings", *options, "--of", "type:nothing-has-it"]) == 1
    assert "Nothing matches" in capsys.readouterr().err
