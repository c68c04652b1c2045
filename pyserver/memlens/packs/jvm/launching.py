"""How Java is started so that it leaves a heap dump.

Source: the description of JAVA_TOOL_OPTIONS in "JVM Tool Interface", which also says how it quotes.
"""

from collections.abc import Mapping
from pathlib import Path

from memlens.record import Settings


def variables(environment: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """JAVA_TOOL_OPTIONS with its own options first: what the program's user chose holds."""
    folder = Path(settings.folder)
    own = (
        "-XX:+HeapDumpOnOutOfMemoryError",
        _quoted(f"-XX:HeapDumpPath={folder}"),
        _quoted(f"-XX:ErrorFile={folder / 'hs_err_pid%p.log'}"),
    )
    return {"JAVA_TOOL_OPTIONS": f"{' '.join(own)} {environment.get('JAVA_TOOL_OPTIONS', '')}".strip()}


def _quoted(option: str) -> str:
    """An option in the quotes that keep its blanks."""
    return f"'{option}'" if '"' in option else f'"{option}"'
