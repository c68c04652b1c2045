"""``memlens/redact``: a heap dump written anew without its values."""

from pathlib import Path

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.server import language
from memlens.server.protocol.exports import RedactParams, RedactResult
from memlens.server.protocol.snapshots import ProgressParams
from memlens.server.sessions.children import redact
from memlens.server.wire import answer


def register(server: LanguageServer) -> None:
    """Register the request."""

    async def redacted(params: RedactParams) -> RedactResult:
        def on_progress(stage: str, fraction: float | None) -> None:
            progress = ProgressParams(params.view, stage, fraction)
            server.protocol.notify("memlens/progress", msgspec.to_builtins(progress))

        done = await redact(Path(params.path), Path(params.out), on_progress, rename=params.rename)
        return RedactResult("" if done.note is None else language.spoken(done.note), done.mapping or "")

    answer(server, "memlens/redact", redacted)
