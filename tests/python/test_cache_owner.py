"""Archives in a folder that several users share: those that others made, or could have changed, are made anew."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.conftest import ROOT

from memlens.ingest import ingest
from memlens.store.files import cache as cache_module
from memlens.store.files import owner
from memlens.store.files.cache import Cache, NotAnArchiveError

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


def test_users_have_archives_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    first = ingest(FILE, cache, lambda *_: None)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
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
