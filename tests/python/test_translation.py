"""All displayed text can be translated: package.json refers to its texts, and the bundle has every message."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scripts.lib.templates import templates_of

from memlens.texts import Text, in_a_row, phrase, plural

ROOT = Path(__file__).parents[2]
KEPT = re.compile(r"\{\w+\}|`[^`]*`|\]\([^)]*\)|memlens\.[\w.]+|\n")
READ = ("title", "description", "markdownDescription", "displayName", "userDescription", "altText")


def texts_of(name: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((ROOT / name).read_text("utf-8"))
    assert texts
    return texts


def read_texts(value: Any) -> list[str]:
    """Return every displayed text of the manifest."""
    if isinstance(value, list):
        return [text for each in value for text in read_texts(each)]
    if not isinstance(value, dict):
        return []
    own = [value[key] for key in READ if isinstance(value.get(key), str)]
    own += [text for key in ("enumItemLabels", "enumDescriptions") for text in value.get(key, [])]
    # language models read the schemas of tools, in English
    return own + [text for key, each in value.items() if key != "inputSchema" for text in read_texts(each)]


def test_the_manifest_refers_to_its_texts() -> None:
    named = Counter(read_texts(json.loads((ROOT / "package.json").read_text("utf-8"))))
    # the name of the extension, and the title of its settings
    assert named.pop("Memlens") == 2
    assert set(named) == {f"%{key}%" for key in texts_of("package.nls.json")}


LITERAL = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|)"""


@pytest.mark.parametrize(
    ("folder", "call"),
    [("extension/src", r"l10n\.t\("), ("webview/src", r"(?<![\w.])t\(")],
)
def test_every_message_is_in_the_bundle(folder: str, call: str) -> None:
    """That the bundle has nothing else is checked by the contract step, which knows the grammar."""
    messages = set()
    for path in (ROOT / folder).rglob("*.ts*"):
        calls = re.findall(call + r"\s*" + LITERAL, re.sub(r"(?m)^\s*(//|\*).*", "", path.read_text("utf-8")))
        messages |= {call[1:-1].replace("\\'", "'") for call in calls if call}
    assert len(messages) > 100
    assert messages <= set(texts_of("l10n/bundle.l10n.json"))


@pytest.mark.parametrize(
    ("source", "found", "problem"),
    [
        ('phrase("{n} lines", n=4)', ["{n} lines"], None),
        ('phrase("a " "line" if x else "lines")', ["a line", "lines"], None),
        ('phrase(plural(n, "{n} line", "{n} lines"), n=n)', ["{n} line", "{n} lines"], None),
        ('phrase("{a} {b}", a=1, b=2)', [], None),
        ('phrase("{line} holds", **parts)', ["{line} holds"], None),
        ('phrase(f"{n} lines")', [], "needs a text"),
        ('phrase("one" if x else many)', ["one"], "needs a text"),
        ('phrase("{n:,} lines", n=4)', ["{n:,} lines"], "has nothing beside it"),
        ('phrase("{n} lines of {file}", n=4)', ["{n} lines of {file}"], "file of the template has no value"),
        ('phrase("{n} lines", n=4, file="")', ["{n} lines"], "file is not in the template"),
    ],
)
def test_a_template_is_a_literal_whose_names_are_those_of_its_values(
    source: str, found: list[str], problem: str | None
) -> None:
    templates, problems = templates_of(f"x\n{source}", "views/a.py")
    assert templates == found
    assert len(problems) == (problem is not None)
    for each in problems:
        assert each.startswith("views/a.py:2: ")
        assert problem is not None
        assert problem in each


def test_a_phrase_has_its_english_text_and_its_parts() -> None:
    where = phrase("{line} (inferred)", line="{n}.py:3")
    text = phrase(plural(1200, "{n} line at {where}", "{n} lines at {where}"), n=1200, where=where)
    assert str(text) == "1,200 lines at {n}.py:3 (inferred)"
    assert text.template == "{n} lines at {where}"
    assert text.values["where"] is where
    assert text.values["n"] == Text("1,200")
    assert str(in_a_row(["a", text, 3], "; ")) == f"a; {text}; 3"
    with pytest.raises(KeyError):
        phrase("{n} lines of {file}", n=3)


@pytest.mark.parametrize("name", ["package.nls", "l10n/bundle.l10n"])
def test_the_pseudo_language_keeps_everything_but_words(name: str) -> None:
    texts, pseudo = texts_of(f"{name}.json"), texts_of(f"{name}.qps-ploc.json")
    assert texts.keys() == pseudo.keys()
    for key, text in texts.items():
        assert KEPT.findall(pseudo[key]) == KEPT.findall(text), key
        assert pseudo[key] != text
