"""``memlens redact --verify`` and ``--report``: what a copy still contains, for the person who is about to send it."""

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from memlens.cli.output import json_line, say
from memlens.errors import BadRequestError, naming
from memlens.formats.redacted import mapping_beside
from memlens.proof.forbidden import Hit, Search
from memlens.proof.items import Keeps
from memlens.proof.staying import StayingTexts
from memlens.proof.verify import Verified, shown, verify
from memlens.store.files.output import Output
from memlens.texts import Text, phrase
from memlens.units import format_bytes

_MOST_SAID = 50
_MOST_FORBIDDEN_BYTES = 1 << 20


def run_verify(options: argparse.Namespace) -> int:
    """Compare a copy with its original, and search it for what is forbidden; 1 if anything is found."""
    original, copy = options.file, options.out
    lines = _forbidden(options.forbid)
    read = (original, copy, mapping_beside(original), mapping_beside(copy))
    listed = report_of(options, read if options.forbid is None else (*read, options.forbid))
    with naming(copy):
        if not copy.is_file():
            raise BadRequestError(phrase("There is no file {file}", file=copy))
        keeps = Keeps(options.keep_numbers, options.keep_time, options.keep_thread_names, options.keep_shared)
        verified = verify(original, copy, keeps)
        search = Search(lines or [])
        hits = [] if lines is None else search.file(copy)
        staying = StayingTexts.of(copy)
    if listed is not None:
        write_report(listed, staying)
    failed = bool(verified.found or hits or not verified.is_whole or not search.is_whole)
    if options.json:
        json_line({"file": str(copy), "ok": not failed, "verified": verified, "forbidden": hits,
                   "all_searched": search.is_whole,
                   "staying": staying.counts(), "marked": [each._asdict() for each in staying.marked()]})  # fmt: skip
        return int(failed)
    _say_verified(copy, verified)
    if lines is not None:
        _say_forbidden(copy, hits, is_whole=search.is_whole)
    for text in staying.summary():
        say(text)
    return int(failed)


def report_of(
    options: argparse.Namespace, inputs: Iterable[Path], written: Iterable[Path] = ()
) -> Output | None:
    """The file of ``--report``, None without one; it may not be one that is read or also ``written``.

    Raises BadRequestError before the work if it can't be written.
    """
    if options.report is None:
        return None
    output = Output(options.report, tuple(inputs), options.force, private=True, others=tuple(written))
    output.check()
    return output


def write_report(output: Output, staying: StayingTexts) -> None:
    """Write the whole list of the texts that stay, for the user alone."""
    output.write("".join(f"{line}\n" for line in staying.lines()).encode("utf-8", "replace"))


def summary_of(copy: Path) -> tuple[StayingTexts, list[Text]]:
    """The texts that stay in a copy, and sentences about them."""
    staying = StayingTexts.of(copy)
    return staying, list(staying.summary())


def _forbidden(file: Path | None) -> list[str] | None:
    if file is None:
        return None
    with file.open("rb") as source:
        data = source.read(_MOST_FORBIDDEN_BYTES + 1)
    if len(data) > _MOST_FORBIDDEN_BYTES:
        raise BadRequestError(
            phrase("{file} is larger than {most}", file=file, most=format_bytes(_MOST_FORBIDDEN_BYTES)),
            advice=phrase("List the texts that must not be in the copy, one in each line."),
        )
    return data.decode("utf-8-sig", "replace").splitlines()


def _say_verified(copy: Path, verified: Verified) -> None:
    for each in verified.found[:_MOST_SAID]:
        if each.kind == "unknown":
            say(f"found: {each.stands} at {each.at:,}, which the format doesn't have: {each.what}")
        else:
            say(
                f'found: {each.kind} "{each.what}", {each.stands} at {each.at:,}; in the original {each.stood}'
            )
    if len(verified.found) > _MOST_SAID:
        kinds = Counter(each.stands for each in verified.found)
        for stands, count in kinds.most_common(_MOST_SAID):
            say(f"found in all: {count:,} x {stands}")
    if not verified.is_whole:
        say(f"{copy}: too many contents to compare all of them, so it isn't a copy without values")
    elif not verified.found:
        counted = f"{verified.names:,} names and {verified.contents:,} contents compared"
        say(f"{copy}: no content of the original found; {counted}")


def _say_forbidden(copy: Path, hits: list[Hit], *, is_whole: bool) -> None:
    for hit in hits[:_MOST_SAID]:
        within = f", in {hit.within}" if hit.within else ""
        say(f'forbidden: "{shown(hit.line)}" as {hit.form} at byte {hit.at:,}{within}')
    if any("number" in hit.form for hit in hits):
        say("note: a short number may be a size or an id by chance")
    if not is_whole:
        say(f"{copy}: too many compressed bytes to search all of them, which no copy without values has")
    elif not hits:
        say(f"{copy}: nothing that is forbidden found")
