"""The texts of Memlens as translators get them: templates of the bundle, and values that aren't words of Memlens."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from tests.python.conftest import ROOT

from memlens.model.info import GraphInfo, ProfileInfo
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.findings.ahead import findings, headline
from memlens.views.naming.places import operator_names

UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "s", "ms", "µs", "min", "h", "d"}
_WORD = re.compile(r"[^\W\d_]+")
_ADDRESS = re.compile(r"0x[0-9a-f]+")


@cache
def bundle() -> dict[str, str]:
    texts: dict[str, str] = json.loads((ROOT / "l10n" / "bundle.l10n.json").read_text("utf-8"))
    return texts


def leaves(text: Text) -> Iterator[str]:
    """The values of a text that are the same in every language; every template with words is in the bundle."""
    if not text.template:
        yield text.text
        return
    if _WORD.search(re.sub(r"\{\w+\}", "", text.template)):
        assert text.template in bundle()
    for value in text.values.values():
        yield from leaves(value)


def said(snapshot: Snapshot) -> Iterator[Text]:
    """All sentences, titles and warnings of a snapshot."""
    yield from (warning.said for warning in snapshot.info.warnings)
    yield from headline(snapshot, None).sentences
    for finding in findings(snapshot, None, 100).findings:
        yield finding.sentence
        yield from (phrase(name.title) for name in finding.names)


def words_in(snapshot: Snapshot) -> set[str]:
    """Every word in a file, and in what Memlens calls the parts of its format."""
    stored = snapshot.strings
    names = stored.texts(np.arange(len(stored.end)))
    source = Path(snapshot.manifest.source.path)
    if source.is_file():
        # a text format's kind is in its first line alone
        with source.open("rb") as file:
            names.append(file.readline(200).decode("utf-8", "replace"))
    match snapshot.info:
        case ProfileInfo(values=values):
            names += [value.title.text for value in values] + [value.unit for value in values]
        case GraphInfo():
            names += snapshot.graph_names.root_kinds
        case _:
            # PyTorch's operators are named by C++ functions of stacks
            names += operator_names(snapshot)
    return {word for name in names for word in _WORD.findall(name)}


def assert_words_are_templates(snapshot: Snapshot) -> None:
    """Check that every word of a text is in a template of the bundle, or in the file (there it may be longer)."""
    values = {value for text in said(snapshot) for value in leaves(text)}
    words = {word: value for value in values for word in _WORD.findall(_ADDRESS.sub("", value))}
    known = words_in(snapshot) | UNITS
    ours = [word for word in words if word not in known and not any(each.startswith(word) for each in known)]
    assert not ours, {word: words[word] for word in ours}
