"""The ways in which a command reports its progress."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

from memlens.cli.output import message_line

_PROGRESS_SECONDS = 0.1


def reporter(style: str, terminal: TextIO | None = None) -> Callable[[str, float | None], None]:
    """Return a function that reports progress as JSON lines, as a changing line on a terminal, or not at all."""
    terminal = terminal or sys.stderr
    last = [0.0]

    def due() -> bool:
        now = time.monotonic()
        if now - last[0] < _PROGRESS_SECONDS:
            return False
        last[0] = now
        return True

    def message_lines(stage: str, fraction: float | None) -> None:
        if stage != "done" and due():
            share = None if fraction is None else round(fraction, 4)
            message_line({"type": "progress", "stage": stage, "fraction": share})

    def on_terminal(stage: str, fraction: float | None) -> None:
        if stage == "done":
            terminal.write("\r\x1b[K")
        elif due():
            terminal.write(f"\r\x1b[K{stage}" if fraction is None else f"\r\x1b[K{stage} {fraction:4.0%}")
        terminal.flush()

    if style == "json":
        return message_lines
    if style == "auto" and terminal.isatty():
        return on_terminal
    return lambda _stage, _fraction: None
