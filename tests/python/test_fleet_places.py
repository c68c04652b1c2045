"""The files of a place, and its name: odd names, links, folders that can't be listed, URLs with credentials."""

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.fleet_cluster import HAS_PACKAGES, PACKAGES
from tests.python.systems import needs_posix

from memlens.errors import BadRequestError
from memlens.fleet import engine
from memlens.fleet.listing import files_of
from memlens.fleet.place import keep, remove_unfinished, url_of
from memlens.remote_files import place_of, without_credentials

SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCY"


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    if not HAS_PACKAGES:
        pytest.skip("no .cache/fleet: see test_fleet.py")
    monkeypatch.setattr(sys, "path", [*sys.path, str(PACKAGES)])


@pytest.mark.parametrize(
    "url",
    [
        f"s3://AKIA1:{SECRET}@bucket/job", f"s3://AKIA1:half/{SECRET}@bucket/job", f"s3://{SECRET}@bucket/job",
        f"gs://{SECRET}@bucket/job", f"az://account:{SECRET}@container/job", f"ssh://me:{SECRET}@host/job",
        f"ssh://me:half/{SECRET}@host:22/job", f"ssh://me:{SECRET}", f"file://me:{SECRET}@host/job",
        f"az://container/job?sv=2026&sig={SECRET}", f"s3://bucket/job#token={SECRET}", f"s3://b/j?{SECRET}=1",
        f"https://me:{SECRET}@host/job",
    ],
)  # fmt: skip
def test_a_url_with_credentials_is_refused_without_showing_them(url: str) -> None:
    with pytest.raises(BadRequestError) as raised:
        place_of(url)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "s3://arn:aws:s3:us-west-2:123456789012:accesspoint/name/job@home", "s3://[ab]*/rank?.pickle",
        "s3://bucket/date=2026-01-0?/rank=1/*.pickle", "az://container@account.dfs.core.windows.net/job",
        "ssh://me@host:22/a:b@c", "ssh://[::1]:22/job", "gs://bucket/at 12:30/x@y", "file:///job/a:b@c",
    ],
)  # fmt: skip
def test_a_url_without_credentials_is_a_place(url: str) -> None:
    assert place_of(url).named == url


def test_messages_of_other_programs_are_shown_without_credentials() -> None:
    said = (
        f"AccountKey={SECRET};x, https://u:{SECRET}@host/ ?X-Amz-Signature={SECRET}&y sessionToken={SECRET}"
    )
    assert SECRET not in without_credentials(said)
    assert "host/" in without_credentials(said)
    assert (
        without_credentials(f"a=token={SECRET}&b=1, (http://me:{SECRET}@host)")
        == "a=token=…&b=1, (http://host)"
    )


@pytest.mark.parametrize("part", ["a", "key", "-token", "/", "//a:", "//a:b/", "a=", "key="])
def test_long_messages_are_searched_once(part: str) -> None:
    started = time.process_time()
    without_credentials(part * (1_000_000 // len(part)))
    assert time.process_time() - started < 2


@needs_posix
@pytest.mark.usefixtures("packages")
def test_a_folder_with_odd_names(tmp_path: Path) -> None:
    """A folder's name with characters of globs, links, hidden files, and names that can't be shown or followed."""
    job = tmp_path / "job[1]*"
    (job / "node0" / ".hidden").mkdir(parents=True)
    (tmp_path / "elsewhere").write_bytes(b"abc")
    for name in ("-rank0", "rank\n1 'quoted\"", "node0/rank2", ".hidden", "node0/.hidden/rank3"):
        (job / name).write_bytes(b"ab")
    (job / "link").symlink_to(tmp_path / "elsewhere")
    (job / "nowhere").symlink_to(tmp_path / "gone")
    (job / "again").symlink_to(job)
    os.mkfifo(job / "pipe")
    Path(os.fsdecode(os.fsencode(job) + b"/rank\xff")).touch()
    files = {file.name: file for file in files_of(place_of(str(job)))}
    assert {name: file.size_bytes for name, file in files.items() if file.problem is None} == {
        "-rank0": 2, "link": 3, "node0/rank2": 2, "rank\n1 'quoted\"": 2,
    }  # fmt: skip
    assert {name: file.problem.message.text for name, file in files.items() if file.problem} == {
        "nowhere": "The link can't be followed: No such file or directory",
        "rank\\xff": "The file's name is not UTF-8",
    }
    for name in files.keys() - {"nowhere", "rank\\xff"}:
        assert Path(url_of(place_of(str(job)), name)).is_file()
    # and by a glob, in which the folder's name has to be escaped
    named = str(tmp_path / "job[[]1][*]" / "*")
    assert [file.name for file in files_of(place_of(named)) if file.problem is None] == [
        f"job[1]*/{name}" for name in ("-rank0", "link", "rank\n1 'quoted\"")
    ]
    # files that the run itself copies there aren't part of it
    assert {file.name for file in files_of(place_of(str(job)), [str(job / "node0")])} == files.keys() - {
        "node0/rank2"
    }


@pytest.mark.usefixtures("packages")
def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.implementations.local import LocalFileSystem

    (tmp_path / "lost+found").mkdir()
    (tmp_path / "rank0").touch()
    whole = LocalFileSystem.ls

    def ls(self: object, path: str, *rest: object, **more: object) -> object:
        # as for users other than root
        if path == barred:
            raise PermissionError(13, "Permission denied", path)
        return whole(self, path, *rest, **more)

    monkeypatch.setattr(LocalFileSystem, "ls", ls)
    barred = str(tmp_path / "lost+found")
    found, whole_file = files_of(place_of(str(tmp_path)))
    assert (found.name, whole_file.name, whole_file.problem) == ("lost+found", "rank0", None)
    assert found.problem
    assert found.problem.message.text == "The folder can't be listed: Permission denied"
    barred = str(tmp_path)
    with pytest.raises(PermissionError):
        files_of(place_of(str(tmp_path)))


def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match=r"The name of .*/job\\xff is not UTF-8"):
        place_of(os.fsdecode(os.fsencode(tmp_path) + b"/job\xff"))


def test_summaries_are_not_written_to_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor to a folder named like one."""
    monkeypatch.chdir(tmp_path)
    for url in ("s3://bucket/summaries", f"file://{tmp_path}/summaries"):
        assert "not to a URL" in memlens("fleet", tmp_path, "--out", url, status=2).stderr
    assert not list(tmp_path.iterdir())


def test_an_archive_is_kept_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partial copy by a killed process is removed, and nothing else."""

    def archive(text: str) -> Path:
        folder = tmp_path / "archive"
        folder.mkdir()
        (folder / "manifest.json").write_text(text)
        return folder

    kept = tmp_path / "kept"
    name = "0123456789abcdef-17"
    for text in ("first", "second"):
        keep(archive(text), place_of(str(kept)), name)
        assert [path.name for path in kept.iterdir()] == [name]
        assert (kept / name / "manifest.json").read_text() == text

    def move(_source: Path, target: Path) -> None:
        target.mkdir()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.move", move)
        with pytest.raises(OSError, match="No space"):
            keep(tmp_path / "archive", place_of(str(kept)), name)
    assert [path.name for path in kept.iterdir()] == [name]
    # no process has the number 999999999
    others = {name, f"{name}.partial-{os.getpid()}", "theirs.partial-999999999"}
    for other in (*others - {name}, f"{name}.partial-999999999"):
        (kept / other).mkdir()
    remove_unfinished(place_of(str(kept)))
    assert {path.name for path in kept.iterdir()} == others


@pytest.mark.skipif(sys.platform == "win32", reason="workers are forked only elsewhere")
def test_a_temporary_folder_with_a_long_path_is_no_place_for_a_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    longest = f"/{'t' * (engine._LONGEST_TEMPORARY - 1)}"
    # what multiprocessing puts below it; a socket's path may have 103 bytes on macOS, 107 on Linux
    assert len(f"{longest}/pymp-12345678/listener-12345678") <= 103
    for folder, method in ((longest, "forkserver"), (f"{longest}t", "spawn")):
        monkeypatch.setattr(tempfile, "tempdir", folder)
        assert engine._starting_method() == method
