"""Which frame the bytes of a stack are charged to: the one rule for every figure that is called "self" or "own".

"My code" charges the innermost frame of the user's own code, so that a line is responsible for what the libraries that
it calls allocate. "Any code" charges the innermost frame, no matter whose code it is, as other tools do. A stack
without the user's code is charged to the innermost frame of a library, else of native code. By both a function without
a name is charged only if the stack has none with one, and the function that was called to allocate or what starts
programs and threads (``__libc_start_call_main``) only if it has nothing else.
"""

from typing import Literal

FrameKind = Literal["user", "library", "native"]
"""Whose code a frame is; native code has no line that could be named."""

Attribution = Literal["mine", "any"]

NAMES: dict[Attribution, str] = {"mine": "my code", "any": "any code"}
MEANINGS: dict[Attribution, str] = {
    "mine": "charged to the innermost frame of your own code, or where a stack has none to that of a library; to "
    "functions without a name, malloc and its like and what starts programs and threads only where a stack has nothing "
    "else",
    "any": "charged to the innermost frame, no matter whose code it is; to functions without a name, malloc and its "
    "like and what starts programs and threads only where a stack has nothing else",
}


def rule_of(attribution: Attribution, kind: FrameKind) -> str:
    """Return the rule by which a line is charged, with its kind if it isn't the user's: ``my code, library``."""
    name = NAMES[attribution]
    return f"{name}, {kind}" if attribution == "mine" and kind != "user" else name
