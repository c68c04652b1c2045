"""`memlens diagnostics` says what a bug report needs, and nothing of a person or of a snapshot."""

import getpass
import importlib
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.python.command_line import memlens
from tests.python.conftest import ROOT

from memlens.cli.commands import diagnostics
from memlens.project import ISSUES

KERNELS = list((ROOT / "pyserver" / "memlens").rglob("*.pyx"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "places" / "Ada.Lovelace"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "adalove")
    return home


def test_it_names_versions_cache_kernels_and_packages_and_no_person(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = home / "secret-project.pickle"
    shutil.copyfile(ROOT / "samples" / "train.pickle", snapshot)
    cache = home / "archives"
    memlens("ingest", snapshot, "--cache-dir", cache)
    monkeypatch.setenv("MEMLENS_SYMBOLS", str(home / "adalove-env" / "bin"))
    monkeypatch.setenv("PYTHONNOTHING", "a secret")

    said = memlens("diagnostics", "--cache-dir", cache, "--cache-limit", str(2**30)).stdout
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    assert re.fullmatch(r"\S+, in a checkout, in .*pyserver", lines["memlens"])
    assert f"CPython {sys.version.split()[0]}" in said
    assert int(lines["kernels"].split()[0]) >= len(KERNELS) > 50
    assert re.match(r"numpy \d[\w.]*, apsw \d", lines["libraries"])
    assert re.search(r"(no )?pyarrow", lines["optional packages"])
    assert re.match(r"~/archives, 1 archive, [\d.]+ \w+ of at most 1 GiB; ", lines["cache"])
    assert "MEMLENS_SYMBOLS=~/" in lines["environment"]
    assert "PYTHONNOTHING" in lines["environment"]
    assert ISSUES in said
    for private in ("adalove", "Ada", "Lovelace", "secret", str(home)):
        assert private not in said
    assert "not known" not in said


def test_what_is_broken_is_named_and_the_rest_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(name: str) -> object:
        raise ImportError(f"{home}/libx.so: cannot open shared object file")

    monkeypatch.setattr(importlib, "import_module", breaks)
    monkeypatch.setattr(diagnostics, "system", lambda: 1 / 0)  # pyrefly: ignore[division-by-zero]
    said = memlens("diagnostics", "--cache-dir", home / "none").stdout
    assert "kernels: 0 loaded\n" in said
    assert said.count("can't be loaded (ImportError: ~/libx.so: cannot open shared object file)") >= len(
        KERNELS
    )
    assert "system: not known (ZeroDivisionError: division by zero)" in said
    assert "cache: ~/none, not made yet, at most 10 GiB" in said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ada/x /home/adam/y", "~/x ~/y"),
        ("C:\\Users\\Ada Lovelace\\x", "~\\x"),
        ("/Users/Shared/x /Users/grace/x", "/Users/Shared/x ~/x"),
        ("/data/adalove/run adaloves adalove_run", "/data/~/run adaloves adalove_run"),
    ],
)
def test_home_folders_and_names_become_tildes(home: Path, text: str, shown: str) -> None:
    assert getpass.getuser() == "adalove"
    assert diagnostics.anonymous()(text) == shown
