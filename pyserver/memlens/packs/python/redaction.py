"""Memlens' own heap dumps of Python: texts of strings, bytes and numbers become empty, as ``--no-texts`` leaves them.

Addresses and numbers are drawn anew, and records written in another order (see the kernel ``redaction``). The marks are
notes, the last records before the end.
"""

import re
import struct

import numpy as np

from memlens.dump import MAGIC, VERSION
from memlens.formats.containers import Source
from memlens.formats.redacted import CONTENTS, Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.formats.scanning import run_through
from memlens.kernels.base.random import permutation
from memlens.packs.python.heap import REDIRECTED, REMOVED, START, check_version
from memlens.packs.python.kernels import redaction as kernel
from memlens.packs.python.kernels import survey
from memlens.packs.python.own_names import names_of_python, python_names
from memlens.packs.python.thread_names import other_threads
from memlens.progress import Report, part_of

_SURVEYED = 0.5
_DETAIL = re.compile(r"\.\d{1,3}|(?:[^\W\d]\w*|<locals>)(?:\.(?:[^\W\d]\w*|<locals>))*")
"""The name of a variable, also of an argument that the language makes, or that of an exception's type."""


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    source.unpack()
    pointer_bytes = check_version(source)
    dump = kernel.Dump(source.data, START, wanted.removed == CONTENTS, wanted.keeps_time, wanted.keeps_shared)
    dump.know(names_of_python())
    while dump.stage != survey.WRITE:
        if run_through(dump, source, part_of(report, 0.0, _SURVEYED), START) != survey.OK:
            raise MemoryError
    new = {} if wanted.keeps_threads else other_threads(dump.names(survey.THREAD), dump.names(survey.DETAIL))
    new |= _unknown_variables(dump, new)
    if mapping is not None:
        own = python_names()
        texts = {number: text for number, text, _ in dump.names(survey.ANY | survey.DETAIL)} | new
        found = list(texts.items())
        # so that other names aren't numbered in the order in which these were found
        for each in np.asarray(permutation(len(found))).tolist():
            number, encoded = found[each]
            name = encoded.decode("utf-8", "surrogateescape")
            if (other := own(name)) != name:
                new[number] = other.encode("utf-8", "surrogateescape")
        mapping += own.mapping()
    dump.replace(new)
    write = part_of(report, _SURVEYED, 1.0)
    output.write(MAGIC + struct.pack("<II", VERSION, 4 if pointer_bytes == 4 else 8))
    written = 0
    for count in pour(dump, output):
        written += count
        source.release(source.length)
        write("writing", min(written / source.length, 1.0))
    notes: dict[str, str] = {REMOVED: wanted.removed}
    if not wanted.keeps_shared:
        notes[REDIRECTED] = str(dump.redirected)
    texts = dump.texts_written
    for number, (key, value) in enumerate(notes.items()):
        for text in (key, value):
            output.write(struct.pack("<cI", b"S", len(text)) + text.encode())
        output.write(struct.pack("<cII", b"N", texts + 2 * number + 1, texts + 2 * number + 2))
    if not dump.is_whole:
        return dump.end
    output.write(struct.pack("<cQ", b"E", dump.objects))
    return None


def _unknown_variables(dump: kernel.Dump, new: dict[int, bytes]) -> dict[int, bytes]:
    """Other texts for details that name a variable of a module which the code doesn't have, or what code can't name:
    data may have named it.
    """
    details = [(number, text) for number, text, _ in dump.names(survey.GLOBAL) if not dump.is_known(number)]
    details += [
        (number, text)
        for number, text, is_name in dump.names(survey.DETAIL)
        if not is_name and not _DETAIL.fullmatch(text.partition(b" (")[0].decode("utf-8", "replace"))
    ]
    return {number: b"removed (" + new.get(number, text).partition(b" (")[2] for number, text in details}
