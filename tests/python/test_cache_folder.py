"""The folder of the archives where the user's cache folder can't be made or written, such as without a home."""

import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import apsw
import platformdirs
import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.lsp_client import LspClient, RpcError
from tests.python.server_harness import open_view

from memlens.cli.failures import problem_of
from memlens.store.files.cache import Cache
from memlens.store.files.cache_folder import CHOOSE_FOLDER, NoCacheFolderError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the cache folder is found otherwise")

SAMPLE = ROOT / "samples" / "train.pickle"
NO_FOLDER = "/dev/null/x"
"""Nothing can be made below a file, not even by root."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


NO_HOME = pytest.mark.parametrize("no_folder", ["no home"], indirect=True)
"""For servers, which find the folder as commands do."""


@pytest.fixture(params=["no home", "no XDG_CACHE_HOME"])
def no_folder(request: pytest.FixtureRequest, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that takes the place of one that can't be made."""
    if request.param == "no home":
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", NO_FOLDER)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", NO_FOLDER)
    return temporary / f"memlens-{os.getuid()}"


def test_a_command_keeps_archives_in_a_private_folder_and_says_once_how_to_choose_one(
    no_folder: Path,
) -> None:
    done = memlens("sql", SAMPLE, "SELECT 1 AS one")
    assert "one" in done.stdout
    assert done.stderr.count("Archives and bookmarks can't be written to /dev/null/x") == 1
    for name in (str(no_folder / "archives"), "memlens.cache.directory", "--cache-dir", "XDG_CACHE_HOME"):
        assert name in done.stderr
    assert stat.S_IMODE(no_folder.stat().st_mode) == 0o700
    [archive] = (no_folder / "archives").iterdir()
    assert Cache().find(SAMPLE) == archive


def test_a_chosen_folder_or_place_needs_no_other(no_folder: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert memlens("info", SAMPLE, "--cache-dir", chosen).stderr == ""
    assert len(list(chosen.iterdir())) == 1
    assert memlens("ingest", SAMPLE, "--out", tmp_path / "archive", "--progress", "none").stderr == ""
    assert not no_folder.exists()


@pytest.mark.parametrize("command", ["info", "findings", "ingest"])
def test_a_chosen_folder_that_can_not_be_written_is_named_with_what_chooses_another(
    command: str, temporary: Path
) -> None:
    done = memlens(command, SAMPLE, "--cache-dir", NO_FOLDER, status=1)
    assert done.stderr == (
        f"memlens: {SAMPLE}: Archives can't be written to {NO_FOLDER}: Not a directory. {CHOOSE_FOLDER}\n"
    )
    assert "memlens.cache.directory (on the command line --cache-dir)" in done.stderr
    assert not list(temporary.iterdir()), "a folder that somebody has chosen has no other in its place"
    done = memlens("ingest", SAMPLE, "--out", f"{NO_FOLDER}/archive", status=1)
    assert done.stderr.endswith(
        "Not a directory. Choose another folder for --out, or leave it out to use the cache.\n"
    )


def test_tables_that_can_not_be_written_name_the_setting() -> None:
    assert problem_of(apsw.CantOpenError("unable to open database file")).advice == CHOOSE_FOLDER


@pytest.mark.slow
def test_an_editor_names_the_setting_of_a_folder_that_can_not_be_written(
    temporary: Path, tmp_path: Path
) -> None:
    with LspClient() as server:
        server.start(tmp_path, {"cache_directory": NO_FOLDER})
        with pytest.raises(RpcError) as caught:
            open_view(server, SAMPLE)
        assert f"can't be written to {NO_FOLDER}" in str(caught.value)
        assert "memlens.cache.directory" in caught.value.data["advice"]


@pytest.mark.slow
@NO_HOME
def test_an_editor_shows_the_warning_with_each_snapshot(no_folder: Path, tmp_path: Path) -> None:
    with LspClient() as server:
        server.start(tmp_path)
        opened = open_view(server, SAMPLE)
        [warning] = [each for each in opened["info"]["warnings"] if each["code"] == "cache"]
        assert str(no_folder / "archives") in str(warning["message"])
        assert "memlens.cache.directory" in str(warning["message"])
    assert len(list((no_folder / "archives").iterdir())) == 1
    assert b"Archives and bookmarks can't be written to /dev/null/x" in server.stderr


@pytest.mark.parametrize("way", ["link", "open to others", "a file", "another user's"])
def test_a_folder_that_others_can_reach_is_not_used(
    no_folder: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "link":
        (tmp_path / "target").mkdir(mode=0o700)
        no_folder.symlink_to(tmp_path / "target")
    elif way == "open to others":
        no_folder.mkdir()
        no_folder.chmod(0o770)
    elif way == "a file":
        no_folder.touch()
    else:
        no_folder.mkdir(mode=0o700)
        status = no_folder.lstat
        owner = os.getuid() + 1

        def of_another(path: Path) -> Any:
            return os.stat_result((*status()[:4], owner, *status()[5:])) if path == no_folder else status()

        monkeypatch.setattr(Path, "lstat", of_another)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(NoCacheFolderError) as caught:
        _ = Cache().folder
    assert str(no_folder) in str(caught.value)
    assert "--cache-dir" in str(caught.value.advice)
    assert memlens("info", SAMPLE, status=None).returncode == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
@NO_HOME
def test_a_server_without_any_folder_says_so_and_lives(no_folder: Path, tmp_path: Path) -> None:
    no_folder.touch()
    with LspClient() as server:
        server.start(tmp_path)
        for _ in range(2):
            with pytest.raises(RpcError) as caught:
                open_view(server, SAMPLE)
            assert "memlens.cache.directory" in caught.value.data["advice"]
    assert b"Traceback" not in server.stderr


def test_a_home_that_the_system_does_not_know_is_no_folder_named_tilde(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **_options: Path("~/.cache/memlens"))
    monkeypatch.chdir(tmp_path)
    assert Cache().folder.is_relative_to(temporary)


def test_a_cache_folder_that_can_be_made_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    cache = Cache()
    assert (cache.folder, cache.warning) == (tmp_path / "new" / "memlens" / "archives", None)
    assert not (tmp_path / "new").exists()
