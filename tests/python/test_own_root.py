"""The program's own projects, inferred from where stacks begin."""

import numpy as np
import numpy.typing as npt
import pytest
from tests.judgement.judge import wrong_owners

from memlens.model.frames import LIBRARY, USER
from memlens.model.own_root import OwnFrames, project_of
from memlens.model.profile import StackTree

MAIN = ("/home/me/src/ledger/src/main.cpp", "main")
TABLE = ("/home/me/src/ledger/lib/table.cpp", "Table::grow")
QT = ("/usr/include/qt/qapplication.h", "QApplication::exec")
STYLE = ("/home/me/src/style/style.cpp", "Style::draw")
STYLE_OF_BUILD = ("style/cache.h", "Style::cache")


@pytest.mark.parametrize(
    ("file", "function", "project"),
    [
        ("/home/me/src/ledger/src/main.cpp", "main", "/home/me/src/ledger"),
        ("/home/me/main.py", "<module>", "/home/me"),
        ("/root/scripts/train.py", "<module>", "/root"),
        ("/build/cmd/app/main.go", "main.main", "/build"),
        ("/app/src/main.rs", "ledger::main", "/app"),
        ("C:\\Users\\me\\code\\ledger\\main.py", "<module>", "C:/Users/me/code/ledger"),
        ("/home/me/go/src/github.com/acme/ledger/cmd/main.go", "main.main", "/home/me/go/src/github.com/acme/ledger"),
        ("github.com/acme/ledger/store/a.go", "github.com/acme/ledger/store.Fill", "github.com/acme/ledger"),
        ("ledger/store/a.go", "ledger/store.Fill", "ledger"),
        ("src/book.rs", "ledger::book::fill", "crate ledger"),
        ("Main.java", "com.acme.ledger.Main.main", "package com.acme"),
        ("Main.kt", "ledger.Main.main", "package ledger"),
        ("webpack://ledger/./src/a.ts", "fill", "webpack://ledger"),
        ("file:///home/me/ledger/a.mjs", "fill", "/home/me/ledger"),
        ("../src/table.cpp", "Table::grow", ""),
        ("tree.cpp", "main", ""),
        ("<stdin>", "<module>", ""),
        ("/tmp/ipykernel_7/1.py", "<module>", ""),
    ],
)  # fmt: skip
def test_the_project_of_a_frame(file: str, function: str, project: str) -> None:
    assert project_of(file, function) == project


Frame = tuple[str, str]


def _own(*stacks: tuple[int, list[Frame]]) -> tuple[OwnFrames, list[Frame]]:
    """The frames of stacks, each an amount and its frames, outermost first."""
    frames = list(dict.fromkeys(frame for _, stack in stacks for frame in stack))
    nodes: dict[tuple[int, int], int] = {}
    ends = []
    for _, stack in stacks:
        at = 0
        for frame in stack:
            at = nodes.setdefault((at, frames.index(frame)), len(nodes) + 1)
        ends.append(at)
    parents, numbers = zip((0, 0), *nodes, strict=True)
    tree = StackTree(np.array(parents, np.uint32), np.array(numbers, np.uint32))
    rows = ((*frame, LIBRARY if frame == QT else USER) for frame in frames)
    amounts = np.array([amount for amount, _ in stacks], np.float64)
    return OwnFrames(tree, np.array(ends, np.uint32), amounts, rows), frames


def _chosen(frames: list[Frame], mask: npt.NDArray[np.bool_]) -> list[Frame]:
    return [frames[number] for number in np.flatnonzero(mask).tolist()]


def test_a_plugin_that_only_libraries_call_is_a_library() -> None:
    own, frames = _own(
        (70, [MAIN, TABLE]), (20, [MAIN, QT, STYLE]), (10, [MAIN, QT, STYLE_OF_BUILD, STYLE]), (5, [MAIN, QT])
    )
    assert own.root == {"/home/me/src/ledger"}
    assert _chosen(frames, own.compiled_libraries()) == [STYLE, STYLE_OF_BUILD]


@pytest.mark.parametrize(
    "stack", [[MAIN, STYLE], [QT, STYLE]], ids=["called by the program", "on a thread of its own"]
)
def test_another_project_that_is_not_only_called_by_libraries_is_probably_the_users(
    stack: list[Frame],
) -> None:
    own, frames = _own((90, [MAIN, TABLE]), (5, [MAIN, QT, STYLE]), (5, stack))
    assert _chosen(frames, own.doubtful()) == [STYLE]
    assert not own.compiled_libraries().any()


def test_projects_of_other_languages_stay_probable() -> None:
    model = ("/home/me/models/model.py", "forward")
    own, frames = _own((90, [("/home/me/train/train.py", "<module>"), QT, model]))
    assert _chosen(frames, own.doubtful()) == [model]
    assert not own.compiled_libraries().any()


def test_where_stacks_begin_is_the_programs_own() -> None:
    """A quarter of the memory, or main."""
    worker = ("/home/me/worker/run.cpp", "run")
    assert _own((70, [TABLE]), (30, [worker]), (1, [MAIN]))[0].root == {
        "/home/me/src/ledger",
        "/home/me/worker",
    }
    main = ("/home/me/app/main.cpp", "main")
    assert _own((90, [TABLE]), (10, [worker]), (1, [main]))[0].root == {"/home/me/src/ledger", "/home/me/app"}
    assert not _own((0, []))[0].root


def test_whose_code_lines_of_real_files_are() -> None:
    """Those that are read in no time; ``npm run judge`` asks all."""
    small = ("faults/0", "faults/1", "parca/alloc_space", "flameshow")
    found = [each for name in small for each in wrong_owners(name)]
    assert [each for each in found if each[1]] == []
