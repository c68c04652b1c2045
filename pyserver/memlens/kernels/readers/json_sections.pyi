from collections.abc import Collection

from typing_extensions import Buffer

OK: int
MORE: int
TRUNCATED: int
SYNTAX: int
TOO_LARGE: int
NO_NODE: int
NO_MEMORY: int

def sections(
    data: Buffer,
    flat: Collection[str],
    until: str | None = None,
    at: int = 0,
    found: dict[str, tuple[int, int]] | None = None,
) -> tuple[int, int, dict[str, tuple[int, int]]]: ...
