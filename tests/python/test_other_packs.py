"""Packs of other packages: a new one is made, installed and used, and one that fails costs only its own formats."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.python.conftest import ROOT

from memlens.cli import main
from memlens.packs import others, registry
from memlens.packs.api import Pack

SAMPLE = ROOT / "samples" / "words.pb.gz"
FORMAT = """
from memlens.packs.api import Format, Pack, Part
PACK = Pack(name="a", title="T", formats=(Format(name="a", title="t", reader=Part("a")),))
"""


def declared(name: str, form: str, reader: str = "nowhere") -> str:
    """The module of a pack with a format."""
    return f"""
from memlens.packs.api import Format, Pack, Part
PACK = Pack(name="{name}", title="{name}", formats=(Format(name="{form}", title="t", reader=Part("{reader}")),))
"""


def install(folder: Path, name: str, module: str) -> None:
    """Put a package with a pack into a folder of packages, as an installer does."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(module)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[memlens.packs]\n{name} = {name}:PACK\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder from which this process imports, of packs that nothing has looked up yet."""
    folder = tmp_path / "packages"
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(others, "_failures", {})
    monkeypatch.delenv(others.LEFT_OUT, raising=False)
    before = {*sys.modules}
    registry.others.cache_clear()
    yield folder
    registry.others.cache_clear()
    for name in {*sys.modules} - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.mark.slow
def test_a_new_pack_is_made_installed_and_opens_a_file(tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert main(["new-pack", "my_tool", "--out", str(made)]) == 0
    assert "newpack" not in "".join(each.read_text() for each in made.rglob("*") if each.is_file())
    python = environment(tmp_path, made)
    cache = tmp_path / "cache"
    example = made / "tests" / "example.my_tool"
    info = json.loads(python("-m", "memlens", "info", example, "--json", "--cache-dir", cache))
    assert info["kind"] == "my_tool"
    assert "cache.x:31 load() 4 MiB (80%)" in python(
        "-m", "memlens", "findings", example, "--cache-dir", cache
    )
    # parse is json's, by the pack's own table
    lines = python("-m", "memlens", "lines", example, "--cache-dir", cache)
    assert "parse.x:120 parse (library)" in lines
    assert "5 MiB        lines of your own code" in lines
    assert "memlens-my_tool 0.1.0 (my_tool)" in python("-m", "memlens", "diagnostics")
    assert "8 passed" in python("-m", "pytest", "-q", "-p", "no:cacheprovider", made)


def environment(folder: Path, package: Path) -> Callable[..., str]:
    """An environment that has Memlens and a package, whose Python is returned."""
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=package, check=True, capture_output=True)
    venv.create(folder / "venv", symlinks=os.name != "nt")
    paths = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    own = sysconfig.get_path("purelib")
    (site / "memlens.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))

    def python(*arguments: str | Path) -> str:
        done = subprocess.run(
            [scripts / "python", "-P", *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return python


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import nowhere", "it can't be loaded (ModuleNotFoundError: No module named 'nowhere')"),
        ("raise SystemExit('no')", "it can't be loaded (SystemExit: no)"),
        ("", "it can't be loaded (AttributeError: module 'broken' has no attribute 'PACK')"),
        ("PACK = 3", "PACK is not what a pack may declare"),
        (FORMAT.replace('Part("a")', '"a"'), "PACK.formats[0].reader is not what a pack may declare"),
        (FORMAT.replace('"T"', '"T", libraries=("a", 1)'), "PACK.libraries[1] is not what a pack may declare"),
        (declared("ruby", "f"), "another pack has the pack ruby too"),
        (declared("n", "gcdump"), "another pack has the format gcdump too"),
        (declared("n", "hprof"), "another pack has the format hprof too"),
    ],
)  # fmt: skip
def test_a_pack_that_fails_costs_its_formats_and_a_sentence(
    module: str, said: str, packages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(packages, "broken", module)
    install(packages, "whole", declared("whole", "whole", "whole_reader"))
    (packages / "whole_reader.py").write_text("def sniff(head): return head.startswith(b'whole')\n")
    sentence = f"The formats of the pack broken 1.0 are missing: {said}"
    (other,) = registry.others()
    assert (other.pack.name, other.version) == ("whole", "whole 1.0")
    assert list(map(str, registry.failures())) == [sentence]
    unknown = tmp_path / "unknown"
    unknown.write_bytes(b"nothing that is known")
    assert main(["info", str(unknown), "--cache-dir", str(tmp_path / "cache")]) == 1
    assert f"{sentence}." in " ".join(capsys.readouterr().err.split())
    assert main(["info", str(SAMPLE), "--cache-dir", str(tmp_path / "cache")]) == 0
    assert main(["diagnostics", "--cache-dir", str(tmp_path / "cache")]) == 0
    assert f"packs: {sentence}" in capsys.readouterr().out


def test_a_part_that_fails_is_said_as_the_packs(
    packages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(packages, "broken", declared("a", "a", "nowhere"))
    install(packages, "reads", declared("z", "z", "reads_reader"))
    (packages / "reads_reader.py").write_text(
        "def sniff(head): return head.startswith(b'z')\ndef read(*_): return 1 / 0\n"
    )
    file = tmp_path / "z"
    file.write_bytes(b"z")
    assert main(["info", str(file), "--cache-dir", str(tmp_path / "cache")]) == 1
    said = capsys.readouterr().err
    assert "The pack reads 1.0 can't read the file (ZeroDivisionError: division by zero)" in said
    (sentence,) = registry.failures()
    assert str(sentence).startswith("A part of the pack broken 1.0 failed (ModuleNotFoundError")


def test_no_pack_comes_from_the_working_directory_or_the_workspace(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(packages, "mine", declared("mine", "mine"))
    monkeypatch.chdir(packages)
    assert registry.others() == ()
    monkeypatch.chdir(tmp_path)
    registry.others.cache_clear()
    others.leave_out([tmp_path / "elsewhere", packages.parent])
    assert registry.others() == ()
    assert "it is in the workspace" in str(registry.failures())
    assert "mine" not in sys.modules
    registry.others.cache_clear()
    others.leave_out([])
    assert [each.pack.name for each in registry.others()] == ["mine"]


def test_an_archive_is_made_again_when_the_pack_changes(packages: Path) -> None:
    shutil.copytree(
        ROOT / "pyserver" / "memlens" / "cli" / "pack_template" / "memlens_newpack",
        packages / "memlens_newpack",
    )
    install(packages, "about", "from memlens_newpack import PACK")
    (packages / "about-1.0.dist-info" / "entry_points.txt").write_text(
        "[memlens.packs]\nx = memlens_newpack:PACK\n"
    )
    first = registry.edition("newpack")
    assert first == registry.edition("newpack")
    reader = packages / "memlens_newpack" / "reader.py"
    os.utime(reader, ns=(0, reader.stat().st_mtime_ns + 10**9))
    assert registry.edition("newpack") != first
    assert registry.edition("gcdump") == registry.edition("nothing") == ""


def test_declarations_of_its_own_are_of_their_types() -> None:
    assert all(others._wrong(pack, Pack, "PACK") is None for pack in registry.packs())
