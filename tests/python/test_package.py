"""The contents of packages, without a compiler and a network; `package:check` checks the rest."""

import ctypes
import json
import re
import struct
from pathlib import Path

import pytest
from scripts.package import extension, libraries
from scripts.package.binaries import read
from scripts.package.check import UNWANTED
from scripts.package.strip import without_debug
from scripts.package.targets import TARGETS, chosen, here

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "pyserver" / "memlens" / "kernels"


def test_every_file_of_memlens_is_shipped_and_nothing_else() -> None:
    shipped = {name for _, name in extension.python_package()}
    needed = {
        path.relative_to(ROOT / "pyserver").as_posix()
        for path in (ROOT / "pyserver" / "memlens").rglob("*")
        if path.suffix in {".py", ".sql"}
    }
    assert shipped == needed
    assert not [name for name in shipped if UNWANTED.search(f"/{name}")]


def test_every_file_that_the_manifest_names_is_shipped() -> None:
    manifest = json.loads((ROOT / "package.json").read_text("utf-8"))
    named = {manifest["icon"]}
    named |= {entry["path"].removeprefix("./") for entry in manifest["contributes"]["snippets"]}
    for step in manifest["contributes"]["walkthroughs"][0]["steps"]:
        named |= {step["media"].get("image") or step["media"]["markdown"]}
    commands = {entry["command"] for entry in manifest["contributes"]["commands"]}
    linked = set(re.findall(r"\(command:([\w.]+)\)", (ROOT / "package.nls.json").read_text("utf-8")))
    assert linked
    assert linked <= commands
    folders = {f"{folder}/" for folder in extension.FOLDERS} | {"docs/"}
    for name in named:
        assert (ROOT / name).is_file()
        assert any(name.startswith(folder) for folder in folders)


def test_snippets_are_offered_by_their_prefix_and_those_of_python_are_python() -> None:
    snippets = json.loads((ROOT / "package.json").read_text("utf-8"))["contributes"]["snippets"]
    for language, path in ((each["language"], each["path"]) for each in snippets):
        for snippet in json.loads((ROOT / path).read_text("utf-8")).values():
            assert snippet["prefix"].startswith("memlens-")
            assert snippet["description"]
            body = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", "\n".join(snippet["body"]))
            assert "${" not in body.replace("\\${", "")
            if language == "python":
                compile(body, path, "exec")


def test_readme_has_pictures_and_badges_only_where_they_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "![" in readme
    shown = extension.without_pictures(readme)
    assert "![" not in shown
    # and nothing else is lost
    left = [line for line in readme.splitlines() if line.startswith("## ")]
    assert [line for line in shown.splitlines() if line.startswith("## ")] == left
    assert "\n\n\n" not in shown
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    assert extension.badges(extension.repository()) == {}
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.com")
    monkeypatch.setenv("GITHUB_REPOSITORY", "some/one")
    (badge,) = extension.badges(extension.repository())["badges"]
    assert badge["url"] == "https://github.com/some/one/actions/workflows/release.yml/badge.svg"


def test_the_lock_has_hashes_for_every_imported_package() -> None:
    locked = libraries.locked()
    names = re.findall(r"^([a-z-]+)==", locked, re.MULTILINE)
    needed = {
        "apsw",
        "cachetools",
        "lsprotocol",
        "msgspec",
        "numpy",
        "platformdirs",
        "pygls",
        "regex",
        "websockets",
    }
    # and what these import
    assert needed | {"attrs", "cattrs", "typing-extensions", "zstandard"} == set(names)
    assert len(names) == len(set(names))
    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=[a-z])", locked.strip()))
    assert ";" not in locked


def test_platforms_are_named_as_the_marketplace_names_them() -> None:
    assert [target.name for target in chosen("all")] == list(TARGETS)
    assert here() in TARGETS
    with pytest.raises(SystemExit, match="There is no platform amiga"):
        chosen("linux-x64,amiga")


def test_a_binary_without_debug_sections_can_be_loaded_and_behaves_the_same(tmp_path: Path) -> None:
    (kernel,) = KERNELS.rglob("lines.abi3.so")
    data = kernel.read_bytes()
    # a section that isn't loaded, after all others
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    debug = struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, len(data), 100_000, 0, 0, 1, 0)
    large = bytearray(data + bytes(100_000) + data[table : table + size * count] + debug)
    struct.pack_into("<Q", large, 40, len(data) + 100_000)
    struct.pack_into("<H", large, 60, count + 1)
    target = tmp_path / "lines.so"
    target.write_bytes(without_debug(bytes(large)))
    assert target.stat().st_size <= len(data)
    assert read(target) == read(kernel)
    assert "PyErr_Occurred" in read(kernel).undefined
    assert ctypes.PyDLL(str(target)).PyInit_lines is not None
    assert without_debug(b"MZ" + bytes(100)) == b"MZ" + bytes(100)


def test_packed_relocations_are_detected(tmp_path: Path) -> None:
    """Older C libraries load such a file without an error and crash in it."""
    (kernel,) = KERNELS.rglob("lines.abi3.so")
    data = bytearray(kernel.read_bytes())
    assert not read(kernel).packed_relocations
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    kinds = {
        struct.unpack_from("<I", data, table + i * size + 4)[0]: table + i * size + 4 for i in range(count)
    }
    struct.pack_into("<I", data, kinds[4], 19)  # SHT_RELA, SHT_RELR
    packed = tmp_path / "lines.so"
    packed.write_bytes(data)
    assert read(packed).packed_relocations
