"""Where commands write, what they read from, and what they say of a heap dump's objects and of options for others."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT
from tests.python.recordings import RUBY
from tests.python.test_findings_of_heaps import java_heap

SAMPLE = ROOT / "samples" / "train.pickle"
FIXTURES = ROOT / "tests" / "fixtures" / "heap"
COMMAND = [sys.executable, "-m", "memlens"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home-cache"))
    return tmp_path / "home-cache"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    (tmp_path / "app.hprof").write_bytes(java_heap(has=True))
    return tmp_path / "app.hprof"


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    place = tmp_path / "pipe"
    os.mkfifo(place)
    yield place
    assert place.is_fifo()


def test_no_folder_and_no_device_is_replaced(dump: Path, pipe: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for place in (pipe, folder):
        for command in (
            ["redact", dump, place, "--force"],
            ["report", SAMPLE, "-o", place],
            ["picture", SAMPLE, "-o", place],
            ["export", SAMPLE, "--pprof", place],
            ["export", SAMPLE, "--snapviewer", place],
        ):
            error = memlens(*command, status=1).stderr
            assert error == (
                f"memlens: {place.name} can't be written: it is not a regular file. Choose another file.\n"
            )
    assert not list(folder.iterdir())


def test_what_redact_writes_is_its_owners_alone(dump: Path, tmp_path: Path) -> None:
    memlens("redact", dump, tmp_path / "shared.hprof")
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / "shared.hprof").stat().st_mode) == 0o600


def test_a_dump_is_not_written_over_itself_by_another_name(dump: Path, tmp_path: Path) -> None:
    before = dump.read_bytes()
    (tmp_path / "hard.hprof").hardlink_to(dump)
    (tmp_path / "link.hprof").symlink_to(dump)
    for name in ("hard.hprof", "link.hprof"):
        assert "over itself" in memlens("redact", dump, tmp_path / name, "--force", status=1).stderr
        assert "over itself" in memlens("redact", tmp_path / name, dump, "--force", status=1).stderr
    assert dump.read_bytes() == before


def test_a_pipe_is_called_by_what_it_is(pipe: Path, tmp_path: Path) -> None:
    assert "is not a file" in memlens("redact", pipe, tmp_path / "out", status=1).stderr
    if not Path("/dev/stdin").exists():
        return
    done = subprocess.run(
        [*COMMAND, "info", "/dev/stdin"], input=SAMPLE.read_bytes(), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "memlens: /dev/stdin can't be opened: it is not a regular file. "
        "Give a file, or - to read what comes through a pipe to stdin.\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", [["info", str(SAMPLE)], ["--version"]])
def test_an_output_that_is_full_or_closed(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == (
        "memlens: Reading or writing failed: No space left on device. Check the disk and your permissions.\n"
    )
    closed = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *arguments], capture_output=True, check=False
    )
    assert (closed.returncode, closed.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("command", "arguments", "option"),
    [
        ("flame", ["--value", "count"], "--value"),
        ("flame", ["--any-code"], "--any-code"),
        ("flame", ["--filter", "type:Session", "--json"], "--filter"),
        ("lines", ["--value", "live"], "--value"),
        ("lines", ["--any-code"], "--any-code"),
    ],
)
def test_an_option_that_needs_stacks_is_named(
    dump: Path, command: str, arguments: list[str], option: str
) -> None:
    assert memlens(command, dump, *arguments, status=1).stderr.startswith(
        f"memlens: {dump}: This heap dump has no allocation stacks, which are needed for {option}."
    )
    assert memlens(command, dump).stdout


def test_devices_are_named_as_what_a_heap_dump_lacks(dump: Path) -> None:
    for command in ("findings", "flame"):
        assert "needed for --device." in memlens(command, dump, "--device", "1", status=1).stderr


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_seconds_are_a_number_that_can_be_waited_for(dump: Path, seconds: str) -> None:
    said = f"{seconds} is not a number of seconds"
    assert said in memlens("dump", 1, dump, f"--timeout={seconds}", status=2).stderr
    assert said in memlens("types", dump, f"--since={seconds}", status=2).stderr


def test_one_address_is_written_in_one_way(dump: Path) -> None:
    found = re.search(r"Object\[\] @(0x[0-9a-f]+) retains", memlens("findings", dump).stdout)
    assert found is not None
    for command in ("object", "paths"):
        assert f"java.lang.Object[] @{found[1]}" in memlens(command, dump, found[1]).stdout
    wrong = memlens("object", dump, "0xabcdef", status=1).stderr
    assert wrong == f"memlens: {dump}: The heap dump has no object with the id 0xabcdef.\n"


def test_threads_write_addresses_as_paths_do() -> None:
    dump = FIXTURES / "ran_out.hprof.zst"
    address = re.search(r"BUFFER = byte\[\] @(0x[0-9a-f]+) ", memlens("threads", dump).stdout)
    assert address is not None
    assert f"byte[] @{address[1]}" in memlens("paths", dump, address[1]).stdout


def test_a_reference_without_a_name_has_no_gap() -> None:
    lines = memlens("paths", RUBY, "0x7f9a72bedc50", "--top", 1).stdout
    assert "  -> (reference): Registry @0x" in lines


def test_types_that_there_are_none_of(dump: Path) -> None:
    assert memlens("types", dump, "--search", "nosuchtype").stdout == "no type fits\n"
    assert json.loads(memlens("types", dump, "--search", "nosuchtype", "--json").stdout)["types"] == []


def test_tables_as_json(dump: Path) -> None:
    tables: dict[str, Any] = json.loads(memlens("sql", dump, "--schema", "--json").stdout)
    assert {"objects", "refs", "types", "roots", "strings"} <= {table["name"] for table in tables["tables"]}
    assert "printed as text or with --json" in memlens("sql", dump, "--schema", "--csv", status=2).stderr


def test_what_is_missing_from_the_arguments_is_named() -> None:
    assert memlens("compare", SAMPLE, status=2).stderr == (
        "memlens: the following arguments are required: after. Try memlens compare --help.\n"
    )
    for command in ("examine", "tables"):
        assert memlens(command, ".", status=1).stderr.startswith("memlens: The archive . can't be read: ")


def test_memlens_alone_is_the_help_which_lists_no_internal_commands() -> None:
    alone = memlens().stdout
    assert alone == memlens("--help").stdout
    wrong = memlens("lnes", status=2).stderr
    assert "did you mean lines" in wrong
    assert not re.search(r"^ +(examine|tables|queries)\b", alone, re.MULTILINE)
    assert not re.search(r"\b(examine|tables|queries)\b", wrong)
