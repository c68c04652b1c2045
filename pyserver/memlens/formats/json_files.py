"""Which format a file of JSON is of: by its keys, in whatever order and with whatever blanks a tool writes them."""

import json
import re
from collections.abc import Iterator

from memlens.formats.containers import Source
from memlens.formats.errors import NotASnapshotError
from memlens.formats.json_faults import invalid
from memlens.packs import registry
from memlens.packs.api import JsonFormat
from memlens.texts import Text, in_a_row, phrase
from memlens.units import shortened

_MOST_BLANK_BYTES = 4096
_MOST_KEYS = 3
_MOST_KEY = 40

_KNOWN: tuple[tuple[frozenset[str], Text], ...] = (
    (frozenset(("resourceProfiles",)), phrase("it is a profile of OpenTelemetry")),
    (frozenset(("resourceSpans",)), phrase("it contains traces of OpenTelemetry")),
    (frozenset(("resourceMetrics",)), phrase("it contains metrics of OpenTelemetry")),
    (frozenset(("resourceLogs",)), phrase("it contains logs of OpenTelemetry")),
    (frozenset(("traceEvents",)), phrase("it is a trace of events over time")),
    (frozenset(("ph", "ts")), phrase("it is a trace of events over time")),
    (frozenset(("shared", "profiles")), phrase("it is a profile of speedscope")),
    (frozenset(("cells", "nbformat")), phrase("it is a notebook")),
)


def begins(head: bytes) -> bool:
    """Whether the first bytes may be those of JSON that is an object or a list."""
    return head.lstrip()[:1] in (b"{", b"[")


def quick() -> tuple[str, ...]:
    """The JSON formats that can usually be recognised by a file's first bytes."""
    return tuple(
        each.name for each in registry.formats().values() if each.json is not None and each.only_json
    )


def _of_packs() -> Iterator[tuple[str, JsonFormat]]:
    for each in registry.formats().values():
        if each.json is not None:
            yield each.name, each.json.load()


def recognised(source: Source, head: bytes) -> str:
    """Return the module that reads a file that begins like JSON. Raises :class:`NotASnapshotError`."""
    for name, of_pack in _of_packs():
        if of_pack.sniff(head):
            return name
    source.unpack()
    module: str | None
    has_more = False
    if head.lstrip()[:1] == b"[":
        keys, module = _of_list(head)
    else:
        keys, module, has_more = _of_object(source)
    if module is None:
        module = next((name for name, of_pack in _of_packs() if of_pack.explains(head)), None)
    if module is not None:
        return module
    raise NotASnapshotError(
        phrase(
            "The file is not of a format that Memlens reads: {description}",
            description=_described(source, keys, has_more=has_more),
        ),
        advice=in_a_row([NotASnapshotError.advice], " "),
    )


def _of_object(source: Source) -> tuple[list[str], str | None, bool]:
    """Return the keys of an object, the module that reads it, and whether something follows it."""
    from memlens.kernels.readers import json_sections

    data = source.data
    status, end, spans = json_sections.sections(data, frozenset())
    has_more = status == json_sections.OK and bool(data[end + 1 : end + _MOST_BLANK_BYTES].strip())
    source.release(len(data))

    def has(key: str, text: bytes) -> bool:
        return key in spans and data.find(text, *spans[key]) >= 0

    module = next((name for name, of_pack in _of_packs() if of_pack.is_object(has)), None)
    return list(spans), module, has_more


def _of_list(head: bytes) -> tuple[list[str], str | None]:
    """Return the keys of a list's first item, and the module that reads the list."""
    if (known := next((name for name, of_pack in _of_packs() if of_pack.is_list(head)), None)) is not None:
        return [], known
    item = head.lstrip()[1:]
    if (known := next((name for name, of_pack in _of_packs() if of_pack.sniff(item)), None)) is not None:
        return [], known
    text = head.decode("utf-8", "replace").lstrip()[1:].lstrip()
    try:
        first, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return re.findall(r'"([^"\\]{1,40})"\s*:', text)[:_MOST_KEYS], None
    if not isinstance(first, dict):
        return [], None
    return list(first), next((name for name, of_pack in _of_packs() if of_pack.is_item(first)), None)


def _described(source: Source, keys: list[str], *, has_more: bool) -> Text:
    if has_more:
        return phrase("it has several JSON values, of which the first has the keys {keys}", keys=_shown(keys))
    wrong = invalid(source.data)
    if wrong is not None:
        return phrase("it begins like JSON, but is not: {reason}", reason=wrong.reason)
    of_packs = (each for _, of_pack in _of_packs() for each in of_pack.others)
    for some, description in (*_KNOWN, *of_packs):
        if some <= set(keys):
            return description
    if not keys:
        return phrase("it is JSON without keys that Memlens knows")
    return phrase("it is JSON, and its first keys are {keys}", keys=_shown(keys))


def _shown(keys: list[str]) -> str:
    return ", ".join(shortened(key, _MOST_KEY) for key in keys[:_MOST_KEYS])
