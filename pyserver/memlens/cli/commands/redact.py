"""Write a copy of a heap dump without its values, or of a profile without names of people.

The copy is to be shared: see [sharing](sharing.md).
"""

import argparse
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from memlens import limits
from memlens.cli.options import add_file, add_force, add_json, add_long_work
from memlens.cli.output import json_line, message_line, say
from memlens.cli.parsers import UsageError
from memlens.cli.progress import reporter
from memlens.cli.redact_proof import report_of, run_verify, summary_of, write_report
from memlens.errors import MemlensError, naming
from memlens.formats import HEAP_DUMPS, recognised
from memlens.formats.containers import open_source
from memlens.formats.redacted import CONTENTS, VALUES, Wanted, mapping_beside
from memlens.formats.redaction import redact
from memlens.formats.redaction.output import compressed
from memlens.interrupting import ended_by_signals
from memlens.packs import registry
from memlens.store.files.output import Output
from memlens.texts import Text, phrase
from memlens.units import format_bytes

_HEAD = "# What memlens redact replaced: whoever has this file knows the names."
"""How the first line of a mapping begins."""
_APPLIED = "".join(
    f" Beside a {each.title} it is applied." for each in registry.formats().values() if each.is_mapped
)


class _Written(NamedTuple):
    file: str
    bytes: int
    removed: str
    broken: Text | None
    mapping: str | None


EXAMPLES = ("memlens redact tests/fixtures/heap/sessions.hprof.zst shared.hprof.zst",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument("out", type=Path, metavar="OUT",
                         help="the file to write; compressed if its name ends in .gz or .zst")  # fmt: skip
    command.add_argument("--keep-numbers", action="store_true",
                         help="remove only what may be text: strings, bytes, characters, and arrays of "
                         "int")  # fmt: skip
    command.add_argument("--rename", action="store_true",
                         help="also replace names of your classes, their members, functions and files, and of "
                         "threads")  # fmt: skip
    command.add_argument("--mapping", type=Path, metavar="PATH",
                         help="with --rename: the file to write with the original names, or its "
                         "folder; keep it to yourself")  # fmt: skip
    command.add_argument("--keep-shared", action="store_true",
                         help="keep references to shared objects such as true, small numbers and enum "
                         "constants, as well as addresses and order, all of which reveal values; "
                         "for dumps that have these")  # fmt: skip
    command.add_argument("--keep-time", action="store_true",
                         help="keep when the dump was written, the process id, and the build of Python")  # fmt: skip
    command.add_argument("--keep-thread-names", action="store_true",
                         help="keep the names that the program gave its threads")  # fmt: skip
    command.add_argument("--allow-damaged", action="store_true",
                         help="write a truncated or damaged dump up to the damage, instead of refusing it")  # fmt: skip
    command.add_argument("--report", type=Path, metavar="FILE",
                         help="write a list of every text that stays, by reason; those that look like "
                         "e-mail addresses, card numbers, home folders, hosts or keys are marked")  # fmt: skip
    command.add_argument("--verify", action="store_true",
                         help="write no copy, but compare OUT, a copy, with FILE: exit with 1 if it has any content of "
                              "FILE; give the --keep options that it was written with")  # fmt: skip
    command.add_argument("--forbid", type=Path, metavar="LINES",
                         help="with --verify: a file with texts and numbers, one in each line, that must not be in OUT "
                              "in any encoding, nor in compressed bytes within it")  # fmt: skip
    add_force(command)
    add_json(command)
    add_long_work(command)


def run(options: argparse.Namespace) -> int:
    if options.verify:
        with ended_by_signals():
            return run_verify(options)
    if options.forbid is not None:
        raise UsageError(phrase("--forbid is an option of --verify"))
    if options.parent:
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    output = Output(options.out, (options.file,), options.force, _kinds(options.file), private=True)
    # before the work
    output.check()
    leads_back = _mapping(options)
    written = [options.out] if leads_back is None else [options.out, leads_back.path]
    listed = report_of(options, (options.file, mapping_beside(options.file)), written)
    report = reporter(options.progress)
    wanted = Wanted(
        CONTENTS if options.keep_numbers else VALUES,
        options.allow_damaged,
        options.keep_shared,
        options.keep_time,
        options.keep_thread_names,
    )
    with (
        nullcontext() if options.progress == "json" else naming(options.file),
        output.writing() as file,
        ended_by_signals(lambda: Path(file.name).unlink(missing_ok=True)),
        open_source(options.file, options.out.parent, report) as source,
    ):
        mapping: list[str] | None = None if leads_back is None else []
        with compressed(file, options.out.name) as into:
            broken = redact(source, into, wanted, report, mapping)
        source.check()
        if leads_back is not None and mapping is not None:
            lines = "".join(f"{line}\n" for line in (_HEAD + _APPLIED, *mapping))
            leads_back.write(lines.encode("utf-8", "replace"))
    staying, summary = summary_of(options.out)
    if listed is not None:
        write_report(listed, staying)
    report("done", 1.0)
    size = options.out.stat().st_size
    mapping_name = None if leads_back is None else str(leads_back.path)
    if options.progress == "json":
        done = {"archive": str(options.out), "note": broken, "mapping": mapping_name, "staying": summary}
        message_line({"type": "done", **done})
    elif options.json:
        json_line(_Written(str(options.out), size, wanted.removed, broken, mapping_name)._asdict())
    else:
        say(f"{options.out}: {format_bytes(size)}")
        if leads_back is not None:
            say(f"{leads_back.path}: leads back to the names, so keep it private")
        if broken is not None:
            say(f"note: {broken}", error=True)
        for line in summary:
            say(line)
    return 0


def _kinds(file: Path) -> tuple[str, ...]:
    """The formats that may be overwritten: a heap dump by a heap dump, a profile by one of its own format."""
    with suppress(MemlensError, OSError), open_source(file, file.parent, lambda *_: None) as source:
        format_ = recognised(source)
        return HEAP_DUMPS if format_ in HEAP_DUMPS else (format_,)
    return HEAP_DUMPS


def _mapping(options: argparse.Namespace) -> Output | None:
    """The mapping to write if names are replaced; never over a mapping that a build wrote, nor the source's."""
    if not options.rename:
        if options.mapping is not None:
            raise UsageError(phrase("--mapping is an option of --rename"))
        return None
    if options.mapping is None:
        raise UsageError(
            phrase(
                "Say where to write the mapping back to the original names: --mapping FILE. Don't "
                "send that file"
            )
        )
    path: Path = options.mapping
    if path.is_dir():
        path /= mapping_beside(options.out).name
    inputs = (options.file, mapping_beside(options.file))
    mapping = Output(path, inputs, options.force and _is_ours(path), private=True, others=(options.out,))
    mapping.check()
    return mapping


def _is_ours(mapping: Path) -> bool:
    try:
        with mapping.open("rb") as file:
            return file.read(len(_HEAD)) == _HEAD.encode()
    except OSError:
        return False
