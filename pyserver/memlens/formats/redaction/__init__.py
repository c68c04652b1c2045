"""Writes heap dumps anew without their values: one module a format, with a function ``redact``.

Sizes, ids, references, roots, stacks, and the names of classes, fields, functions and files stay.
"""

import tempfile
from pathlib import Path

from memlens.errors import BadRequestError
from memlens.formats import read, recognised
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import Wanted
from memlens.formats.redaction.output import Output
from memlens.formats.redaction.profiles import redact_profile, refuse_unwritable
from memlens.packs import registry
from memlens.progress import Report, part_of
from memlens.texts import Text, phrase

_SURVEYED = 0.5


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> Text | None:
    """Write a heap dump to ``output`` without its values; ``report`` gets ``("reading", fraction)`` and "writing".

    With a list for the lines of a ``mapping`` classes of the program and what belongs to them get other names.
    Returns a sentence about where the dump breaks off, None if it is whole. Raises :class:`BadRequestError` for a file
    that has no values, :class:`DamagedSnapshotError`, also where it breaks off and that isn't allowed,
    :class:`NotASnapshotError` or MemoryError.
    """
    format_ = recognised(source)
    known = registry.format_named(format_)
    of_pack = None if known is None else known.redaction
    if of_pack is None:
        _redact_profile(format_, source, output, wanted, report, renames=mapping is not None)
        return None
    broken = of_pack.load().redact(source, output, wanted, report, mapping)
    if broken is None and not source.truncated:
        return None
    offset = source.length if broken is None else broken
    if not wanted.allows_damage:
        raise DamagedSnapshotError(
            phrase(
                "The dump is truncated or damaged at byte {n}, so what follows can't be distinguished from contents",
                n=offset,
            ),
            offset=offset,
            advice=phrase("Write it again, or add --allow-damaged to write what stands before that."),
        )
    return phrase(
        "The dump is truncated or damaged at byte {n}: it was written up to there, and nothing after it.",
        n=offset,
    )


def _redact_profile(
    format_: str, source: Source, output: Output, wanted: Wanted, report: Report, *, renames: bool
) -> None:
    """Write a profile without the names of people and machines."""
    refuse_unwritable(format_)
    if renames:
        raise BadRequestError(
            phrase("Names are only replaced in heap dumps, not in profiles"),
            advice=phrase("Without --rename home folders, hosts and e-mail addresses are replaced."),
        )
    # what is copied has been understood
    read(source, Path(tempfile.gettempdir()), part_of(report, 0.0, _SURVEYED))
    if source.truncated:
        raise DamagedSnapshotError(phrase("The file is truncated"), offset=source.length)
    redact_profile(format_, source, output, wanted, part_of(report, _SURVEYED, 1.0))
