"""What a text says, as lines for people and as Markdown."""

from collections.abc import Iterator

from memlens.explain.answers import ENDED_BY, MEMORY, Amount, Explained, Explanation
from memlens.texts import Text, phrase, plural
from memlens.units import format_bytes

PAGE = "docs/it-already-died.md"


def lines_of(found: Explanation) -> Text:
    """Where a message stands."""
    if found.first_line == found.last_line:
        return phrase("line {line}", line=found.first_line)
    return phrase("lines {first} to {last}", first=found.first_line, last=found.last_line)


def facts(found: Explanation) -> Iterator[tuple[Text, Text]]:
    """Who, what kind of memory, and the figures: a label and its value each."""
    yield phrase("ended by"), ENDED_BY[found.ended_by]
    yield phrase("ran out of") if found.ended_by != "nobody" else phrase("about"), MEMORY[found.memory]
    for each in found.amounts:
        yield each.label, amount(each)


def amount(each: Amount) -> Text:
    """A size, with its exact number where the text has it."""
    if each.error_bytes or each.bytes < 1024:
        return Text(format_bytes(each.bytes))
    return phrase("{size} ({n} bytes)", size=format_bytes(each.bytes), n=each.bytes)


def notes_of(found: Explained) -> list[Text]:
    """The notes of a text, and how many earlier messages aren't shown."""
    if not found.left_out:
        return found.notes
    more = phrase(
        plural(found.left_out, "{n} earlier message is left out.", "{n} earlier messages are left out."),
        n=found.left_out,
    )
    return [*found.notes, more]


def page_of(section: Text) -> Text:
    """Where the docs say more about the next time."""
    return phrase('{page}, "Next time: {section}"', page=PAGE, section=section)
