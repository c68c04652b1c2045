"""Building sentences: parts, places in code, and a rule's results."""

import re
from typing import Any, NamedTuple

import numpy.typing as npt

from memlens.nested import without_nested
from memlens.texts import Text, Value, as_text, phrase
from memlens.units import plain_name, shortened
from memlens.views.findings.answers import (
    Evidence,
    Figure,
    LineLink,
    ObjectsLink,
    SnapshotFinding,
    TextPart,
)
from memlens.views.naming.stable_names import stable_name

_MOST_FUNCTION = 40
_CHANGING = re.compile(r"\s?@(?:0x[0-9a-f]+|\d+)\b|(?<=\[)\d+(?=\])|:\d+\b")
"""The parts of a name that differ between dumps: object ids, array indices, and lines, which move with edits."""
_IMPLEMENTED = re.compile(r"^<(?P<type>.+?) as .+>(?=::)")
"""A method of a trait in Rust: ``<svc::Node as core::clone::Clone>::clone``."""


class Ranked(NamedTuple):
    """A finding and its weight: its share of the whole (0 to 1) times its rule's weight."""

    weight: float
    finding: SnapshotFinding
    objects: npt.NDArray[Any] | None = None
    """In a heap dump, the numbers of the objects that its figure is about."""
    alone: SnapshotFinding | None = None
    """If it was merged from findings of the same bytes: the first of these alone."""

    @property
    def first(self) -> SnapshotFinding:
        """The finding without the others merged into it."""
        return self.alone or self.finding


def as_part(value: Value) -> TextPart:
    """A value as a part of a sentence; any but plain text may have links."""
    text = as_text(value)
    if isinstance(text, TextPart):
        return text
    return TextPart(text.text, text.template, {name: as_part(each) for name, each in text.values.items()})


def linked(
    value: Value,
    *,
    figure: Figure | None = None,
    line: LineLink | None = None,
    evidence: Evidence | None = None,
    objects: ObjectsLink | None = None,
) -> TextPart:
    """A part with a link."""
    part = as_part(value)
    return TextPart(part.text, part.template, part.values, figure, line, evidence, objects)


def amount(figure: Figure, evidence: Evidence | None = None, objects: ObjectsLink | None = None) -> TextPart:
    """An amount, as a link to its objects."""
    return linked(str(figure), figure=figure, evidence=evidence, objects=objects)


def made(
    rule: str,
    title: Text,
    sentence: Text,
    figure: Figure,
    evidence: Evidence | None,
    line: LineLink | None = None,
    *,
    inferred: bool = False,
    objects: ObjectsLink | None = None,
    subject: tuple[str, ...] = (),
    is_note: bool = False,
    brief: Text | None = None,
) -> SnapshotFinding:
    """A finding with its text; the title is a phrase without values.

    The sentence is a phrase with parts that lead somewhere (:func:`linked`, :func:`amount`) among its values. Rules
    with several findings distinguish them by the parts of the ``subject``.
    """
    known = inferred or (line is not None and line.source == "inferred")
    return SnapshotFinding(
        rule, title.text, as_part(sentence), sentence.text, figure, evidence, line, known, objects,
        subject=", ".join(plain_name(stable_name(_CHANGING.sub("", part))) for part in subject if part),
        is_note=is_note, brief=brief,
    )  # fmt: skip


def percent(part: int, whole: int) -> Text:
    """A share of a whole, as ``34%``; small ones as ``under 1%``."""
    share = 100 * part / whole if whole > 0 else 0.0
    return Text(f"{share:.0f}%") if share >= 0.5 or not part else phrase("under {share}", share="1%")


def base_line(link: LineLink) -> str:
    """A line by its file's name alone."""
    return _base_line(link.file, link.line)


def _base_line(file: str, line: int) -> str:
    name = file.replace(chr(92), "/").rpartition("/")[2]
    return f"{name}:{line}" if line else name


def function_beside(file: str, line: int, function: str) -> str:
    """A function, to be shown beside its line; empty where a profile without functions names frames by their lines."""
    return "" if function == _base_line(file, line) else function


def text_in_sql(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def short_function(name: str) -> str:
    """A function's name for a sentence: its last two components, without template arguments and parameters."""
    if name.startswith("<") and name.endswith(">"):
        # <lambda>, <module>, <listcomp>
        return name
    if is_description(name):
        return shortened(name, _MOST_FUNCTION)
    text = _IMPLEMENTED.sub(lambda found: found["type"], name.replace("(anonymous namespace)::", ""))
    text = _without_parameters(text.removesuffix(" const"))
    text = without_nested(without_nested(text, "<>"), "[]")
    # the text before it is a return type
    text = text.rsplit(" ", 1)[-1] if "operator" not in text else text
    text = "::".join(text.split("::")[-2:]).rpartition("/")[2]
    return shortened(text or name, _MOST_FUNCTION)


def called(name: str) -> str:
    """A function's short name with the parentheses of a call: ``main()``; a description is left as it is."""
    return name if is_description(name) else f"{name}()"


def is_description(name: str) -> bool:
    """Whether a name stands for functions that aren't known: ``(below the threshold)``, ``(anonymous)``."""
    return name.startswith("(") and name.endswith(")") and _without_parameters(name) == name


def _without_parameters(name: str) -> str:
    """A function's name without the parentheses at its end and what is between them."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if not depth:
            # the parentheses of operator() are part of the name
            return name[:at] if name.endswith(")") and at and not name[:at].endswith("operator") else name
    return name
