"""Print an allocation with its stack, and where it was freed."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.columns import Piece, fitted
from memlens.cli.options import add_file, add_json, add_libraries
from memlens.cli.output import json_line, say, terminal_columns
from memlens.model.info import device_phrase
from memlens.units import SOURCE_WORDS, counted, format_bytes
from memlens.views.answers import Frame
from memlens.views.trace.details import details

EXAMPLES = ("memlens stack samples/train.pickle 1000",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument("allocation", type=int, metavar="ALLOCATION_ID")
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    answer = ask(options, lambda snapshot: details(snapshot, options.allocation))
    if options.json:
        json_line(answer)
        return 0
    allocation, same = answer.allocation, answer.same_stack
    say(
        f"allocation {allocation.allocation} on {device_phrase(allocation.device)}: "
        f"{format_bytes(allocation.size_bytes)} ({allocation.size_bytes:,} bytes) "
        f"at {allocation.address}, {allocation.state.replace('_', ' ')}"
    )
    if allocation.before_trace:
        say(
            "allocated before recording"
            + (", its stack inferred: its free repeats it" if answer.stack_of_free else "")
            + ("" if answer.frames else ", its stack is not in the file")
        )
    if answer.inferred_block_bytes is not None:
        size = answer.inferred_block_bytes
        say(f"block: {format_bytes(size)} ({size:,} bytes) (inferred)")
    if allocation.category is not None:
        say(f"category: {allocation.category.replace('_', ' ')}")
    if answer.inferred_module is not None:
        say(f"module: {answer.inferred_module} (inferred)")
    if answer.frames:
        say(f"same stack: {counted(same.count, 'allocation')}, {format_bytes(same.total_bytes)} in total, "
              f"{format_bytes(same.live_at_peak_bytes)} at the peak")  # fmt: skip
    label = allocation.label
    if label is not None and label.source == "inferred":
        say(f"forward line, inferred: {label.file}:{label.line} {label.function}")
    _say_frames(answer.frames)
    for trace in answer.fx_traces:
        say(f"FX trace of {trace.of.function} ({trace.of.file}:{trace.of.line}), what it was generated from:")
        _say_frames(trace.frames)
    if answer.forward_frames:
        say("forward stack of the backward operator, not its callers:")
        _say_frames(answer.forward_frames)
    if answer.freed_frames:
        say("freed by:")
        _say_frames(answer.freed_frames)
    return 0


def _say_frames(frames: list[Frame]) -> None:
    for frame in frames:
        # 0 means that the file doesn't say which line
        place = [Piece(frame.file, "path"), Piece(f":{frame.line}" if frame.line else "")]
        words = Piece(SOURCE_WORDS[frame.source].text)
        pieces = [
            *(place if frame.file else [Piece("(native)")]),
            Piece(" "),
            Piece(frame.function, "name"),
            words,
        ]
        say(f"  {fitted(pieces, terminal_columns() - 2)}")
