"""Snapshots from stdin and by URL, and several at once: the same answers, and nothing is left behind."""

import contextlib
import io
import json
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import Done, memlens
from tests.python.conftest import ROOT
from tests.python.fleet_cluster import HAS_PACKAGES, PACKAGES, Store, environment

import memlens as package
from memlens import remote_files
from memlens.cli.command_line import commands
from memlens.cli.options import snapshot

TRACE = ROOT / "samples" / "train.pickle"
PROFILE = ROOT / "samples" / "words.pb.gz"
HEAP = ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst"
SNAPSHOTS = ("file", "files", "before", "after", "more", "diff")
"""Options that name snapshots."""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a folder for temporary files of the test's own; returns the latter."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "memlens" / "archives"


def piped(patch: pytest.MonkeyPatch, data: bytes, *arguments: object, status: int = 0) -> Done:
    """Run a command with these bytes on stdin."""
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    return memlens(*arguments, status=status)


# several files


@pytest.mark.parametrize("command", ["info", "findings"])
def test_several_files(command: str) -> None:
    alone = [memlens(command, each).stdout for each in (TRACE, PROFILE)]
    together = memlens(command, TRACE, PROFILE).stdout
    if command == "findings":
        alone = [f"{name}:\n{text}" for name, text in zip((TRACE, PROFILE), alone, strict=True)]
    assert together == "\n".join(alone)
    rows = json.loads(memlens(command, TRACE, PROFILE, "--json").stdout)
    assert rows == [
        {"file": str(each), **json.loads(memlens(command, each, "--json").stdout)}
        for each in (TRACE, PROFILE)
    ]


@pytest.mark.parametrize("command", ["info", "findings"])
def test_the_worst_of_several_files_decides_the_status(command: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pickle"
    done = memlens(command, missing, PROFILE, status=1)
    assert done.stderr.count("\n") == 1
    assert "missing.pickle can't be opened" in done.stderr
    assert PROFILE.name in done.stdout
    first, second = json.loads(memlens(command, missing, PROFILE, "--json", status=1).stdout)
    assert (first["file"], first["problem"]["code"]) == (str(missing), "file")
    assert "problem" not in second


def test_findings_of_several_files_in_markdown_and_of_some_objects() -> None:
    done = memlens("findings", TRACE, PROFILE, "--markdown", "--top", 1)
    assert [line for line in done.stdout.splitlines() if line.startswith("## ")] == [
        f"## {TRACE}",
        f"## {PROFILE}",
    ]
    done = memlens("findings", HEAP, HEAP, "--of", "type:*Session*", "--top", 1)
    assert done.stdout.count("type:*Session*: ") == 2


# stdin


def test_every_command_that_reads_a_snapshot_takes_it_from_elsewhere() -> None:
    reading = {
        name: [each for each in command._actions if each.dest in SNAPSHOTS]
        for name, command in commands().items()
    }
    assert sum(map(bool, reading.values())) > 18
    for name, actions in reading.items():
        assert all(each.type is snapshot for each in actions), name


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (TRACE, "lines FILE --top 3"), (TRACE, "oom FILE"), (TRACE, "steps FILE"), (TRACE, "stack FILE 100"),
        (TRACE, "bookmarks FILE"), (TRACE, "flame FILE --folded"), (PROFILE, "findings FILE"),
        (PROFILE, "report FILE --markdown"), (PROFILE, "picture FILE"), (PROFILE, "sql FILE --schema"),
        (HEAP, "types FILE"), (HEAP, "object FILE 7 --by-number"), (HEAP, "paths FILE 7 --by-number"),
        (HEAP, "threads FILE"), (HEAP, "images FILE"), (TRACE, "compare FILE OTHER"), (TRACE, "compare OTHER FILE"),
    ],
)  # fmt: skip
def test_stdin(
    file: Path, words: str, monkeypatch: pytest.MonkeyPatch, own_folders: Path, archives: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "stdin"
    shutil.copyfile(file, copy)
    given = [{"OTHER": str(file)}.get(word, word) for word in words.split()]
    expected = memlens(*[str(copy) if word == "FILE" else word for word in given])
    kept = sorted(archives.iterdir())
    done = piped(monkeypatch, file.read_bytes(), *["-" if word == "FILE" else word for word in given])
    assert done.stdout.replace(str(copy), "stdin") == expected.stdout.replace(str(copy), "stdin")
    assert not list(own_folders.iterdir())
    assert sorted(archives.iterdir()) == kept


def test_info_and_json_call_stdin_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    data = PROFILE.read_bytes()
    assert piped(monkeypatch, data, "info", "-").stdout.startswith("stdin: pprof, ")
    assert json.loads(piped(monkeypatch, data, "info", "-", "--json").stdout)["path"] == "stdin"


def test_an_archive_and_a_copy_without_values_are_made_of_stdin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_folders: Path
) -> None:
    archive, copy = tmp_path / "archive", tmp_path / "copy.hprof"
    assert piped(monkeypatch, TRACE.read_bytes(), "ingest", "-", "--out", archive).stdout == f"{archive}\n"
    assert (archive / "manifest.json").exists()
    piped(monkeypatch, HEAP.read_bytes(), "redact", "-", copy)
    assert memlens("types", copy, "--top", 1).stdout
    assert not list(own_folders.iterdir())


@pytest.mark.parametrize("data", [b"", b"no snapshot", TRACE.read_bytes()[:3000]])
def test_errors_name_stdin_and_leave_nothing(
    data: bytes, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    done = piped(monkeypatch, data, "info", "-", status=1)
    assert done.stderr.startswith("memlens: stdin: ")
    assert str(own_folders) not in done.stderr
    assert not list(own_folders.iterdir())


def test_stdin_is_read_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["compare", "-", "-"], ["info", "-", "-"], ["sql", "-", "-"]):
        assert "stdin can be read only once" in piped(monkeypatch, b"", *words, status=2).stderr


def test_stdin_may_not_fill_the_disk(monkeypatch: pytest.MonkeyPatch, own_folders: Path) -> None:
    usage = shutil.disk_usage(own_folders)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage._replace(free=1000))
    done = piped(monkeypatch, TRACE.read_bytes(), "info", "-", status=1)
    assert "has no room for stdin" in done.stderr
    assert "TMPDIR" in done.stderr
    assert not list(own_folders.iterdir())


# URLs


ENDLESS = {
    "undeclared": "is larger than 2 MiB, and its server doesn't report its size",
    "short": "was written while it was read",
    "parts": "was written while it was read",
    "huge": "has no room for",
}
"""Files that never end, and what is said of each."""


@pytest.fixture
def site() -> Iterator[str]:
    """The URL of a folder on a web server on the loopback interface, in which there is the trace.

    Others never end: one declares no length, one a small one, and one answers a request for a part with all of it. The
    length that one declares is more than any disk has.
    """
    token = secrets.token_hex(8)
    data = TRACE.read_bytes()

    class Answers(BaseHTTPRequestHandler):
        def endless(self, name: str) -> None:
            length = {"short": 1 << 20, "parts": 1 << 20, "huge": 1 << 60}.get(name)
            asked = self.headers.get("Range") if name == "parts" else None
            self.send_response(206 if asked else 200)
            # what a reader keeps to is what it was said before
            if length is not None and (self.command == "HEAD" or name == "huge"):
                self.send_header("Content-Length", str(length))
            self.end_headers()
            with contextlib.suppress(OSError):
                while self.command == "GET" and not done.is_set():
                    self.wfile.write(data)

        def do_GET(self) -> None:
            name = self.path.removeprefix(f"/{token}/").partition("?")[0]
            if name in ENDLESS:
                self.endless(name)
                return
            found = self.path.partition("?")[0] == f"/{token}/train.pickle"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(data) if found else 0))
            self.end_headers()
            if found and self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET  # noqa: N815 - as the library calls it

        def log_message(self, format: str, *_: Any) -> None:  # noqa: A002 - the library's name
            pass

    done = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{token}"
    done.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")
def test_a_url(site: str, monkeypatch: pytest.MonkeyPatch, own_folders: Path, archives: Path) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(PACKAGES)])
    url = f"{site}/train.pickle"
    signed = f"{url}?X-Amz-Signature=a-secret&part=1"
    assert memlens("lines", signed).stdout == memlens("lines", TRACE).stdout
    done = memlens("info", url, signed)
    assert done.stdout.count(f"{url}: pytorch-snapshot") == 2
    gone = memlens("info", f"{site}/gone.pickle?sig=a-secret", status=1)
    assert f"There is nothing at {site}/gone.pickle" in gone.stderr
    assert "a-secret" not in done.stdout + gone.stderr
    assert not list(own_folders.iterdir())
    assert len(list(archives.iterdir())) == 1


@pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")
def test_a_url_in_a_program(
    site: str, monkeypatch: pytest.MonkeyPatch, own_folders: Path, archives: Path
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(PACKAGES)])
    with pytest.raises(package.MemlensError, match="There is nothing at"):
        package.open(f"{site}/gone.pickle?sig=a-secret")
    assert not list(own_folders.iterdir())
    with package.open(f"{site}/train.pickle?sig=a-secret") as trace, package.open(TRACE) as same:
        assert [*trace.lines()] == [*same.lines()]
        assert "a-secret" not in f"{trace!r} {trace.info}"
        assert len(list(own_folders.iterdir())) == 1
    assert not list(own_folders.iterdir())
    assert len(list(archives.iterdir())) == 1


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")
def test_a_url_that_never_ends(
    name: str, site: str, monkeypatch: pytest.MonkeyPatch, own_folders: Path
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(PACKAGES)])
    monkeypatch.setattr(remote_files, "UNDECLARED_BYTES", 2 << 20)
    # of what is read too much the disk would say so
    usage = shutil.disk_usage(own_folders)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: usage._replace(free=64 << 20))
    done = memlens("info", f"{site}/{name}", status=1)
    assert ENDLESS[name] in done.stderr
    assert not list(own_folders.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not HAS_PACKAGES, reason="no .cache/fleet: see test_fleet.py")
def test_a_url_of_a_store(tmp_path: Path) -> None:
    store = Store()
    try:
        store.put("job/rank0.pickle", TRACE.read_bytes())
        env = environment(**store.env, XDG_CACHE_HOME=str(tmp_path / "cache"))
        command = [sys.executable, "-m", "memlens", "info"]
        urls = ["s3://snapshots/job/rank0.pickle", "s3://snapshots/job/gone.pickle"]
        done = subprocess.run([*command, *urls], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "There is nothing at s3://snapshots/job/gone.pickle" in done.stderr
        alone = subprocess.run([*command, urls[0]], env=env, capture_output=True, text=True, check=True)
        assert alone.stdout.startswith("s3://snapshots/job/rank0.pickle: pytorch-snapshot, ")
    finally:
        store.close()


@pytest.mark.parametrize(
    ("url", "packages"), [("s3://b/x", "s3fs"), ("https://h/x", "aiohttp"), ("gs://b/x", "gcsfs")]
)
def test_without_fsspec_it_says_what_to_install(
    url: str, packages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    done = memlens("info", url, status=1)
    assert done.stderr == (
        "memlens: This needs the package fsspec, which isn't installed. "
        f"Install it: python -m pip install fsspec {packages}.\n"
    )


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("https://me:a-secret@host/x", "has a password"),
        ("https:///x", "no host"),
        ("s3://key:a-secret@bucket/x", "a password or a key"),
        ("s3://bucket/x?sig=a-secret", "contains parameters"),
        ("ftp://host/x", "is not a kind of store"),
    ],
)
def test_urls_that_are_refused(url: str, complaint: str) -> None:
    done = memlens("info", url, status=1)
    assert complaint in done.stderr
    assert "a-secret" not in done.stderr
