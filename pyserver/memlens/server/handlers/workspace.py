"""The connection's life: the client's capabilities, settings and folders, and the notifications to it."""

import logging
from pathlib import Path
from typing import TypeVar

import msgspec
from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from memlens.server import language
from memlens.server.protocol.settings import InitializationOptions, Settings
from memlens.server.protocol.snapshots import SnapshotsChangedParams
from memlens.server.protocol.sources import FindFilesParams, FindFilesResult
from memlens.server.sessions.registry import Registry
from memlens.server.settings import Configuration
from memlens.sources.finder import Finder

S = TypeVar("S", bound=msgspec.Struct)

logger = logging.getLogger(__name__)


def register(
    server: LanguageServer, configuration: Configuration, registry: Registry, finder: Finder
) -> None:
    """Track the client's settings and folders; notify it when totals may have changed."""

    def take_folders() -> None:
        folders = [
            (folder.name, Path(path))
            for folder in server.workspace.folders.values()
            if (path := uris.to_fs_path(folder.uri))
        ]
        root = server.workspace.root_path
        if not folders and root:
            folders = [(Path(root).name, Path(root))]
        configuration.set_folders(folders)

    async def ask_client(names: list[str], ending: str) -> list[str]:
        params = msgspec.to_builtins(FindFilesParams(names, ending))
        answer = await server.protocol.send_request_async("memlens/findFiles", params)
        return msgspec.convert(answer, FindFilesResult).paths

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        options = _convert(params.initialization_options, InitializationOptions, InitializationOptions())
        language.learn(options.texts)
        finder.ask_client = ask_client if options.find_files else None
        configuration.replace(options.settings)
        take_folders()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
        # Some editors push what they have after the start, which may be nothing: that changes nothing.
        if params.settings:
            configuration.replace(_convert(params.settings, Settings, configuration.settings))
        refresh_lenses(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        take_folders()

    def snapshots_changed() -> None:
        params = SnapshotsChangedParams(len(registry))
        server.protocol.notify("memlens/snapshotsChanged", msgspec.to_builtins(params))
        refresh_lenses(server)

    registry.listeners.append(snapshots_changed)


def refresh_lenses(server: LanguageServer) -> None:
    """Make a client that supports it request its code lenses again."""
    workspace = server.client_capabilities.workspace
    if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
        server.workspace_code_lens_refresh(None)


def _convert(value: object, kind: type[S], known: S) -> S:
    """The client's options; those that can't be understood leave the known ones in force."""
    try:
        return msgspec.convert(value or {}, kind)
    except msgspec.ValidationError as error:
        logger.warning("settings were not understood: %s", error)
        return known
