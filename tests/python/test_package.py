"""The contents of packages, without a compiler and a network; `package:check` checks the rest."""

import ctypes
import email
import json
import re
import struct
import subprocess
from pathlib import Path

import pytest
from scripts.package import extension, libraries, pages, targets, wheels
from scripts.package.binaries import read
from scripts.package.check import UNWANTED
from scripts.package.strip import without_debug
from scripts.package.targets import TARGETS, chosen, here
from tests.python.counted import some

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "pyserver" / "memlens" / "kernels"


def test_every_file_of_memlens_is_shipped_and_nothing_else() -> None:
    shipped = {name for _, name in extension.python_package()}
    needed = {
        path.relative_to(ROOT / "pyserver").as_posix()
        for path in (ROOT / "pyserver" / "memlens").rglob("*")
        if (path.suffix in {".py", ".sql", ".toml"} or path.name == "SKILL.md")
        and "tests" not in path.relative_to(ROOT).parts
    }
    template = {
        path.relative_to(ROOT / "pyserver").as_posix()
        for path in (ROOT / "pyserver" / extension.PACK_TEMPLATE).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(template) > 5
    assert shipped == needed | template
    assert not [name for name in shipped if UNWANTED.search(f"/{name}")]


def test_every_file_that_the_manifest_names_is_shipped() -> None:
    manifest = json.loads((ROOT / "package.json").read_text("utf-8"))
    named = {manifest["icon"]}
    named |= {entry["path"].removeprefix("./") for entry in manifest["contributes"]["snippets"]}
    skills = {entry["path"].removeprefix("./") for entry in manifest["contributes"]["chatSkills"]}
    assert skills <= {name for _, name in extension.python_package("pyserver/")}
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
    for language, path in some((each["language"], each["path"]) for each in snippets):
        for snippet in some(json.loads((ROOT / path).read_text("utf-8")).values()):
            assert snippet["prefix"].startswith("memlens-")
            assert snippet["description"]
            body = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", "\n".join(snippet["body"]))
            assert "${" not in body.replace("\\${", "")
            if language == "python":
                compile(body, path, "exec")


README = (ROOT / "README.md").read_text("utf-8")
REAL = "https://github.com/some/one"


@pytest.fixture
def _released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REF_NAME", "v1.2.3")
    monkeypatch.setattr(pages, "repository", lambda: REAL)


@pytest.mark.usefixtures("_released")
def test_links_and_pictures_of_pages_lead_to_the_files_of_the_release() -> None:
    shown = pages.absolute(README)
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", shown)
    links = [link for link in re.findall(r"\]\(([^)\s]*)\)", shown) if not link.startswith("#")]
    assert pictures
    assert len(links) > len(pictures) + 10
    for link in links:
        assert link.startswith("https://")
        if (place := link.removeprefix(REAL)) != link:
            kind, at, name = place.removeprefix("/").partition("#")[0].split("/", 2)
            assert (kind, at) == ("raw" if link in pictures else "blob", "v1.2.3")
            assert (ROOT / name).is_file(), link

    text = '[![a](b.png)](c.md#d) [e](https://f) [g](#h) <img src="i.png">\n```\n[j](k.md)\n```\n'
    text += "[l](../m.md) [n](o.md)\n"
    assert pages.absolute(text, "docs/p.md", shipped={"docs/o.md"}) == (
        f"[![a]({REAL}/raw/v1.2.3/docs/b.png)]({REAL}/blob/v1.2.3/docs/c.md#d) [e](https://f) [g](#h) "
        f'<img src="{REAL}/raw/v1.2.3/docs/i.png">\n```\n[j](k.md)\n```\n[l]({REAL}/blob/v1.2.3/m.md) [n](o.md)\n'
    )


@pytest.mark.slow
@pytest.mark.usefixtures("_released")
def test_the_page_on_pypi_is_the_readme_with_addresses() -> None:
    described = email.message_from_string((wheels._metadata() / "METADATA").read_text("utf-8"))
    assert described["Description-Content-Type"] == "text/markdown"
    assert str(described.get_payload()).strip() == pages.absolute(README).strip()
    addresses = dict(line.split(", ") for line in described.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Source"} == set(addresses)
    supported = [f"Programming Language :: Python :: {version}" for version in targets.PYTHONS]
    assert set(supported) <= set(described.get_all("Classifier", []))
    assert described["Keywords"]


def test_an_unreleased_package_has_neither_pictures_nor_badges_and_nothing_else_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "![" in README
    shown = pages.without_pictures(README)
    assert "![" not in shown
    left = [line for line in README.splitlines() if line and not line.startswith("![")]
    assert [line for line in shown.splitlines() if line] == left
    assert extension.badges("https://repository.invalid/some/one") == {}
    (badge,) = extension.badges(REAL)["badges"]
    assert badge["url"] == f"{REAL}/actions/workflows/release.yml/badge.svg"


def test_one_address_is_declared_and_no_other_placeholder_is_anywhere() -> None:
    """``npm test -- --only contract`` holds the copies to it; a release is refused while it is a placeholder."""
    listed = subprocess.run(
        ["git", "grep", "-l", "repository\\.invalid/memlens"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:  # else it isn't a checkout
        assert set(listed.stdout.split()) <= {
            "SECURITY.md", "package.json", "pyserver/memlens/project.py", "pyserver/pyproject.toml"
        }  # fmt: skip
    done = subprocess.run(
        ["node", "scripts/release.mjs", "--tag", "v0.0.0"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert ("is a placeholder" in done.stderr) == pages.is_placeholder(pages.repository())


def test_the_lock_has_hashes_for_every_imported_package() -> None:
    locked = libraries.locked()
    names = re.findall(r"^([a-z-]+)==", locked, re.MULTILINE)
    needed = {
        "apsw",
        "cachetools",
        "demangle",
        "lsprotocol",
        "msgspec",
        "numpy",
        "platformdirs",
        "pyelftools",
        "pygls",
        "regex",
        "shtab",
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
