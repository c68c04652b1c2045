"""Names, comments and texts use the words of docs/terms.md, and none of those that its last column gives up."""

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.python.conftest import ROOT

TERMS = ROOT / "docs" / "terms.md"

IN_CODE = {
    "stretch": r"(?i)\b(?:a|the|each|of|which) stretch\b|\bstretches\b|_stretch|stretch_",
    "notice": r"\b(?:a|the|no|one|each|this|its) notices?\b|\bNotice\b|_notices?\b|\bnotices?_",
    "told": r"\btold\b",
    "what roots reach": r"\broots reach\b",
    "an item an object": r"(?i)\ban (?:item|entry|row) an? \w+",
    "high water mark": r"(?i)\bhigh[ -]water",
    "stranded": r"(?i)\bstranded\b",
    "transient": r"(?i)\btransient (?:allocation|memory|block)",
}
"""What finds a word where it means what the page says, in names, comments and texts."""

IN_TEXTS = {
    "index": r"(?i)\barchive'?s? index|\bindex (?:file|folder)",
    "database": r"(?i)\bsnapshot'?s? database",
    "action": r"(?i)\b(?:trace|allocator|alloc|free) actions?\b",
    "timestamp": r"(?i)\b(?:at|to|from) (?:a|the|this|that) timestamp",
    "tensor": r"(?i)\b(?:live|freed|allocated|leaked) tensors?\b",
    "block": r"(?i)\b(?:leaked|temporary) blocks?\b",
    "asked for": r"(?i)(?:bytes|memory|much|amount|[KMG]iB|\}) (?:was |were |is |that was )?asked for\b",
    "active": r"(?i)\bactive (?:bytes|allocations|set)\b",
    "active memory": r"(?i)\bactive memory\b",
    "lost": r"(?i)\blost (?:allocations?|memory|blocks?|bytes)\b",
    "cumulative": r"(?i)\bcumulative (?:bytes|sizes?|counts?|columns?)\b",
    "exclusive": r"(?i)\bexclusive (?:bytes|sizes?|counts?|columns?)\b",
    "cached": r"(?i)\bcached (?:bytes|segments?)\b",
    "dump": r"(?i)\b(?:trace|profile) dumps?\b",
    "frame": r"(?i)\b(?:page|browser)(?:'s)? frames\b",
    "recording": r"(?i)\bopen(?:s|ed|ing)? (?:a|the|your|this|any) recordings?\b",
    "history": r"(?i)\b(?:a|the|this|each) history\b",
    "graph": r"(?i)\bobject graphs?\b|\bgraph of (?:the )?objects\b",
    "alive": r"(?i)\b(?:bytes|memory|allocations?|blocks?) (?:(?:is|are|was|were|still|that are) )?alive\b",
    "kind": r"(?i)\bkinds? of (?:memory|allocations?)\b",
    "context": r"(?i)\bnative contexts\b",
    "owned by": r"(?i)\b(?:is|are|objects?) owned by\b",
    "unknown": r"(?i)\bunknown (?:stacks?|bytes)\b",
    "guessed": r"(?i)\b(?:is|are|was|were) guessed\b",
    "issue": r"(?i)\b(?:found|memory|these|those) issues?\b",
    "hint": r"(?i)\bhints?\b",
    "dock": r"(?i)\bdock(?:s|ed)?\b",
    "chart": r"(?i)\b(?:the|this|a) charts?\b",
    "view": r"(?i)\b(?:upper|top|lower) view\b",
    "sidebar": r"(?i)\bside ?bar\b",
    "marker": r"(?i)\bmarkers?\b",
    "mark": r"(?i)\b(?:set|add|remove|delete)s? (?:a|the|this) mark\b",
    "annotation": r"(?i)\b(?:set|add|remove|delete)s? (?:an|the|this) annotation\b",
    "heat": r"(?i)\bheat\b(?! ?map)",
    "iteration": r"(?i)\biterations?\b",
    "light up": r"(?i)\b(?:lights?|lit) up\b|\blit\b",
    "select": r"(?i)\bselects? (?:a|the) (?:row|line)\b",
    "fit": r"(?i)\bzoom to fit\b|\bfit (?:to|all|everything)\b",
    "search": r"(?i)\bsearch (?:the|all|every) (?:views?|pictures?|snapshots?)\b",
}
"""Those that code uses for something else: looked for in the docs, the view, the manifest and what is printed."""

FOLDERS = ("pyserver/memlens", "extension/src", "extension/shared", "webview/src", "docs", "scripts")
SUFFIXES = {".py", ".pyx", ".pxd", ".pyi", ".ts", ".tsx", ".mjs", ".css", ".md", ".sql"}


def test_each_word_of_the_last_column_is_looked_for_and_no_other() -> None:
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| ([^|]+) \|$", TERMS.read_text("utf-8"), re.MULTILINE)
    words = [word for row in rows[1:] for word in re.sub(r" \([^)]*\)", "", row).split(", ")]
    assert len(words) > 40
    assert sorted(words) == sorted([*IN_CODE, *IN_TEXTS])


@pytest.mark.parametrize("word", IN_CODE)
def test_no_word_that_was_given_up_comes_back(word: str) -> None:
    assert len(contents(FOLDERS)) > 900
    assert list(lines_with(IN_CODE[word], FOLDERS)) == []


@pytest.mark.parametrize("word", IN_TEXTS)
def test_no_text_has_a_word_that_was_given_up(word: str) -> None:
    assert [text for text in texts() if re.search(IN_TEXTS[word], text)] == []
    assert list(lines_with(IN_TEXTS[word], ("docs",))) == []


@functools.cache
def contents(folders: tuple[str, ...]) -> dict[Path, str]:
    return {
        path: path.read_text("utf-8")
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and path != TERMS
    }


@functools.cache
def texts() -> list[str]:
    translated: dict[str, str] = json.loads((ROOT / "l10n" / "bundle.l10n.json").read_text("utf-8"))
    manifest: dict[str, str] = json.loads((ROOT / "package.nls.json").read_text("utf-8"))
    assert len(translated) > 2000
    return [*translated, *map(str, manifest.values())]


def lines_with(pattern: str, folders: tuple[str, ...]) -> Iterator[str]:
    compiled = re.compile(pattern)
    for path, content in contents(folders).items():
        for found in compiled.finditer(content):
            line = content.count("\n", 0, found.start()) + 1
            yield f"{path.relative_to(ROOT)}:{line}: {found[0]}"
