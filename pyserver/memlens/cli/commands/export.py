"""Write a device's trace, or stacks with bytes and counts, for another tool."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, assert_never

from memlens.cli.ask import ask
from memlens.cli.options import add_device, add_file, add_filter, add_force, add_libraries
from memlens.cli.output import note_of_cut, say
from memlens.cli.output_file import output_of, write_file
from memlens.cli.parsers import UsageError
from memlens.cli.progress import reporter
from memlens.errors import BadRequestError
from memlens.export.profiles import of_profile
from memlens.export.samples import Samples
from memlens.export.speedscope import left_out, speedscope
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.packs import registry
from memlens.store.files.output import Output
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.naming.frame_names import frame_names
from memlens.views.selection.items import stacks_of
from memlens.views.selection.profile_sets import set_at

T = TypeVar("T")
_TITLES = {"peak": "live at the peak", "end": "live at the end", "all": "total allocated"}


EXAMPLES = ("memlens export samples/train.pickle --speedscope train.json",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    target = command.add_mutually_exclusive_group(required=True)
    target.add_argument("--speedscope", type=Path, metavar="OUT.json", help="stacks for speedscope.app")
    for name, writer in (*registry.trace_writers(), *registry.writers()):
        target.add_argument(f"--{name}", type=Path, metavar=writer.file, help=writer.help)
    add_force(command)
    command.add_argument("--at", choices=("peak", "end", "all"), default="peak",
                         help="write the stacks of what was live at the peak (the default) or at the end of the "
                         "trace, or of all allocations")  # fmt: skip
    add_filter(command)
    add_device(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    output = _output(options)
    # before the work
    output.check()
    if (trace := _chosen(options, registry.trace_writers())) is not None:
        if options.at != "peak" or options.filter:
            raise UsageError(phrase("The whole trace is written: --at and --filter are for stacks"))
        report, write = reporter("auto"), trace[1].write.load()
        ask(options, lambda snapshot: write(snapshot, options.device, output, report))
        report("done", 1.0)
        say(output.path)
        return 0
    samples, title = ask(options, lambda snapshot: _samples(snapshot, options))
    if not samples.stacks.rows.size:
        raise _nothing(options)
    note_of_cut(samples.levels())
    if options.speedscope is not None:
        write_file(output, speedscope(samples, title))
        if negative := left_out(samples):
            say(f"note: speedscope has no negative values; not written: {', '.join(negative)}", error=True)
    elif (stacks := _chosen(options, registry.writers())) is not None:
        write_file(output, stacks[1].write.load()(samples, title))
    return 0


def _nothing(options: argparse.Namespace) -> BadRequestError:
    """Why a file that would be empty isn't written."""
    if options.filter:
        return BadRequestError(
            phrase("Nothing matches the filter, so nothing is written"),
            advice=phrase("Choose another filter."),
        )
    match options.at:
        case "end":
            return BadRequestError(
                phrase("Nothing is live at the end, so nothing is written"),
                advice=phrase("Choose --at peak, or --at all for all that was allocated."),
            )
        case _:
            return BadRequestError(phrase("The file has no allocations, so nothing is written"))


def _output(options: argparse.Namespace) -> Output:
    for each in (_chosen(options, registry.trace_writers()), _chosen(options, registry.writers())):
        if each is not None:
            return output_of(options, getattr(options, each[0]), each[0])
    return output_of(options, options.speedscope)


def _chosen(options: argparse.Namespace, writers: Iterable[tuple[str, T]]) -> tuple[str, T] | None:
    """The pack's export format and its writer; None if the format isn't a pack's."""
    return next((each for each in writers if getattr(options, each[0]) is not None), None)


def _samples(snapshot: Snapshot, options: argparse.Namespace) -> tuple[Samples, str]:
    """Return the samples to write, and their title."""
    # both formats are UTF-8, and a file's name may not be
    name = options.file.name.encode(errors="backslashreplace").decode()
    match snapshot.info:
        case TimelineInfo():
            title = f"{name}, {_TITLES[options.at]}"
            return _allocations(snapshot, snapshot.info, options), title
        case ProfileInfo() | GraphInfo():
            if options.at != "peak":
                raise UsageError(phrase("A profile is exported whole: --at is for traces"))
            merged = options.speedscope is not None
            return of_profile(snapshot, options.filter, merged=merged), name
        case _:
            assert_never(snapshot.info)


def _allocations(snapshot: Snapshot, info: TimelineInfo, options: argparse.Namespace) -> Samples:
    of = set_at(info, options.at, options.device, filter_text=options.filter)
    # the formats have nothing for inferred lines
    stacks = replace(stacks_of(snapshot, of), inferred=None).summed()
    return Samples(stacks, frame_names(snapshot))
