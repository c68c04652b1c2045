"""What people read can be translated: package.json names its texts, and the bundle has every message."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KEPT = re.compile(r"\{\d+\}|`[^`]*`|\]\([^)]*\)|memlens\.[\w.]+|\n")
READ = ("title", "description", "markdownDescription", "displayName", "altText")


def texts_of(name: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((ROOT / name).read_text("utf-8"))
    assert texts
    return texts


def read_texts(value: Any) -> list[str]:
    """Return every text of the manifest that people read."""
    if isinstance(value, list):
        return [text for each in value for text in read_texts(each)]
    if not isinstance(value, dict):
        return []
    own = [value[key] for key in READ if isinstance(value.get(key), str)]
    own += [text for key in ("enumItemLabels", "enumDescriptions") for text in value.get(key, [])]
    return own + [text for each in value.values() for text in read_texts(each)]


def test_the_manifest_names_its_texts() -> None:
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


@pytest.mark.parametrize("name", ["package.nls", "l10n/bundle.l10n"])
def test_the_pseudo_language_keeps_what_is_no_word(name: str) -> None:
    texts, pseudo = texts_of(f"{name}.json"), texts_of(f"{name}.qps-ploc.json")
    assert texts.keys() == pseudo.keys()
    for key, text in texts.items():
        assert KEPT.findall(pseudo[key]) == KEPT.findall(text), key
        assert pseudo[key] != text
