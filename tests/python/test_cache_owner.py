"""Archives in a folder that several users share: those that others made, or could have changed, are made anew."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT

from memlens.ingest import ingest
from memlens.store.files import cache as cache_module
from memlens.store.files import owner
from memlens.store.files.cache import Cache, NotAnArchiveError
from memlens.store.files.cache_folder import NoCacheFolderError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are those of POSIX")

FILE = ROOT / "tests" / "fuzz" / "corpus" / "file" / "small.hprof"


def linked(archive: Path) -> None:
    """Another's archive in place of one's own."""
    archive.rename(archive.with_name("elsewhere"))
    archive.symlink_to("elsewhere", target_is_directory=True)


def column_linked(archive: Path) -> None:
    column = archive / "object_type"
    column.rename(archive.parent / "object_type")
    column.symlink_to(archive.parent / "object_type")


OPENED: dict[str, Callable[[Path], None]] = {
    "folder, to a group": lambda archive: archive.chmod(0o770),
    "folder, to all": lambda archive: archive.chmod(0o703),
    "manifest": lambda archive: (archive / "manifest.json").chmod(0o666),
    "column": lambda archive: (archive / "object_type").chmod(0o620),
    "link": linked,
    "column's link": column_linked,
}
"""What lets others write to an archive."""


@pytest.mark.parametrize("how", OPENED)
def test_what_others_may_write_to_is_made_anew(tmp_path: Path, how: str) -> None:
    cache = Cache(tmp_path / "cache")
    archive = ingest(FILE, cache, lambda *_: None)
    assert cache.find(FILE) == archive
    OPENED[how](archive)
    assert cache.find(FILE) is None
    assert ingest(FILE, cache, lambda *_: None) == archive
    assert cache.find(FILE) == archive
    assert owner.is_own(archive)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("name", ["", "manifest.json", "object_type"])
def test_what_another_owns_is_made_anew(tmp_path: Path, name: str) -> None:
    cache = Cache(tmp_path / "cache")
    archive = ingest(FILE, cache, lambda *_: None)
    os.chown(archive / name, 12345, -1)
    assert cache.find(FILE) is None


EXCHANGED: dict[str, Callable[[Path], object]] = {
    "all may write to it": lambda folder: folder.chmod(0o777),
    "all may write above it": lambda folder: folder.parent.chmod(0o757),
    "another owns it": lambda folder: os.chown(folder, 12345, -1),
    "another owns what is above it": lambda folder: os.chown(folder.parent, 12345, -1),
    "a group may write to it": lambda folder: (os.chown(folder, -1, 12345), folder.chmod(0o770)),
}
"""What lets others exchange archives between the check of one and its opening."""


@pytest.mark.parametrize("how", EXCHANGED)
@pytest.mark.parametrize("there", [True, False], ids=["there", "to be made"])
def test_a_folder_in_which_others_can_exchange_archives_is_refused(
    tmp_path: Path, how: str, there: bool
) -> None:
    if sys.platform == "win32" or (("own" in how or "group" in how) and os.geteuid() != 0):
        pytest.skip("only root gives files away")
    shared = tmp_path / "above" / "cache"
    shared.mkdir(parents=True)
    folder = shared if there else shared / "more" / "cache"
    EXCHANGED[how](shared)
    with pytest.raises(NoCacheFolderError, match="other users can replace files in") as caught:
        ingest(FILE, Cache(folder), lambda *_: None)
    assert str(folder) in str(caught.value)
    assert "chmod" in str(caught.value.advice)
    assert not list(shared.iterdir())
    done = memlens("info", FILE, "--cache-dir", folder, status=1)
    assert "other users can replace files in" in done.stderr


def test_a_shared_folder_where_each_moves_their_own_files_alone_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o1777)
    archive = ingest(FILE, Cache(folder), lambda *_: None)
    assert Cache(folder).find(FILE) == archive


def test_users_have_archives_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    first = ingest(FILE, cache, lambda *_: None)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    # a folder of root that all may write to
    monkeypatch.setattr(cache_module, "exchangeable", lambda _folder: None)
    second = cache.folder_for(FILE)
    assert second != first
    assert cache.find(FILE) is None
    # another's is neither counted nor removed
    Cache(cache.folder, 1, spared_s=0).evict()
    assert first.is_dir()
    # nor replaced, where somebody has taken the name of one's own
    shutil.copytree(first, second)
    assert cache.find(FILE) is None
    monkeypatch.setattr(cache_module, "is_mine", lambda path: path != second and owner.is_mine(path))
    with pytest.raises(NotAnArchiveError, match="another user's"):
        ingest(FILE, cache, lambda *_: None)
    assert not list(cache.folder.glob("*.partial-*"))


def test_modes_count_only_where_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk of Windows shows the same mode for each file, and each archive would be made anew for ever."""
    cache = Cache(tmp_path / "cache")
    archive = ingest(FILE, cache, lambda *_: None)
    archive.chmod(0o777)
    assert cache.find(FILE) is None
    monkeypatch.setattr(owner, "_keeps_modes", lambda _folder: False)
    assert cache.find(FILE) == archive
    cache.folder.chmod(0o777)
    assert Cache(cache.folder).find(FILE) == archive
