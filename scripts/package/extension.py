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

from scripts.package import kernels, libraries, tools
from scripts.package.targets import ROOT, WORK, Target

LIMIT_BYTES = 40_000_000
"""The maximum size of a package, which is fetched at every update, by some over slow lines."""
ROOM = 0.05
"""The share of the limit that stays free, so that the next version of a library doesn't stop a release."""

WHOLE = ("README.md", "CHANGELOG.md", "LICENSE", "package.nls.json")
FOLDERS = {
    "extension/media": ("*",),
    "extension/snippets": ("*",),
    "l10n": ("bundle.l10n.json",),
    "samples": ("*.py", "*.pickle", "*.pb.gz"),
}
PYTHON = ("*.py", "*.sql")
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
    manifest |= badges(repository())
    if not repository():
        readme = stage / "README.md"
        readme.unlink()  # it may be a symbolic link to the repository's
        readme.write_text(without_pictures((ROOT / readme.name).read_text("utf-8")), "utf-8")
    (stage / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
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
    tools.run([*vsce, "--no-dependencies", *_addresses(), "--out", str(package)], cwd=str(stage))
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


def repository() -> str | None:
    """Return the address of the repository whose release workflow runs this, if one does."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    return f"{server}/{name}" if server and name else None


def _addresses() -> list[str]:
    """Return the base of README's links and pictures: the repository that releases, if there is one."""
    address = repository()
    if address is None:
        return ["--no-rewrite-relative-links", "--allow-missing-repository"]
    at = os.environ.get("GITHUB_REF_NAME", "main")
    places = ["--baseContentUrl", f"{address}/blob/{at}", "--baseImagesUrl", f"{address}/raw/{at}"]
    return ["--allow-missing-repository", *places]


def badges(address: str | None) -> dict[str, list[dict[str, str]]]:
    """Return the manifest's badges: the status of the repository's release workflow; none without a repository."""
    if address is None:
        return {}
    workflow = f"{address}/actions/workflows/release.yml"
    badge = {
        "url": f"{workflow}/badge.svg",
        "href": workflow,
        "description": "Packages, run on each platform",
    }
    return {"badges": [badge]}


def without_pictures(readme: str) -> str:
    """Return README for a package of no repository: an extension's page shows pictures of the web alone.

    The walkthrough has the most important ones.
    """
    return re.sub(r"^!\[[^]]*\]\([^)]*\)\n\n", "", readme, flags=re.MULTILINE)


def _link(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError:
        shutil.copyfile(source, place)
