"""Names, comments and texts use the words of docs/terms.md, and none of those that it has given up."""

import re

import pytest
from tests.python.conftest import ROOT

GIVEN_UP = {
    "stretch (as a noun)": r"(?i)\b(?:a|the|each|of|which) stretch\b|\bstretches\b|_stretch|stretch_",
    "notice (as a noun)": r"\b(?:a|the|no|one|each|this|its) notices?\b|\bNotice\b|_notices?\b|\bnotices?_",
    "told": r"\btold\b",
    "roots reach": r"\broots reach\b",
    "an item an object": r"(?i)\ban (?:item|entry|row) an? \w+",
    "high water mark": r"(?i)\bhigh[ -]water",
    "stranded": r"(?i)\bstranded\b",
    "transient (for temporary)": r"(?i)\btransient (?:allocation|memory|block)",
}
"""What `docs/terms.md` and reviewers gave up, as what finds it where it means what the page says."""

FOLDERS = ("pyserver/memlens", "extension/src", "extension/shared", "webview/src", "docs", "scripts")
SUFFIXES = {".py", ".pyx", ".pxd", ".pyi", ".ts", ".tsx", ".mjs", ".css", ".md", ".sql"}


@pytest.mark.parametrize("word", GIVEN_UP)
def test_no_word_that_was_given_up_comes_back(word: str) -> None:
    pattern = re.compile(GIVEN_UP[word])
    files = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and path.name != "terms.md"
    ]
    assert len(files) > 900
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []
