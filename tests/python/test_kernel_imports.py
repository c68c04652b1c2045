"""Imports of kernels. import-linter reads only .py files, so the rule for .pyx and .pxd is checked here."""

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "pyserver" / "memlens"
IMPORT = re.compile(
    r"^\s*(?:from\s+(memlens[\w.]*)\s+c?import\s+(\w+)|c?import\s+(memlens[\w.]*))", re.MULTILINE
)


def test_kernels_import_nothing_but_their_own_folder_and_base() -> None:
    seen = 0
    for path in [
        each
        for kind in ("*.pyx", "*.pxd", "*.pyi")
        for each in PACKAGE.rglob(kind)
        if "kernels" in each.parts
    ]:
        folder = ".".join(path.parent.relative_to(PACKAGE.parent).parts)
        for found in IMPORT.finditer(path.read_text()):
            seen += 1
            # packs use what readers share as well
            shared = [
                "memlens.kernels.base.",
                *(["memlens.arrays."] if path.suffix == ".pyi" else []),
                *(["memlens.kernels.readers."] if "packs" in path.parts else []),
            ]
            assert f"{found[1]}.".startswith((*shared, f"{folder}.")), f"{path}: {found[0]}"
    assert seen > 20
