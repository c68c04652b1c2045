"""``memlens/save``, by which the editor writes what a view has made to the file that the user has chosen."""

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.python.conftest import ROOT
from tests.python.lsp_client import LspClient
from tests.python.server_harness import open_view, problem_of, write_snapshot

pytest_plugins = ("tests.python.server_fixtures",)


@pytest.fixture
def snapshot(server: LspClient, tmp_path: Path) -> Path:
    """The file of an open view."""
    path = write_snapshot(tmp_path / "own.pickle")
    open_view(server, path)
    return path


def saving(source: Path, path: Path, text: str = "a,b\n1,é\n", form: str = "utf8") -> dict[str, Any]:
    return {"source": str(source), "path": str(path), "text": text, "form": form}


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_text_and_a_picture_are_written_whole(server: LspClient, snapshot: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    server.request("memlens/save", saving(snapshot, folder / "rows.csv"))
    picture = bytes(range(256))
    text = base64.b64encode(picture).decode()
    server.request("memlens/save", saving(snapshot, folder / "picture.png", text, "base64"))
    # the dialog has asked whether to overwrite it
    server.request("memlens/save", saving(snapshot, folder / "rows.csv", "less"))
    assert contents(folder) == {folder / "rows.csv": b"less", folder / "picture.png": picture}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("own.pickle", "own.pickle can't be written over itself: it is the file that is read"),
        ("folder/../own.pickle", "own.pickle can't be written over itself: it is the file that is read"),
        ("link.csv", "link.csv can't be written over itself: it is the file that is read"),
        ("hard.csv", "hard.csv can't be written over itself: it is the file that is read"),
        ("other.pickle", "other.pickle is not overwritten: it is a snapshot (PyTorch memory snapshot)"),
        ("words.csv", "words.csv is not overwritten: it is a snapshot (pprof profile)"),
        ("archive/manifest.json", "manifest.json can't be written: it is an archive of Memlens, or in one"),
        ("archive/new.csv", "new.csv can't be written: it is an archive of Memlens, or in one"),
        ("folder", "folder can't be written: it is not a regular file"),
        ("none/new.csv", "new.csv can't be written: there is no folder {folder}/none"),
    ],
)
def test_nothing_is_lost(
    server: LspClient, snapshot: Path, tmp_path: Path, cache_folder: Path, name: str, why: str
) -> None:
    (tmp_path / "folder").mkdir()
    if sys.platform == "win32" and "link" in name:
        pytest.skip("links need a permission")
    if name == "link.csv":
        (tmp_path / name).symlink_to(snapshot)
    (tmp_path / "hard.csv").hardlink_to(snapshot)
    write_snapshot(tmp_path / "other.pickle")
    shutil.copy(ROOT / "samples" / "words.pb.gz", tmp_path / "words.csv")
    [archive] = [path.parent for path in cache_folder.glob("*/manifest.json")]
    shutil.copytree(archive, tmp_path / "archive")
    before = contents(tmp_path)
    problem = problem_of(server, "memlens/save", saving(snapshot, tmp_path / name))
    assert problem["message"] == why.format(folder=tmp_path)
    assert problem["advice"].startswith("Choose another file")
    assert problem["retry"] is False
    assert contents(tmp_path) == before


def test_a_picture_that_is_not_in_base64_leaves_the_old_one(
    server: LspClient, snapshot: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"old")
    before = contents(tmp_path)
    problem = problem_of(server, "memlens/save", saving(snapshot, picture, "no base64!", "base64"))
    assert problem["message"] == "The picture is not in base64"
    assert contents(tmp_path) == before
