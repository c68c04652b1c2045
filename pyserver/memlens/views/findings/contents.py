"""Sentences without quoted texts of strings, for what leaves the machine."""

from msgspec.structs import replace

from memlens.views.findings.answers import HeadlineAnswer, SnapshotFinding, TextPart
from memlens.views.findings.graph.duplicates import QUOTED


def without_contents(sentence: TextPart) -> TextPart:
    """A sentence without the texts of strings that it quotes."""
    if not sentence.values:
        return sentence
    values = {name: without_contents(each) for name, each in sentence.values.items()}
    if sentence.template == QUOTED:
        values["text"] = TextPart("…", "…")
    texts = {name: each.text for name, each in values.items()}
    return replace(sentence, text=sentence.template.format_map(texts), values=values)


def finding_without_contents(finding: SnapshotFinding) -> SnapshotFinding:
    """A finding whose sentence quotes no string."""
    sentence = without_contents(finding.sentence)
    return replace(finding, sentence=sentence, text=sentence.text)


def headline_without_contents(headline: HeadlineAnswer) -> HeadlineAnswer:
    """A headline that quotes no string."""
    sentences = [without_contents(each) for each in headline.sentences]
    return replace(headline, sentences=sentences, text=" ".join(each.text for each in sentences))
