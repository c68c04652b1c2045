"""What the docs say to run, taken from their text, so that tests do what a reader does."""

import re
import shutil
from pathlib import Path

import pytest
from tests.python.conftest import ROOT


class Page:
    """A page of the docs."""

    def __init__(self, name: str) -> None:
        self.text = (ROOT / "docs" / name).read_text("utf-8")

    def section(self, title: str) -> str:
        """Return the text below a heading of the second level."""
        return self.text.split(f"\n## {title}\n")[1].split("\n## ")[0]

    def block(self, title: str, language: str = "") -> str:
        """Return the first block of a language in a section."""
        block = re.search(rf"^```{language}\n(.*?)^```$", self.section(title), re.DOTALL | re.MULTILINE)
        assert block is not None, title
        return block[1]

    def code(self, title: str, beginning: str) -> str:
        """Return the only code in a line of a section's text that begins so."""
        found = re.findall(rf"`({re.escape(beginning)}[^`\n]*)`", self.section(title))
        assert len(found) == 1, (title, beginning, found)
        return str(found[0])


def needs(program: str) -> str:
    """Return the path of a program, or skip the test."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} isn't installed")
    return path


def needs_memray() -> Path:
    """Return a Python that has memray, or skip the test."""
    python = ROOT / ".cache" / "memray" / "bin" / "python"
    if not python.exists():
        pytest.skip("memray isn't installed")
    return python


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """Replace parts of a recipe, each of which must be in it."""
    for part, other in pairs:
        assert part in text
        text = text.replace(part, other)
    return text
