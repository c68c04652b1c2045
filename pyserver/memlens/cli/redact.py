"""``memlens redact``: writes a heap dump anew without its values, for others' eyes."""

import argparse
from pathlib import Path
from typing import NamedTuple

from memlens import limits
from memlens.cli.output import json_line, message_line, say, writing
from memlens.cli.progress import reporter
from memlens.errors import BadRequestError
from memlens.formats.containers import open_source
from memlens.formats.obfuscation import mapping_beside
from memlens.formats.redacted import CONTENTS, VALUES
from memlens.formats.redaction import redact
from memlens.formats.redaction.output import compressed
from memlens.texts import Text, phrase
from memlens.units import format_bytes

_HEAD = "# What memlens redact replaced: whoever has this file reads the dump beside it by its own names."
"""The first line of a mapping."""


class _Written(NamedTuple):
    file: str
    bytes: int
    removed: str
    broken: Text | None
    mapping: str | None


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    if options.parent:
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    leads_back = mapping_beside(options.out) if options.rename else None
    _check_place(options.file, options.out, force=options.force)
    if leads_back is not None and leads_back.exists():
        # a build's own would be lost
        _check_place(options.file, leads_back, force=options.force and _is_ours(leads_back))
    report = reporter(options.progress)
    removed = CONTENTS if options.keep_numbers else VALUES
    with (
        writing(options.out, private=True) as file,
        open_source(options.file, options.out.parent, report) as source,
    ):
        mapping: list[str] | None = None if leads_back is None else []
        with compressed(file, options.out.name) as output:
            broken = redact(source, output, removed, report, mapping)
        source.check()
        if leads_back is not None and mapping is not None:
            with writing(leads_back, private=True) as lines:
                lines.write("".join(f"{line}\n" for line in (_HEAD, *mapping)).encode("utf-8", "replace"))
    report("done", 1.0)
    written = options.out.stat().st_size
    mapping_name = None if leads_back is None else str(leads_back)
    if options.progress == "json":
        message_line({"type": "done", "archive": str(options.out), "note": broken, "mapping": mapping_name})
    elif options.json:
        json_line(_Written(str(options.out), written, removed, broken, mapping_name)._asdict())
    else:
        say(f"{options.out}: {format_bytes(written)}")
        if leads_back is not None:
            say(f"{leads_back}: leads back to the names, so keep it private")
        if broken is not None:
            say(f"note: {broken}", error=True)
    return 0


def _is_ours(mapping: Path) -> bool:
    with mapping.open("rb") as file:
        return file.read(len(_HEAD)) == _HEAD.encode()


def _check_place(source: Path, target: Path, *, force: bool) -> None:
    """Raise :class:`BadRequestError` for a target that would overwrite a file."""
    if not target.exists():
        return
    if source.exists() and source.samefile(target):
        raise BadRequestError(
            phrase("A dump can't be written over itself"), advice=phrase("Choose another file.")
        )
    if not force:
        raise BadRequestError(
            phrase("{file} exists", file=target.name), advice=phrase("Choose another file, or add --force.")
        )
