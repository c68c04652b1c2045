"""pycodestyle over Cython files, as cython-lint runs it: that starts a process for each file, half of its time."""

import sys
import tomllib
from pathlib import Path

from cython_lint.cython_lint import PYCODESTYLE_CODES
from pycodestyle import StyleGuide


def main(files: list[str]) -> int:
    """Print what is wrong; 0 when nothing is."""
    settings = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["cython-lint"]
    ignored = [*sorted(PYCODESTYLE_CODES), *settings["ignore"]]
    style = StyleGuide(ignore=ignored, max_line_length=settings["max-line-length"])
    return min(style.check_files(files).total_errors, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
