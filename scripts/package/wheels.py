"""Builds memlens's wheels, one per platform for CPython 3.11 and later, and its sdist.

A wheel holds what ``setup.py bdist_wheel`` would put in it, with kernels that were compiled for the wheel's platform.
"""

import base64
import hashlib
import os
import shutil
import sys
import zipfile
from pathlib import Path

from scripts.package import kernels, pages, tools
from scripts.package.extension import python_package
from scripts.package.targets import ROOT, WORK, Target

STAMP = (1980, 1, 1, 0, 0, 0)
"""The modification time of every file in a wheel, so that the same content gives the same wheel."""


def make(target: Target, out: Path, jobs: int = 0) -> Path:
    """Build a platform's wheel in a folder and return its path."""
    files = {name: path.read_bytes() for path, name in python_package()}
    for module, path in kernels.compile_for(target, jobs).items():
        files[module.replace(".", "/") + target.suffix] = path.read_bytes()
    files["memlens/py.typed"] = b""
    for path in sorted((ROOT / "pyserver" / "memlens").rglob("*.pyi")):
        files[path.relative_to(ROOT / "pyserver").as_posix()] = path.read_bytes()
    metadata = _metadata()
    info = metadata.name
    for path in sorted(metadata.rglob("*")):
        if path.is_file() and path.name not in {"RECORD", "WHEEL"}:
            files[f"{info}/{path.relative_to(metadata).as_posix()}"] = path.read_bytes()
    tags = "".join(f"Tag: cp311-abi3-{tag}\n" for tag in target.wheel.split("."))
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: memlens\nRoot-Is-Purelib: false\n{tags}".encode()
    )
    record = "".join(f"{name},sha256={_hash(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{info.removesuffix('.dist-info')}-cp311-abi3-{target.wheel}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    tools.repack(wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    return wheel


def make_sdist(out: Path) -> Path:
    """Build the sdist, from which pip compiles the kernels where there is no wheel."""
    out.mkdir(parents=True, exist_ok=True)
    _backend("sdist", out)
    (sdist,) = out.glob("memlens-*.tar.gz")
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    return sdist


# Calls the build backend's hooks as pip does.
_BACKEND = """
import sys
from setuptools import build_meta
if sys.argv[1] == "sdist":
    build_meta.build_sdist(sys.argv[2])
else:
    build_meta.prepare_metadata_for_build_wheel(sys.argv[2])
"""


def _backend(hook: str, folder: Path) -> None:
    """Have setuptools write into a folder; neither hook needs the kernels."""
    environment = {**os.environ, "MEMLENS_KERNELS_ARE_BUILT": "1"}
    command = [sys.executable, "-c", _BACKEND, hook, str(folder.resolve())]
    tools.run(command, cwd=str(_source()), env=environment)


def _metadata() -> Path:
    """Return the folder ``memlens-VERSION.dist-info`` as setuptools writes it."""
    folder = WORK / "metadata"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _backend("metadata", folder)
    (found,) = folder.glob("*.dist-info")
    return found


def _source() -> Path:
    """Return a copy of pyserver without anything that was built, and with the documents that PyPI shows."""
    folder = WORK / "source"
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.c", "*.so", "*.pyd", "__pycache__", "build", "*.egg-info")
    shutil.copytree(ROOT / "pyserver", folder, ignore=ignored)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "README.md").write_text(pages.absolute((ROOT / "README.md").read_text("utf-8")), "utf-8")
    project = (folder / "pyproject.toml").read_text("utf-8")
    # A checkout has README above this folder, where setuptools accepts no file.
    with_readme = project.replace("\nlicense = ", '\nreadme = "README.md"\nlicense = ', 1)
    (folder / "pyproject.toml").write_text(with_readme, "utf-8")
    return folder


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
