"""``textDocument/hover``: what the line under the cursor allocated, in each open snapshot."""

import logging

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from memlens.server.markdown import command_link, count, escaped, size
from memlens.server.settings import Configuration
from memlens.server.sources import BoundFile, Sources, show_line
from memlens.views.answers import SourceLine

logger = logging.getLogger(__name__)

_SEPARATOR = "\n\n---\n\n"


def register(server: LanguageServer, configuration: Configuration, sources: Sources) -> None:
    """Answer hovers in any file that has a path."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        if not configuration.settings.hover:
            return None
        try:
            sections = await _sections(sources, params.text_document.uri, params.position.line + 1)
        except Exception:
            # A hover comes by the way: what goes wrong with it is for the log, not for the user.
            logger.exception("hover failed")
            return None
        if not sections:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, _SEPARATOR.join(sections)))


async def _sections(sources: Sources, uri: str, line: int) -> list[str]:
    path = uris.to_fs_path(uri)
    if not path:
        return []
    return [_section(bound, row) for bound, row in await sources.rows_at(path, line)]


def _section(bound: BoundFile, row: SourceLine) -> str:
    """One snapshot's figures for the line. All text of the snapshot's goes through ``escaped``."""
    link = command_link(
        "Show these allocations",
        show_line(bound, row),
    )
    title = f"**{escaped(bound.snapshot.title)}** · what this line allocated"
    if row.function:
        title += f", in {escaped(row.function)}"
    itself = f"{size(row.self_total_bytes)} in {count(row.self_count, 'allocation')}"
    parts = [
        title,
        "\n".join(
            (
                f"- Total allocated: **{size(row.total_bytes)}** in {count(row.count, 'allocation')}",
                f"- Live at peak: **{size(row.live_at_peak_bytes)}**",
                f"- Largest: {size(row.largest_bytes)}",
                f"- By the line itself, not by what it calls: {itself}",
            )
        ),
    ]
    note = _note(bound)
    if note:
        parts.append(note)
    parts.append(link)
    return "\n\n".join(parts)


def _note(bound: BoundFile) -> str:
    """What speaks against this file being the one that the snapshot means."""
    if bound.binding.how == "ambiguous":
        others = len(bound.binding.paths) - 1
        return f"{escaped(bound.file)} in the snapshot may as well be {count(others, 'other file')} here."
    if bound.binding.by_name_only:
        return f"Matched by file name only: the snapshot has {escaped(bound.file)}."
    return ""
