"""What is written for the user: a heap dump without its values, and what views have made."""

import asyncio
import base64
from pathlib import Path

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError
from memlens.server import language
from memlens.server.protocol.base import Done
from memlens.server.protocol.exports import RedactParams, RedactResult, SaveParams
from memlens.server.protocol.snapshots import ProgressParams
from memlens.server.sessions.children import redact
from memlens.server.wire import answer
from memlens.store.files.output import Output
from memlens.texts import phrase


def register(server: LanguageServer) -> None:
    """Register the requests."""

    async def redacted(params: RedactParams) -> RedactResult:
        def on_progress(stage: str, fraction: float | None) -> None:
            progress = ProgressParams(params.view, stage, fraction)
            server.protocol.notify("memlens/progress", msgspec.to_builtins(progress))

        mapping = Path(params.mapping) if params.mapping else None
        done = await redact(Path(params.path), Path(params.out), on_progress, mapping)
        staying = "\n".join(map(language.spoken, done.staying))
        return RedactResult(
            "" if done.note is None else language.spoken(done.note), done.mapping or "", staying
        )

    async def saved(params: SaveParams) -> Done:
        output = Output(Path(params.path), (Path(params.source),), force=True)
        await asyncio.to_thread(output.write, _bytes(params))
        return Done()

    answer(server, "memlens/redact", redacted)
    answer(server, "memlens/save", saved)


def _bytes(params: SaveParams) -> bytes:
    if params.form == "utf8":
        return params.text.encode("utf-8", "replace")
    try:
        return base64.b64decode(params.text, validate=True)
    except ValueError as error:
        raise BadRequestError(phrase("The picture is not in base64")) from error
