"""``memlens/open``, ``memlens/close``, and whether the file has changed in between."""

import msgspec
from pygls.lsp.server import LanguageServer

from memlens.packs import registry as packs
from memlens.server import language
from memlens.server.protocol.base import Done
from memlens.server.protocol.snapshots import (
    CloseParams,
    DamagedParams,
    FileStateParams,
    FileStateResult,
    HeapFormat,
    OpenParams,
    OpenResult,
    ProgressParams,
    RelabelledParams,
)
from memlens.server.sessions.registry import Damage, Registry
from memlens.server.wire import answer


def register(server: LanguageServer, registry: Registry) -> None:
    """Register the requests that begin and end a view."""

    async def open_snapshot(params: OpenParams) -> OpenResult:
        def on_progress(stage: str, fraction: float | None) -> None:
            progress = ProgressParams(params.view, stage, fraction)
            server.protocol.notify("memlens/progress", msgspec.to_builtins(progress))

        # before the snapshot has a view, because this can fail
        warnings = registry.warnings
        opened = await registry.open(params.path, params.view, on_progress)
        info = msgspec.structs.replace(opened.info, warnings=[*warnings, *opened.info.warnings])
        return OpenResult(opened.name, info, _heap_format(info.kind) if info.model == "graph" else None)

    async def close_snapshot(params: CloseParams) -> Done:
        await registry.close(params.snapshot, params.view)
        return Done()

    async def file_state(params: FileStateParams) -> FileStateResult:
        return FileStateResult(await registry.get(params.snapshot).file_state(params.path))

    def notify_damage(damage: Damage) -> None:
        params = DamagedParams(damage.snapshot, language.spoken(damage.message), damage.again)
        server.protocol.notify("memlens/damaged", msgspec.to_builtins(params))

    def notify_relabelled(former: str, now: str) -> None:
        params = RelabelledParams(former, now)
        server.protocol.notify("memlens/relabelled", msgspec.to_builtins(params))

    registry.damage_listeners.append(notify_damage)
    registry.relabel_listeners.append(notify_relabelled)
    answer(server, "memlens/open", open_snapshot)
    answer(server, "memlens/close", close_snapshot)
    answer(server, "memlens/fileState", file_state)


def _heap_format(kind: str) -> HeapFormat:
    form, objects = packs.format_of_kind(kind), packs.objects_of(kind)
    return HeapFormat(
        label=(form.label or form.name) if form is not None else kind,
        has_values=form is not None and form.redaction is not None,
        has_lasting_ids=objects.lasting_ids is not None,
        has_static_fields=objects.scopes.has_static_fields,
        source_kinds=sorted(objects.platform.program_kinds),
        classes=sorted(objects.classes.types),
        named_types=sorted(packs.types_named_in_code()),
        all_roots=sorted(objects.all_roots),
        common_flags=sorted(objects.common_flags),
    )
