"""Builds a platform's ``.vsix``: the extension, memlens with its kernels, and the libraries for every Python.

In an installed extension ``pyserver/memlens`` has the kernels beside its Python files, and ``pyserver/libraries`` all
that these import.
"""

import json
import os
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scripts.package import kernels, libraries, pages, tools
from scripts.package.targets import ROOT, WORK, Target

LIMIT_BYTES = 40_000_000
"""The maximum size of a package, which is fetched at every update, by some over slow lines."""
ROOM = 0.05
"""The share of the limit that stays free, so that the next version of a library doesn't stop a release."""

WHOLE = ("README.md", "CHANGELOG.md", "LICENSE", "package.nls.json")
FOLDERS = {
    "docs/jetbrains": ("*.json",),
    "extension/media": ("*",),
    "extension/snippets": ("*",),
    "l10n": ("bundle.l10n.json",),
    "samples": ("*.py", "*.pickle", "*.pb.gz"),
}
PYTHON = ("*.py", "*.sql", "*.toml", "SKILL.md")
PACK_TEMPLATE = "memlens/cli/pack_template"
"""What ``memlens new-pack`` copies, with its tests."""
DEVELOPMENT = ("scripts", "devDependencies", "private")
"""Keys of package.json that are about a checkout; the script `vscode:prepublish` would build everything again."""


def make(target: Target, out: Path, jobs: int = 0) -> Path:
    """Build a platform's package in a folder, print the sizes of its parts, and return its path."""
    stage = WORK / "stage" / target.name
    shutil.rmtree(stage, ignore_errors=True)
    for source, name in contents(target, jobs):
        place = stage / name
        place.parent.mkdir(parents=True, exist_ok=True)
        _link(source, place)
    manifest = json.loads((ROOT / "package.json").read_text())
    for key in DEVELOPMENT:
        manifest.pop(key, None)
    manifest |= badges(pages.repository())
    for name, text in _pages(stage):
        place = stage / name
        place.unlink()  # it may be a link to the repository's
        place.write_text(text, "utf-8")
    (stage / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    # what `memlens --version` reads, since nothing is installed
    about = stage / "pyserver" / f"memlens-{manifest['version']}.dist-info" / "METADATA"
    about.parent.mkdir()
    about.write_text(f"Metadata-Version: 2.1\nName: memlens\nVersion: {manifest['version']}\n")
    # The folder contains exactly what is shipped, so the ignore list is empty.
    (stage / ".vscodeignore").write_text("")
    out.mkdir(parents=True, exist_ok=True)
    package = out / f"{manifest['name']}-{target.name}-{manifest['version']}.vsix"
    vsce = [
        "node",
        str(ROOT / "node_modules" / "@vscode" / "vsce" / "vsce"),
        "package",
        "--target",
        target.name,
    ]
    tools.run(
        [*vsce, "--no-dependencies", "--no-rewrite-relative-links", "--out", str(package)], cwd=str(stage)
    )
    tools.repack(package)
    report(package)
    return package


def contents(target: Target, jobs: int = 0) -> Iterator[tuple[Path, str]]:
    """Yield every file of a platform's package except the manifest, with its path in the package."""
    for name in WHOLE:
        yield ROOT / name, name
    manifest = (ROOT / "package.json").read_text("utf-8")
    for folder, patterns in FOLDERS.items():
        for pattern in patterns:
            for path in sorted((ROOT / folder).glob(pattern)):
                name = path.relative_to(ROOT).as_posix()
                # README's other pictures are loaded from the repository.
                if path.suffix != ".png" or f'"{name}"' in manifest:
                    yield path, name
    for path in sorted((WORK / "dist").iterdir()):
        yield path, f"dist/{path.name}"
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield path, path.relative_to(ROOT).as_posix()
    yield from python_package("pyserver/")
    for module, path in kernels.compile_for(target, jobs).items():
        yield path, f"pyserver/{module.replace('.', '/')}{target.suffix}"
    unpacked = libraries.unpack(target)
    for path in sorted(unpacked.rglob("*")):
        if path.is_file():
            yield path, f"pyserver/libraries/{path.relative_to(unpacked).as_posix()}"


def python_package(prefix: str = "") -> Iterator[tuple[Path, str]]:
    """Yield memlens's files that aren't compiled, and their paths in a package."""
    root = ROOT / "pyserver"
    for pattern in PYTHON:
        for path in sorted((root / "memlens").rglob(pattern)):
            if "tests" not in path.parts[len(root.parts) :]:
                yield path, prefix + path.relative_to(root).as_posix()
    for path in sorted((root / PACK_TEMPLATE).rglob("*")):
        if path.is_file() and (path.suffix not in (".py", ".toml", ".pyc") or path.parent.name == "tests"):
            yield path, prefix + path.relative_to(root).as_posix()


def report(package: Path) -> None:
    """Print the compressed sizes of a package's parts."""
    weights: Counter[str] = Counter()
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            weights[_part(entry.filename)] += entry.compress_size
    size = package.stat().st_size
    print(f"{package.name}: {size / 1e6:.1f} MB")
    for part, weight in weights.most_common():
        print(f"  {weight / 1e6:7.2f} MB  {part}")


def _part(name: str) -> str:
    folders = name.removeprefix("extension/").split("/")
    if folders[:2] == ["pyserver", "libraries"]:
        return f"library {folders[2].partition('.')[0].partition('-')[0]}"
    if folders[0] == "pyserver":
        return "kernels" if name.endswith((".so", ".pyd")) else "memlens"
    return {"extension": "pictures", "dist": "extension and webview", "samples": "samples"}.get(
        folders[0], "documents"
    )


def badges(address: str) -> dict[str, list[dict[str, str]]]:
    """Return the manifest's badges: the status of the repository's release workflow, once that is known."""
    if pages.is_placeholder(address):
        return {}
    workflow = f"{address}/actions/workflows/release.yml"
    badge = {
        "url": f"{workflow}/badge.svg",
        "href": workflow,
        "description": "Packages, run on each platform",
    }
    return {"badges": [badge]}


def _pages(stage: Path) -> Iterator[tuple[str, str]]:
    """Yield the pages of a package that differ from the repository's, with their paths."""
    shipped = {path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file()}
    for name in sorted(name for name in shipped if re.fullmatch(r"(README|CHANGELOG|docs/.*)\.md", name)):
        text = (ROOT / name).read_text("utf-8")
        # the marketplaces' pages lead nowhere in the package
        is_page = name in WHOLE
        if is_page and pages.is_placeholder(pages.repository()):
            text = pages.without_pictures(text)
        yield name, pages.absolute(text, name, shipped=() if is_page else shipped)


def _link(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError:
        shutil.copyfile(source, place)
