"""The request of "Explain Memory Error…" and of the lenses in logs."""

import asyncio
from collections.abc import Iterator

from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.explain.answers import Explained, Explanation
from memlens.explain.explanation import MOST_BYTES, explain
from memlens.explain.report import facts, lines_of, notes_of, page_of
from memlens.export.markdown import escaped_markdown
from memlens.server.language import spoken
from memlens.server.protocol.explain import ExplainedMessage, ExplainParams, ExplainResult
from memlens.server.wire import answer
from memlens.texts import Text, as_text, phrase


def register(server: LanguageServer) -> None:
    """Register the request."""

    async def explained(params: ExplainParams) -> ExplainResult:
        if len(params.text) > MOST_BYTES:
            raise BadRequestError(
                phrase("{name} is longer than {most} characters", name=params.name, most=MOST_BYTES)
            )
        return _result(await asyncio.to_thread(explain, params.text, as_text(params.name)))

    answer(server, "memlens/explain", explained)


def _result(found: Explained) -> ExplainResult:
    return ExplainResult(
        [
            ExplainedMessage(each.first_line, spoken(each.title), "\n".join((*_markdown(each), "")))
            for each in found.explanations
        ],
        [f"> {_shown(each)}\n" for each in notes_of(found)],
    )


def _shown(text: Text) -> str:
    return escaped_markdown(spoken(text))


def _markdown(found: Explanation) -> Iterator[str]:
    yield f"# {_shown(found.title)}"
    yield ""
    yield _shown(lines_of(found))
    yield ""
    yield "| | |"
    yield "|---|---|"
    for label, value in facts(found):
        yield f"| {_shown(label)} | {_shown(value)} |"
    yield from _list(phrase("What it means"), found.conclusions)
    yield from _list(phrase("Limits and settings"), found.settings)
    for each in found.next_time:
        yield ""
        yield f"## {_shown(phrase('Next time: {section}', section=each.section))}"
        yield ""
        yield "```"
        yield each.recording
        yield "```"
        yield ""
        yield _shown(each.leaves)
        yield ""
        yield _shown(page_of(as_text(each.section)))


def _list(title: Text, sentences: list[Text]) -> Iterator[str]:
    if not sentences:
        return
    yield ""
    yield f"## {_shown(title)}"
    yield ""
    for each in sentences:
        yield f"- {_shown(each)}"
