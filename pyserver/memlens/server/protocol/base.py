"""What the parts of the contract share."""

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]
Line = Annotated[int, Meta(ge=0, le=2**31 - 1)]
"""The number of a line, counted from 1; 0 for none."""
Page = Annotated[int, Meta(ge=1, le=1000)]
"""The most rows of an answer."""
Pixels = Annotated[int, Meta(ge=1, le=65_535)]
"""A picture's side: its columns and rows are numbered by 16 bits."""

Filter = Annotated[str, Meta(max_length=4096)]
Text = Annotated[str, Meta(max_length=1000)]
"""The text of a search."""

Requests = dict[str, tuple[type[Struct], type[Struct]]]
"""Method to parameters and result."""


class Problem(Struct, frozen=True):
    """An error for users in their language: what happened, where in the file, what to do."""

    code: str
    message: str
    advice: str
    offset: int | None
    """Byte offset in the (decompressed) file, if the error has one."""
    retry: bool
    """Whether trying again can help."""


class Done(Struct, frozen=True):
    """No result."""
