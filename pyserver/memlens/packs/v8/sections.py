"""The sections of a V8 heap snapshot: their positions in the file, and the header that describes their rows."""

from typing import Annotated

import msgspec
from msgspec import Struct, ValidationError

from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.json_faults import Data, converted, fault
from memlens.kernels.readers import json_sections as kernel
from memlens.texts import phrase

MARK_FIELD = "memlens"
"""A header field that only snapshots redacted by Memlens have."""

REDIRECTED_FIELD = "memlens_redirected"
"""A header field of those: the number of references redirected to another object of the same kind, if any."""

NAMED_BY_INDEX = ("element", "hidden")
"""Kinds of references whose name is a number and not a string."""

SCOPES, SCOPE_VARIABLES, SCOPE_USES = "scopes", "scope_context_vars", "scope_uses"
OF_SCOPES = (SCOPES, SCOPE_VARIABLES, SCOPE_USES)
"""Sections of files since mid-2026: scopes, their variables, and which variables each uses. V8 may change them."""

_FLAT = frozenset(("nodes", "edges", "trace_function_infos", "samples", "locations"))
_MOST_FIELDS = 64
_MOST_ALLOCATED = 1 << 53

_ERRORS = {
    kernel.TRUNCATED: phrase("The JSON is truncated: the snapshot was probably not written completely"),
    kernel.TOO_LARGE: phrase("A number is larger than its field allows"),
    kernel.NO_NODE: phrase("A reference leads to no object"),
}


class Meta(Struct):
    """The fields of rows, and the names of the values of the first."""

    node_fields: list[str]
    node_types: list[list[str] | str]
    edge_fields: list[str]
    edge_types: list[list[str] | str]
    trace_function_info_fields: list[str] = []
    trace_node_fields: list[str] = []
    location_fields: list[str] = []
    sample_fields: list[str] = []
    scope_fields: list[str] = []
    scope_context_var_fields: list[str] = []
    scope_use_fields: list[str] = []


class Header(Struct):
    """``snapshot``: the fields of all rows, and the numbers of rows."""

    meta: Meta
    node_count: int | None = None
    edge_count: int | None = None
    root_index: int = 0
    trace_function_count: int = 0
    extra_native_bytes: int = 0
    memlens: str = ""
    """What Memlens removed."""
    memlens_redirected: int | None = None
    memlens_allocated_bytes: list[Annotated[int, msgspec.Meta(ge=0, le=_MOST_ALLOCATED)]] = []
    """For each interval of a recording, the bytes allocated in it that were alive at its end."""


class Sections:
    """Where the values of the file's top-level object are (``spans``), and the ``header``, checked.

    With ``until`` only the sections before that one are located, if it is an array and follows the header: its reader
    may find its end sooner. ``rest`` is then its start, and :meth:`go_on` locates the remaining sections.
    """

    def __init__(self, source: Source, until: str | None = None) -> None:
        self._data = source.data
        self.rest: int | None = None
        status, offset, self.spans = kernel.sections(self._data, _FLAT, until)
        if status == kernel.MORE and "snapshot" in self.spans and self._data[offset] == ord("["):
            self.rest = offset
        elif status == kernel.MORE:
            status, offset, self.spans = kernel.sections(self._data, _FLAT)
        source.release(len(self._data))
        if self.rest is None:
            check(status, offset, self._data)
        if "snapshot" not in self.spans:
            raise self._without_header()
        self.header = self._read_header()

    def go_on(self, section: str, span: tuple[int, int]) -> None:
        """Locate the sections after that one.

        Raises :class:`DamagedSnapshotError`, also if a section that was located occurs again.
        """
        located = {**self.spans, section: span}
        status, offset, self.spans = kernel.sections(self._data, _FLAT, None, span[1], dict(located))
        check(status, offset, self._data)
        if located.items() - self.spans.items():
            raise DamagedSnapshotError(phrase("The snapshot has a section twice"), offset=span[1])

    def _without_header(self) -> NotASnapshotError:
        if "nodeClassNames" not in self.spans:
            return NotASnapshotError(phrase("The file is JSON without the header of a heap snapshot"))
        return NotASnapshotError(
            phrase("The heap snapshot is in WebKit's own format, which Memlens doesn't read"),
            advice=phrase(
                'In Bun, Bun.generateHeapSnapshot("v8") returns one that Memlens reads; write that to a file.'
            ),
        )

    def _read_header(self) -> Header:
        start, end = self.spans["snapshot"]
        try:
            header = converted(self._data[start:end], Header)
        except (ValidationError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DamagedSnapshotError(
                phrase("The header is not a heap snapshot's: {reason}", reason=str(error)), offset=start
            ) from error
        for name in (
            "node_fields",
            "edge_fields",
            "location_fields",
            "sample_fields",
            "trace_function_info_fields",
            "scope_fields",
            "scope_context_var_fields",
            "scope_use_fields",
        ):
            if len(getattr(header.meta, name)) > _MOST_FIELDS:
                raise DamagedSnapshotError(
                    phrase("The header has more {name} than there can be", name=name), offset=start
                )
        return header


def check(status: int, offset: int, data: Data) -> None:
    """Raise :class:`DamagedSnapshotError` or MemoryError for a kernel's status other than OK."""
    if status == kernel.NO_MEMORY:
        raise MemoryError
    if status == kernel.SYNTAX:
        raise fault(data, offset, phrase("a heap snapshot of V8"))
    if status != kernel.OK:
        raise DamagedSnapshotError(_ERRORS[status], offset=offset)
