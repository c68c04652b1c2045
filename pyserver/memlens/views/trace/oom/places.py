"""Names of lines in sentences about out-of-memory events."""

from typing import assert_never

from memlens.texts import Text, phrase
from memlens.views.answers import Frame, FrameSource


def place_name(frame: Frame | None, operator: Text | None) -> Text:
    """Return the name of a line in a sentence, or why it has none."""
    if frame is None:
        if operator:
            return phrase("what was {reason}", reason=operator)
        return phrase("code whose stack is not in the file")
    if frame.file and frame.line:
        name = frame.file.replace("\\", "/").rsplit("/", 1)[-1]
        return marked(f"{name}:{frame.line} ({frame.function})", frame.source)
    if operator:
        return operator
    return Text(frame.function) if frame.function else phrase("native code")


def marked(line: str, source: FrameSource) -> Text:
    """Return a line, marked with its source if no stack was recorded for it."""
    match source:
        case "recorded":
            return Text(line)
        case "forward":
            return phrase("{line} (forward)", line=line)
        case "fx":
            return phrase("{line} (FX trace)", line=line)
        case "inferred":
            return phrase("{line} (inferred)", line=line)
        case _:
            assert_never(source)
