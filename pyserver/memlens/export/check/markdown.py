"""Limits as Markdown, for a comment or the summary of a job."""

from collections.abc import Iterator, Sequence

from memlens.export.markdown import code, escaped_markdown, table_markdown
from memlens.export.summary import Row, Table
from memlens.units import counted
from memlens.views.check.answers import CheckedFile, LimitResult

_MARKS = {"exceeded": "exceeded", "unchecked": "not checked", "kept": "kept"}


def limits_markdown(files: Sequence[CheckedFile]) -> Iterator[str]:
    """The lines of Markdown about all files: a table, then what was exceeded with its lines of source."""
    for number, file in enumerate(files):
        if number:
            yield ""
        rows = [Row([_MARKS[each.status], each.written, each.text.text], 0) for each in file.results]
        if file.problem is not None:
            rows.append(Row([_MARKS["unchecked"], "", file.problem.text], 0))
        yield from table_markdown(Table(f"{file.file}: {outcome(file)}", ["", "limit", "measured"], 2, rows))
        for each in file.results:
            if each.lines:
                yield ""
                yield from _lines(each)
        for note in file.notes:
            yield ""
            yield f"> {escaped_markdown(note.text)}"


def _lines(result: LimitResult) -> Iterator[str]:
    yield f"{escaped_markdown(result.written)}:"
    yield ""
    for line in result.lines:
        yield f"- {escaped_markdown(line.shown)} {code(line.place)}"


def outcome(file: CheckedFile) -> str:
    """What came of all limits of a file, in a few words."""
    if file.problem is not None:
        return "can't be checked"
    counts = [sum(each.status == status for each in file.results) for status in ("exceeded", "unchecked")]
    if not any(counts):
        return f"{counted(len(file.results), 'limit')} kept"
    words = [
        f"{count} {word}" for count, word in zip(counts, ("exceeded", "not checked"), strict=True) if count
    ]
    return f"{', '.join(words)} of {counted(len(file.results), 'limit')}"
