"""The texts that a heap dump written by ``memlens redact`` still has, by reason, for the person who sends it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

from memlens.proof.items import REASONS, ListingReader, Reason
from memlens.proof.marks import MARKS, Mark, marked
from memlens.proof.readers import texts_of
from memlens.texts import Text, phrase, plural

_MOST_MARKED = 100
"""The number of examples printed for each kind of mark; the whole list is in a file."""

_MOST_CHARACTERS = 100

REASON_NAMES: dict[Reason, Text] = {
    "types": phrase("names of types"),
    "fields": phrase("names of fields"),
    "methods": phrase("names of methods"),
    "signatures": phrase("signatures of methods"),
    "functions": phrase("names of functions"),
    "variables": phrase("names of variables"),
    "attributes": phrase("names of attributes"),
    "properties": phrase("names of properties, and keys of objects"),
    "symbols": phrase("symbols"),
    "files": phrase("files and addresses of pages"),
    "threads": phrase("names of threads"),
    "modules": phrase("names of modules"),
    "program": phrase("path of the program"),
    "roots": phrase("kinds of roots"),
    "engine": phrase("words of the runtime"),
    "encodings": phrase("encodings"),
    "texts": phrase("functions, files and other texts of the profile"),
    "other": phrase("other words of the format"),
}

MARK_NAMES: dict[Mark, Text] = {
    "email": phrase("e-mail address"),
    "card": phrase("number with a check digit, like a card number"),
    "home": phrase("home folder"),
    "host": phrase("host or URL"),
    "token": phrase("token or password"),
    "random": phrase("long random text"),
}


class Staying(NamedTuple):
    """A text that stays, and why."""

    text: str
    reason: Reason
    marks: tuple[Mark, ...]


class StayingTexts:
    """All texts that stay, each once for each reason."""

    def __init__(self, texts: dict[Reason, set[str]]) -> None:
        self._texts = texts
        self._marks = marked(list({text for each in texts.values() for text in each}))

    @classmethod
    def of(cls, path: Path) -> "StayingTexts":
        """The texts that stay in a heap dump or a profile. Raises :class:`MemlensError`, and OSError."""
        reader = texts_of(path)
        texts: dict[Reason, set[str]] = {}
        if isinstance(reader, ListingReader):
            for reason, some in reader.listed():
                texts.setdefault(reason, set()).update(some)
        else:
            for each in reader.names():
                texts.setdefault(cast("Reason", each.place), set()).add(str(each.value))
        for each in texts.values():
            each.discard("")
        return cls(texts)

    @property
    def count(self) -> int:
        """The number of them."""
        return sum(map(len, self._texts.values()))

    def counts(self) -> list[tuple[Reason, int]]:
        """The number of them for each reason."""
        return [(reason, len(found)) for reason in REASONS if (found := self._texts.get(reason))]

    def marked(self) -> list[Staying]:
        """The texts to review, by their first mark."""
        found = [
            Staying(text, reason, marks)
            for text, marks in self._marks.items()
            for reason, texts in self._texts.items()
            if text in texts
        ]
        return sorted(found, key=lambda each: (MARKS.index(each.marks[0]), *_order(each)))

    def summary(self) -> Iterator[Text]:
        """Lines about the counts, and about the marked ones."""
        count = self.count
        yield phrase(plural(count, "{n} text stays in the copy:", "{n} texts stay in the copy:"), n=count)
        for reason, each in self.counts():
            yield phrase("  {count} {reason}", count=each, reason=REASON_NAMES[reason])
        found = self.marked()
        if not found:
            yield phrase(
                "None of them looks like an e-mail address, a card's number, a home folder, a host or a key."
            )
            return
        yield phrase(
            plural(
                len(found),
                "{n} of them looks like something you may not want to send:",
                "{n} of them look like something you may not want to send:",
            ),
            n=len(found),
        )
        said = Counter[Mark]()
        for text, reason, marks in found:
            said[marks[0]] += 1
            if said[marks[0]] <= _MOST_MARKED:
                yield phrase(
                    "  {mark}: {text} ({reason})",
                    mark=MARK_NAMES[marks[0]],
                    text=_shown(text),
                    reason=REASON_NAMES[reason],
                )
        for mark, total in said.items():
            if total > _MOST_MARKED:
                yield phrase("  {mark}: {n} more", mark=MARK_NAMES[mark], n=total - _MOST_MARKED)

    def lines(self) -> Iterator[str]:
        """The whole list: a reason, the marks and the text, separated by tabs."""
        yield "reason\tmarks\ttext"
        for reason in REASONS:
            for text in sorted(self._texts.get(reason, ())):
                yield f"{reason}\t{','.join(self._marks.get(text, ()))}\t{_one_line(text)}"


def _order(each: Staying) -> tuple[int, str]:
    return REASONS.index(each.reason), each.text


def _shown(text: str) -> str:
    line = _one_line(text)
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
