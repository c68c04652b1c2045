"""The user's settings."""

from typing import Literal

from msgspec import Struct

from memlens.model.attribution import Attribution


class Settings(Struct, frozen=True, kw_only=True):
    """The user's settings, sent with ``initializationOptions`` and ``workspace/didChangeConfiguration``.

    ``path_mappings`` leads from a prefix of a foreign path to a folder here, which may begin with
    ``${workspaceFolder}``, ``${workspaceFolder:name}`` or ``${userHome}``. ``remembered_paths`` holds what
    the user chose when several files were equally likely.
    """

    path_mappings: dict[str, str] = {}
    remembered_paths: dict[str, str] = {}
    code_lens: bool = False
    """Whether the totals of functions stand above them."""
    findings: bool = True
    """Whether what findings say stands above their lines."""
    hover: bool = True
    measure: Literal["peak", "total"] = "peak"
    """What the lines of a source file say first: the bytes live at the peak, or all that were ever allocated."""
    attribution: Attribution = "mine"
    """What hovers, code lenses and the heat of lines charge to a line itself."""
    cache_limit_bytes: int = 10 * 2**30
    memory_limit_bytes: int = 0
    """What the reading of a snapshot may take; 0 for a share of the machine's memory."""
    cache_directory: str = ""
    """Empty for the user's cache folder."""
    libraries: list[str] = []
    """Patterns of paths and names that are library code, or after ``!`` the user's; the last that matches decides."""
    source_archives: list[str] = []
    """Archives of the source of libraries, or folders with such; they may begin with a variable."""
    snapshots: list[str] = []
    """Files that are open as long as they are named, for editors without views; they may begin with a variable."""
    fleets: list[str] = []
    """Summaries of fleets, folders or databases, that count as open as long as they are named."""
    fleet_figures: bool = True
    """Whether hovers and code lenses also show the most over the ranks of open fleets."""
    symbol_folders: list[str] = []
    """Where binaries of native programs and their debug files are looked for first; they may begin with a variable."""


class InitializationOptions(Struct, frozen=True, kw_only=True):
    """The ``initializationOptions`` of LSP's ``initialize``."""

    settings: Settings = Settings()
    find_files: bool = False
    """Whether the client answers ``memlens/findFiles``; else the server walks the folders itself."""
    texts: dict[str, str] = {}
    """The user's language: a translation for each English template of ``l10n/``; empty for English."""
