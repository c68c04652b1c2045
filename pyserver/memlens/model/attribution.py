"""Which frame the bytes of a stack are charged to: the one rule for every figure that is called "self" or "own".

"My code" charges the innermost frame of the user's own code, so that a line is responsible for what the libraries that
it calls allocate. "Any code" charges the innermost frame, no matter whose code it is, as other tools do. A stack
without the user's code is charged to the innermost frame of a library, else of native code. By both a function without
a name is charged only if the stack has none with one, and the function that was called to allocate or what starts
programs and threads (``__libc_start_call_main``) only if it has nothing else.
"""

from typing import Literal

from memlens.texts import Text, phrase

FrameKind = Literal["user", "library", "native"]
"""Whose code a frame is; native code has no line that could be named."""

Attribution = Literal["mine", "any"]

NAMES: dict[Attribution, Text] = {"mine": phrase("my code"), "any": phrase("any code")}
MEANINGS: dict[Attribution, Text] = {
    "mine": phrase(
        "charged to the innermost frame of your own code, or else of a library; to functions without a name, "
        "allocators like malloc and functions that start programs and threads only where a stack has nothing "
        "else"
    ),
    "any": phrase(
        "charged to the innermost frame, no matter whose code it is; to functions without a name, allocators "
        "like malloc and functions that start programs and threads only where a stack has nothing else"
    ),
}


def rule_of(attribution: Attribution, kind: FrameKind) -> Text:
    """Return the rule by which a line is charged, with its kind if it isn't the user's: ``my code, library``."""
    if attribution == "any" or kind == "user":
        return NAMES[attribution]
    return phrase("my code, library") if kind == "library" else phrase("my code, native")
