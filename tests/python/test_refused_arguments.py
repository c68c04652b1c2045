"""Arguments that make no sense together end with status 2 and a sentence; what a file lacks, with 1 and its name."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT

FILES = {
    "TRACE": ROOT / "samples" / "train.pickle",
    "PROFILE": ROOT / "samples" / "words.pb.gz",
    "HEAP": ROOT / "tests" / "fixtures" / "heap" / "sessions.hprof.zst",
}


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(
    "words",
    [
        "paths HEAP", "paths HEAP 7 --of type:x", "paths HEAP 7 --markdown",
        "dump 1", "dump 1 OUT --every 1", "dump 1 OUT --count 2",
        "compare TRACE TRACE --key x", "compare TRACE TRACE --csv", "compare TRACE TRACE --by type",
        "compare TRACE TRACE --by finding", "compare TRACE TRACE TRACE --by stack",
        "compare HEAP HEAP HEAP --by finding",
        "flame HEAP --tree paths --bottom-up", "flame TRACE --group package", "flame TRACE --diff TRACE --value count",
        "picture TRACE --of timeline --diff TRACE", "picture TRACE --value live", "picture HEAP --by-line",
        "export TRACE --snapviewer OUT.zip --at end", "export PROFILE --pprof OUT.pb --at end",
        "sql TRACE --schema --csv", "fleet FOLDER --out s3://bucket/x", "info - -", "sql TRACE", "fleet sql FOLDER",
    ],
)  # fmt: skip
def test_wrong_combinations(words: str, tmp_path: Path) -> None:
    given = {**FILES, "FOLDER": tmp_path}
    done = memlens(
        *[given.get(word, word.replace("OUT", str(tmp_path / "out"))) for word in words.split()], status=2
    )
    assert done.stdout == ""
    assert re.fullmatch(r"memlens: [^\n]+[^.]\. [^\n]+\n", done.stderr), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["ingest FILE", "redact FILE OUT", "info FILE", "fleet summary FILE"])
@pytest.mark.parametrize("name", ["other.txt", "cut.hprof", "cut.pickle"])
def test_refusals_name_the_file(words: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if name == "cut.hprof":
        file.write_bytes(b"JAVA PROFILE 1.0.2\0\0")
    else:
        file.write_bytes(FILES["TRACE"].read_bytes()[:2000] if name == "cut.pickle" else b"text\n")
    given = {"FILE": file, "OUT": tmp_path / "out.hprof"}
    done = memlens(*[given.get(word, word) for word in words.split()], status=1)
    assert done.stderr.startswith(f"memlens: {file}: ")
    assert done.stderr.count(name) == 1


def test_the_editor_gets_the_message_alone(tmp_path: Path) -> None:
    """It shows the file itself."""
    file = tmp_path / "other.txt"
    file.write_bytes(b"text\n")
    assert "other.txt" not in memlens("ingest", file, "--progress", "json", status=1).stdout
    shutil.rmtree(tmp_path)
    assert "other.txt" in memlens("ingest", file, "--progress", "json", status=1).stdout
